"""Statements of the maintenance loop. They run over all tenants' rows, a bounded number at a time, and show none."""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import bindparam, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql

from service.storage import vectors
from service.storage.database import Database, Row, Transaction
from service.storage.entries import next_change
from service.storage.models import Entry, Fill, Lease, Line
from service.storage.query import Query
from service.storage.worth import OUTPUT_COST

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
    .returning(Entry.id, Entry.partition),
)
_OLD_FILLS = Query("drop_old_fills", delete(Fill).where(Fill.expires_ms <= bindparam("now")))
_OLD_LEASES = Query("drop_old_leases", delete(Lease).where(Lease.expires_ms <= bindparam("now")))
_lease = postgresql.insert(Lease.__table__)  # type: ignore[arg-type]
_TAKE_DUTY = Query(
    "take_duty",
    _lease.values({c.name: bindparam(c.name) for c in Lease.__table__.columns})
    .on_conflict_do_update(
        index_elements=["exact_key"],
        set_={"lookup_id": _lease.excluded.lookup_id, "expires_ms": _lease.excluded.expires_ms},
        where=or_(
            Lease.__table__.c.expires_ms <= bindparam("now"),
            Lease.__table__.c.lookup_id == _lease.excluded.lookup_id,
        ),
    )
    .returning(Lease.__table__.c.lookup_id),
)
_END_DUTY = Query(
    "end_duty",
    delete(Lease).where(
        Lease.exact_key == bindparam("exact_key"),
        Lease.tenant_id == bindparam("tenant"),
        Lease.lookup_id == bindparam("worker"),
    ),
)
_LINES = Query(
    "all_lines",
    select(Line.tenant_id, Line.name).order_by(Line.tenant_id, Line.name),
    reads_few=True,
)
_TO_EMBED = Query(
    "entries_to_embed",
    select(Entry.id, Entry.query, Entry.scope, Entry.request)
    .where(
        Entry.tenant_id == bindparam("tenant"),
        Entry.line == bindparam("line"),
        Entry.policy_version == bindparam("policy_version"),
        Entry.query.is_not(None),
        # two ranges of an index, where «is another» would read every entry of the line
        or_(
            Entry.fingerprint < bindparam("fingerprint"),
            Entry.fingerprint > bindparam("fingerprint"),
        ),
        or_(Entry.expires_ms.is_(None), Entry.expires_ms > bindparam("now")),
    )
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
        size_bytes=func.length(Entry.response)
        + func.length(Entry.request)
        + bindparam("vector_bytes"),
    )
    .returning(Entry.expires_ms),
)
_USAGE = Query(
    "usage_of_line",
    select(func.count(), func.coalesce(func.sum(Entry.size_bytes), 0)).where(
        Entry.tenant_id == bindparam("tenant"), Entry.line == bindparam("line")
    ),
)
_TENANT_USAGE = Query(
    "usage_of_tenant",
    select(func.count(), func.coalesce(func.sum(Entry.size_bytes), 0)).where(
        Entry.tenant_id == bindparam("tenant")
    ),
)


def _evict(name: str, per_byte: bool, *of: Any) -> Query:
    """Delete the least valuable of some entries until `over_entries` and `over_bytes` are gone, or `batch`."""
    cost = OUTPUT_COST * func.length(Entry.response) + func.length(Entry.request)
    worth = Entry.heat * cost
    if per_byte:
        worth = worth / (Entry.size_bytes + 1)
    order = (worth, Entry.id)
    least = (
        select(Entry.id, Entry.size_bytes, worth.label("worth"))
        .where(*of)
        .order_by(*order)
        .limit(bindparam("batch"))
        .subquery()
    )
    order_by = (least.c.worth, least.c.id)
    so_far = func.sum(least.c.size_bytes).over(order_by=order_by, rows=(None, 0))
    ranked = select(
        least.c.id,
        func.row_number().over(order_by=order_by).label("n"),
        (so_far - least.c.size_bytes).label("before"),
    ).subquery()
    chosen = select(ranked.c.id).where(
        or_(ranked.c.n <= bindparam("over_entries"), ranked.c.before < bindparam("over_bytes"))
    )
    statement = delete(Entry).where(Entry.tenant_id == bindparam("tenant"), Entry.id.in_(chosen))
    return Query(name, statement.returning(Entry.id, Entry.partition, Entry.line))


