"""Erasure of one user: every row and every text goes, other scopes and tenants keep theirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import LargeBinary, Text, select

from service.storage.models import Base
from service.storage.query import Query
from tests.harness import Client, running
from tests.service.ways import problem

SECRET = "zanzibar"
ALL = {"certify_rate": 1.0, "explore_rates": [1.0] * 8, "guarded_rate": 1.0}


async def _mentions(client: Client) -> set[str]:
    """Tables that hold the secret in some text or blob."""
    found = set()
    for table in Base.metadata.sorted_tables:
        columns = [c for c in table.c if isinstance(c.type, Text | LargeBinary) or "json" in c.name]
        if not columns:
            continue
        for row in await client.cache.db.read(Query("all", select(*columns)), {}):
            if any(
                SECRET in (v if isinstance(v, str) else bytes(v or b"").decode("latin-1"))
                for v in row
            ):
                found.add(table.name)
    return found


async def _use(client: Client, scope: str, headers: dict[str, str]) -> None:
    """Leave traces everywhere: entries, log, queue, fills, verdicts on both tiers, blocks."""
    kw = {"scope": scope, "headers": headers}
    text = f"Where is the {SECRET} manual of {scope}"
    await client.store(text, f"{SECRET} shelf", **kw)
    exact = await client.lookup(text, **kw)
    near = await client.lookup(f"{text}, please?", **kw)
    near2 = await client.lookup(f"{text} then?", **kw)
    await client.lookup(f"Another {SECRET} question", **kw)
    for found, verdict in ((exact, "unsure"), (near, "not_reusable"), (near2, "reusable")):
        body = {"lookup_id": found["lookup_id"], "verdict": verdict, "note": SECRET}
        reply = await client.call("POST", "/v1/feedback", body, headers=headers)
        assert reply.status_code == 200


async def test_erasure_leaves_no_text_of_the_user(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        for headers in (t1, t2):
            await client.line(headers=headers, sampling=ALL, threshold=0.5)
        await _use(client, "u1", t1)
        await client.settled()
        everywhere = await _mentions(client)
        assert {"entries", "lookups", "review_items", "fills", "feedback", "blocks"} <= everywhere
        held = await client.lookup(f"A late {SECRET}", scope="u1", headers=t1)

        reply = await client.call("POST", "/v1/erase", {"scope": "u1"}, headers=t1)
        assert reply.status_code == 200
        counts = reply.json()
        assert counts["entries"] == 1
        assert counts["feedback"] == 3
        assert all(n > 0 for n in counts.values()), counts
        await client.settled()
        assert await _mentions(client) == set()
        # an answer that was under way can't come back
        late = {"lookup_id": held["lookup_id"], "response": SECRET}
        reply = await client.call("POST", "/v1/store", late, headers=t1)
        assert reply.status_code in (404, 409)
        assert await _mentions(client) == set()
        again = await client.call("POST", "/v1/erase", {"scope": "u1"}, headers=t1)
        assert set(again.json().values()) <= {0, 3}


async def test_erasure_spares_other_scopes_and_tenants(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        for headers in (t1, t2):
            await client.line(headers=headers, sampling=ALL, threshold=0.5)
        for scope, headers in (("u1", t1), ("u2", t1), ("u1", t2)):
            await _use(client, scope, headers)
        await client.call("POST", "/v1/erase", {"scope": "u1"}, headers=t1)
        text = f"Where is the {SECRET} manual of "
        assert (await client.lookup(text + "u1", scope="u1", headers=t1))["outcome"] == "miss"
        assert (await client.lookup(text + "u2", scope="u2", headers=t1))["tier"] == "exact"
        assert (await client.lookup(text + "u1", scope="u1", headers=t2))["tier"] == "exact"


@pytest.mark.parametrize(
    "body", [{}, {"scope": ""}, {"scope": "a\x00"}, {"scope": "u", "line": "x"}]
)
async def test_unclear_erasure_is_refused(sqlite_url: str, tmp_path: Path, body: object) -> None:
    async with running(sqlite_url, tmp_path) as client:
        problem(await client.call("POST", "/v1/erase", body), 422)


async def test_erasure_needs_an_admin(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        reply = await client.call(
            "POST", "/v1/erase", {"scope": "u"}, headers=await client.key("t1", role="use")
        )
        problem(reply, 403, "forbidden")
