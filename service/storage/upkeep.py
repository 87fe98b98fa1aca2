"""Statements of the maintenance loop. They run over all tenants' rows, a bounded number at a time, and show none."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, func, or_, select, update

from service.storage.database import Database, Row, Transaction
from service.storage.entries import next_change
from service.storage.models import Entry, Fill, Lease, Line
from service.storage.query import Query

BATCH = 1_000

_EXPIRED = Query(
    "drop_expired",
    delete(Entry)
    .where(
        Entry.id.in_(
            select(Entry.id)
            .where(Entry.expires_ms <= bindparam("before"))
            .limit(bindparam("batch"))
        )
    )
    .returning(Entry.id),
)
_OLD_FILLS = Query("drop_old_fills", delete(Fill).where(Fill.expires_ms <= bindparam("now")))
_OLD_LEASES = Query("drop_old_leases", delete(Lease).where(Lease.expires_ms <= bindparam("now")))
_LINES = Query("all_lines", select(Line.tenant_id, Line.name).order_by(Line.tenant_id, Line.name))
_TO_EMBED = Query(
    "entries_to_embed",
    select(Entry.id, Entry.query, Entry.scope, Entry.request)
    .where(
        Entry.tenant_id == bindparam("tenant"),
        Entry.line == bindparam("line"),
        Entry.policy_version == bindparam("policy_version"),
        Entry.query.is_not(None),
        Entry.fingerprint.is_not(None),
        Entry.fingerprint != bindparam("fingerprint"),
        or_(Entry.expires_ms.is_(None), Entry.expires_ms > bindparam("now")),
    )
    .order_by(Entry.id)
    .limit(bindparam("batch")),
)
_EMBEDDED = Query(
    "set_vector",
    update(Entry)
    .where(
        Entry.id == bindparam("entry_id"),
        Entry.tenant_id == bindparam("tenant"),
        Entry.query == bindparam("query_text"),
    )
    .values(
        partition=bindparam("new_partition"),
        fingerprint=bindparam("new_fingerprint"),
        vector=bindparam("new_vector"),
        change_seq=bindparam("seq"),
    ),
)
_COUNT = Query(
    "count_of_line",
    select(func.count()).where(
        Entry.tenant_id == bindparam("tenant"), Entry.line == bindparam("line")
    ),
)
_LEAST = Query(
    "least_valuable",
    delete(Entry)
    .where(
        Entry.tenant_id == bindparam("tenant"),
        Entry.id.in_(
            select(Entry.id)
            .where(Entry.tenant_id == bindparam("tenant"), Entry.line == bindparam("line"))
            # worth = how often it is asked for, times what it costs to make again (its length stands for that)
            .order_by(
                (Entry.hits + 1) * func.length(Entry.response),
                func.coalesce(Entry.last_hit_ms, Entry.created_ms),
            )
            .limit(bindparam("batch"))
        ),
    )
    .returning(Entry.id),
)


def drop_expired(tx: Transaction, *, before: int) -> list[int]:
    """Delete up to BATCH entries that expired before a time; their ids."""
    return [row[0] for row in tx.run(_EXPIRED, {"before": before, "batch": BATCH})]


def drop_old_fills(tx: Transaction, *, now: int) -> None:
    """Forget fills and leases whose time is over."""
    tx.run(_OLD_FILLS, {"now": now})
    tx.run(_OLD_LEASES, {"now": now})


async def all_lines(db: Database) -> list[Row]:
    """(tenant, line) of every line."""
    return await db.read(_LINES, {})


async def to_embed(
    db: Database,
    tenant: str,
    *,
    line: str,
    policy_version: str,
    fingerprint: str,
    now: int,
    limit: int,
) -> list[Row]:
    """(id, query, scope, request) of live entries whose vector is missing or another model's."""
    return await db.read(
        _TO_EMBED,
        {
            "tenant": tenant,
            "line": line,
            "policy_version": policy_version,
            "fingerprint": fingerprint,
            "now": now,
            "batch": limit,
        },
    )


def set_vector(
    tx: Transaction,
    tenant: str,
    *,
    entry_id: int,
    query: str,
    partition: bytes | None,
    fingerprint: str | None,
    vector: bytes | None,
) -> None:
    """Give an entry its vector, unless its query changed meanwhile."""
    tx.run(
        _EMBEDDED,
        {
            "entry_id": entry_id,
            "tenant": tenant,
            "query_text": query,
            "new_partition": partition,
            "new_fingerprint": fingerprint,
            "new_vector": vector,
            "seq": next_change(tx),
        },
    )


def count_of_line(tx: Transaction, tenant: str, *, line: str) -> int:
    """Entries of a line."""
    return int(tx.run(_COUNT, {"tenant": tenant, "line": line})[0][0])


def evict(tx: Transaction, tenant: str, *, line: str, n: int) -> list[int]:
    """Delete the n least valuable entries of a line; their ids."""
    return [row[0] for row in tx.run(_LEAST, {"tenant": tenant, "line": line, "batch": n})]
