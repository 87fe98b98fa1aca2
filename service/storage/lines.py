"""Lines of a tenant, with every change recorded."""

from __future__ import annotations

import hashlib

from sqlalchemy import bindparam, func, insert, select, update

from service.storage import audit_events
from service.storage.database import Database, Row, Transaction
from service.storage.models import Line, LineChange
from service.storage.query import Query

_GET = Query(
    "get_line",
    select(
        Line.revision, Line.config_json, Line.updated_ms, Line.updated_by, Line.created_ms
    ).where(Line.tenant_id == bindparam("tenant"), Line.name == bindparam("line")),
    reads_few=True,
)
_LIST = Query(
    "list_lines",
    select(Line.name, Line.revision, Line.config_json, Line.updated_ms, Line.updated_by)
    .where(Line.tenant_id == bindparam("tenant"))
    .order_by(Line.name),
)
_COUNT = Query(
    "count_lines",
    select(func.count()).select_from(Line).where(Line.tenant_id == bindparam("tenant")),
)
_ADD = Query(
    "add_line", insert(Line).values({c.name: bindparam(c.name) for c in Line.__table__.columns})
)
_CHANGE = Query(
    "change_line",
    update(Line)
    .where(Line.tenant_id == bindparam("tenant"), Line.name == bindparam("line"))
    .values(
        revision=Line.revision + 1,
        config_json=bindparam("config"),
        updated_ms=bindparam("now"),
        updated_by=bindparam("by"),
    ),
)
_BUMP = Query(
    "bump_line",
    update(Line)
    .where(Line.tenant_id == bindparam("tenant"), Line.name == bindparam("line"))
    .values(revision=Line.revision + 1),
)
_RECORD = Query(
    "record_line_change",
    insert(LineChange).values({c.name: bindparam(c.name) for c in LineChange.__table__.columns}),
)
_HISTORY = Query(
    "line_history",
    select(
        LineChange.at_ms,
        LineChange.by,
        LineChange.reason,
        LineChange.before_json,
        LineChange.after_json,
    )
    .where(LineChange.tenant_id == bindparam("tenant"), LineChange.line == bindparam("line"))
    .order_by(LineChange.id.desc())
    .limit(100),
)


async def get(db: Database, tenant: str, *, line: str) -> Row | None:
    """(revision, config, updated_ms, updated_by, created_ms)."""
    rows = await db.read(_GET, {"tenant": tenant, "line": line})
    return rows[0] if rows else None


def lock(tx: Transaction, tenant: str) -> None:
    """Wait for others who make or change lines of this tenant. SQLite has one writer at a time and needs none."""
    if tx.is_postgresql:
        digest = hashlib.sha256(b"lines:" + tenant.encode()).digest()
        number = int.from_bytes(digest[:8], "big", signed=True)
        tx.text("SELECT pg_advisory_xact_lock(%(number)s)", {"number": number})


def get_in(tx: Transaction, tenant: str, *, line: str) -> Row | None:
    """The same inside a transaction."""
    rows = tx.run(_GET, {"tenant": tenant, "line": line})
    return rows[0] if rows else None


async def list_all(db: Database, tenant: str) -> list[Row]:
    """(name, revision, config, updated_ms, updated_by), by name."""
    return await db.read(_LIST, {"tenant": tenant})


def count(tx: Transaction, tenant: str) -> int:
    """How many lines a tenant has."""
    return int(tx.run(_COUNT, {"tenant": tenant})[0][0])


def save(
    tx: Transaction,
    tenant: str,
    *,
    line: str,
    config: str,
    before: str | None,
    change_id: int,
    by: str,
    reason: str,
    now: int,
) -> None:
    """Create a line (`before` is None) or change it, and record who did."""
    if before is None:
        tx.run(
            _ADD,
            {
                "tenant_id": tenant,
                "name": line,
                "revision": 1,
                "config_json": config,
                "created_ms": now,
                "updated_ms": now,
                "updated_by": by,
            },
        )
    else:
        tx.run(_CHANGE, {"tenant": tenant, "line": line, "config": config, "now": now, "by": by})
    tx.run(
        _RECORD,
        {
            "id": change_id,
            "tenant_id": tenant,
            "line": line,
            "at_ms": now,
            "by": by,
            "reason": reason,
            "before_json": before,
            "after_json": config,
        },
    )
    audit_events.record(
        tx,
        tenant,
        event_id=change_id,
        by=by,
        act="line.create" if before is None else "line.change",
        subject=line,
        now=now,
        reason=reason,
    )


def bump(tx: Transaction, tenant: str, *, line: str) -> None:
    """Make every worker read the line again before its next answer (a pair was blocked, say)."""
    tx.run(_BUMP, {"tenant": tenant, "line": line})


async def history(db: Database, tenant: str, *, line: str) -> list[Row]:
    """The last hundred changes, newest first."""
    return await db.read(_HISTORY, {"tenant": tenant, "line": line})
