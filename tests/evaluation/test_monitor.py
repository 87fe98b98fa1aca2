"""The monitor rarely cries wolf, however often it is asked, and finds real trouble in time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.evidence import BoolArray, FloatArray
from evaluation.monitor import (
    ALARM_AT,
    MonitorState,
    labels_to_alarm,
    start_monitor,
    update_monitor,
)


def feed(state: MonitorState, bad: list[bool], p: float = 1.0, least: float = 1.0) -> MonitorState:
    return update_monitor(
        state,
        bad,
        inclusion_probability=[p] * len(bad),
        smallest_probability=[least] * len(bad),
    )


def e_paths(bad: BoolArray, target_level: float, weight: FloatArray | float = 1.0) -> FloatArray:
    """Every e value of many streams at once, shape (streams, labels); weight 0 is no label."""
    capital = []
    for q in start_monitor(target_level).alternatives:
        ratio = np.where(bad, q / target_level, (1.0 - q) / (1.0 - target_level))
        capital.append(np.exp(np.cumsum(np.log1p(weight * (ratio - 1.0)), axis=1)))
    return np.asarray(np.mean(capital, axis=0))


def test_the_vectorised_paths_of_these_tests_are_those_of_the_monitor() -> None:
    bad = np.random.default_rng(0).random((1, 200)) < 0.05
    state = start_monitor(0.03)
    one_by_one = []
    for verdict in bad[0]:
        state = feed(state, [bool(verdict)], p=0.5, least=0.2)
        one_by_one.append(state.e)

    np.testing.assert_allclose(e_paths(bad, 0.03, 0.4)[0], one_by_one)
    assert state.highest_e == pytest.approx(max(1.0, *one_by_one))


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 60))
def test_state_resumes_as_if_it_had_never_stopped(bad: list[bool], cut: int) -> None:
    at_once = feed(start_monitor(0.03), bad)
    in_pieces = feed(feed(start_monitor(0.03), bad[:cut]), bad[cut:])

    assert in_pieces == at_once
    assert at_once.labels == len(bad)
    assert at_once.false_hits == sum(bad)


def test_a_new_monitor_is_quiet_at_one() -> None:
    state = start_monitor(0.03)

    assert state.e == 1.0
    assert state.status == "quiet"
    assert feed(state, []) == state


def test_caution_passes_but_an_alarm_stays() -> None:
    cautious = feed(start_monitor(0.03), [True] * 2)
    assert cautious.status == "caution"
    assert feed(cautious, [False] * 200).status == "quiet"

    alarmed = feed(start_monitor(0.03), [True] * 4)
    assert alarmed.status == "alarm"
    later = feed(alarmed, [False] * 500)
    assert later.e < ALARM_AT
    assert later.status == "alarm"


def test_number_of_false_hits_in_a_row_that_raise_the_alarm() -> None:
    n = labels_to_alarm(start_monitor(0.03))

    assert feed(start_monitor(0.03), [True] * n).status == "alarm"
    assert feed(start_monitor(0.03), [True] * (n - 1)).status != "alarm"
    assert labels_to_alarm(feed(start_monitor(0.03), [True] * n)) == 0


def test_high_targets_keep_their_alternatives_below_one() -> None:
    state = start_monitor(0.4)

    assert all(0.4 < q < 1.0 for q in state.alternatives)
    assert math.isfinite(feed(state, [True, False] * 1_000).e)


def test_an_endless_run_of_false_hits_stays_finite() -> None:
    assert math.isfinite(feed(start_monitor(0.01), [True] * 5_000).highest_e)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="target_level"):
        start_monitor(0.0)
    with pytest.raises(ValueError, match="smallest_probability"):
        feed(start_monitor(0.03), [True], p=0.1, least=0.2)
    with pytest.raises(ValueError, match="argument"):
        update_monitor(
            start_monitor(0.03), [True], inclusion_probability=[], smallest_probability=[1.0]
        )


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.01, 0.03, 0.05])
def test_false_alarms_stay_below_five_percent_for_ever(alpha: float) -> None:
    """Ville: 1,000 streams of 4,000 labels exactly at the target, asked after every label."""
    runs = 1_000
    bad = np.random.default_rng(int(1_000 * alpha)).random((runs, 4_000)) < alpha
    alarms = float((e_paths(bad, alpha).max(axis=1) >= ALARM_AT).mean())

    assert alarms <= 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / runs)
    assert alarms >= 0.01  # a monitor that can never alarm would pass the line above


@pytest.mark.slow
def test_sampling_false_hits_more_often_raises_no_false_alarm_with_weights() -> None:
    """Half of the hits hold most of the false ones and are drawn four times as often."""
    rng = np.random.default_rng(9)
    runs, hits, alpha = 1_000, 4_000, 0.03
    risky = rng.random((runs, hits)) < 0.5
    bad = rng.random((runs, hits)) < np.where(risky, 0.05, 0.01)
    p = np.where(risky, 0.8, 0.2)
    drawn = rng.random((runs, hits)) < p
    weighted = e_paths(bad, alpha, np.where(drawn, 0.2 / p, 0.0))
    naive = e_paths(bad, alpha, np.where(drawn, 1.0, 0.0))

    assert float((weighted.max(axis=1) >= ALARM_AT).mean()) <= 0.05 + 3.0 * 0.0069
    assert float((naive.max(axis=1) >= ALARM_AT).mean()) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "multiple", "median"),
    [
        (0.01, 2, 749),
        (0.01, 3, 224),
        (0.01, 5, 91),
        (0.03, 2, 248),
        (0.03, 3, 68),
        (0.03, 5, 28),
        (0.05, 2, 148),
        (0.05, 3, 42),
        (0.05, 5, 14),
    ],
)
def test_median_labels_to_alarm_are_those_promised(
    alpha: float, multiple: int, median: int
) -> None:
    runs = 600
    rng = np.random.default_rng(multiple)
    bad = rng.random((runs, 12 * median)) < multiple * alpha
    over = e_paths(bad, alpha) >= ALARM_AT
    first = np.where(over.any(axis=1), over.argmax(axis=1) + 1, bad.shape[1] + 1)

    assert float(np.median(first)) == pytest.approx(median, rel=0.25, abs=3)
