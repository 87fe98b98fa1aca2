"""Aliases: requests for which a reviewer found one entry's answer reusable though it scored under the threshold.

An alias is a row beside its entry and goes with it. It has no vector and is never a candidate, so nothing can be
promoted on top of it.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, exists, insert, or_, select

from service.storage.database import Database, Transaction
from service.storage.models import Alias, Entry
from service.storage.query import Query, checked

_ADD = Query(
    "add_alias",
    insert(Alias).from_select(
        ["item_id", "tenant_id", "exact_key", "entry_id", "response_hash", "created_ms", "by"],
        select(
            bindparam("item_id", type_=Alias.item_id.type),
            Entry.tenant_id,
            bindparam("key", type_=Alias.exact_key.type),
            Entry.id,
            Entry.response_hash,
            bindparam("now", type_=Alias.created_ms.type),
            bindparam("by", type_=Alias.by.type),
        ).where(
            Entry.id == bindparam("entry_id"),
            Entry.tenant_id == bindparam("tenant"),
            Entry.response_hash == bindparam("answer_hash"),
            ~exists().where(Alias.item_id == bindparam("item_id")),
        ),
    ),
)
_REMOVE = Query(
    "remove_alias",
    delete(Alias).where(
        Alias.item_id == bindparam("item_id"), Alias.tenant_id == bindparam("tenant")
    ),
)
_FIND = Query(
    "find_alias",
    select(Alias.item_id)
    .where(
        Alias.exact_key == bindparam("key"),
        Alias.tenant_id == bindparam("tenant"),
        Alias.entry_id == bindparam("entry_id"),
        Alias.response_hash == bindparam("answer_hash"),
    )
    .limit(1),
    reads_few=True,
)

_JOINS = Query(
    "alias_of_request",
    select(Alias.item_id)
    .join(Entry, Entry.id == Alias.entry_id)
    .where(
        Alias.exact_key == bindparam("key"),
        Alias.tenant_id == bindparam("tenant"),
        Entry.exact_key == bindparam("entry_key"),
        checked(Entry.tenant_id) == bindparam("tenant"),
        Entry.response_hash == Alias.response_hash,
        or_(Entry.expires_ms.is_(None), Entry.expires_ms > bindparam("now")),
    )
    .limit(1),
    reads_few=True,
)


def add(
    tx: Transaction,
    tenant: str,
    *,
    item_id: int,
    exact_key: bytes,
    entry_id: int,
    response_hash: bytes,
    by: str,
    now: int,
) -> None:
    """Promote a reviewed pair, if the entry still holds the answer that was reviewed."""
    params = {"item_id": item_id, "tenant": tenant, "key": exact_key, "entry_id": entry_id}
    tx.run(_ADD, params | {"answer_hash": response_hash, "now": now, "by": by})


def remove(tx: Transaction, tenant: str, *, item_id: int) -> None:
    """Take a promotion back; nothing where there is none."""
    tx.run(_REMOVE, {"item_id": item_id, "tenant": tenant})


async def leads_to(
    db: Database, tenant: str, *, exact_key: bytes, entry_id: int, response_hash: bytes
) -> bool:
    """Whether this very request was promoted to this entry with this answer."""
    params = {"key": exact_key, "tenant": tenant, "entry_id": entry_id}
    return bool(await db.read(_FIND, params | {"answer_hash": response_hash}))


async def joins(db: Database, tenant: str, *, exact_key: bytes, entry_key: bytes, now: int) -> bool:
    """Whether a request was promoted to the live entry of another one, with the answer that this has at present."""
    params = {"key": exact_key, "tenant": tenant, "entry_key": entry_key, "now": now}
    return bool(await db.read(_JOINS, params))
