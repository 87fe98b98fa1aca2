"""From rows to a decision in force: what a run of the tuner does, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation import decision_rows, publish, records, tuning
from evaluation.desk import Desk, desk_of
from evaluation.publish import Void
from evaluation.threshold import error_of_look
from tests.evaluation.desks import logged, verdicts
from tests.harness import Client, Clock, running

ALL = {
    "certify_rate": 1.0,
    "certify_floor": 0.7,
    "bin_edges": [0.7],
    "explore_rates": [0.0],
    "guarded_rate": 1.0,
}


async def shadow(client: Client, **settings: Any) -> Desk:
    """A line of which all is sampled, serving nothing yet."""
    await client.line(
        mode="shadow", threshold=0.95, sampling=ALL, target_false_hit_rate=0.02, **settings
    )
    await client.settled()
    return desk_of(client.cache)


def judged(n: int, seed: int, best: float = 0.80) -> tuple[list[float], list[str]]:
    """Reusable from `best` up, not below."""
    score = np.random.default_rng(seed).uniform(0.75, 1.0, n)
    return score.tolist(), verdicts((score < best).tolist())


async def test_a_certified_threshold_is_in_force_at_the_next_lookup(
    database_url: str, tmp_path: Path
) -> None:
    """C-137 (a): decision, line record and revision change together, and the line serves by it."""
    async with running(database_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        await logged(client, *judged(400, seed=1))
        reply = await client.call("POST", "/v1/lines/faq/tune", {"apply": True, "reason": "first"})
        found = reply.json()
        assert found["certified"]
        assert found["applied"]
        assert found["threshold"] == pytest.approx(0.80, abs=0.011)
        line = (await client.call("GET", "/v1/lines/faq")).json()
        assert (line["mode"], line["certified"]) == ("serve", True)
        assert line["threshold"] == found["threshold"]
        policy = await desk.policy("default", "faq")
        assert publish.public_id(policy.decision_id or 0) == found["decision_id"]
        decisions = (await client.call("GET", "/v1/lines/faq/decisions")).json()
        assert [(e["act"], e["reason"]) for e in decisions["events"]] == [("applied", "first")]
        evidence = decisions["decisions"][0]["evidence"]
        assert evidence["certificate"]["labels"] > 0
        assert len(evidence["curve"]["thresholds"]) == 60
        await client.store("How do I reset my password?", "a")
        hit = await client.lookup("How do I reset my  password?")
        assert (hit["outcome"], hit["threshold"]) == ("hit", found["threshold"])
        progress = (await client.call("GET", "/v1/review/progress?line=faq")).json()
        assert progress["state"] == "certified"


@pytest.mark.parametrize("case", ["few", "one_sided", "none", "overlap"])
async def test_what_cannot_be_certified_leaves_the_threshold_alone(
    sqlite_url: str, tmp_path: Path, case: str
) -> None:
    """C-137 (b)-(e): declines with a number, or says that no number helps; nothing about the line changes."""
    score, verdict = {
        "few": judged(8, seed=2),
        "one_sided": (np.linspace(0.75, 1.0, 100).tolist(), ["reusable"] * 100),
        "none": ([], []),
        "overlap": (
            np.linspace(0.75, 1.0, 200).tolist(),
            verdicts((np.random.default_rng(3).permutation(200) < 100).tolist()),
        ),
    }[case]
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        await logged(client, score, verdict)
        before = await desk.policy("default", "faq")
        tuned = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        after = await desk.policy("default", "faq")
        assert (after.config, after.revision) == (before.config, before.revision)
        assert tuned.decision is None
        if case == "overlap":
            assert tuned.answer == "unreachable"
            assert "exact tier" in tuned.sentence()
        else:
            assert tuned.answer == "missing"
            assert (tuned.labels_missing or 0) >= 1


async def test_repeating_a_run_is_the_same_look_and_the_same_decision(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        await logged(client, *judged(400, seed=1))
        runs = [await tuning.tune(desk, "default", line="faq", by="test") for _ in range(3)]
        assert [r.report["look"] for r in runs] == [1, 1, 1]
        assert len({r.decision.id for r in runs if r.decision}) == 1
        assert len(await decision_rows.of_line(desk.db, "default", line="faq")) == 1


async def test_a_look_at_grown_evidence_is_stricter_and_a_new_window_starts_afresh(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Looks that share labels are counted; applying a decision starts evidence that shares none."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        await logged(client, *judged(40, seed=1))
        first = await tuning.tune(desk, "default", line="faq", by="test")
        assert first.answer == "missing"
        clock.turn(60)
        await logged(client, *judged(400, seed=2))
        second = await tuning.tune(desk, "default", line="faq", by="test")
        assert second.report["look"] == 2
        needed = second.report["certificate"]["capital_needed"]
        assert needed == pytest.approx(1.0 / error_of_look(0.05, 2))
        other_target = await tuning.tune(desk, "default", line="faq", target=0.1, by="test")
        assert other_target.report["look"] == 3  # the same labels tested for something else
        await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        clock.turn(60)
        await logged(client, *judged(400, seed=4))
        third = await tuning.tune(desk, "default", line="faq", by="test")
        assert (third.report["look"], third.report["lookups"]) == (1, 400)


async def test_an_item_without_a_verdict_counts_as_unsure_once_its_window_is_closed(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Open windows are not tested; closed ones count what is missing as bad."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        await logged(client, [0.9] * 100, ["reusable"] * 98 + [None] * 2)
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        still_open = await records.evidence(desk, policy, score_version=version)
        assert (len(still_open.labels), still_open.waiting) == (0, 2)
        clock.turn(3_601)
        closed = await records.evidence(desk, policy, score_version=version)
        assert (len(closed.labels), int(closed.labels.unsure.sum())) == (100, 2)


async def test_unreviewed_windows_are_not_tested_at_all(sqlite_url: str, tmp_path: Path) -> None:
    """Under 95 % of verdicts a past window stays out, with its lookups."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        await logged(client, [0.9] * 100, ["reusable"] * 90 + [None] * 10)
        clock.turn(3_601)
        await logged(client, [0.9] * 50, ["reusable"] * 50)
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        found = await records.evidence(desk, policy, score_version=version)
        assert (len(found.labels), len(found.lookups), found.windows) == (50, 50, 1)


