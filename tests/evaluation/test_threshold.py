"""A line gets a threshold, a number of labels to collect, or the advice to stay exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.certificate import Certificate
from evaluation.evidence import Labels, Lookups, make_labels, make_lookups
from evaluation.threshold import (
    GoldTraps,
    NotEnoughEvidence,
    Recommendation,
    TargetUnreachable,
    error_of_look,
    recommend,
)

LOOKUPS = 6_000


def line(seed: int = 0, *, rate: float = 0.2) -> tuple[Labels, Lookups]:
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.7, 1.0, LOOKUPS)
    bad = rng.random(LOOKUPS) < np.where(score < 0.85, 0.4, 0.005)
    drawn = rng.random(LOOKUPS) < rate
    labels = make_labels(score[drawn], bad[drawn], inclusion_probability=rate)
    return labels, make_lookups(score, rate)


def test_recommended_threshold_is_certified_and_cross_checked() -> None:
    labels, lookups = line()
    outcome = recommend(labels, lookups, target_level=0.05, floor=0.7)

    assert isinstance(outcome, Recommendation)
    assert isinstance(outcome.certificate, Certificate)
    assert 0.82 <= outcome.threshold <= 0.87
    assert outcome.cross_check == pytest.approx(outcome.threshold, abs=0.02)
    assert outcome.certificate.capital_needed == pytest.approx(25.0)


def test_order_of_rows_and_repetition_never_change_the_answer() -> None:
    labels, lookups = line()
    order = np.random.default_rng(5).permutation(len(labels))
    shuffled = Labels(
        *(
            getattr(labels, f)[order]
            for f in ("score", "false_hit", "unsure", "original_bad", "inclusion_probability")
        )
    )
    first, second, third = (
        recommend(rows, lookups, target_level=0.05, floor=0.7)
        for rows in (labels, labels, shuffled)
    )

    assert isinstance(first, Recommendation)
    assert isinstance(second, Recommendation)
    assert isinstance(third, Recommendation)
    assert first.threshold == second.threshold == third.threshold


def test_too_few_labels_say_how_many_are_missing() -> None:
    labels, lookups = line(rate=0.01)
    outcome = recommend(labels, lookups, target_level=0.05, floor=0.7)

    assert isinstance(outcome, NotEnoughEvidence)
    assert outcome.labels == len(labels)
    assert outcome.labels_missing >= 1
    assert outcome.labels_needed == outcome.labels + outcome.labels_missing


@pytest.mark.slow
def test_the_missing_labels_are_mostly_enough() -> None:
    """Collecting as many as announced certifies something in most windows."""
    labels, lookups = line(rate=0.02)
    outcome = recommend(labels, lookups, target_level=0.05, floor=0.8)
    assert isinstance(outcome, NotEnoughEvidence)
    above = float((lookups.score >= 0.8).sum())
    rate = min(outcome.labels_needed / above, 1.0)
    certified = sum(
        isinstance(recommend(*line(seed, rate=rate), target_level=0.05, floor=0.8), Recommendation)
        for seed in range(1, 31)
    )

    assert certified >= 18


def test_a_second_look_needs_more_capital_than_the_first() -> None:
    labels, lookups = line()
    needed = []
    for look in (1, 2, 3):
        outcome = recommend(labels, lookups, target_level=0.05, floor=0.7, look=look)
        assert isinstance(outcome, Recommendation)
        needed.append(outcome.certificate.capital_needed)

    assert needed == pytest.approx([25.0, 200.0, 400.0])


@given(st.floats(0.001, 0.5), st.integers(1, 60))
def test_all_looks_together_never_spend_more_than_the_error(error: float, looks: int) -> None:
    spent = sum(error_of_look(error, look) for look in range(1, looks + 1))

    assert 0.0 < spent <= error


def test_looks_count_from_one() -> None:
    with pytest.raises(ValueError, match="counts from 1"):
        error_of_look(0.05, 0)


def test_reviewers_who_let_traps_pass_make_the_promise_dearer() -> None:
    labels, lookups = line()
    trusted = recommend(labels, lookups, target_level=0.05, floor=0.7)
    tested = recommend(
        labels, lookups, target_level=0.05, floor=0.7, gold=GoldTraps(shown=50, missed=3)
    )

    assert isinstance(trusted, Recommendation)
    assert isinstance(tested, Recommendation)
    assert tested.certificate.tested_level < trusted.certificate.tested_level == 0.05
    assert tested.threshold >= trusted.threshold
    # Error of the bound on misses and of the certificate add up to that of the look.
    assert 1.0 - tested.certificate.confidence == pytest.approx(0.8 * 0.8 * 0.05)


def test_impossible_gold_counts_are_refused() -> None:
    for shown, missed in ((0, 0), (3, 4), (3, -1)):
        with pytest.raises(ValueError, match="missed"):
            GoldTraps(shown=shown, missed=missed)


def test_reviewers_who_miss_every_trap_certify_nothing() -> None:
    labels, lookups = line()
    outcome = recommend(
        labels, lookups, target_level=0.05, floor=0.7, gold=GoldTraps(shown=20, missed=20)
    )

    assert not isinstance(outcome, Recommendation)


def test_a_line_whose_good_and_bad_cannot_be_told_apart_stays_exact() -> None:
    rng = np.random.default_rng(1)
    score = rng.uniform(0.7, 1.0, 300)
    outcome = recommend(
        make_labels(score, rng.random(300) < 0.5), make_lookups(score), target_level=0.02, floor=0.7
    )

    assert isinstance(outcome, TargetUnreachable)
    assert outcome.lowest_rate > 0.1


def test_cross_check_is_left_out_where_rates_differ() -> None:
    rng = np.random.default_rng(2)
    score = rng.uniform(0.7, 1.0, 4_000)
    p = np.where(score > 0.9, 0.5, 0.4)
    drawn = rng.random(4_000) < p
    outcome = recommend(
        make_labels(
            score[drawn], np.zeros(drawn.sum(), dtype=bool), inclusion_probability=p[drawn]
        ),
        make_lookups(score, p),
        target_level=0.05,
        floor=0.7,
    )

    assert isinstance(outcome, Recommendation)
    assert outcome.cross_check is None
