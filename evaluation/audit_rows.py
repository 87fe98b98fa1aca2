"""The rows that an audit of live traffic reads; always of one tenant and line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import bindparam, select

from evaluation.audit.live import Near
from evaluation.audit.records import Record
from service.storage.database import Database
from service.storage.models import Entry, Lookup
from service.storage.query import Query
from service.wire.requests import WIRE_FIELD

PAGE = 50
MAX_BYTES = 16 << 20
"""Stored requests that are read at most, in bytes."""

_SCORES = Query(
    "audit_scores",
    select(Lookup.score, Lookup.query, Lookup.entry_query)
    .where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms >= bindparam("since"),
    )
    .order_by(Lookup.at_ms.desc())
    .limit(bindparam("most")),
)
_REQUESTS = Query(
    "audit_requests",
    select(Entry.id, Entry.created_ms, Entry.scope, Entry.request)
    .where(
        Entry.tenant_id == bindparam("tenant"),
        Entry.line == bindparam("of_line"),
        Entry.created_ms >= bindparam("since"),
        Entry.id < bindparam("before"),
    )
    .order_by(Entry.id.desc())
    .limit(PAGE),
)


async def scores(
    db: Database, tenant: str, *, line: str, since_ms: int, most: int
) -> tuple[int, list[Near]]:
    """(newest lookups of the log that were read, those of them that had a candidate)."""
    rows = await db.read(
        _SCORES, {"tenant": tenant, "of_line": line, "since": since_ms, "most": most}
    )
    near = [Near(row[0], row[1], row[2]) for row in rows if row[0] is not None and row[2]]
    return len(rows), near


async def stored_requests(
    db: Database, tenant: str, *, line: str, since_ms: int, most: int
) -> list[Record]:
    """The newest stored requests, oldest first, as records; at most `most`, and MAX_BYTES in all.

    They are in canonical form (`service.key`), without what the proxy adds to them, and without embeddings, which
    are no prompts.
    """
    found: list[Any] = []
    before, size = (1 << 63) - 1, 0
    while len(found) < most and size < MAX_BYTES:
        rows = await db.read(
            _REQUESTS, {"tenant": tenant, "of_line": line, "since": since_ms, "before": before}
        )
        found += rows
        size += sum(len(row[3]) for row in rows)
        if len(rows) < PAGE:
            break
        before = rows[-1][0]
    return list(_records(reversed(found[:most]), line))


def _records(rows: Iterator[Any], line: str) -> Iterator[Record]:
    for number, (_, created_ms, scope, body) in enumerate(rows, start=1):
        request = orjson.loads(body)
        wire = request.pop(WIRE_FIELD, None) if isinstance(request, dict) else None
        if isinstance(wire, dict) and wire.get("api") == "openai.embeddings":
            continue
        yield Record(number, request, line=line, scope=scope, ts_s=created_ms / 1000)
