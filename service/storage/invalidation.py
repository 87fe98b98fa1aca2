"""Dropping entries: by selector, completely and counted, with a fence against fills that began earlier."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, or_, select, update

from service.storage.database import Row, Transaction
from service.storage.models import Entry, EntryTag, Fence, ReviewItem
from service.storage.query import Query

BATCH = 2_000
"""Rows per delete: a lookup that waits for the writer waits for one batch at most."""

MAX_FENCE_AGE_MS = 86_400_000
"""Fills older than this are refused, so older fences may go."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Which entries: all that match every field that is set."""

    entry_id: int | None = None
    exact_key: bytes | None = None
    tag: str | None = None
    scope: str | None = None
    line: str | None = None
    model: str | None = None
    stored_before_ms: int | None = None


def _params(tenant: str, s: Selector) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "entry_id": s.entry_id,
        "tag": s.tag,
        "scope": s.scope,
        "line": s.line,
        "model": s.model,
        "stored_before": s.stored_before_ms,
    }


def _conditions(s: Selector) -> list[Any]:
    found: list[Any] = [Entry.tenant_id == bindparam("tenant")]
    if s.entry_id is not None:
        found.append(Entry.id == bindparam("entry_id"))
    if s.tag is not None:
        found.append(
            Entry.id.in_(
                select(EntryTag.entry_id).where(
                    EntryTag.tenant_id == bindparam("tenant"), EntryTag.tag == bindparam("tag")
                )
            )
        )
    if s.scope is not None:
        found.append(Entry.scope == bindparam("scope"))
    if s.line is not None:
        found.append(Entry.line == bindparam("line"))
    if s.model is not None:
        found.append(Entry.model == bindparam("model"))
    if s.stored_before_ms is not None:
        found.append(Entry.created_ms < bindparam("stored_before"))
    return found


def count(tx: Transaction, tenant: str, *, selector: Selector, now: int) -> int:
    """How many live entries would go (dry run)."""
    is_live = or_(Entry.expires_ms.is_(None), Entry.expires_ms > bindparam("now"))
    query = Query("count_selected", select(func.count()).where(*_conditions(selector), is_live))
    return int(tx.run(query, {**_params(tenant, selector), "now": now})[0][0])


_WITHDRAW = Query(
    "withdraw_review_items",
    update(ReviewItem)
    .where(
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.entry_id == bindparam("entry"),
        or_(*(ReviewItem.state == state for state in ("open", "second", "disputed"))),
    )
    .values(state="withdrawn", lease_by=None, lease_until_ms=0),
)


def drop_batch(tx: Transaction, tenant: str, *, selector: Selector) -> list[Row]:
    """Delete up to BATCH matching entries: (id, partition) of each.

    Reviewers no longer judge an entry that was deleted by its id. Items of entries that went with many others (a tag,
    an old model) stay: they hold all that a reviewer needs, and leaving them out would bend the sample.
    """
    if selector.entry_id is not None:
        tx.run(_WITHDRAW, {"tenant": tenant, "entry": selector.entry_id})
    some = select(Entry.id).where(*_conditions(selector)).limit(BATCH)
    query = Query(
        "drop_selected",
        delete(Entry)
        .where(Entry.tenant_id == bindparam("tenant"), Entry.id.in_(some))
        .returning(Entry.id, Entry.partition),
    )
    return tx.run(query, _params(tenant, selector))


_LAST_FENCE = Query(
    "last_fence",
    select(func.coalesce(func.max(Fence.seq), 0)).where(Fence.tenant_id == bindparam("tenant")),
)
_ADD_FENCE = Query(
    "add_fence", insert(Fence).values({c.name: bindparam(c.name) for c in Fence.__table__.columns})
)
_DROP_OLD_FENCES = Query(
    "drop_old_fences",
    delete(Fence).where(Fence.tenant_id == bindparam("tenant"), Fence.at_ms < bindparam("before")),
)
_FENCES_SINCE = Query(
    "fences_since",
    select(
        Fence.exact_key, Fence.tag, Fence.scope, Fence.line, Fence.model, Fence.stored_before_ms
    ).where(Fence.tenant_id == bindparam("tenant"), Fence.seq > bindparam("seen")),
)


def last_fence(tx: Transaction, tenant: str) -> int:
    """Number of the newest invalidation."""
    return int(tx.run(_LAST_FENCE, {"tenant": tenant})[0][0])


def raise_fence(
    tx: Transaction, tenant: str, *, fence_id: int, selector: Selector, now: int
) -> None:
    """Remember an invalidation. Stores of this tenant that are under way are waited for (PostgreSQL)."""
    lock(tx, tenant, shared=False)
    seq = last_fence(tx, tenant) + 1
    tx.run(
        _ADD_FENCE,
        {
            "id": fence_id,
            "tenant_id": tenant,
            "seq": seq,
            "at_ms": now,
            "exact_key": selector.exact_key,
            "tag": selector.tag,
            "scope": selector.scope,
            "line": selector.line,
            "model": selector.model,
            "stored_before_ms": selector.stored_before_ms,
        },
    )
    # the newest stays, whatever its age: it carries the sequence on
    if seq % 256 == 0:
        tx.run(_DROP_OLD_FENCES, {"tenant": tenant, "before": now - MAX_FENCE_AGE_MS})


def covering_fence(
    tx: Transaction,
    tenant: str,
    *,
    seen: int,
    exact_key: bytes,
    tags: tuple[str, ...],
    scope: str,
    line: str,
    model: str,
    started_ms: int,
) -> bool:
    """True when an invalidation since the fill began would have dropped what the fill now brings."""
    lock(tx, tenant, shared=True)
    for key, tag, fence_scope, fence_line, fence_model, before in tx.run(
        _FENCES_SINCE, {"tenant": tenant, "seen": seen}
    ):
        if (
            (key is None or bytes(key) == exact_key)
            and (tag is None or tag in tags)
            and (fence_scope is None or fence_scope == scope)
            and (fence_line is None or fence_line == line)
            and (fence_model is None or fence_model == model)
            and (before is None or started_ms < before)
        ):
            return True
    return False


def lock(tx: Transaction, tenant: str, *, shared: bool) -> None:
    """Stores share, an invalidation excludes: without it a store could commit just behind a purge that missed it.

    SQLite has one writer at a time and needs none.
    """
    if tx.is_postgresql:
        number = int.from_bytes(
            hashlib.sha256(b"fence:" + tenant.encode()).digest()[:8], "big", signed=True
        )
        name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        tx.text(f"SELECT {name}(%(number)s)", {"number": number})
