"""The stability index is small for noise and large for moved scores."""

import numpy as np
import pytest

from evaluation.drift import DRIFTED_ABOVE, population_stability_index

RNG = np.random.default_rng(4)
REFERENCE = RNG.normal(0.8, 0.05, 5_000)


def test_equal_windows_have_no_drift() -> None:
    assert population_stability_index(REFERENCE, REFERENCE) == 0.0


def test_noise_stays_near_its_expectation() -> None:
    """About (bins - 1)(1/N + 1/M) for another draw from the same traffic."""
    noise = [population_stability_index(REFERENCE, RNG.normal(0.8, 0.05, 5_000)) for _ in range(50)]
    assert np.mean(noise) == pytest.approx(9 * 2 / 5_000, rel=0.6)
    assert max(noise) < 0.02


def test_a_shift_by_one_deviation_is_drift() -> None:
    assert population_stability_index(REFERENCE, REFERENCE - 0.05) > DRIFTED_ABOVE


def test_more_guarded_lookups_are_drift_too() -> None:
    guarded = np.where(np.arange(5_000) < 1_500, -np.inf, REFERENCE)
    assert population_stability_index(REFERENCE, guarded) > DRIFTED_ABOVE


def test_the_index_by_hand_for_two_bins() -> None:
    reference, current = np.array([0.1] * 5 + [0.9] * 5), np.array([0.1] * 2 + [0.9] * 8)
    r = np.array([0.5, 5.5, 5.5]) / 11.5
    c = np.array([0.5, 2.5, 8.5]) / 11.5
    expected = float(((c - r) * np.log(c / r)).sum())

    assert population_stability_index(reference, current, bins=2) == pytest.approx(expected)


def test_an_empty_window_and_one_score_only_give_a_finite_number() -> None:
    assert population_stability_index(np.array([]), REFERENCE) == 0.0
    assert population_stability_index(REFERENCE, np.array([])) == 0.0
    assert np.isfinite(population_stability_index(np.full(5, 0.9), np.full(5, 0.8)))
    assert np.isfinite(population_stability_index(np.full(5, -np.inf), REFERENCE))


def test_one_bin_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        population_stability_index(REFERENCE, REFERENCE, bins=1)
