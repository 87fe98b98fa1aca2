"""The monitor at work: it stays quiet while the promise holds, and tightens at once when it doesn't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation import publish, tuning, watch
from service.sampling import SamplingPlan
from tests.evaluation.desks import label, logged, next_item, verdicts
from tests.evaluation.test_tuning import judged, shadow
from tests.harness import Client, Clock, running


async def certified(client: Client, clock: Clock, seed: int, best: float, n: int = 400) -> Any:
    """A decision in force, of labels that are good from `best` up."""
    desk = await shadow(client) if seed == 1 else None
    await logged(client, *judged(n, seed=seed, best=best))
    from evaluation.desk import desk_of

    desk = desk or desk_of(client.cache)
    tuned = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
    assert tuned.decision is not None
    clock.turn(60)
    return desk, tuned.decision


async def serve(client: Client, decision: Any, bad: list[bool]) -> None:
    """Reviewed hits under a decision."""
    n = len(bad)
    await logged(client, [0.95] * n, verdicts(bad), served_by=decision.id)


async def test_a_line_that_keeps_its_promise_raises_no_alarm(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk, decision = await certified(client, clock, 1, 0.85)
        rng = np.random.default_rng(5)
        await serve(client, decision, (rng.random(500) < 0.01).tolist())
        state = await watch.check(desk, "default", line="faq")
        assert state is not None
        assert (state.labels, state.status) == (500, "quiet")
        assert (await desk.policy("default", "faq")).decision_id == decision.id
        assert await watch.state_of(desk, await desk.policy("default", "faq")) == state


async def test_an_alarm_goes_back_to_the_last_stricter_certified_threshold(
    database_url: str, tmp_path: Path
) -> None:
    """The looser decision is void from then on; nothing is loosened again without a new certificate."""
    clock = Clock()
    async with running(database_url, tmp_path, clock=clock) as client:
        desk, strict = await certified(client, clock, 1, 0.88, n=800)
        _, loose = await certified(client, clock, 2, 0.78, n=600)
        assert loose.threshold < strict.threshold
        await serve(client, loose, [True] * 8 + [False] * 20)
        await watch.check(desk, "default", line="faq")
        policy = await desk.policy("default", "faq")
        assert (policy.config.threshold, policy.decision_id) == (strict.threshold, strict.id)
        assert policy.config.mode == "serve"
        seen = (await client.call("GET", "/v1/lines/faq/decisions")).json()
        assert [e["act"] for e in seen["events"][:2]] == ["applied", "alarm"]
        assert "false hits among" in seen["events"][0]["reason"]
        progress = (await client.call("GET", "/v1/review/progress?line=faq")).json()
        assert progress["state"] == "alarm"
        url = f"/v1/lines/faq/decisions/{publish.public_id(loose.id)}/apply"
        refused = await client.call("POST", url, {"reason": "try again"})
        assert refused.status_code == 409
        assert "alarm" in refused.json()["detail"]


async def test_without_a_stricter_decision_an_alarm_leaves_the_exact_tier_alone(
    sqlite_url: str, tmp_path: Path
) -> None:
    """And a person who applies a certified decision ends the alarm."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk, decision = await certified(client, clock, 1, 0.85)
        await serve(client, decision, [True] * 8)
        await watch.check(desk, "default", line="faq")
        line = (await client.call("GET", "/v1/lines/faq")).json()
        assert (line["mode"], line["certified"]) == ("exact", False)
        assert (await client.lookup("anything at all"))["reason"] == "mode"
        progress = (await client.call("GET", "/v1/review/progress?line=faq")).json()
        assert progress["state"] == "alarm"


async def test_the_alarm_comes_with_the_label_that_fills_the_measure(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Over HTTP, through two reviewers who say no: in force before the reply to that label."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk, decision = await certified(client, clock, 1, 0.85)
        await logged(client, [0.95] * 10, [None] * 10, served_by=decision.id)
        modes = []
        for _ in range(10):
            for who in ("ann", "bo"):
                item = await next_item(client, who)
                if item is None:
                    break
                await label(client, item, who, "not_reusable", reason="number")
            modes.append((await desk.policy("default", "faq")).config.mode)
        assert modes[0] == "serve"
        assert modes[-1] == "exact"
        metrics = await client.call("GET", "/metrics")
        assert "alarms_raised" in metrics.text


async def test_a_verdict_that_is_taken_back_leaves_the_monitor(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk, decision = await certified(client, clock, 1, 0.85)
        await logged(client, [0.95], [None], served_by=decision.id)
        for who in ("ann", "bo"):
            await label(client, await next_item(client, who), who, "not_reusable")
        before = await watch.state_of(desk, await desk.policy("default", "faq"))
        assert before is not None
        assert before.false_hits == 1
        undone = await client.call("POST", "/v1/review/undo", {"line": "faq", "reviewer": "bo"})
        assert undone.json()["item_id"] is not None
        after = await watch.state_of(desk, await desk.policy("default", "faq"))
        assert after is not None
        assert (after.labels, after.false_hits, after.e) == (0, 0, 1.0)


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0.9, 0.1), (0.95, 0.1 + 0.2 - 0.02), (0.80, 0.05)]
)
def test_the_least_rate_is_the_smallest_of_any_score_that_is_served(
    threshold: float, expected: float
) -> None:
    plan = SamplingPlan(0.1, 0.85, (0.7, 0.9, 0.95), (0.05, 0.0, 0.2), 0.0)
    assert watch.least_rate(plan, threshold) == pytest.approx(expected)
