"""Tenants and their API keys. A key is shown once; only its SHA-256 is kept."""

from __future__ import annotations

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.dialects import postgresql

from service.storage.database import Database, Row, Transaction
from service.storage.models import ApiKey, Tenant
from service.storage.query import Query

_COUNT_KEYS = Query(
    "count_keys",
    select(func.count()).select_from(ApiKey).where(ApiKey.revoked_ms.is_(None)),
    reads_few=True,
)
_ANY_KEY_MADE = Query("any_key_made", select(ApiKey.id).limit(1), reads_few=True)
_BY_HASH = Query(
    "key_by_hash",
    select(ApiKey.id, ApiKey.tenant_id, ApiKey.role, ApiKey.max_stores_per_hour).where(
        ApiKey.key_hash == bindparam("key_hash"), ApiKey.revoked_ms.is_(None)
    ),
    reads_few=True,
)
_LIST = Query(
    "list_keys",
    select(
        ApiKey.id, ApiKey.tenant_id, ApiKey.name, ApiKey.role, ApiKey.created_ms, ApiKey.revoked_ms
    )
    .where(ApiKey.tenant_id == bindparam("tenant"))
    .order_by(ApiKey.created_ms, ApiKey.id),
)
_ADD_TENANT = Query(
    "add_tenant",
    postgresql.insert(Tenant.__table__)  # type: ignore[arg-type]
    .values(id=bindparam("tenant"), created_ms=bindparam("now"))
    .on_conflict_do_nothing(index_elements=["id"]),
)
_ADD_KEY = Query(
    "add_key", insert(ApiKey).values({c.name: bindparam(c.name) for c in ApiKey.__table__.columns})
)
_REVOKE = Query(
    "revoke_key",
    update(ApiKey)
    .where(
        ApiKey.id == bindparam("key_id"),
        ApiKey.tenant_id == bindparam("tenant"),
        ApiKey.revoked_ms.is_(None),
    )
    .values(revoked_ms=bindparam("now")),
)


async def count_keys(db: Database) -> int:
    """Live keys of all tenants: without one the service stays on loopback."""
    return int((await db.read(_COUNT_KEYS, {}))[0][0])


async def any_key_made(db: Database) -> bool:
    """Whether any tenant has or had a key: from the first one on, nobody enters without one."""
    return bool(await db.read(_ANY_KEY_MADE, {}))


async def key_by_hash(db: Database, *, key_hash: bytes) -> Row | None:
    """(id, tenant, role, stores per hour | None) of a live key."""
    rows = await db.read(_BY_HASH, {"key_hash": key_hash})
    return rows[0] if rows else None


async def list_keys(db: Database, tenant: str) -> list[Row]:
    """(id, tenant, name, role, created_ms, revoked_ms)."""
    return await db.read(_LIST, {"tenant": tenant})


def add_tenant(tx: Transaction, tenant: str, *, now: int) -> None:
    """Make a tenant known; one that is known already stays."""
    tx.run(_ADD_TENANT, {"tenant": tenant, "now": now})


def add_key(
    tx: Transaction,
    tenant: str,
    *,
    key_id: str,
    key_hash: bytes,
    name: str,
    role: str,
    max_stores_per_hour: int | None,
    now: int,
) -> None:
    """Store a key's hash, and its tenant if it is new."""
    add_tenant(tx, tenant, now=now)
    tx.run(
        _ADD_KEY,
        {
            "key_hash": key_hash,
            "id": key_id,
            "tenant_id": tenant,
            "name": name,
            "role": role,
            "max_stores_per_hour": max_stores_per_hour,
            "created_ms": now,
            "revoked_ms": None,
        },
    )


def revoke(tx: Transaction, tenant: str, *, key_id: str, now: int) -> bool:
    """Revoke a key at once; False when there is no such live key."""
    return tx.count(_REVOKE, {"key_id": key_id, "tenant": tenant, "now": now}) > 0
