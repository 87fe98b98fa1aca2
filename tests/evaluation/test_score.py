"""A learned score from labels to force: trained, exported, compared, adopted, and what its adoption voids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from evaluation import publish, records, tuning
from evaluation.backtest import Rule, backtest
from evaluation.desk import Desk, desk_of
from evaluation.publish import Void
from evaluation.score import adoption, reading, training
from evaluation.score.comparison import compare, foretold
from evaluation.score.pairs import Pair, Rows
from evaluation.score.region_training import fit_region, learn, space_of
from evaluation.score.training import calibrate, export, fit, grow
from service.score import DIRECTIONS, FEATURES, Context, Scorer
from service.score.scorer import load
from service.score.weights import WordWeights
from tests.evaluation.desks import logged, verdicts
from tests.harness import Client, Clock, running

ALL = {
    "certify_rate": 1.0,
    "certify_floor": 0.7,
    "bin_edges": [0.7],
    "explore_rates": [0.0],
    "guarded_rate": 1.0,
}


_trained: dict[object, Scorer] = {}


@pytest.fixture(autouse=True)
def _train_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The very same labels are learned from once: training is the slow part, and it is deterministic."""

    def train(pairs: Sequence[Pair], texts: Sequence[str], vectors: Any, **options: Any) -> Scorer:
        key = (tuple(pairs), tuple(texts), tuple(sorted(options.items())))
        if key not in _trained:
            _trained[key] = training.train(pairs, texts, vectors, **options)
        return _trained[key]

    monkeypatch.setattr(adoption, "train", train)


def rows(n: int, seed: int, *, digits: int = 17) -> Rows:
    """Feature rows with gaps, of which the second tells the verdict and the first does not.

    With two digits the booster finds the steps between so few values at once, and else by hundreds of percentiles.
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, (n, len(FEATURES)))
    x[:, 0] = rng.uniform(0.7, 1.0, n)
    x = x.round(digits)
    bad = rng.uniform(size=n) > x[:, 2]
    x[rng.uniform(size=x.shape) < 0.05] = np.nan
    x[:, 0] = np.nan_to_num(x[:, 0], nan=0.8)
    return Rows(x, bad, np.ones(n), np.arange(n))


def test_exported_trees_are_the_librarys_own_to_the_last_digits() -> None:
    found = rows(500, seed=1)
    booster = grow(found.x, ~found.bad, found.weight)
    trees = export(booster)
    x = rows(300, seed=2).x
    ours = np.asarray([trees.raw(row) for row in x.tolist()])
    assert ours == pytest.approx(booster.decision_function(x), abs=1e-9)
    assert len(np.unique(ours)) > 50


def test_probabilities_are_calibrated_and_bound_to_the_directions() -> None:
    scorer = fit(rows(1_500, seed=3, digits=2), WordWeights({}), fingerprint="m").scorer
    later = rows(1_500, seed=4)
    p = np.asarray([scorer.of_row(row) for row in later.x.tolist()])
    for low, high in ((0.0, 0.4), (0.4, 0.7), (0.7, 1.0)):
        inside = (p >= low) & (p < high)
        assert float((~later.bad[inside]).mean()) == pytest.approx(float(p[inside].mean()), abs=0.1)
    for column, direction in enumerate(DIRECTIONS):
        row = later.x[0].tolist()
        along = []
        for value in np.linspace(0.0, 1.0, 21):
            row[column] = float(value)
            along.append(direction * scorer.of_row(row))
        assert along == sorted(along), list(FEATURES)[column]


def test_a_feature_that_no_label_knows_is_left_out() -> None:
    found = rows(400, seed=8, digits=2)
    age = list(FEATURES).index("age")
    found.x[:, age] = np.nan
    scorer = fit(found, WordWeights({}), fingerprint="m").scorer
    row = found.x[0].tolist()
    without = scorer.of_row(row)
    row[age] = 5.0
    assert scorer.of_row(row) == without


def test_calibration_alone_keeps_the_order() -> None:
    found = rows(400, seed=5)
    raw = np.random.default_rng(6).normal(size=400)
    slope, cosine_slope, offset = calibrate(raw, found.x[:, 0], ~found.bad, np.ones(400))
    assert slope >= 0.0
    assert cosine_slope > 0.0
    assert np.isfinite(offset)


@pytest.mark.parametrize(("noise", "better"), [(0.02, True), (None, False)])
def test_only_a_real_lead_counts(noise: float | None, better: bool) -> None:
    rng = np.random.default_rng(7)
    n = 600
    bad = rng.uniform(size=n) < 0.2
    old = np.where(bad, rng.uniform(0.7, 0.97, n), rng.uniform(0.75, 1.0, n))
    new = rng.permutation(old) if noise is None else 1.0 - bad * 0.2 - rng.uniform(0, noise, n)
    ones, each = np.ones(n), np.arange(n)
    found = compare(old, new, bad, ones, each, lookups=n, cap=0.03)
    assert found.is_better is better
    assert found.lower <= found.new_hit_rate - found.old_hit_rate <= found.upper
    same = compare(old, old * 0.5, bad, ones, each, lookups=n, cap=0.03)
    assert (same.lower, same.upper, same.is_better) == (0.0, 0.0, False)


def test_labels_of_one_entry_count_as_one() -> None:
    """Three lucky entries with two hundred lookups each are three observations, not six hundred."""
    cluster = np.repeat([0, 1, 2], 200)
    bad = cluster == 2
    old = np.where(cluster == 1, 0.8, np.where(bad, 0.9, 0.95))
    new = np.where(bad, 0.1, 0.9)
    ones = np.ones(600)
    assert not compare(old, new, bad, ones, cluster, lookups=600, cap=0.03).is_better
    assert compare(old, new, bad, ones, np.arange(600), lookups=600, cap=0.03).is_better


def texts(bad: np.ndarray[Any, np.dtype[np.bool_]]) -> list[tuple[str, str]]:
    """Pairs whose words tell what their cosine does not: another thing is asked for where bad."""
    things = (
        "invoice parcel password voucher account printer router camera battery contract".split()
    )
    found = []
    for i, is_bad in enumerate(bad.tolist()):
        mine = things[i % 10]
        yours = things[(i + 3) % 10] if is_bad else mine
        found.append((f"where do I find my {mine} {i % 37}", f"show where my {yours} {i % 37} is"))
    return found


TOPICS = ("refund of order", "open hours in town", "reset my password", "card was declined")


def topical(n: int, seed: int) -> tuple[list[float], list[str], list[tuple[str, str]]]:
    """Lookups of four topics, of which one goes wrong at any cosine and the others hardly ever."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 4, n)
    bad = np.where(topic == 3, rng.uniform(size=n) < 0.6, rng.uniform(size=n) < 0.003)
    pairs = [
        (f"{TOPICS[t]} {i % 97} please", f"{TOPICS[t]} {i % 97} now")
        for i, t in enumerate(topic.tolist())
    ]
    return rng.uniform(0.75, 1.0, n).tolist(), verdicts(bad.tolist()), pairs


