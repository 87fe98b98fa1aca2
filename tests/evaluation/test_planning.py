"""A plan spends its budget, gives every bin its share, and comes from earlier windows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.evidence import BoolArray, FloatArray, default_grid, make_labels
from evaluation.planning import (
    choose_certify_floor,
    expected_labels,
    first_plan,
    next_plan,
    uncertainty,
)
from evaluation.simulate import make_window
from service.sampling import inclusion_probability

NONE = np.empty(0)
WINDOW = make_window("faq", np.random.default_rng(8), target_level=0.03)


def pilot(n: int = 200, seed: int = 0):  # type: ignore[no-untyped-def]  # Labels, in one line
    rng = np.random.default_rng(seed)
    chosen = rng.choice(np.flatnonzero(WINDOW.score >= 0.7), n)
    return make_labels(WINDOW.score[chosen], WINDOW.is_false_hit[chosen])


def test_a_new_line_samples_everything_at_one_rate() -> None:
    plan = first_plan(lookups_expected=10_000, label_budget=1_000)

    assert plan.certify_rate == pytest.approx(200 / 10_000)
    assert plan.certify_floor == plan.floor == 0.7
    assert plan.guarded_rate == plan.certify_rate
    assert set(plan.explore_rates) == {0.0}


def test_a_small_budget_leaves_most_for_the_second_stage() -> None:
    assert first_plan(lookups_expected=1_000, label_budget=100).certify_rate == pytest.approx(0.03)


@given(st.integers(0, 3_000), st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_a_plan_never_expects_more_labels_than_its_budget(budget: int, share: float) -> None:
    guarded = WINDOW.score[::20]
    plan = next_plan(
        pilot(),
        WINDOW.score,
        guarded_score=guarded,
        target_level=0.03,
        label_budget=budget,
        explore_share=share,
    )
    expected = expected_labels(plan, WINDOW.score, guarded_score=guarded)

    # Less only through lookups that both streams draw, and bins too small for their share.
    assert 0.85 * budget <= expected <= budget + 1e-6


def test_every_bin_gets_half_of_an_even_share_and_together_they_spend_it() -> None:
    plan = next_plan(pilot(), WINDOW.score, guarded_score=NONE, target_level=0.03, label_budget=800)
    counts = np.histogram(WINDOW.score, bins=[*plan.bin_edges, 2.0])[0]

    wanted = np.asarray(plan.explore_rates) * counts
    assert wanted.sum() == pytest.approx(0.2 * 800)
    assert wanted.min() >= 0.2 * 800 / 8 / 2


def test_twice_the_traffic_halves_the_rates() -> None:
    one, two = (
        next_plan(
            pilot(),
            WINDOW.score,
            guarded_score=NONE,
            target_level=0.03,
            label_budget=500,
            traffic_ratio=ratio,
        )
        for ratio in (1.0, 2.0)
    )
    assert two.certify_rate == pytest.approx(one.certify_rate / 2)


def test_a_window_without_lookups_still_gives_a_plan() -> None:
    plan = next_plan(
        make_labels([], []), NONE, guarded_score=NONE, target_level=0.03, label_budget=100
    )
    assert 0.0 < plan.certify_rate <= 0.1
    assert plan.certify_floor == 0.7


def test_floor_is_two_steps_below_the_loosest_promising_threshold() -> None:
    """By hand: at or above 0.80 nothing is bad, below everything is."""
    labels = make_labels([0.72] * 50 + [0.9] * 50, [True] * 50 + [False] * 50)
    grid = np.array([0.70, 0.75, 0.80, 0.85])

    assert choose_certify_floor(labels, target_level=0.03, thresholds=grid) == 0.70
    finer = np.array([0.70, 0.72, 0.74, 0.76, 0.80])
    assert choose_certify_floor(labels, target_level=0.03, thresholds=finer) == 0.70
    high = np.array([0.70, 0.71, 0.72, 0.725, 0.73])
    assert choose_certify_floor(labels, target_level=0.03, thresholds=high) == 0.71


def test_few_labels_do_not_move_the_floor() -> None:
    labels = make_labels([0.9] * 19, [False] * 19)
    assert choose_certify_floor(labels, target_level=0.03) == default_grid()[0]


def test_impossible_budgets_are_refused() -> None:
    with pytest.raises(ValueError, match="label_budget"):
        first_plan(lookups_expected=10, label_budget=-1)
    with pytest.raises(ValueError, match="lookups_expected"):
        first_plan(lookups_expected=0, label_budget=1)


def _traffic(n: int, seed: int) -> tuple[FloatArray, BoolArray]:
    """Scores of a window and the truth: hardly a false one above 0.95, half of them under 0.8."""
    rng = np.random.default_rng(seed)
    score = 0.7 + 0.3 * rng.beta(2.0, 1.0, n)
    return score, rng.uniform(size=n) < np.clip((0.96 - score) * 3.0, 0.002, 0.5)


def test_exploring_goes_where_labels_disagreed_and_spends_the_same() -> None:
    score, bad = _traffic(8_000, seed=1)
    earlier = make_labels(score[:600], bad[:600], inclusion_probability=np.full(600, 0.1))
    plan = next_plan(
        earlier,
        score,
        guarded_score=np.zeros(0),
        target_level=0.03,
        label_budget=1_000,
        explore_share=1.0,
    )
    assert plan.explore_rates[-1] < min(plan.explore_rates[1:4])
    assert min(plan.explore_rates) > 0.0
    assert expected_labels(plan, score, guarded_score=np.zeros(0)) == pytest.approx(1_000, rel=0.05)
    deviation = uncertainty(earlier, plan.bin_edges)
    assert deviation[-1] < deviation[1] <= 0.5
    nothing = uncertainty(earlier.where(earlier.score < 0.0), plan.bin_edges)
    assert nothing.tolist() == [0.5] * len(plan.bin_edges)


def test_estimates_from_uncertainty_sampling_stay_unbiased() -> None:
    """Rates follow earlier labels, so each lookup's probability is known before its window; the weights undo them."""
    past, past_bad = _traffic(4_000, seed=2)
    earlier = make_labels(past[:500], past_bad[:500], inclusion_probability=np.full(500, 0.125))
    score, bad = _traffic(4_000, seed=3)
    plan = next_plan(earlier, past, guarded_score=np.zeros(0), target_level=0.03, label_budget=600)
    rate = np.asarray([inclusion_probability(plan, s, guarded=False) for s in score])
    assert np.unique(rate).size > 3
    rng = np.random.default_rng(4)
    for threshold in (0.7, 0.85, 0.95):
        above = score >= threshold
        truth = float((above & bad).sum())
        found = []
        unweighted = []
        for _ in range(1_500):
            drawn = rng.uniform(size=score.size) < rate
            found.append(float(((above & bad & drawn) / rate).sum()))
            unweighted.append(float((above & bad & drawn).sum() / max(drawn.mean(), 1e-9)))
        error = float(np.std(found)) / np.sqrt(len(found))
        assert abs(float(np.mean(found)) - truth) < 4.0 * error
        if threshold < 0.9:  # the test can fail: without the weights it would
            assert abs(float(np.mean(unweighted)) - truth) > 8.0 * error