async def test_guarded_and_unsampled_lookups_are_in_the_log_and_imported_labels_are_not(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        await logged(client, [0.9] * 10, ["reusable"] * 10)
        await logged(client, [0.95] * 5, ["not_reusable"] * 5, guard="number")
        await logged(client, [0.9] * 5, [None] * 5, sampled=[False] * 5)
        body = b'{"query":"a","entry_query":"b","verdict":"not_reusable"}\n'
        reply = await client.call("POST", "/v1/labels/import?line=faq", body)
        assert reply.json()["added"] == 1
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        found = await records.evidence(desk, policy, score_version=version)
        assert (len(found.lookups), len(found.labels)) == (20, 15)
        assert np.isneginf(found.lookups.score).sum() == 5
        assert int(found.labels.false_hit.sum()) == 5
        pilot = await records.pilot_labels(desk, policy, score_version=version)
        assert len(pilot) == 1


async def test_an_answer_that_was_bad_by_itself_never_helps_a_certificate(
    sqlite_url: str, tmp_path: Path
) -> None:
    """It is shown apart and counts as bad."""
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        await logged(client, [0.9], ["not_reusable"])
        await desk.db.write(lambda tx: tx.text("UPDATE review_items SET reason='answer_bad'"))
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        labels = (await records.evidence(desk, policy, score_version=version)).labels
        assert labels.original_bad.tolist() == [True]
        assert labels.counts_as_bad.tolist() == [True]
        assert labels.false_hit.tolist() == [False]


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.9},
        {"mode": "serve"},
        {"guards": {"number": False}},
        {"policy_version": "2"},
        {"sampling": {"certify_floor": 0.8}},
        {"sampling": {"certify_rate": 0.5}},
    ],
)
async def test_a_change_of_what_is_served_starts_new_evidence(
    sqlite_url: str, tmp_path: Path, change: dict[str, Any]
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        await logged(client, [0.9] * 20, ["reusable"] * 20)
        clock.turn(10)
        reply = await client.call("PATCH", "/v1/lines/faq", change)
        assert reply.status_code == 200, reply.text
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        assert len((await records.evidence(desk, policy, score_version=version)).labels) == 0


async def test_a_change_of_the_target_or_of_second_opinions_keeps_the_evidence(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        await logged(client, [0.9] * 20, ["reusable"] * 20)
        clock.turn(10)
        change = {"target_false_hit_rate": 0.05, "sampling": {"second_review_rate": 0.5}}
        assert (await client.call("PATCH", "/v1/lines/faq", change)).status_code == 200
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        assert len((await records.evidence(desk, policy, score_version=version)).labels) == 20


async def test_rolling_back_applies_an_older_decision_and_void_ones_say_why(
    database_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(database_url, tmp_path, clock=clock) as client:
        desk = await shadow(client)
        await logged(client, *judged(400, seed=1, best=0.85))
        first = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        clock.turn(60)
        await logged(client, *judged(600, seed=2, best=0.78))
        second = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert first.decision is not None
        assert second.decision is not None
        assert second.decision.threshold < first.decision.threshold
        url = f"/v1/lines/faq/decisions/{publish.public_id(first.decision.id)}/apply"
        assert (await client.call("POST", url, {"reason": "back"})).status_code == 200
        assert (await desk.policy("default", "faq")).config.threshold == first.decision.threshold
        for change, words in (
            ({"guards": {"number": False}}, "guard set"),
            ({"guards": {}, "policy_version": "2"}, "policy version"),
        ):
            assert (await client.call("PATCH", "/v1/lines/faq", change)).status_code == 200
            if "policy_version" in change:
                await client.call("PATCH", "/v1/lines/faq", {"guards": {"number": True}})
            refused = await client.call("POST", url, {"reason": "again"})
            assert refused.status_code == 409
            assert words in refused.json()["detail"]
        line = (await client.call("GET", "/v1/lines/faq")).json()
        assert line["certified"] is False


async def test_another_tenants_decision_cannot_be_applied(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        await logged(client, *judged(400, seed=1))
        tuned = await tuning.tune(desk, "default", line="faq", by="test")
        assert tuned.decision is not None
        headers = await client.key("other")
        await client.line(headers=headers)
        url = f"/v1/lines/faq/decisions/{publish.public_id(tuned.decision.id)}/apply"
        reply = await client.call("POST", url, {"reason": ""}, headers=headers)
        assert reply.status_code == 404
        seen = await client.call("GET", "/v1/lines/faq/decisions", headers=headers)
        assert seen.json()["decisions"] == []


async def test_the_curve_never_tells_whether_the_labels_would_pass(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Looking at the page is not a look at the labels: before a run it shows a planning figure, whatever they say."""
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        await shadow(client)
        shown = []
        for best in (0.75, 0.999):
            await client.cache.db.write(lambda tx: tx.text("DELETE FROM review_items"))
            await logged(client, *judged(300, seed=1, best=best))
            curve = (await client.call("GET", "/v1/lines/faq/curve")).json()
            assert curve["proposed"] is None
            shown.append(curve["not_certified"])
        assert shown[0] == shown[1]
        assert shown[0]["reason"] == "not_tuned_yet"


async def test_void_is_a_conflict(sqlite_url: str, tmp_path: Path) -> None:
    """So that the command's exit code is 1 and the route's status 409."""
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client)
        await logged(client, *judged(400, seed=1))
        tuned = await tuning.tune(desk, "default", line="faq", by="test")
        assert tuned.decision is not None
        await client.call("PATCH", "/v1/lines/faq", {"policy_version": "9"})
        with pytest.raises(Void, match="policy version"):
            await publish.apply(
                desk, "default", line="faq", decision_id=tuned.decision.id, by="t", reason=""
            )