_OF_LINE = (Entry.tenant_id == bindparam("tenant"), Entry.line == bindparam("line"))
_OF_TENANT = (Entry.tenant_id == bindparam("tenant"),)
_EVICT = {
    (True, False): _evict("evict_from_line", False, *_OF_LINE),
    (True, True): _evict("evict_from_line_by_size", True, *_OF_LINE),
    (False, False): _evict("evict_from_tenant", False, *_OF_TENANT),
    (False, True): _evict("evict_from_tenant_by_size", True, *_OF_TENANT),
}


def drop_expired(tx: Transaction, *, before: int) -> list[Row]:
    """Delete up to BATCH entries that expired before a time: (id, partition) of each."""
    return tx.run(_EXPIRED, {"before": before, "batch": BATCH})


def drop_old_fills(tx: Transaction, *, now: int) -> None:
    """Forget fills and leases whose time is over."""
    tx.run(_OLD_FILLS, {"now": now})
    tx.run(_OLD_LEASES, {"now": now})


def take_duty(
    tx: Transaction, tenant: str, *, name: str, worker: int, now: int, until: int
) -> bool:
    """True when this worker alone has a duty of a tenant until a time; held already, it is held on."""
    taken = tx.run(
        _TAKE_DUTY,
        {
            "exact_key": _duty_key(tenant, name),
            "tenant_id": tenant,
            "lookup_id": worker,
            "expires_ms": until,
            "now": now,
        },
    )
    return bool(taken)


def end_duty(tx: Transaction, tenant: str, *, name: str, worker: int) -> None:
    """Give a duty back, if this worker has it."""
    tx.run(
        _END_DUTY,
        {"exact_key": _duty_key(tenant, name), "tenant": tenant, "worker": worker},
    )


def _duty_key(tenant: str, name: str) -> bytes:
    return hashlib.sha256(f"duty:{tenant}:{name}".encode()).digest()


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
    change_seq = next_change(tx)
    rows = tx.run(
        _EMBEDDED,
        {
            "entry_id": entry_id,
            "tenant": tenant,
            "query_text": query,
            "new_partition": partition,
            "new_fingerprint": fingerprint,
            "new_vector": vector,
            "vector_bytes": len(vector or b""),
            "seq": change_seq,
        },
    )
    if tx.keeps_vectors and rows and vector is not None and partition is not None:
        vectors.put(
            tx,
            tenant,
            entry_id=entry_id,
            partition=partition,
            expires_ms=rows[0][0],
            change_seq=change_seq,
            vector=vector,
        )


def evict(
    tx: Transaction,
    tenant: str,
    *,
    line: str | None,
    max_entries: int | None,
    max_bytes: int | None,
    batch: int,
) -> list[Row]:
    """Delete the least valuable entries of a line (or of the whole tenant) over a limit: (id, partition, line) of each.

    Once over a limit, a fiftieth more goes, so that the entries are not put in order again for every store. Where bytes
    are short, worth is counted per byte. At most `batch` go.
    """
    params: dict[str, Any] = {"tenant": tenant}
    if line is not None:
        params["line"] = line
    count, size = tx.run(_USAGE if line is not None else _TENANT_USAGE, params)[0]
    over_entries = _excess(int(count), max_entries)
    over_bytes = _excess(int(size), max_bytes)
    if not over_entries and not over_bytes:
        return []
    query = _EVICT[line is not None, over_bytes > 0]
    params |= {"over_entries": over_entries, "over_bytes": over_bytes, "batch": batch}
    return tx.run(query, params)


def _excess(used: int, limit: int | None) -> int:
    if limit is None or used <= limit:
        return 0
    return used - limit + limit // 50
