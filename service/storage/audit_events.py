"""The log of administrative acts: who did what to which thing, kept for ever, never with request or answer text.

A row is written in the act's own transaction, so an act without its row does not exist.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import bindparam, insert, select

from service.storage.database import Database, Row, Transaction
from service.storage.models import AuditEvent
from service.storage.query import Query

_ADD = Query(
    "add_audit_event",
    insert(AuditEvent).values({c.name: bindparam(c.name) for c in AuditEvent.__table__.columns}),
)
_LIST = Query(
    "audit_events",
    select(
        AuditEvent.id,
        AuditEvent.at_ms,
        AuditEvent.by,
        AuditEvent.act,
        AuditEvent.subject,
        AuditEvent.detail_json,
    )
    .where(AuditEvent.tenant_id == bindparam("tenant"), AuditEvent.id < bindparam("before"))
    .order_by(AuditEvent.id.desc())
    .limit(bindparam("limit")),
)


def record(
    tx: Transaction,
    tenant: str,
    *,
    event_id: int,
    by: str,
    act: str,
    subject: str,
    now: int,
    **detail: Any,
) -> None:
    """Write down one act, such as `line.change` of the line `faq` by the key `key_12ab`."""
    tx.run(
        _ADD,
        {
            "id": event_id,
            "tenant_id": tenant,
            "at_ms": now,
            "by": by,
            "act": act,
            "subject": subject,
            "detail_json": orjson.dumps(detail).decode(),
        },
    )


def pseudonym(scope: str) -> str:
    """How a scope is named here: it may be a person, who can ask to be forgotten."""
    return "scope:" + hashlib.sha256(scope.encode()).hexdigest()[:16]


async def newest(db: Database, tenant: str, *, before: int, limit: int) -> list[Row]:
    """(id, at_ms, by, act, subject, detail_json), newest first, with ids under `before`."""
    return await db.read(_LIST, {"tenant": tenant, "before": before, "limit": limit})


def described(row: Row) -> dict[str, Any]:
    """One act as it is shown, its time in ISO 8601 UTC."""
    event_id, at_ms, by, act, subject, detail = row
    return {
        "id": f"evt_{event_id:016x}",
        "at": datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        "by": by,
        "act": act,
        "subject": subject,
        "detail": orjson.loads(detail),
    }
