"""Learned scores of lines; a row never changes and is kept, so that an older one can be put in force again."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from service.storage.database import Database, Row, Transaction
from service.storage.models import ScorerRow
from service.storage.query import Query

_ADD = Query(
    "add_scorer",
    insert(ScorerRow).values({c.name: bindparam(c.name) for c in ScorerRow.__table__.columns}),
)
_GET = Query(
    "get_scorer",
    select(ScorerRow.blob).where(
        ScorerRow.tenant_id == bindparam("tenant"),
        ScorerRow.line == bindparam("of_line"),
        ScorerRow.version == bindparam("of_version"),
    ),
    reads_few=True,
)
_LIST = Query(
    "scorers_of_line",
    select(ScorerRow.version, ScorerRow.created_ms, ScorerRow.by, ScorerRow.report_json)
    .where(ScorerRow.tenant_id == bindparam("tenant"), ScorerRow.line == bindparam("of_line"))
    .order_by(ScorerRow.id.desc())
    .limit(100),
)


def add(
    tx: Transaction,
    tenant: str,
    *,
    scorer_id: int,
    line: str,
    version: str,
    blob: bytes,
    report_json: str,
    by: str,
    now: int,
) -> None:
    """Keep a scorer; the same one again is not written twice."""
    if blob_in(tx, tenant, line=line, version=version) is not None:
        return
    tx.run(
        _ADD,
        {
            "id": scorer_id,
            "tenant_id": tenant,
            "line": line,
            "version": version,
            "created_ms": now,
            "by": by,
            "blob": blob,
            "report_json": report_json,
        },
    )


def blob_in(tx: Transaction, tenant: str, *, line: str, version: str) -> bytes | None:
    """The stored form of one scorer, inside a transaction; None when the line has no such one."""
    rows = tx.run(_GET, {"tenant": tenant, "of_line": line, "of_version": version})
    return bytes(rows[0][0]) if rows else None


async def blob(db: Database, tenant: str, *, line: str, version: str) -> bytes | None:
    """The stored form of one scorer; None when the line has no such one."""
    rows = await db.read(_GET, {"tenant": tenant, "of_line": line, "of_version": version})
    return bytes(rows[0][0]) if rows else None


async def of_line(db: Database, tenant: str, *, line: str) -> list[Row]:
    """(version, created_ms, by, report) of a line's scorers, newest first."""
    return await db.read(_LIST, {"tenant": tenant, "of_line": line})
