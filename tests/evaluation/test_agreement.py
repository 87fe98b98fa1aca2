"""Reviewers are judged by known answers; kappa is shown only where it says something."""

import numpy as np
import pytest
from scipy import stats

from evaluation.agreement import agreement, gold_accuracy

GOOD, BAD, UNSURE = "reusable", "not_reusable", "unsure"


def test_gold_accuracy_by_hand() -> None:
    verdict = [BAD] * 46 + [UNSURE] + [GOOD] * 3 + [GOOD] * 48 + [BAD] * 2
    truth = [True] * 50 + [False] * 50
    result = gold_accuracy(verdict, truth)
    exact = stats.binomtest(3, 50).proportion_ci(confidence_level=0.95, method="exact")

    assert (result.sensitivity.count, result.sensitivity.total) == (47, 50)
    assert (result.missed.count, result.missed.total) == (3, 50)
    assert (result.missed.lower, result.missed.upper) == pytest.approx((exact.low, exact.high))
    assert result.false_alarm.rate == pytest.approx(0.04)
    assert result.unsure.rate == pytest.approx(0.01)


def test_no_gold_items_leave_everything_open() -> None:
    result = gold_accuracy([], [])

    assert (result.missed.rate, result.missed.lower, result.missed.upper) == (0.0, 0.0, 1.0)


def test_kappa_of_a_balanced_set_by_hand() -> None:
    """Observed agreement 0.8, by chance 0.5: kappa 0.6."""
    first = [GOOD] * 20 + [BAD] * 20
    second = [GOOD] * 16 + [BAD] * 4 + [BAD] * 16 + [GOOD] * 4
    result = agreement(first, second)

    assert result.kappa == pytest.approx(0.6)
    assert result.agreed.rate == pytest.approx(0.8)
    np.testing.assert_array_equal([[16, 4, 0], [4, 16, 0], [0, 0, 0]], result.confusion)


def test_kappa_is_withheld_on_a_stream_with_one_percent_false_hits() -> None:
    first = [GOOD] * 97 + [BAD] * 3
    second = [GOOD] * 96 + [BAD] * 4
    result = agreement(first, second)

    assert result.kappa is None
    assert result.kappa_withheld is not None
    assert "10%" in result.kappa_withheld
    assert result.agreed.rate == pytest.approx(0.99)


def test_kappa_is_withheld_for_a_handful_and_for_none() -> None:
    for n in (0, 5):
        result = agreement([GOOD] * n, [BAD] * n)
        assert result.kappa is None
        assert result.items == n
        assert result.confusion.shape == (3, 3)


def test_unequal_lengths_and_unknown_verdicts_are_refused() -> None:
    with pytest.raises(ValueError, match="against"):
        agreement([GOOD], [])
    with pytest.raises(ValueError, match="gold items"):
        gold_accuracy([GOOD], [])
    with pytest.raises(ValueError, match="unknown verdicts"):
        agreement(["maybe"], [GOOD])
