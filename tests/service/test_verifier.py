"""A line with a verifier: one threshold on one score, which a cross-encoder may raise inside a band."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import backtest, publish, records, tuning
from evaluation.desk import desk_of
from index.testing import RiggedEmbedder
from service.decision import Candidate, Refused
from service.score import VerifierRule
from service.scoring import to_verify, verified
from service.verifiers import Verifiers
from tests import cross_encoders
from tests.command import surehit
from tests.evaluation.desks import logged
from tests.evaluation.test_tuning import judged, shadow
from tests.harness import Client, Clock, running

STORED = "where is the manual"
SAME, OTHER, FAR, NEAREST = (
    "where is the manual please",
    "where is a manual",
    "where is any manual please",
    "where can the manual be found",
)
NUMBER, NUMBER_SAME = "where is manual 3", "where is manual 4 please"
RIGGED = RiggedEmbedder(
    {
        (STORED, SAME): 0.88,
        (STORED, OTHER): 0.88,
        (STORED, FAR): 0.70,
        (STORED, NEAREST): 0.97,
        (SAME, OTHER): 0.9,
        (SAME, FAR): 0.7,
        (SAME, NEAREST): 0.9,
        (OTHER, FAR): 0.7,
        (OTHER, NEAREST): 0.9,
        (FAR, NEAREST): 0.7,
        (NUMBER, NUMBER_SAME): 0.88,
    }
)
RULE: dict[str, Any] = {"name": "tiny", "low": 0.8, "high": 0.95, "accept": 0.9}
BAND = VerifierRule(name="tiny", digest="0" * 12, low=0.8, high=0.95, accept=0.9)


@asynccontextmanager
async def serving(url: str, folder: Path, **settings: Any) -> AsyncIterator[Client]:
    """A line that serves from 0.9 on, with a verifier that says yes to «please», and one entry."""
    cross_encoders.build(folder / "verifiers" / "tiny")
    async with running(url, folder, embedder=RIGGED, **settings) as client:
        await client.line(verifier=RULE)
        await client.store(STORED, "on the shelf")
        await loaded(client)
        yield client


async def loaded(client: Client) -> None:
    for slot in client.cache.verifiers._slots.values():
        if slot.loading is not None:
            await slot.loading


async def rows(client: Client, columns: str) -> list[Any]:
    from sqlalchemy import text

    from service.storage.query import Query

    await client.cache.journal.flush()
    found = Query("test_rows", text(f"SELECT {columns} FROM lookups ORDER BY at_ms, id"))
    return list(await client.cache.db.read(found, {}))


async def test_a_winner_in_the_band_is_served_when_both_texts_were_read_as_one(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path) as client:
        hit = await client.lookup(SAME)
        assert (hit["outcome"], hit["tier"], hit["score"]) == ("hit", "semantic", 0.95)
        missed = await client.lookup(OTHER)
        assert (missed["outcome"], missed["reason"]) == ("miss", "below_threshold")
        assert missed["score"] == pytest.approx(0.88, abs=1e-6)
        under = await client.lookup(FAR)
        assert under["outcome"] == "miss"
        over = await client.lookup(NEAREST)
        assert over["outcome"] == "hit"
        logged = await rows(client, "score, cosine, verified, score_version")
        assert [row[0] for row in logged] == pytest.approx([0.95, 0.88, 0.70, 0.97], abs=1e-6)
        assert [row[1] for row in logged] == pytest.approx([0.88, 0.88, 0.70, 0.97], abs=1e-6)
        said = [row[2] for row in logged]
        assert said[0] > 0.98
        assert said[1] < 0.03
        assert said[2:] == [None, None]  # outside the band it was not asked
        policy = client.cache.policies.held("default", "faq")
        assert policy is not None
        assert policy.config.verifier is not None
        version = f"+verifier-{policy.config.verifier.digest}-0.8-0.95-0.9"
        assert {row[3] for row in logged} == {await desk_of(client.cache).score_version(policy)}
        assert version in logged[0][3]


async def test_shadow_logs_the_score_that_serving_would_have(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with serving(sqlite_url, tmp_path) as client:
        await client.call("PATCH", "/v1/lines/faq", {"mode": "shadow"})
        missed = await client.lookup(SAME)
        assert (missed["reason"], missed["score"]) == ("shadow", 0.95)


async def test_guards_come_first_and_are_never_overruled(sqlite_url: str, tmp_path: Path) -> None:
    async with serving(sqlite_url, tmp_path) as client:
        await client.store(NUMBER, "three")
        refused = await client.lookup(NUMBER_SAME)
        assert refused["outcome"] == "miss"
        assert refused["score"] == pytest.approx(0.88, abs=1e-6)
        assert (await rows(client, "verified"))[-1][0] is None
        reply = await client.call(
            "POST", "/v1/explain", {"line": "faq", "a": NUMBER, "b": NUMBER_SAME}
        )
        assert reply.json()["verifier"] is None


async def test_explain_says_what_it_said(sqlite_url: str, tmp_path: Path) -> None:
    async with serving(sqlite_url, tmp_path) as client:
        for asked in (SAME, OTHER):
            body = {"line": "faq", "a": STORED, "b": asked}
            said = (await client.call("POST", "/v1/explain", body)).json()
            found = await client.lookup(asked)
            assert said["score"] == found["score"]
            assert said["served"] == (found["outcome"] == "hit")
            assert said["verifier"]["name"] == "tiny"
            assert (said["verifier"]["said"] > 0.9) == said["served"]


@pytest.mark.parametrize("trouble", ["raises", "hangs", "changed", "too long"])
async def test_whatever_goes_wrong_the_candidate_counts_as_not_verified(
    sqlite_url: str, tmp_path: Path, trouble: str
) -> None:
    async with serving(sqlite_url, tmp_path, verify_budget_ms=300) as client:
        assert (await client.lookup(SAME))["outcome"] == "hit"
        (slot,) = client.cache.verifiers._slots.values()
        assert slot.reader is not None
        free = threading.Event()
        if trouble == "raises":
            slot.reader.model._session = None  # type: ignore[attr-defined]
        elif trouble == "hangs":
            slot.reader._pairs.put(lambda: free.wait(20) and None)  # as a model in a long call
        elif trouble == "changed":
            (tmp_path / "verifiers" / "tiny" / "more.txt").write_text("x", encoding="utf-8")
            client.cache.verifiers._slots.clear()
        else:
            slot.reader.model._max_tokens = 4  # type: ignore[attr-defined]
        began = asyncio.get_running_loop().time()
        missed = await client.lookup(SAME)
        took_s = asyncio.get_running_loop().time() - began
        assert (missed["outcome"], missed["reason"]) == ("miss", "below_threshold")
        assert missed["score"] == pytest.approx(0.88, abs=1e-6)
        assert took_s < 5
        assert (await client.lookup(NEAREST))["outcome"] == "hit"
        outcome = {"hangs": "late", "changed": "not_loaded"}.get(trouble, "broken")
        metrics = (await client.call("GET", "/metrics")).text
        assert f'surehit_verifications_total{{outcome="{outcome}"}} 1.0' in metrics
        assert 'surehit_verifications_total{outcome="passed"} 1.0' in metrics
        states = (await client.call("GET", "/readyz")).json()["verifiers"]
        assert states["tiny"] != "ready"
        free.set()


@pytest.mark.parametrize(
    "change",
    [
        {"verifier": None},
        {"verifier": {"low": 0.7}},
        {"verifier": {"high": 0.93}},
        {"verifier": {"accept": 0.8}},
        {"verifier": {"name": "second"}},
    ],
)
async def test_another_verifier_voids_the_certificate(
    sqlite_url: str, tmp_path: Path, change: dict[str, Any]
) -> None:
    """As another model or guard does: other scores, so no label of before certifies anything."""
    cross_encoders.build(tmp_path / "verifiers" / "second", seed=1)
    async with serving(sqlite_url, tmp_path, clock=Clock()) as client:
        desk = await shadow(client, verifier=RULE)
        await logged(client, *judged(400, seed=1))
        tuned = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert tuned.decision is not None
        assert tuned.report["score"]["trial"] is None
        assert "verified by tiny" in tuned.report["score"]["text"]
        assert (await desk.policy("default", "faq")).is_certified
        reply = await client.call("PATCH", "/v1/lines/faq", change)
        assert reply.status_code == 200, reply.text
        assert not reply.json()["certified"]
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        assert not len((await records.evidence(desk, policy, score_version=version)).labels)
        url = f"/v1/lines/faq/decisions/{publish.public_id(tuned.decision.id)}/apply"
        refused = await client.call("POST", url, {"reason": "again"})
        assert refused.status_code == 409
        assert "verifier" in refused.json()["detail"]
        back = await client.call("PATCH", "/v1/lines/faq", {"verifier": RULE})
        assert back.status_code == 200
        assert (await client.call("POST", url, {"reason": "back"})).status_code == 200


async def test_another_score_needs_another_band(sqlite_url: str, tmp_path: Path) -> None:
    async with serving(sqlite_url, tmp_path) as client:
        change = {"score": "learned-0123456789ab", "threshold": 0.9}
        reply = await client.call("PATCH", "/v1/lines/faq", change)
        assert reply.json()["errors"][0]["field"] == "verifier"


async def test_imported_labels_and_backtests_are_scored_as_lookups_are(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with serving(sqlite_url, tmp_path) as client:
        desk = desk_of(client.cache)
        policy = await desk.policy("default", "faq")
        pairs = [(STORED, SAME), (STORED, OTHER), (STORED, FAR), (NUMBER, NUMBER_SAME)]
        cosines = await desk.cosines(policy, pairs)
        scores = await desk.verify(policy, pairs, [*cosines[:3], cosines[3]])
        assert scores == pytest.approx([0.95, 0.88, 0.70, 0.88], abs=1e-6)
        await client.call("PATCH", "/v1/lines/faq", {"verifier": None, "mode": "shadow"})
        for asked in (SAME, OTHER, FAR):
            await client.lookup(asked)
        await client.cache.journal.flush()
        await client.call("PATCH", "/v1/lines/faq", {"verifier": RULE, "mode": "serve"})
        policy = await desk.policy("default", "faq")
        rule = backtest.Rule(0.9, policy.guards)
        (tried,) = await backtest.backtest(desk, policy, [rule])
        assert (tried.lookups, tried.hits) == (3, 1)
        (tmp_path / "verifiers" / "tiny" / "model.onnx").unlink()
        client.cache.verifiers._slots.clear()
        silent = await desk.verify(policy, pairs, cosines)
        assert silent == [None, None, *cosines[2:]]  # what it would say nobody knows


async def test_an_unknown_or_broken_name_is_refused_and_names_what_there_is(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path) as client:
        (tmp_path / "verifiers" / "empty").mkdir()
        for name in ("nonesuch", "../tiny", "empty", 3, ""):
            for method in ("PUT", "PATCH"):
                body = {"verifier": RULE | {"name": name}}
                reply = await client.call(method, "/v1/lines/faq", body)
                assert reply.status_code == 422
                (error,) = reply.json()["errors"]
                assert error["field"] == "verifier.name"
                assert "tiny" in error["message"] or name == "empty"
        for wrong in ({"low": 0.95}, {"low": 2}, {"accept": 0}, {"threshold": 1}):
            reply = await client.call("PATCH", "/v1/lines/faq", {"verifier": RULE | wrong})
            assert reply.status_code == 422
            assert reply.json()["errors"][0]["field"].startswith("verifier")
        kept = (await client.call("GET", "/v1/lines/faq")).json()
        assert kept["verifier"] == RULE | {"digest": kept["verifier"]["digest"]}
        meant = {"verifier": kept["verifier"]}
        assert (await client.call("PATCH", "/v1/lines/faq", meant)).status_code == 200
        cross_encoders.build(tmp_path / "verifiers" / "tiny", seed=2)
        reply = await client.call("PATCH", "/v1/lines/faq", meant)
        assert reply.json()["errors"][0]["field"] == "verifier.digest"


def test_the_command_line_pins_and_refuses_as_well(tmp_path: Path) -> None:
    cross_encoders.build(tmp_path / "verifiers" / "tiny")
    bad = surehit(tmp_path, "line", "set", "faq", 'verifier={"name":"no","low":0.8,"high":0.9}')
    assert bad.returncode == 2
    assert "verifier.name" in bad.stderr
    assert "tiny" in bad.stderr
    good = surehit(tmp_path, "line", "set", "faq", 'verifier={"name":"tiny","low":0.8,"high":0.9}')
    assert good.returncode == 0, good.stderr
    shown = surehit(tmp_path, "line", "show", "faq")
    assert "digest" in shown.stdout


async def test_a_full_queue_and_a_closed_verifier_verify_nothing(tmp_path: Path) -> None:
    folder = cross_encoders.build(tmp_path / "tiny").parent
    verifiers = Verifiers(folder, budget_ms=200)
    pinned = verifiers.pin({"verifier": RULE})
    rule = replace_rule(pinned["verifier"]["digest"])
    assert await verifiers.ask(rule, STORED, SAME, timeout_s=10) is not None
    assert verifiers.states() == {"tiny": "ready"}
    (slot,) = verifiers._slots.values()
    assert slot.reader is not None
    free = threading.Event()
    slot.reader._pairs.put(lambda: free.wait(20) and None)
    said = await asyncio.gather(*(verifiers.ask(rule, STORED, SAME) for _ in range(80)))
    assert said == [None] * 80
    free.set()
    passed_over = threading.Event()  # all that nobody waits for any more
    slot.reader._pairs.put(passed_over.set)
    assert await asyncio.to_thread(passed_over.wait, 10)
    assert await verifiers.ask(rule, STORED, SAME, timeout_s=10) is not None
    await verifiers.close()
    assert await verifiers.ask(rule, STORED, SAME) is None


def replace_rule(digest: str) -> VerifierRule:
    import msgspec

    return msgspec.structs.replace(BAND, digest=digest)


SCORES = st.lists(st.floats(-1, 1, allow_nan=False), max_size=6)


@given(SCORES, st.none() | st.floats(0, 1), st.sets(st.integers(0, 5)))
def test_only_the_winner_moves_and_only_from_the_band_to_its_top(
    scores: list[float], said: float | None, refused: set[int]
) -> None:
    candidates = [Candidate(i, s, f"q{i}", b"") for i, s in enumerate(sorted(scores, reverse=True))]

    def judge(candidate: Candidate, query: str) -> Refused | None:
        return Refused("guard", "") if candidate.entry_id in refused else None

    winner = to_verify(BAND, "q", candidates, judge)
    free = [c for c in candidates if c.entry_id not in refused]
    expected = free[0] if free and 0.8 <= free[0].score < 0.95 else None
    assert winner == expected
    if winner is None:
        return
    after = verified(BAND, candidates, winner, said)
    passed = said is not None and said >= 0.9
    moved = {c.entry_id: c for c in after}
    for c in candidates:
        is_raised = passed and c is winner
        assert moved[c.entry_id].score == (0.95 if is_raised else c.score)
        assert moved[c.entry_id].similarity == c.score
    assert [c.score for c in after] == sorted((c.score for c in after), reverse=True)


def test_a_candidate_in_quarantine_is_no_winner() -> None:
    first = Candidate(1, 0.9, "a", b"", quarantined=True)
    second = Candidate(2, 0.85, "b", b"")
    assert to_verify(BAND, "q", [first, second], lambda c, q: None) is second
    assert to_verify(BAND, "q", [replace(second, score=0.79)], lambda c, q: None) is None
