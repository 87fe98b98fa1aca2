"""The parts of `surehit bench score`: peers as their papers have them, and a replay whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from evaluation.bench import score, score_outcomes, score_pairs, score_verifier
from evaluation.bench import score_peers as peers
from evaluation.bench.score_traffic import Entries, Traffic, embed, load, shadow_log
from index.similarity import unit_rows
from index.testing import HashEmbedder
from index.types import Vectors
from service.score import VerifierRule
from tests.evaluation.test_verifier_training import questions

THINGS = "invoice parcel password voucher account printer router camera battery contract".split()
WAYS = ("where is my {} {}", "show me the {} {}", "I need my {} {}", "find {} {} please")


def traffic_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Requests of which those about one thing and number may share an answer."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for i in range(n):
        thing, number = THINGS[rng.integers(10)], int(rng.integers(40))
        text = WAYS[rng.integers(4)].format(thing, number)
        group = f"{thing}-{number}"
        rows.append(
            {
                "ts_ms": 1_000 * i,
                "messages": [{"role": "user", "content": text}],
                "group": group,
                "seen": group in seen,
            }
        )
        seen.add(group)
    return rows


class Counting(HashEmbedder):
    """An embedder that knows how many texts it was given."""

    given = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.given += len(texts)
        return super().embed(texts)


def loaded(tmp_path: Path, n: int = 300) -> Traffic:
    return load(
        traffic_rows(n, seed=1), HashEmbedder(), tmp_path, line="faq", language="en", seed=1
    )


def test_a_text_is_embedded_once_over_all_runs(tmp_path: Path) -> None:
    embedder = Counting()
    first = embed(["a b", "c d"], embedder, tmp_path)
    again = embed(["c d", "a b", "e f"], embedder, tmp_path)
    assert embedder.given == 3
    assert np.array_equal(first[0], again[1])


def test_the_nearest_are_those_of_a_full_search(tmp_path: Path) -> None:
    traffic = loaded(tmp_path)
    entries = Entries(traffic)
    stored: list[int] = []
    for n in range(120):
        near = entries.nearest(n)
        if stored:
            vectors = traffic.vectors
            ids = [traffic.requests[i].vector_id for i in stored]
            cosines = vectors[ids] @ vectors[traffic.requests[n].vector_id]
            expected = np.sort(np.minimum(cosines, 1.0))[::-1][:8]
            assert [c for _, c in near] == pytest.approx(expected.tolist(), abs=1e-6)
        if not entries.has_exact(n):
            stored.append(n)
        entries.put(n)


def test_the_shadow_log_knows_truth_guards_and_features(tmp_path: Path) -> None:
    traffic = loaded(tmp_path)
    log = shadow_log(traffic, floor=0.5, words_from=0.3)
    for i in range(len(log)):
        for j in range(log.cosine.shape[1]):
            if np.isfinite(log.cosine[i, j]):
                mine = traffic.requests[int(log.at[i])].group
                assert log.right[i, j] == (traffic.requests[int(log.entry[i, j])].group == mine)
                assert log.x[i, j, 0] == log.cosine[i, j] >= 0.5
    assert log.refused.any()  # another number


def test_best_f1_is_the_best_of_all_thresholds() -> None:
    rng = np.random.default_rng(2)
    cosine = rng.uniform(0.5, 1.0, 200)
    right = rng.uniform(size=200) < (cosine - 0.4)

    def f1(t: float) -> float:
        hit = cosine >= t
        return 2.0 * float((hit & right).sum()) / float(hit.sum() + right.sum())

    best = max(f1(t) for t in cosine)
    assert f1(peers.best_f1(cosine, right)) == best
    assert peers.best_f1(cosine, np.zeros(200, dtype=np.bool_)) == 1.0


def test_vcache_asks_until_it_knows_an_entry_and_then_serves_the_near() -> None:
    unknown = peers._Seen()
    assert peers._ask_probability(unknown, 0.99, 0.02) == 1.0
    sure = peers._Seen([0.0, 1.0] + [0.6] * 10 + [0.9] * 30, [0.0, 1.0] + [0.0] * 10 + [1.0] * 30)
    near, far = (peers._ask_probability(sure, s, 0.02) for s in (0.95, 0.5))
    assert near < far
    assert far == pytest.approx(1.0, abs=0.05)
    assert 0.0 <= near <= 1.0


def test_vcache_keeps_its_promise_on_all_requests(tmp_path: Path) -> None:
    counted = peers.vcache(loaded(tmp_path, 600), delta=0.05, judged_from=300, seed=3)
    assert counted.lookups > 50
    assert counted.labels > 0
    assert counted.false_hits <= 0.05 * counted.lookups + 3 * (0.05 * counted.lookups) ** 0.5


def test_every_rule_is_judged_on_the_same_lookups(tmp_path: Path) -> None:
    traffic = loaded(tmp_path, 1_200)
    log = shadow_log(traffic, floor=0.7, words_from=0.3)
    outcomes, ms = score._one(traffic, log, labels=600, tell=lambda text: None)
    judged = {o.lookups for o in outcomes if not o.rule.startswith("vCache")}
    assert judged == {int((score.quarters(log) == 3).sum())}
    assert {o.target for o in outcomes} == {None, 0.01, 0.03, 0.05}
    assert all(o.false_hits <= o.hits <= o.lookups for o in outcomes)
    assert all(value >= 0.0 for value in ms.values())
    times = {"faq 1": ms | {"verifier": 3.0}, "faq 2": ms | {"another": 2.0}}
    bench = score_outcomes.Bench(outcomes, times, {"faq": 0.5}, 1.0)
    text = score_outcomes.render(bench)
    assert all(part in text for part in ("vCache", "verifier 3.00", "another 2.00"))
    assert len(bench.as_dict()["outcomes"]) == len(outcomes)


def test_a_verifier_has_its_row_and_pays_for_its_labels(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    traffic = loaded(tmp_path, 600)
    log = shadow_log(traffic, floor=0.7, words_from=0.3)
    log.refused[:] = False
    log.right[:] = log.entry % 2 == 0  # of both verdicts enough to learn from
    outcomes, ms = score._one(traffic, log, labels=300, tell=lambda text: None)
    verified = [o for o in outcomes if o.rule == "place + guards + verifier, always"]
    assert [o.target for o in verified] == [0.01, 0.03, 0.05]
    assert all(50 < o.labels <= 350 for o in verified)
    assert ms["verifier, per pair in its band"] > 0.0
    chinese = replace(traffic, language="zh")
    assert not score_verifier.can_train(chinese)


def test_no_text_of_the_judged_part_was_learned_from() -> None:
    pairs = [(f"a{i}", f"a{i + 1}" if i % 5 else f"x{i}", i % 7 > 0) for i in range(100)]
    sides = score_pairs.sides_of(pairs)
    assert set(sides) == {t for p in pairs for t in p[:2]}
    assert all(sides[a] == sides[b] for a, b, is_reusable in pairs if is_reusable)
    assert 20 < sum(sides.values()) < len(sides) - 20


def test_a_verifier_is_asked_about_the_band_alone_and_once_about_a_pair() -> None:
    class Model:
        asked: ClassVar[list[str]] = []

        def probability(self, stored: str, asked: str) -> float:
            self.asked.append(asked)
            return 0.9 if asked == "b" else 0.1

    texts = [("s", name) for name in "abcd"]
    verifying = score_verifier.Verifying(Model(), texts, [0], np.full(4, np.nan))
    rule = VerifierRule(name="x", digest="0" * 12, low=0.6, high=0.8, accept=0.5)
    base = np.asarray([0.9, 0.7, 0.7, -np.inf])
    for _ in range(2):
        assert verifying.effective(rule, base).tolist() == [0.9, 0.8, 0.7, -np.inf]
    assert Model.asked == ["b", "c"]


def test_pairs_are_judged_with_a_verifier_that_never_saw_them() -> None:
    pytest.importorskip("torch")
    made, good = questions(240)
    pairs = [(a, b, is_good) for (a, b), is_good in zip(made, good, strict=True)]
    texts = list(dict.fromkeys(t for p in pairs for t in p[:2]))
    # vectors of chance: only who reads the texts can tell
    vectors = unit_rows(np.random.default_rng(0).standard_normal((len(texts), 32)), 32)
    vector = dict(zip(texts, vectors, strict=True))
    found = score_pairs._judge("made", pairs, vector, language="en")
    recall = {r.rule: r for r in found}
    assert recall["verifier"].at["3%"] > recall["cosine"].at["3%"]
    assert recall["learned + verifier"].ms >= recall["learned + guards"].ms
    assert recall["verifier"].ms > recall["cosine + guards"].ms
    assert "learned + verifier" in score_pairs.render(found)
    assert "learned + verifier" not in {
        r.rule for r in score_pairs._judge("made", pairs[:100], vector, language="zh")
    }


def test_recall_is_of_the_loosest_threshold_that_keeps_the_cap() -> None:
    value = np.asarray([0.9, 0.8, 0.8, 0.7, -np.inf])
    good = np.asarray([True, True, False, True, True])
    assert score_pairs.recall_at(value, good, 0.0) == 0.25
    assert score_pairs.recall_at(value, good, 0.25) == 0.75
    assert score_pairs.recall_at(value, ~good, 0.0) == 0.0
