"""A user's own verdict: recorded, in force at once, and kept through restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.testing import RiggedEmbedder
from service.storage.models import Feedback
from tests.harness import running
from tests.service.ways import problem, rows

ASKED, WRONG, RIGHT = "Reset the meter", "Reset the heater", "Set the meter back"
RIGGED = RiggedEmbedder({(ASKED, WRONG): 0.93, (ASKED, RIGHT): 0.96, (WRONG, RIGHT): 0.91})
OPEN = {"guards": dict.fromkeys(("slot", "name", "extra"), False), "rules": {"acting": False}}


async def test_block_holds_through_restore_restart_and_other_workers(
    database_url: str, tmp_path: Path
) -> None:
    async with (
        running(database_url, tmp_path, embedder=RIGGED) as client,
        running(database_url, tmp_path, embedder=RIGGED) as other,
    ):
        await client.line(**OPEN)
        await client.store(ASKED, "Hold the button.")
        hit = await client.lookup(WRONG)
        assert (hit["tier"], (await other.lookup(WRONG))["tier"]) == ("semantic", "semantic")
        body = {"lookup_id": hit["lookup_id"], "verdict": "not_reusable", "reason": "entity"}
        reply = await client.call("POST", "/v1/feedback", body)
        assert reply.json() == {"recorded": True, "blocked": True, "evicted": False}
        for worker in (client, other):
            found = await worker.lookup(WRONG)
            assert (found["reason"], found["guard"], found["score"]) == ("guarded", "blocked", 0.93)
        await client.call("POST", "/v1/invalidate", {"line": "faq"})
        await client.store(ASKED, "Hold the button.")
        assert (await client.lookup(WRONG))["guard"] == "blocked"
    async with running(database_url, tmp_path, embedder=RIGGED) as again:
        assert (await again.lookup(WRONG))["guard"] == "blocked"
        # nearer to what was stored than to what was blocked
        assert (await again.lookup(RIGHT)).get("tier") == "semantic"
        assert (await again.lookup(ASKED))["tier"] == "exact"
        kept = await rows(
            again, Feedback.verdict, Feedback.query, Feedback.entry_query, Feedback.score
        )
        assert kept == [("not_reusable", WRONG, ASKED, 0.93)]


@pytest.mark.parametrize("verdict", ["reusable", "unsure"])
async def test_other_verdicts_are_recorded_and_block_nothing(
    sqlite_url: str, tmp_path: Path, verdict: str
) -> None:
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line(**OPEN)
        await client.store(ASKED, "a")
        hit = await client.lookup(WRONG)
        body = {"lookup_id": hit["lookup_id"], "verdict": verdict, "evict": True, "note": "n"}
        reply = await client.call("POST", "/v1/feedback", body)
        assert reply.json() == {"recorded": True, "blocked": False, "evicted": False}
        assert (await client.lookup(WRONG))["outcome"] == "hit"
        assert await rows(client, Feedback.verdict, Feedback.note) == [(verdict, "n")]


async def test_exact_hit_has_no_pair_and_is_mended_by_eviction(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path) as client:
        await client.store("q", "bad")
        hit = await client.lookup("q")
        body = {"lookup_id": hit["lookup_id"], "verdict": "not_reusable"}
        reply = await client.call("POST", "/v1/feedback", body)
        assert reply.json() == {"recorded": True, "blocked": False, "evicted": False}
        assert (await client.lookup("q"))["response"] == "bad"
        reply = await client.call("POST", "/v1/feedback", body | {"evict": True})
        assert reply.json() == {"recorded": True, "blocked": False, "evicted": True}
        assert (await client.lookup("q"))["outcome"] == "miss"


async def test_unknown_and_foreign_lookups_are_404_and_bad_bodies_422(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        await client.line(headers=t1, **OPEN)
        await client.store(ASKED, "a", headers=t1)
        exact = (await client.lookup(ASKED, headers=t1))["lookup_id"]
        semantic = (await client.lookup(WRONG, headers=t1))["lookup_id"]
        for lookup_id in (exact, semantic, "", "x", "lkp_0000000000000001", exact[:20] + ".zz"):
            body = {"lookup_id": lookup_id, "verdict": "not_reusable", "evict": True}
            reply = await client.call("POST", "/v1/feedback", body, headers=t2)
            problem(reply, 404, "not-found")
        assert await rows(client, Feedback.id) == []
        for bad in ({}, {"verdict": "wrong"}, {"verdict": "unsure", "note": "a\x00"}, {"x": 1}):
            body = {"lookup_id": exact, "verdict": "unsure"} | bad
            if not bad:
                del body["verdict"]
            problem(await client.call("POST", "/v1/feedback", body, headers=t1), 422)
        assert (await client.lookup(WRONG, headers=t1))["outcome"] == "hit"