def test_a_place_that_goes_wrong_is_learned_and_others_gain_by_it() -> None:
    rng = np.random.default_rng(5)
    topics = rng.normal(size=(4, 16))
    topic = rng.integers(0, 4, 1_600)
    vectors = topics[topic] + 0.3 * rng.normal(size=(1_600, 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    x = np.full((1_600, len(FEATURES)), 0.5)
    x[:, 0] = rng.uniform(0.8, 1.0, 1_600)
    bad = np.where(topic == 3, rng.uniform(size=1_600) < 0.6, rng.uniform(size=1_600) < 0.01)
    rows_of_topics = Rows(x[:800], bad[:800], np.ones(800), np.arange(800) % 200)
    fitted = fit_region(rows_of_topics, vectors[:800], space_of(vectors[:800]), fingerprint="m")
    scorer = load(fitted.scorer.blob)
    p = np.asarray(
        [
            scorer.probability("", "", Context(c, lift=scorer.lift(v)))
            for c, v in zip(x[800:, 0].tolist(), vectors[800:], strict=True)
        ]
    )
    ones, each = np.ones(800), np.arange(800)
    found = compare(x[800:, 0], p, bad[800:], ones, each, lookups=800, cap=0.03)
    assert found.old_hit_rate < 0.1 < 0.6 < found.new_hit_rate
    assert found.is_better
    for low, high in ((0.2, 0.7), (0.9, 1.0)):  # calibrated on what it did not see
        inside = (p >= low) & (p < high)
        assert float((~bad[800:][inside]).mean()) == pytest.approx(float(p[inside].mean()), abs=0.1)


def test_a_place_without_labels_leaves_the_cosine_as_it_is() -> None:
    rng = np.random.default_rng(6)
    space = space_of(rng.normal(size=(300, 64)).astype(np.float32))
    cosine = rng.uniform(0.7, 1.0, 400)
    good = rng.uniform(size=400) < cosine
    curve = learn(cosine, np.zeros((400, space.turn.shape[1])), good, np.ones(400), pull=1.0)
    assert np.abs(curve.heights).max() == pytest.approx(0.0, abs=1e-6)
    assert curve.slope > 0.0


async def test_labels_of_a_new_window_certify_a_score_that_was_learned_before_it(
    database_url: str, tmp_path: Path
) -> None:
    """No label is spent twice and none is lost: what is learned before the evidence is tested on all of it."""
    clock = Clock()
    async with running(database_url, tmp_path, clock=clock) as client:
        await client.line(sampling=ALL, mode="shadow", threshold=0.95, target_false_hit_rate=0.05)
        await client.settled()
        clock.turn(1)
        score, verdict, pairs = topical(700, seed=1)
        await logged(client, score, verdict, texts=pairs)
        desk = desk_of(client.cache)
        early = await tuning.tune(desk, "default", line="faq", by="test")
        assert not early.report["score"]["certified"]  # nothing was learned before these labels
        clock.turn(10)
        again = ALL | {"explore_rates": [0.001]}
        await client.call("PATCH", "/v1/lines/faq", {"sampling": again})
        clock.turn(10)
        score, verdict, pairs = topical(700, seed=2)
        await logged(client, score, verdict, texts=pairs)
        found = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert found.report["score"]["certified"], found.report["score"]["text"]
        assert found.answer == "certified"
        assert found.decision is not None
        assert found.decision.score_version.endswith("-f1")
        assert "score-learned-" in found.decision.score_version
        assert found.report["look"] == 2  # the cosine was tested on these labels first
        certificate = found.report["certificate"]
        assert certificate["hit_rate"] > 0.5
        assert certificate["labels"] > 300
        policy = await desk.policy("default", "faq")
        assert (policy.config.mode, policy.is_certified) == ("serve", True)
        assert policy.scorer is not None
        assert policy.scorer.kind == "place"
        assert policy.scorer.model.least_cosine >= 0.7  # what could not be drawn is never served
        assert policy.config.threshold == certificate["threshold"]
        trusted = backtest(desk, policy, [Rule(policy.config.threshold, policy.guards)])
        assert (await trusted)[0].hits > 500
        kept = await tuning.tune(desk, "default", line="faq", by="test")
        assert kept.report["score"]["trial"] is None  # a certified score stays


@pytest.mark.parametrize(("tells", "lower_is_over_0"), [(True, True), (False, False)])
def test_what_foretells_verdicts_lowers_the_loss_and_chance_does_not(
    tells: bool, lower_is_over_0: bool
) -> None:
    rng = np.random.default_rng(9)
    bad = rng.uniform(size=400) < 0.15
    old = np.full(400, 1.7)
    new = old + (np.where(bad, -1.0, 0.5) if tells else rng.normal(0.0, 0.5, 400))
    ones, each = np.ones(400), np.arange(400)
    found = foretold(old, new, bad, ones, each)
    assert (found.lower > 0.0) is lower_is_over_0
    assert found.lower <= found.gain <= found.upper
    assert foretold(old, old, bad, ones, each).lower == 0.0
    twice = foretold(old, new, bad, 2.0 * ones, each)
    assert twice.gain == pytest.approx(found.gain)


async def test_a_score_of_places_needs_few_labels_and_lays_none_aside(
    sqlite_url: str, tmp_path: Path
) -> None:
    """What is adopted is the fit of all labels, in shadow: nothing is served by it yet."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.line(sampling=ALL, mode="shadow", threshold=0.95, target_false_hit_rate=0.05)
        await client.settled()
        clock.turn(1)
        score, verdict, pairs = topical(300, seed=3)
        await logged(client, score, verdict, texts=pairs)
        desk = desk_of(client.cache)
        found = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        trial = found.report["score"]["trial"]
        assert (trial["answer"], trial["kind"]) == ("better", "place")
        assert trial["learned_from"] == trial["judged_on"] == 300
        assert trial["comparison"]["lower"] > 0.0
        assert found.report["score"]["changed"]
        policy = await desk.policy("default", "faq")
        assert (policy.config.mode, policy.is_certified) == ("shadow", False)
        scorer = policy.scorer
        assert scorer is not None
        assert scorer.kind == "place"
        texts_asked = [TOPICS[3] + " 5 now", TOPICS[0] + " 5 now"]
        lifts = await reading.lifts(desk, policy, scorer, texts_asked)
        assert lifts[texts_asked[0]] < lifts[texts_asked[1]]
        unknown = reading.probability(scorer, "a", "b", Context(1.0), {})
        assert unknown == 0.0


async def test_a_place_is_scored_the_same_when_served_explained_and_tried_again(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.line(sampling=ALL, mode="shadow", threshold=0.95, target_false_hit_rate=0.05)
        await client.settled()
        clock.turn(1)
        score, verdict, pairs = topical(300, seed=3)
        await logged(client, score, verdict, texts=pairs)
        desk = desk_of(client.cache)
        await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        await client.call("PATCH", "/v1/lines/faq", {"mode": "serve", "threshold": 0.0001})
        stored, now = f"{TOPICS[0]} 5", f"{TOPICS[0]}  5 !"
        await client.store(stored, "yes")
        hit = await client.lookup(now)
        assert hit["outcome"] == "hit"
        policy = await desk.policy("default", "faq")
        scorer = policy.scorer
        assert scorer is not None
        vector = (await desk.vectors(policy, [now]))[now]
        body = {"line": "faq"} | {
            side: {"messages": [{"role": "user", "content": text}]}
            for side, text in (("a", stored), ("b", now))
        }
        explained = (await client.call("POST", "/v1/explain", body)).json()
        context = Context(explained["cosine"], lift=scorer.lift(vector))
        assert explained["score"] == pytest.approx(scorer.probability(stored, now, context))
        assert hit["score"] == pytest.approx(explained["score"], abs=1e-4)
        await client.cache.journal.flush()
        at = hit["score"]
        tried = await backtest(
            desk,
            policy,
            [Rule(at - 0.001, policy.guards), Rule(at + 0.001, policy.guards)],
            since_ms=clock(),
        )
        assert tried[0].hits > tried[1].hits


async def learnable(client: Client, clock: Clock, **settings: Any) -> Desk:
    """A line with 700 labels over two days, with a cosine that says nothing and words that say all."""
    made = {"mode": "shadow", "threshold": 0.95, "target_false_hit_rate": 0.05} | settings
    await client.line(sampling=ALL, **made)
    await client.settled()
    for day in range(5):
        rng = np.random.default_rng(day)
        bad = rng.uniform(size=140) < 0.4
        await logged(
            client, rng.uniform(0.75, 1.0, 140).tolist(), verdicts(bad.tolist()), texts=texts(bad)
        )
        clock.turn(40_000)
    return desk_of(client.cache)


async def test_a_better_score_goes_into_force_and_voids_what_was_certified_before(
    database_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(database_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock)
        before = await desk.policy("default", "faq")
        dry = await tuning.tune(desk, "default", line="faq", by="test")
        trial = dry.report["score"]["trial"]
        assert trial["answer"] == "better", dry.report["score"]["text"]
        assert trial["comparison"]["lower"] > 0.0
        assert (
            await desk.policy("default", "faq")
        ).config == before.config  # a look changes nothing
        reply = await client.call("POST", "/v1/lines/faq/tune", {"apply": True, "reason": "try"})
        assert reply.json()["score"]["changed"], reply.text
        line = (await client.call("GET", "/v1/lines/faq")).json()
        assert line["score"] == trial["score"]
        assert (line["mode"], line["certified"]) == ("shadow", False)
        policy = await desk.policy("default", "faq")
        version = await desk.score_version(policy)
        assert line["score"] in version
        found = await records.evidence(desk, policy, score_version=version)
        assert len(found.labels) == 0  # no label of before certifies it
        assert found.floor >= 0.7
        again = await tuning.tune(desk, "default", line="faq", by="test")
        assert (again.answer, again.report["score"]["trial"]) == ("missing", None)


async def test_lookups_of_a_learned_line_are_scored_logged_and_explained(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock)
        await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        score = (await desk.policy("default", "faq")).config.score
        reply = await client.call(
            "PATCH", "/v1/lines/faq", {"mode": "serve", "threshold": 0.001, "guards": {}}
        )
        assert reply.status_code == 200, reply.text
        await client.store("How do I reset my password?", "a")
        hit = await client.lookup("How do I reset my  password?")
        assert hit["outcome"] == "hit"
        assert 0.0 < hit["score"] <= 1.0
        await client.cache.journal.flush()
        policy = await desk.policy("default", "faq")
        blob = policy.scorer
        assert blob is not None
        expected = blob.probability(
            "How do I reset my password?",
            "How do I reset my  password?",
            Context(1.0, -np.inf, 0.0),
        )
        assert hit["score"] == pytest.approx(expected, abs=1e-6)
        row = {
            "query": "find my invoice",
            "entry_query": "where is my invoice",
            "verdict": "reusable",
            "reviewer": "ann",
        }
        taken = await client.call("POST", "/v1/labels/import?line=faq", orjson.dumps(row))
        assert taken.json()["added"] == 1, taken.text

        def imported(tx: Any) -> Any:
            return tx.text("SELECT score, cosine FROM review_items WHERE kind = 'imported'")[0]

        value, cosine = await client.cache.db.write(imported)
        assert value == blob.probability(row["entry_query"], row["query"], Context(cosine))

        def last(tx: Any) -> Any:
            return tx.text("SELECT score, cosine, score_version FROM lookups ORDER BY id DESC")[0]

        value, cosine, version = await client.cache.db.write(last)
        assert (value, cosine) == (hit["score"], pytest.approx(1.0, abs=1e-5))
        assert version == await desk.score_version(policy)
        tried = await backtest(
            desk, policy, [Rule(0.001, policy.guards), Rule(0.999, policy.guards)]
        )
        assert tried[0].lookups == 701
        assert tried[0].hits > tried[1].hits
        body = {"line": "faq", "a": {"prompt": "x"}, "b": {"prompt": "y"}}
        body |= {
            side: {"model": "m", "messages": [{"role": "user", "content": text}]}
            for side, text in (("a", "How do I reset my password?"), ("b", "How do I reset a pin?"))
        }
        explained = (await client.call("POST", "/v1/explain", body)).json()
        assert explained["score_is"] == score
        assert explained["score"] != explained["cosine"]
        assert 0.0 <= explained["score"] <= 1.0


async def test_a_threshold_of_one_score_is_never_taken_for_the_others(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock)
        await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        score = (await desk.policy("default", "faq")).config.score
        for change, field in (
            ({"score": "cosine"}, "threshold"),
            ({"threshold": 0.0}, "threshold"),
            ({"threshold": -0.5}, "threshold"),
            ({"score": "learned-0123456789ab", "threshold": 0.9}, "score"),
            ({"score": "distance"}, "score"),
        ):
            reply = await client.call("PATCH", "/v1/lines/faq", change)
            assert reply.status_code == 422, change
            assert field in reply.text
        back = await client.call("PATCH", "/v1/lines/faq", {"score": "cosine", "threshold": 0.93})
        assert (back.json()["score"], back.json()["threshold"]) == ("cosine", 0.93)
        again = await client.call("PATCH", "/v1/lines/faq", {"score": score, "threshold": 0.9})
        assert again.json()["score"] == score
        assert not again.json()["certified"]


async def test_an_older_decision_brings_its_score_back(sqlite_url: str, tmp_path: Path) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock, target_false_hit_rate=0.5)
        first = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert first.applied
        certified = await desk.policy("default", "faq")
        kept = await tuning.tune(desk, "default", line="faq", target=0.05, apply=True, by="test")
        assert not kept.report["score"]["changed"]  # `auto` takes no certificate away
        await client.call("PATCH", "/v1/lines/faq", {"target_false_hit_rate": 0.05})
        moved = await tuning.tune(
            desk, "default", line="faq", apply=True, score="learned", by="test"
        )
        assert moved.report["score"]["changed"], moved.report["score"]["text"]
        learned = await desk.policy("default", "faq")
        assert (learned.config.mode, learned.decision_id) == ("shadow", None)
        decision = first.decision
        assert decision is not None
        await publish.apply(
            desk, "default", line="faq", decision_id=decision.id, by="test", reason="back"
        )
        back = await desk.policy("default", "faq")
        assert (back.config.score, back.config.threshold) == ("cosine", certified.config.threshold)
        assert back.config.sampling.certify_floor == 0.7
        await client.call("PATCH", "/v1/lines/faq", {"guards": {"number": False}})
        with pytest.raises(Void):
            await publish.apply(
                desk, "default", line="faq", decision_id=decision.id, by="test", reason="again"
            )


async def test_a_threshold_is_certified_on_the_learned_scores_own_scale(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Labels of the new score alone; an alarm does not fall back on a threshold of the cosine."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock, target_false_hit_rate=0.5)
        on_cosine = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert on_cosine.applied
        await client.call("PATCH", "/v1/lines/faq", {"target_false_hit_rate": 0.05})
        await tuning.tune(desk, "default", line="faq", apply=True, score="learned", by="test")
        await client.call("PATCH", "/v1/lines/faq", {"sampling": ALL})
        clock.turn(1)
        value = np.random.default_rng(3).uniform(0.7, 1.0, 400)
        await logged(client, value.tolist(), verdicts((value < 0.75).tolist()))
        found = await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        assert found.applied
        policy = await desk.policy("default", "faq")
        assert policy.config.score.startswith("learned-")
        assert (policy.config.mode, policy.is_certified) == ("serve", True)
        assert policy.config.threshold == pytest.approx(0.74, abs=0.02)
        decisions = (await client.call("GET", "/v1/lines/faq/decisions")).json()["decisions"]
        assert [d["score"] for d in decisions] == [policy.config.score, "cosine"]
        scores = (await client.call("GET", "/v1/lines/faq/scores")).json()
        assert scores["score"] == policy.config.score
        assert [s["score"] for s in scores["learned"]] == [policy.config.score]
        assert scores["learned"][0]["trial"]["comparison"]["lower"] > 0.0
        version = await desk.score_version(policy)
        ids = (desk.new_id(), desk.new_id())

        def raise_alarm(tx: Any) -> Any:
            tx.text("UPDATE decisions SET threshold = 0.99 WHERE score_version NOT LIKE '%score-%'")
            return publish.tighten(
                tx,
                policy,
                now=desk.clock_ms(),
                reason="test",
                score_version=version,
                event_ids=ids,
                change_id=desk.new_id(),
            )

        assert await desk.db.write(raise_alarm) is None
        assert (await desk.policy("default", "faq")).config.mode == "exact"


async def test_too_few_labels_stay_with_the_cosine_and_say_how_many(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.line(mode="shadow", sampling=ALL)
        await client.settled()
        bad = np.zeros(50, dtype=np.bool_)
        await logged(client, [0.9] * 50, verdicts(bad.tolist()), texts=texts(bad))
        tuned = await tuning.tune(desk_of(client.cache), "default", line="faq", by="test")
        score = tuned.report["score"]
        assert score["trial"]["answer"] == "too_few"
        assert score["trial"]["labels_missing"] > 600
        assert "stay with the cosine" in score["text"]


async def test_labels_that_tell_nothing_do_not_change_the_score(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock)
        policy = await desk.policy("default", "faq")
        shuffled = np.random.default_rng(1).permutation(700) < 280

        def confuse(tx: Any) -> None:
            ids = [r[0] for r in tx.text("SELECT id FROM review_items ORDER BY id")]
            for item, is_bad in zip(ids, shuffled.tolist(), strict=True):
                verdict = "not_reusable" if is_bad else "reusable"
                tx.text(f"UPDATE review_items SET verdict = '{verdict}' WHERE id = {item}")

        await client.cache.db.write(confuse)
        found = await adoption.trial(desk, policy)
        assert found.answer == "not_better", found.sentence()
        with pytest.raises(Exception, match="better"):
            await adoption.adopt(desk, policy, found, by="test", reason="")


async def test_a_line_whose_score_cannot_be_used_serves_nothing_by_meaning(
    sqlite_url: str, tmp_path: Path
) -> None:
    """A release with other features: misses that say so, and the exact tier goes on."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock)
        await tuning.tune(desk, "default", line="faq", apply=True, by="test")
        await client.call("PATCH", "/v1/lines/faq", {"mode": "serve", "threshold": 0.001})
        await client.store("How do I reset my password?", "a")

        await client.cache.db.write(
            lambda tx: tx.text("UPDATE scorers SET version = version || 'x'")
        )
        client.cache.policies._held.clear()
        miss = await client.lookup("How do I reset my  password?")
        assert (miss["outcome"], miss["reason"]) == ("miss", "degraded")
        assert (await client.lookup("How do I reset my password?"))["tier"] == "exact"


async def test_a_stored_scorer_is_read_as_it_was(sqlite_url: str, tmp_path: Path) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        desk = await learnable(client, clock)
        tried = await adoption.trial(desk, await desk.policy("default", "faq"))
        assert tried.scorer is not None
        assert load(tried.scorer.blob).version == tried.scorer.version
        assert tried.learned_from == 420
        assert tried.judged_on == 280
