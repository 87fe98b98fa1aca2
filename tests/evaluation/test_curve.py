"""The curve says what the rule `score >= threshold` would do, and how much stands behind it."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.curve import Curve, estimate_curve, expected_value, post_stratified_weights
from evaluation.evidence import make_labels, make_lookups

GRID = np.round(np.arange(0.70, 1.0001, 0.05), 6)
guarded_or_scored = st.one_of(
    st.just(-np.inf), st.sampled_from(list(np.round(np.arange(0.6, 1.0, 0.01), 6)))
)
label_rows = st.lists(
    st.tuples(guarded_or_scored, st.sampled_from(["good", "bad", "unsure"]), st.floats(0.05, 1.0)),
    max_size=30,
)


def curve_of(rows: list[tuple[float, str, float]], logged: list[float]) -> Curve:
    labels = make_labels(
        [s for s, _, _ in rows],
        [v == "bad" for _, v, _ in rows],
        unsure=[v == "unsure" for _, v, _ in rows],
        inclusion_probability=np.asarray([p for _, _, p in rows], dtype=float),
    )
    return estimate_curve(labels, make_lookups(np.asarray(logged, dtype=float)), thresholds=GRID)


@given(label_rows, st.lists(guarded_or_scored, max_size=40))
@settings(max_examples=60, deadline=None)
def test_arrays_are_always_finite_equal_long_and_within_range(
    rows: list[tuple[float, str, float]], logged: list[float]
) -> None:
    """C-137: no infinite first threshold, no arrays of unequal length, whatever the data."""
    curve = curve_of(rows, logged)
    arrays = {f.name: getattr(curve, f.name) for f in fields(curve) if f.name != "confidence"}

    assert {a.shape for a in arrays.values()} == {GRID.shape}
    assert all(np.isfinite(a).all() for a in arrays.values())
    assert np.all(np.diff(curve.thresholds) > 0.0)
    assert np.all(np.diff(curve.hit_rate) <= 0.0)
    for name, a in arrays.items():
        if name.endswith(("rate", "lower", "upper")):
            assert np.all((a >= 0.0) & (a <= 1.0)), name
    assert np.all(curve.false_hit_lower <= curve.false_hit_rate + 1e-12)
    assert np.all(curve.false_hit_rate <= curve.false_hit_upper + 1e-12)


@given(label_rows, st.lists(guarded_or_scored, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_order_of_rows_never_matters(
    rows: list[tuple[float, str, float]], logged: list[float], random
) -> None:  # type: ignore[no-untyped-def]  # hypothesis has no public type for it
    shuffled_rows, shuffled_log = list(rows), list(logged)
    random.shuffle(shuffled_rows)
    random.shuffle(shuffled_log)
    one, other = curve_of(rows, logged), curve_of(shuffled_rows, shuffled_log)

    np.testing.assert_allclose(one.false_hit_rate, other.false_hit_rate, atol=1e-12)
    np.testing.assert_allclose(one.false_hit_upper, other.false_hit_upper, atol=1e-9)
    np.testing.assert_array_equal(one.hit_rate, other.hit_rate)


def test_hit_rate_counts_every_logged_lookup_and_ties_are_hits() -> None:
    curve = curve_of([], [0.75, 0.75, 0.9, -np.inf, 0.6])

    assert curve.hit_rate[GRID == 0.75] == pytest.approx(3 / 5)
    assert curve.hit_rate[GRID == 0.80] == pytest.approx(1 / 5)
    assert curve.hit_rate[-1] == 0.0


def test_one_rate_and_one_bin_give_the_plain_share() -> None:
    """By hand: four labels at or above 0.8, one of them bad."""
    labels = make_labels([0.8, 0.85, 0.9, 0.95, 0.72], [True, False, False, False, True])
    log = make_lookups([0.8, 0.85, 0.9, 0.95, 0.72])
    curve = estimate_curve(labels, log, thresholds=GRID, bin_edges=[0.7])

    assert curve.false_hit_rate[GRID == 0.8] == pytest.approx(1 / 4)
    assert curve.false_hit_rate[GRID == 0.7] == pytest.approx(2 / 5)
    assert curve.wrong_reuse_rate[GRID == 0.8] == pytest.approx(4 / 5 * 1 / 4)
    assert curve.labels[GRID == 0.8] == 4
    assert curve.false_hits[GRID == 0.8] == 1


def test_a_bin_counts_as_much_as_it_does_in_the_log() -> None:
    """Two bins with one label each, 90 lookups behind one and 10 behind the other."""
    labels = make_labels([0.75, 0.92], [True, False])
    log = make_lookups([0.75] * 90 + [0.92] * 10)
    curve = estimate_curve(labels, log, thresholds=GRID, bin_edges=[0.7, 0.9])

    assert curve.false_hit_rate[0] == pytest.approx(0.9)


def test_log_mass_of_a_bin_without_labels_goes_to_its_neighbour() -> None:
    weights = post_stratified_weights(
        np.array([0.72, 0.95]),
        np.array([1.0, 1.0]),
        np.array([0.72, 0.82, 0.82, 0.82, 0.95]),
        threshold=0.7,
        bin_edges=np.array([0.7, 0.8, 0.9]),
    )

    np.testing.assert_allclose([4.0, 1.0], weights)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.72, 0.8, 0.88, 0.95]), st.booleans(), st.integers(1, 4)),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=40, deadline=None)
def test_half_the_probability_is_the_row_twice(rows: list[tuple[float, bool, int]]) -> None:
    scores = np.array([s for s, _, _ in rows])
    bad = np.array([b for _, b, _ in rows])
    times = np.array([w for _, _, w in rows])
    log = make_lookups(np.array([0.72, 0.8, 0.8, 0.88, 0.95, 0.95]))
    weighted = estimate_curve(
        make_labels(scores, bad, inclusion_probability=1.0 / times), log, thresholds=GRID
    )
    repeated = estimate_curve(
        make_labels(np.repeat(scores, times), np.repeat(bad, times)), log, thresholds=GRID
    )

    np.testing.assert_allclose(repeated.false_hit_rate, weighted.false_hit_rate)
    np.testing.assert_allclose(repeated.unsure_as_bad_rate, weighted.unsure_as_bad_rate)


def test_a_row_of_weight_zero_is_absent() -> None:
    scores, log = np.array([0.75, 0.8, 0.9]), np.array([0.75, 0.8, 0.9])
    edges = np.array([0.7, 0.85])
    with_zero = post_stratified_weights(
        scores, np.array([1.0, 0.0, 2.0]), log, threshold=0.7, bin_edges=edges
    )
    without = post_stratified_weights(
        scores[[0, 2]], np.array([1.0, 2.0]), log, threshold=0.7, bin_edges=edges
    )

    assert with_zero[1] == 0.0
    np.testing.assert_allclose(without, with_zero[[0, 2]])


def test_unsure_is_shown_both_ways_and_a_bad_original_apart() -> None:
    labels = make_labels(
        [0.9] * 5,
        [True, False, False, False, False],
        unsure=[False, True, False, False, False],
        original_bad=[False, False, True, False, False],
    )
    curve = estimate_curve(labels, make_lookups([0.9] * 5), thresholds=GRID)

    assert curve.false_hit_rate[0] == pytest.approx(1 / 4)
    assert curve.unsure_as_bad_rate[0] == pytest.approx(2 / 5)
    assert curve.original_bad_rate[0] == pytest.approx(1 / 5)
    assert curve.unsure[0] == 1


def test_a_guarded_label_is_never_above_a_threshold() -> None:
    curve = curve_of([(-np.inf, "bad", 0.5), (0.9, "good", 0.5)], [0.9, -np.inf])

    assert curve.labels[0] == 1
    assert curve.false_hit_rate[0] == 0.0
    assert curve.hit_rate[0] == 0.5


def test_nothing_known_counts_as_the_worst() -> None:
    curve = curve_of([], [0.9])

    assert np.all(curve.false_hit_rate == 1.0)
    assert np.all(curve.false_hit_upper == 1.0)
    assert np.all(curve.false_hit_lower == 0.0)
    assert curve.is_thin.all()


def test_unequal_rates_do_not_bend_the_curve() -> None:
    """Bad lookups sampled ten times as often as good ones: the weights undo it."""
    rng = np.random.default_rng(7)
    score = rng.uniform(0.7, 1.0, 40_000)
    bad = rng.random(40_000) < 0.2
    p = np.where(bad, 0.5, 0.05)
    drawn = rng.random(40_000) < p
    labels = make_labels(score[drawn], bad[drawn], inclusion_probability=p[drawn])
    curve = estimate_curve(labels, make_lookups(score, p), thresholds=GRID[:-1])

    np.testing.assert_allclose(curve.false_hit_rate[:4], 0.2, atol=0.03)


def test_money_follows_the_two_rates() -> None:
    curve = estimate_curve(
        make_labels([0.9] * 10, [True] + [False] * 9),
        make_lookups([0.9] * 5 + [-np.inf] * 5),
        thresholds=GRID,
    )
    value = expected_value(curve, saved_per_hit=2.0, cost_of_wrong=30.0)

    assert value.saved[0] == pytest.approx(0.5 * 0.9 * 2.0)
    assert value.lost[0] == pytest.approx(0.5 * 0.1 * 30.0)
    assert value.net[0] == pytest.approx(0.9 - 1.5)
    assert np.all(value.net_pessimistic <= value.net + 1e-12)


def test_negative_prices_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        expected_value(curve_of([], []), saved_per_hit=-1.0, cost_of_wrong=1.0)
