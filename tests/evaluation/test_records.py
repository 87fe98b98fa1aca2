"""What the log says about a lookup is what a lower threshold would really have served."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation import records
from evaluation.desk import desk_of
from index.testing import RiggedEmbedder
from tests.evaluation.desks import logged, queue
from tests.harness import Client, Clock, running

ASKED = "What does a plan for 12 people cost?"
REFUSED = "What does a plan for 21 people cost?"
BEHIND = "How much is a plan for 12 people?"
RIGGED = RiggedEmbedder({(ASKED, REFUSED): 0.98, (ASKED, BEHIND): 0.88, (REFUSED, BEHIND): 0.87})


async def row(client: Client) -> tuple[float, str | None, float, str]:
    """(score, guard, inclusion probability, entry text) of the newest lookup."""
    await client.cache.journal.flush()
    found = await client.cache.db.write(
        lambda tx: tx.text(
            "SELECT score, guard, inclusion_probability, entry_query FROM lookups ORDER BY id DESC LIMIT 1"
        )
    )
    return found[0]  # type: ignore[return-value]  # one row of four


@pytest.mark.parametrize("mode", ["shadow", "serve"])
async def test_behind_a_refused_candidate_the_log_names_the_one_that_a_lower_threshold_serves(
    database_url: str, tmp_path: Path, mode: str
) -> None:
    """And at that threshold serving does serve it, with the logged score."""
    async with running(database_url, tmp_path, clock=Clock(), embedder=RIGGED) as client:
        await queue(client, 0, mode=mode, threshold=0.95)
        await client.store(REFUSED, "21")
        await client.store(BEHIND, "12")
        assert (await client.lookup(ASKED))["outcome"] == "miss"
        score, guard, probability, text = await row(client)
        assert (score, guard, text) == (pytest.approx(0.88), None, BEHIND)
        assert probability == 1.0
        await client.call("PATCH", "/v1/lines/faq", {"mode": "serve", "threshold": score})
        hit = await client.lookup(ASKED)
        assert (hit["outcome"], hit["response"]) == ("hit", "12")


async def test_what_lies_under_the_floor_leaves_the_refusal_in_the_log(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=RIGGED) as client:
        sampling = {"certify_floor": 0.9}
        await queue(client, 0, threshold=0.95, sampling=sampling)
        await client.store(REFUSED, "21")
        await client.store(BEHIND, "12")
        await client.lookup(ASKED)
        score, guard, _, text = await row(client)
        assert (score, text) == (pytest.approx(0.98), REFUSED)
        assert guard is not None


async def test_an_entry_that_vanished_before_it_was_logged_does_not_void_the_evidence(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Its score was never in reach of a draw; counting it would leave a lookup with probability 0 above the floor."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=RIGGED) as client:
        await queue(client, 0, mode="shadow", threshold=0.95)
        stored = await client.store(BEHIND, "12")
        await client.cache.journal.flush()
        await client.lookup(ASKED)
        await client.call("DELETE", f"/v1/entries/{stored['entry_id']}")
        await client.cache.journal.flush()
        desk = desk_of(client.cache)
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        found = await records.evidence(desk, policy, score_version=version)
        above = found.lookups.score >= found.floor
        assert (found.lookups.inclusion_probability[above] > 0).all()
        assert len(found.lookups) == 1


async def test_a_lookup_of_the_plan_before_never_sets_the_smallest_rate(
    sqlite_url: str, tmp_path: Path
) -> None:
    """One that was under way while the plan changed is logged after the change, with the old rate."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=RIGGED) as client:
        await queue(client, 0, mode="shadow", threshold=0.95)
        await logged(client, [0.9] * 5, ["reusable"] * 5, probability=0.25)
        await logged(client, [0.9] * 5, ["reusable"] * 5, probability=0.0, sampled=[False] * 5)
        await logged(client, [0.9] * 20, ["reusable"] * 20)
        desk = desk_of(client.cache)
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        found = await records.evidence(desk, policy, score_version=version)
        assert (len(found.lookups), len(found.labels)) == (20, 20)
        assert set(found.lookups.inclusion_probability.tolist()) == {1.0}
