"""C-137: the tuner proposes a usable threshold or declines, at the level of the function.

Target: at most 2 % of the hits false, at 95 %.
"""

import numpy as np
import pytest

from evaluation.bounds import clopper_pearson_upper
from evaluation.curve import Curve
from evaluation.evidence import Labels, Lookups, make_labels, make_lookups
from evaluation.threshold import (
    NotEnoughEvidence,
    Recommendation,
    TargetUnreachable,
    recommend,
)

TARGET = 0.02
BEST = 0.80


def judged(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]  # float and bool, in the name
    """Pairs whose best point is known: reusable from 0.80 up, not below."""
    score = np.random.default_rng(seed).uniform(0.75, 1.0, n)
    return score, score < BEST


def tune(score: np.ndarray, bad: np.ndarray):  # type: ignore[no-untyped-def,type-arg]  # the Outcome union
    return recommend(make_labels(score, bad), make_lookups(score), target_level=TARGET, floor=0.7)


def test_300_pairs_with_a_known_best_point_give_it() -> None:
    """(a), and it holds on pairs that were not used to choose it, with an interval."""
    score, bad = judged(300, seed=1)
    outcome = tune(score, bad)

    assert isinstance(outcome, Recommendation)
    assert 0.0 <= outcome.threshold <= 1.0
    assert outcome.threshold == pytest.approx(BEST, abs=0.01)
    fresh_score, fresh_bad = judged(2_000, seed=2)
    served = fresh_score >= outcome.threshold
    assert clopper_pearson_upper(fresh_bad[served].sum(), served.sum(), confidence=0.95) <= TARGET
    at = outcome.curve.thresholds == outcome.threshold
    assert outcome.curve.false_hit_lower[at] <= outcome.curve.false_hit_rate[at] <= TARGET
    assert outcome.curve.false_hit_upper[at] < 1.0


def test_a_threshold_chosen_on_most_pairs_holds_on_the_rest() -> None:
    """(a) once more, by splitting the 300 themselves."""
    score, bad = judged(300, seed=1)
    chosen_on = np.arange(300) < 270
    outcome = tune(score[chosen_on], bad[chosen_on])

    assert isinstance(outcome, Recommendation)
    held_out = ~chosen_on & (score >= outcome.threshold)
    assert held_out.sum() >= 15
    assert bad[held_out].mean() <= TARGET


def test_repeated_runs_agree() -> None:
    score, bad = judged(300, seed=1)
    first, second = tune(score, bad), tune(score, bad)

    assert first.threshold == second.threshold
    assert first.certificate == second.certificate


@pytest.mark.parametrize("pairs", [8, 200, 0])
def test_few_one_sided_or_no_pairs_decline_and_say_how_many_are_missing(pairs: int) -> None:
    """(b) 8 pairs, (c) 200 pairs all right, (d) none."""
    score = np.random.default_rng(3).uniform(0.75, 1.0, pairs)
    bad = score < BEST if pairs == 8 else np.zeros(pairs, dtype=bool)
    outcome = tune(score, bad)

    assert isinstance(outcome, NotEnoughEvidence)
    assert outcome.labels == pairs
    assert outcome.labels_missing >= 1
    assert_usable(outcome.curve)


def test_complete_overlap_says_that_the_target_cannot_be_met() -> None:
    """(e): more labels would not help; the exact tier is what is left."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        score = rng.uniform(0.75, 1.0, 200)
        outcome = tune(score, rng.permutation(np.arange(200) < 100))

        assert isinstance(outcome, TargetUnreachable)
        assert outcome.lowest_rate > TARGET
        assert_usable(outcome.curve)


def test_at_ties_the_reported_rates_are_those_of_the_rule() -> None:
    """(f): 250 good pairs share a score with 2 bad ones; no threshold parts them."""
    score = np.concatenate([np.full(252, 0.90), np.full(200, 0.95), np.full(48, 0.80)])
    bad = np.concatenate([np.arange(252) < 2, np.zeros(200, bool), np.ones(48, bool)])
    labels, lookups = make_labels(score, bad), make_lookups(score)
    outcome = recommend(labels, lookups, target_level=TARGET, floor=0.7)

    assert isinstance(outcome, Recommendation)
    served = score >= outcome.threshold
    assert served.sum() == 452
    assert outcome.certificate.labels == served.sum()
    assert outcome.certificate.false_hits == bad[served].sum() == 2
    assert outcome.certificate.hit_rate == pytest.approx(served.mean())
    assert outcome.certificate.point_estimate == pytest.approx(bad[served].mean())
    assert_curve_is_the_rule(outcome.curve, labels, lookups)


def test_a_threshold_equal_to_a_score_serves_that_score() -> None:
    """(f) at the float itself: the tie at 0.90 is in at 0.90 and out one grid step above."""
    score = np.full(400, 0.90)
    outcome = tune(score, np.zeros(400, dtype=bool))

    assert isinstance(outcome, Recommendation)
    at = outcome.curve.thresholds == 0.90
    above = outcome.curve.thresholds == 0.905
    assert outcome.curve.hit_rate[at] == 1.0
    assert outcome.curve.hit_rate[above] == 0.0


def assert_usable(curve: Curve) -> None:
    for values in (curve.thresholds, curve.hit_rate, curve.false_hit_rate, curve.false_hit_upper):
        assert values.shape == curve.thresholds.shape
        assert np.isfinite(values).all()
        assert np.all((values >= 0.0) & (values <= 1.0))


def assert_curve_is_the_rule(curve: Curve, labels: Labels, lookups: Lookups) -> None:
    assert_usable(curve)
    for t, hit_rate, rate in zip(
        curve.thresholds, curve.hit_rate, curve.false_hit_rate, strict=True
    ):
        served = labels.score >= t
        assert hit_rate == pytest.approx(float((lookups.score >= t).mean()))
        assert rate == pytest.approx(labels.false_hit[served].mean() if served.any() else 1.0)
