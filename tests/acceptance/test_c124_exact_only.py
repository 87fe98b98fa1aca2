"""C-124: exact-only must mean exact-only, and a falsy override must not be dropped."""

from pathlib import Path
from typing import Any

import pytest

from index.testing import RiggedEmbedder
from tests.harness import running

ASKED, REWORDED = "How do I export a report?", "How can I export a report?"
RIGGED = RiggedEmbedder({(ASKED, REWORDED): 0.999})


async def test_c124_neither_override_nor_exact_only_line_serves_by_meaning(
    database_url: str, tmp_path: Path
) -> None:
    """T1 with tiers ["exact"] or threshold 1.0, T2 exact-only, before and after a restart: all miss."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        await client.line(headers=t1)
        await client.line(headers=t2, mode="exact")
        for headers in (t1, t2):
            await client.store(ASKED, "a", headers=headers)
        assert (await client.lookup(REWORDED, headers=t1)).get("tier") == "semantic"
        assert (await client.lookup(REWORDED, headers=t1, tiers=["exact"]))["reason"] == "mode"
        await client.line(headers=t1, threshold=1.0)
        below = await client.lookup(REWORDED, headers=t1)
        assert (below["reason"], below["score"]) == ("below_threshold", 0.999)
        assert (await client.lookup(REWORDED, headers=t2))["reason"] == "mode"
        await client.call("PATCH", "/v1/lines/faq", {"ttl_s": 60}, headers=t2)
        assert (await client.lookup(REWORDED, headers=t2))["reason"] == "mode"
    async with running(database_url, tmp_path, embedder=RIGGED) as again:
        assert (await again.lookup(REWORDED, headers=t2))["reason"] == "mode"
        assert (await again.lookup(REWORDED, headers=t1))["reason"] == "below_threshold"
        for headers in (t1, t2):
            assert (await again.lookup(ASKED, headers=headers))["tier"] == "exact"


@pytest.mark.parametrize("tiers", [[], "", 0, False, {}, ["semantic"], [None], "exact"])
async def test_c124_falsy_and_odd_overrides_are_refused(
    sqlite_url: str, tmp_path: Path, tiers: Any
) -> None:
    """An override is honoured or a 4xx, never ignored."""
    async with running(sqlite_url, tmp_path) as client:
        body = {"line": "faq", "prompt": "q", "tiers": tiers}
        reply = await client.call("POST", "/v1/lookup", body)
        assert reply.status_code == 422
        assert reply.json()["errors"][0]["field"].startswith("tiers")


@pytest.mark.parametrize("threshold", [0, 0.0])
async def test_c124_threshold_zero_is_zero(
    sqlite_url: str, tmp_path: Path, threshold: float
) -> None:
    """0 is a value: a candidate at 0.999 hits, one at -0.2 doesn't; false and empty are 4xx."""
    far = "Where is the office?"
    rigged = RiggedEmbedder({(ASKED, REWORDED): 0.999, (ASKED, far): -0.2, (REWORDED, far): -0.2})
    async with running(sqlite_url, tmp_path, embedder=rigged) as client:
        await client.line(threshold=threshold)
        assert (await client.call("GET", "/v1/lines/faq")).json()["threshold"] == 0
        await client.store(ASKED, "a")
        assert (await client.lookup(REWORDED)).get("tier") == "semantic"
        assert (await client.lookup(far))["reason"] == "below_threshold"
        for odd in (False, "", None, "0.9", [], 1.01, -1.01):
            reply = await client.call("PATCH", "/v1/lines/faq", {"threshold": odd})
            assert reply.status_code == 422, odd
