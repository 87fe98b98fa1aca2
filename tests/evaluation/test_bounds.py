"""Bounds agree with scipy, with cases worked out by hand, and with what weights mean."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.bounds import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    effective_labels,
    effective_size,
    hajek_rate,
    korn_graubard,
    wilson,
)

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
rows = st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=1, max_size=40)


@given(counts)
def test_clopper_pearson_is_scipys_exact_interval(count: tuple[int, int]) -> None:
    k, n = count
    exact = stats.binomtest(k, n).proportion_ci(confidence_level=0.95, method="exact")

    assert clopper_pearson_lower(k, n, confidence=0.975) == pytest.approx(exact.low)
    assert clopper_pearson_upper(k, n, confidence=0.975) == pytest.approx(exact.high)


@given(counts)
def test_wilson_is_scipys_interval(count: tuple[int, int]) -> None:
    k, n = count
    theirs = stats.binomtest(k, n).proportion_ci(confidence_level=0.95, method="wilson")
    lower, upper = wilson(k, n, confidence=0.975)

    assert lower == pytest.approx(theirs.low, abs=1e-12)
    assert upper == pytest.approx(theirs.high, abs=1e-12)


@pytest.mark.parametrize(("alpha", "needed"), [(0.005, 598), (0.01, 299), (0.03, 99), (0.05, 59)])
def test_zero_false_hits_need_the_textbook_number_of_labels(alpha: float, needed: int) -> None:
    assert clopper_pearson_upper(0, needed, confidence=0.95) <= alpha
    assert clopper_pearson_upper(0, needed - 1, confidence=0.95) > alpha


def test_three_misses_in_fifty_gold_traps_bound_the_miss_rate_by_15_percent() -> None:
    assert clopper_pearson_upper(3, 50, confidence=0.95) == pytest.approx(0.148, abs=5e-4)


def test_no_labels_leave_everything_possible() -> None:
    assert clopper_pearson_lower(0, 0, confidence=0.95) == 0.0
    assert clopper_pearson_upper(0, 0, confidence=0.95) == 1.0
    assert wilson(0, 0, confidence=0.95) == (0.0, 1.0)
    assert korn_graubard([], [], confidence=0.95) == (0.0, 1.0)
    assert hajek_rate([], []) == 1.0
    assert effective_labels([]) == 0.0
    assert effective_size([], [], confidence=0.95) == 0.0


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="0 <= bad <= labels"):
        clopper_pearson_upper(3, 2, confidence=0.95)
    with pytest.raises(ValueError, match="confidence"):
        clopper_pearson_upper(1, 2, confidence=1.0)
    with pytest.raises(ValueError, match="finite and at least 0"):
        hajek_rate([True], [-1.0])
    with pytest.raises(ValueError, match="shape"):
        hajek_rate([True], [1.0, 1.0])


@given(rows)
def test_weight_two_is_the_row_twice(data: list[tuple[bool, int]]) -> None:
    bad = [b for b, _ in data]
    weight = [w for _, w in data]

    assert hajek_rate(bad, weight) == pytest.approx(
        hajek_rate(np.repeat(bad, weight), np.ones(sum(weight)))
    )


@given(rows, st.booleans())
def test_weight_zero_is_the_row_absent(data: list[tuple[bool, int]], extra: bool) -> None:
    bad = [b for b, _ in data]
    weight = [float(w) for _, w in data]

    assert hajek_rate([*bad, extra], [*weight, 0.0]) == hajek_rate(bad, weight)
    assert effective_labels([*weight, 0.0]) == pytest.approx(effective_labels(weight))
    assert korn_graubard([*bad, extra], [*weight, 0.0], confidence=0.9) == pytest.approx(
        korn_graubard(bad, weight, confidence=0.9)
    )


@given(rows, st.floats(1e-6, 1e6))
def test_only_the_ratio_of_weights_matters(data: list[tuple[bool, int]], scale: float) -> None:
    bad = [b for b, _ in data]
    weight = np.asarray([w for _, w in data], dtype=float)

    assert effective_labels(weight * scale) == pytest.approx(effective_labels(weight))
    assert korn_graubard(bad, weight * scale, confidence=0.9) == pytest.approx(
        korn_graubard(bad, weight, confidence=0.9)
    )


@given(rows)
def test_weighted_interval_always_holds_its_estimate(data: list[tuple[bool, int]]) -> None:
    bad, weight = [b for b, _ in data], [w for _, w in data]
    lower, upper = korn_graubard(bad, weight, confidence=0.9)

    assert 0.0 <= lower <= hajek_rate(bad, weight) <= upper <= 1.0


def test_equal_weights_give_nearly_the_unweighted_interval() -> None:
    """Only the t quantile and n - 1 differ, so the weighted interval is a little wider."""
    bad = np.arange(400) < 20
    lower, upper = korn_graubard(bad, np.ones(400), confidence=0.975)

    assert clopper_pearson_lower(20, 400, confidence=0.975) == pytest.approx(lower, rel=0.02)
    assert clopper_pearson_upper(20, 400, confidence=0.975) == pytest.approx(upper, rel=0.02)
    assert upper >= clopper_pearson_upper(20, 400, confidence=0.975)


def test_kish_size_of_one_heavy_and_three_light_labels() -> None:
    assert effective_labels([3.0, 1.0, 1.0, 1.0]) == pytest.approx(36.0 / 12.0)


def test_unequal_weights_make_the_interval_wider() -> None:
    bad = np.arange(200) % 10 == 0
    unequal = np.where(np.arange(200) % 4 == 0, 10.0, 1.0)
    lower, upper = korn_graubard(bad, unequal, confidence=0.975)
    plain_lower, plain_upper = korn_graubard(bad, np.ones(200), confidence=0.975)

    assert upper - lower > 1.2 * (plain_upper - plain_lower)


def test_clopper_pearson_covers_at_least_as_often_as_it_says() -> None:
    n, p = 150, 0.03
    upper = clopper_pearson_upper(np.arange(n + 1), n, confidence=0.95)
    coverage = float(stats.binom.pmf(np.arange(n + 1), n, p)[upper >= p].sum())

    assert coverage >= 0.95
    assert math.isclose(float(stats.binom.pmf(np.arange(n + 1), n, p).sum()), 1.0)
