"""Blocked pairs: a query and an answer that somebody called not reusable."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from service.storage.database import Database, Row, Transaction
from service.storage.models import Block
from service.storage.query import Query

_ADD = Query(
    "add_block", insert(Block).values({c.name: bindparam(c.name) for c in Block.__table__.columns})
)
_OF_LINE = Query(
    "blocks_of_line",
    select(Block.scope, Block.context_hash, Block.query, Block.entry_query, Block.response_hash)
    .where(Block.tenant_id == bindparam("tenant"), Block.line == bindparam("line"))
    .order_by(Block.id),
    reads_few=True,
)


def add(
    tx: Transaction,
    tenant: str,
    *,
    block_id: int,
    line: str,
    scope: str,
    context_hash: bytes,
    query: str,
    entry_query: str,
    response_hash: bytes,
    source: str,
    by: str,
    now: int,
) -> None:
    """Block a pair for good."""
    tx.run(
        _ADD,
        {
            "id": block_id,
            "tenant_id": tenant,
            "line": line,
            "scope": scope,
            "context_hash": context_hash,
            "query": query,
            "entry_query": entry_query,
            "response_hash": response_hash,
            "created_ms": now,
            "source": source,
            "by": by,
        },
    )


async def of_line(db: Database, tenant: str, *, line: str) -> list[Row]:
    """(scope, context hash, query, entry query, response hash) of a line's blocked pairs."""
    return await db.read(_OF_LINE, {"tenant": tenant, "line": line})
