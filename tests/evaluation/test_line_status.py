"""Which state a line is in, from its rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import line_status, tuning
from evaluation.drift import population_stability_index
from tests.evaluation.desks import logged, verdicts
from tests.evaluation.test_tuning import judged, shadow
from tests.harness import Clock, running


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=50, max_size=300),
    st.integers(min_value=0, max_value=100),
)
def test_a_sketch_of_scores_is_as_good_as_the_scores(finite: list[float], without: int) -> None:
    """Compared with itself a window has not moved, but for ties that quantiles smear."""
    score = np.concatenate([np.asarray(finite), np.full(without, -np.inf)])
    back = line_status.scores_of(line_status.sketch(score))
    assert np.isneginf(back).mean() == pytest.approx(without / score.size, abs=0.01)
    if len(set(finite)) == len(finite):
        assert population_stability_index(back, score) < 0.1


async def test_the_states_of_a_line_from_nothing_to_expired(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)

        async def state() -> str:
            return str(await line_status.state_of(desk, await desk.policy("default", "faq")))

        assert (await state()).startswith("collecting (0 of about ")
        await logged(client, *judged(400, seed=1))
        assert (await state()).startswith("collecting (400 of about ")
        await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert await state() == "certified"
        clock.turn(29 * 86_400)
        assert await state() == "certified"
        clock.turn(86_400)
        assert await state() == "expired (age)"
        await client.call("PATCH", "/v1/lines/faq", {"threshold": 0.99})
        assert (await state()).startswith("collecting")
        await client.call("PATCH", "/v1/lines/faq", {"mode": "off"})
        assert await state() == "off"


async def test_scores_that_moved_expire_a_certificate(sqlite_url: str, tmp_path: Path) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        await logged(client, *judged(800, seed=1))
        tuned = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert tuned.decision is not None
        clock.turn(10)
        score, _ = judged(1_500, seed=2)
        await logged(client, score, verdicts([False] * 1_500), served_by=tuned.decision.id)
        policy = await desk.policy("default", "faq")
        assert str(await line_status.state_of(desk, policy)) == "certified"
        clock.turn(10)
        low = np.random.default_rng(3).uniform(0.75, 0.82, 5_000).tolist()
        await logged(client, low, verdicts([False] * 5_000), served_by=tuned.decision.id)
        assert str(await line_status.state_of(desk, policy)) == "expired (drift)"
