"""Short ways to look behind the HTTP surface in tests."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from service.storage.query import Query
from tests.harness import Client


async def rows(client: Client, *columns: Any, where: Any = None) -> list[tuple[Any, ...]]:
    """Some columns of a table, after everything that is buffered was written."""
    await client.settled()
    statement = select(*columns)
    if where is not None:
        statement = statement.where(where)
    return await client.cache.db.read(Query("peek", statement), {})


def problem(reply: Any, status: int, code: str | None = None) -> dict[str, Any]:
    """The problem document of a refused call; asserts its form (RFC 9457)."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = reply.json()
    assert found["status"] == status
    assert {"type", "title", "detail", "code"} <= found.keys()
    if code is not None:
        assert (found["code"], found["type"]) == (code, f"urn:surehit:problem:{code}")
    return found
