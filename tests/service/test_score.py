"""What a learned score sees of a pair, and what may be done with its stored form."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.decision import Candidate, Refused, decide
from service.score import (
    COSINE,
    DIRECTIONS,
    FEATURES,
    FEATURES_VERSION,
    Context,
    Scorer,
    Trees,
    UnusableScorer,
    features,
)
from service.score.region import Region, as_bytes
from service.score.scorer import REGION, Model, dump, load, split, suffix, version_of
from service.score.trees import Tree
from service.score.weights import weights_of
from service.scoring import MOST_SCORED, rescore

EVEN = weights_of([])
NEAR = Context(0.9, 0.8, 60.0)
NAMES = list(FEATURES)
NOWHERE = np.zeros(2, dtype=np.float32)


def of(a: str, b: str, context: Context = NEAR) -> dict[str, float]:
    """Features by name, every word weighing the same."""
    return dict(zip(NAMES, features(a, b, context, EVEN), strict=True))


def stump(feature: str, at: float, left: float, right: float, **fields: object) -> Model:
    """One split on one feature."""
    tree = Tree(
        [NAMES.index(feature), -1, -1], [at, 0, 0], [True, False, False], [1, 0, 0], [2, 0, 0], [0, left, right]
    )  # fmt: skip
    made = Model(
        features_version=FEATURES_VERSION,
        names=NAMES,
        trees=Trees(0.0, [tree]),
        slope=1.0,
        cosine_slope=1e-6,
        offset=0.0,
        least_cosine=0.5,
        words={},
        fingerprint="model",
    )
    return msgspec.structs.replace(made, **fields)


def place(**fields: object) -> Model:
    """A score of the cosine that trusts queries along the first axis and mistrusts those along the second."""
    region = Region(2, as_bytes(np.zeros(2)), as_bytes(np.eye(2)), [6.0, -6.0], 8.0)
    made = stump("aligned", 0.5, -2.0, 2.0, names=[*NAMES, REGION], trees=Trees(0.0, []))
    made = msgspec.structs.replace(made, slope=0.0, cosine_slope=20.0, offset=-18.0, region=region)
    return msgspec.structs.replace(made, **fields)


@pytest.mark.parametrize(
    ("a", "b", "worse"),
    [
        ("how do I cancel my order", "how can I cancel an order", "how can I track an order"),
        ("怎么修改登录密码", "如何修改登录密码", "如何修改支付方式"),
        ("sort a list in python", "sorting a list with python", "sorting a file with bash"),
    ],
)
def test_a_changed_word_of_content_shows_in_every_language(a: str, b: str, worse: str) -> None:
    near, far = of(a, b), of(a, worse)
    assert far["aligned"] < near["aligned"]
    assert far["overlap"] <= near["overlap"]
    assert far["swapped"] >= near["swapped"]
    assert far["rarest_alone"] >= near["rarest_alone"]


def test_evidence_of_the_guards_is_there_as_numbers() -> None:
    assert of("enable the alarm", "disable the alarm")["opposites"] == 1.0
    assert of("is it safe", "is it not safe")["negation"] == 1.0
    assert of("plan for 3 users", "plan for 5 users")["hard_alone"] == 2.0
    assert of("hello there", "你好，请问")["scripts"] == 1.0


def test_no_feature_tells_the_length() -> None:
    """The same text, once and many times over: every value is the same (C: models learn lengths)."""
    text = "where can I see my invoices"
    once, often = of(text, text), of(" ".join([text] * 9), " ".join([text] * 9))
    assert once == often


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.floats(-1, 1),
    st.floats(-1, 1) | st.just(-math.inf) | st.just(math.nan),
)
def test_features_are_numbers_and_the_same_both_ways(
    a: str, b: str, cosine: float, other: float
) -> None:
    context = Context(cosine, other, 5.0)
    there, back = of(a, b, context), of(b, a, context)
    assert len(there) == len(DIRECTIONS)
    for name, value in there.items():
        assert math.isfinite(value) or (name == "margin" and math.isnan(other)), name
        assert value == pytest.approx(back[name], nan_ok=True), name


def test_rare_words_weigh_more_and_unseen_ones_most() -> None:
    weigh = weights_of(["how do I pay", "how do I leave", "how do I pay twice", "how are you"])
    assert weigh("how") < weigh("pay") < weigh("never seen")
    assert weigh("never seen") == 1.0


def test_a_scorer_survives_its_stored_form() -> None:
    scorer = dump(stump("aligned", 0.5, -2.0, 2.0))
    again = load(scorer.blob)
    assert again.version == scorer.version == version_of(scorer.blob)
    assert again.version.startswith("learned-")
    for b in ("cancel my order", "track my parcel"):
        was = scorer.probability("cancel my order", b, NEAR)
        assert again.probability("cancel my order", b, NEAR) == was
    assert 0.0 < scorer.probability("cancel my order", "track a parcel", NEAR) < 0.5


def test_what_was_never_labelled_gets_no_probability() -> None:
    scorer = dump(stump("aligned", 0.5, -2.0, 2.0))
    assert scorer.probability("same", "same", Context(0.49)) == 0.0
    assert scorer.probability("same", "same", Context(math.nan)) == 0.0
    assert scorer.probability("same", "same", Context(0.5)) > 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"features_version": "0"},
        {"names": NAMES[1:]},
        {"slope": -1.0},
        {"slope": 0.0, "cosine_slope": 0.0},
        {"offset": math.nan},
        {"trees": Trees(math.inf, [])},
        {"trees": Trees(0.0, [Tree([99], [0.0], [True], [0], [0], [0.0])])},
        {"trees": Trees(0.0, [Tree([0, -1], [0.0, 0.0], [True] * 2, [0, 0], [1, 0], [0.0, 1.0])])},
        {"trees": Trees(0.0, [Tree([-1], [], [True], [0], [0], [0.0])])},
    ],
)
def test_a_scorer_that_cannot_be_trusted_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UnusableScorer):
        dump(stump("aligned", 0.5, -2.0, 2.0, **wrong))


def test_bytes_that_hold_no_scorer_are_refused() -> None:
    for blob in (b"", b"\xc1", msgspec.msgpack.encode({"features_version": "1"})):
        with pytest.raises(UnusableScorer):
            load(blob)


def test_the_version_of_scores_names_the_learned_one() -> None:
    version = "minilm@1+guards-2-without-slot"
    assert split(version + suffix(COSINE)) == (version, COSINE, FEATURES_VERSION)
    learned = "learned-0123456789ab"
    assert split(version + suffix(learned)) == (version, learned, FEATURES_VERSION)


def test_the_likeliest_is_served_though_another_is_nearer() -> None:
    scorer = dump(stump("aligned", 0.5, -3.0, 3.0))
    nearest = Candidate(1, 0.93, "track my parcel", b"a")
    second = Candidate(2, 0.90, "cancel my order please", b"b")
    found = rescore(scorer, "cancel my order", [nearest, second], {1: 1.0, 2: 1.0}, NOWHERE)
    assert [c.entry_id for c in found] == [2, 1]
    assert [c.cosine for c in found] == [0.90, 0.93]
    assert all(0.0 <= c.score <= 1.0 for c in found)
    choice = decide("cancel my order", found, threshold=0.9, judge=lambda c, q: None)
    assert choice.candidate is not None
    assert choice.candidate.entry_id == 2
    refused = decide("cancel my order", found, threshold=0.9, judge=lambda c, q: Refused("g", ""))
    assert refused.candidate is None
    assert 1 <= MOST_SCORED <= 8


def test_a_score_that_fails_serves_nothing() -> None:
    class Broken(Scorer):
        def probability(self, entry_query: str, query: str, context: Context) -> float:
            raise RuntimeError(query)

    good = dump(stump("aligned", 0.5, -3.0, 3.0))
    broken = Broken(good.model, good.blob)
    found = rescore(broken, "a", [Candidate(1, 0.99, "a", b"")], {}, NOWHERE)
    assert [c.score for c in found] == [0.0]


def test_the_same_cosine_is_worth_more_where_answers_were_right() -> None:
    scorer = load(dump(place()).blob)
    trusted, mistrusted = np.eye(2, dtype=np.float32)
    near = [Candidate(1, 0.95, "x", b""), Candidate(2, 0.90, "y", b"")]
    good = rescore(scorer, "q", near, {}, trusted)
    bad = rescore(scorer, "q", near, {}, mistrusted)
    assert [c.entry_id for c in good] == [c.entry_id for c in bad] == [1, 2]
    assert good[1].score > 0.99 > 0.1 > bad[0].score
    exponent = 20.0 * 0.95 - 18.0 + 6.0 * (1.0 - math.exp(-8.0))
    assert good[0].score == pytest.approx(1.0 / (1.0 + math.exp(-exponent)), abs=1e-6)
    assert (scorer.kind, scorer.keeps_order, scorer.needs_vector) == ("place", True, True)


@pytest.mark.parametrize("vector", [np.full(2, np.nan, np.float32), np.ones(3, np.float32)])
def test_a_query_without_a_place_gets_no_probability(vector: np.ndarray) -> None:  # type: ignore[type-arg]
    scorer = dump(place())
    found = rescore(scorer, "q", [Candidate(1, 1.0, "q", b"")], {}, vector)
    assert [c.score for c in found] == [0.0]
    assert scorer.probability("q", "q", Context(1.0)) == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": NAMES},
        {"region": None},
        {"region": Region(2, b"", as_bytes(np.eye(2)), [1.0, 1.0], 8.0)},
        {"region": Region(2, as_bytes(np.zeros(2)), as_bytes(np.eye(2)), [1.0], 8.0)},
        {"region": Region(2, as_bytes(np.zeros(2)), as_bytes(np.eye(2)), [], 8.0)},
        {"region": Region(2, as_bytes(np.zeros(2)), as_bytes(np.eye(2)), [1.0, math.inf], 8.0)},
        {"region": Region(2, as_bytes(np.zeros(2)), as_bytes(np.eye(2)), [1.0, 1.0], 0.0)},
    ],
)
def test_a_place_that_cannot_be_trusted_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UnusableScorer):
        dump(place(**wrong))


def test_ties_go_to_the_nearest() -> None:
    scorer = dump(stump("scripts", 0.5, 1.0, -1.0, cosine_slope=0.0))
    same = Candidate(1, 0.9, "a b", b"")
    found = rescore(scorer, "a b", [same, replace(same, entry_id=2, score=0.8)], {}, NOWHERE)
    assert [c.entry_id for c in found] == [1, 2]
