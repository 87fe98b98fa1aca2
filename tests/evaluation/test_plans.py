"""Sampling plans for a line: two stages, the budget kept, and a new floor starting new evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation import plans, records
from tests.evaluation.desks import logged
from tests.evaluation.test_tuning import judged, shadow
from tests.harness import Clock, running


async def test_a_line_without_labels_gets_the_first_stage(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        policy = await desk.policy("default", "faq")
        found = await plans.propose(desk, policy, label_budget=400)
        assert found.is_first
        assert found.plan.certify_rate == pytest.approx(120 / plans.LOOKUPS_GUESSED)


async def test_earlier_labels_raise_the_floor_and_the_budget_is_met(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        score, verdict = judged(300, seed=1, best=0.9)
        await logged(client, score, verdict)
        more = np.random.default_rng(2).uniform(0.75, 1.0, 3_000)
        await logged(client, more.tolist(), [None] * 3_000, sampled=[False] * 3_000)
        policy = await desk.policy("default", "faq")
        found = await plans.propose(desk, policy, label_budget=500)
        assert not found.is_first
        assert 0.85 <= found.plan.certify_floor <= 0.9
        assert found.labels_expected == pytest.approx(500, rel=0.05)
        clock.turn(1)
        await plans.put_in_force(
            desk, "default", line="faq", plan=found.plan, by="test", reason="planned"
        )
        policy = await desk.policy("default", "faq")
        assert policy.sampling == found.plan
        version = await desk.score_version(policy)
        evidence = await records.evidence(desk, policy, score_version=version)
        assert (len(evidence.labels), evidence.floor) == (0, found.plan.certify_floor)
        assert len(await records.pilot_labels(desk, policy, score_version=version)) == 300
