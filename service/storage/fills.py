"""Fills: lookups that missed and may be stored by their id, and the leases that say who fills a key alone."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql

from service.storage import invalidation
from service.storage.database import Database, Row, Transaction
from service.storage.models import Fill, Lease
from service.storage.query import Query

_ADD_FILL = Query(
    "add_fill", insert(Fill).values({c.name: bindparam(c.name) for c in Fill.__table__.columns})
)
_lease = postgresql.insert(Lease.__table__)  # type: ignore[arg-type]
_TAKE_LEASE = Query(
    "take_lease",
    _lease.values({c.name: bindparam(c.name) for c in Lease.__table__.columns})
    .on_conflict_do_update(
        index_elements=["exact_key"],
        set_={
            "lookup_id": _lease.excluded.lookup_id,
            "expires_ms": _lease.excluded.expires_ms,
        },
        where=Lease.__table__.c.expires_ms <= bindparam("now"),
    )
    .returning(Lease.__table__.c.lookup_id),
)
_DROP_LEASE = Query(
    "drop_lease",
    delete(Lease).where(
        Lease.exact_key == bindparam("key"), Lease.tenant_id == bindparam("tenant")
    ),
)
_DROP_OWN_LEASE = Query(
    "drop_own_lease",
    delete(Lease).where(
        Lease.exact_key == bindparam("key"),
        Lease.tenant_id == bindparam("tenant"),
        Lease.lookup_id == bindparam("lookup_id"),
    ),
)
_RENEW_LEASE = Query(
    "renew_lease",
    update(Lease)
    .where(
        Lease.exact_key == bindparam("key"),
        Lease.tenant_id == bindparam("tenant"),
        Lease.lookup_id == bindparam("of_lookup"),
    )
    .values(expires_ms=bindparam("until")),
)
_BEGIN_AGAIN = Query(
    "begin_fill_again",
    update(Fill)
    .where(Fill.lookup_id == bindparam("of_lookup"), Fill.tenant_id == bindparam("tenant"))
    .values(fence_seen=bindparam("fence"), started_ms=bindparam("now")),
)
_GET_FILL = Query(
    "get_fill",
    select(Fill.exact_key, Fill.fence_seen, Fill.started_ms, Fill.payload).where(
        Fill.lookup_id == bindparam("lookup_id"),
        Fill.tenant_id == bindparam("tenant"),
        Fill.expires_ms > bindparam("now"),
    ),
    reads_few=True,
)
_LEASE_OF = Query(
    "lease_of",
    select(Lease.lookup_id).where(
        Lease.exact_key == bindparam("key"),
        Lease.tenant_id == bindparam("tenant"),
        Lease.expires_ms > bindparam("now"),
    ),
    reads_few=True,
)


def begin(
    tx: Transaction,
    tenant: str,
    *,
    lookup_id: int,
    scope: str,
    key: bytes,
    payload: bytes,
    now: int,
    lease_until: int,
    keep_until: int,
) -> bool:
    """Record a miss; True when this caller alone should ask the model."""
    tx.run(
        _ADD_FILL,
        {
            "lookup_id": lookup_id,
            "tenant_id": tenant,
            "scope": scope,
            "exact_key": key,
            "fence_seen": invalidation.last_fence(tx, tenant),
            "started_ms": now,
            "expires_ms": keep_until,
            "payload": payload,
        },
    )
    return take_over(tx, tenant, lookup_id=lookup_id, key=key, now=now, lease_until=lease_until)


def take_over(
    tx: Transaction, tenant: str, *, lookup_id: int, key: bytes, now: int, lease_until: int
) -> bool:
    """Take the lease of a key that nobody holds (any more); True when this lookup has it now."""
    taken = tx.run(
        _TAKE_LEASE,
        {
            "exact_key": key,
            "tenant_id": tenant,
            "lookup_id": lookup_id,
            "expires_ms": lease_until,
            "now": now,
        },
    )
    return bool(taken) and int(taken[0][0]) == lookup_id


def begin_again(tx: Transaction, tenant: str, *, lookup_id: int, now: int) -> None:
    """A caller that has waited begins to fill only now: what was invalidated meanwhile is no reason against it."""
    tx.run(
        _BEGIN_AGAIN,
        {
            "of_lookup": lookup_id,
            "tenant": tenant,
            "fence": invalidation.last_fence(tx, tenant),
            "now": now,
        },
    )


def renew(tx: Transaction, tenant: str, *, lookup_id: int, key: bytes, lease_until: int) -> None:
    """Keep a lease that this lookup still has; one that went to another stays there."""
    tx.run(
        _RENEW_LEASE,
        {"key": key, "tenant": tenant, "of_lookup": lookup_id, "until": lease_until},
    )


async def get(db: Database, tenant: str, *, lookup_id: int, now: int) -> Row | None:
    """(exact key, newest fence when it began, start, payload) of a fill that may still be stored."""
    rows = await db.read(_GET_FILL, {"lookup_id": lookup_id, "tenant": tenant, "now": now})
    return rows[0] if rows else None


async def is_being_filled(db: Database, tenant: str, *, key: bytes, now: int) -> bool:
    """True while somebody holds the lease of a key."""
    return bool(await db.read(_LEASE_OF, {"key": key, "tenant": tenant, "now": now}))


def end(tx: Transaction, tenant: str, *, key: bytes) -> None:
    """The key is filled: nobody needs to hold it any more."""
    tx.run(_DROP_LEASE, {"key": key, "tenant": tenant})


def give_up(tx: Transaction, tenant: str, *, key: bytes, lookup_id: int) -> None:
    """The filling caller failed: the next one may try at once."""
    tx.run(_DROP_OWN_LEASE, {"key": key, "tenant": tenant, "lookup_id": lookup_id})
