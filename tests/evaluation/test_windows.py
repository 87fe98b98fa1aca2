"""Windows are cut by the clock and tested when over and reviewed."""

import numpy as np
import pytest

from evaluation.windows import closed_windows, split_windows, window_of


def test_a_lookup_on_the_boundary_belongs_to_the_later_window() -> None:
    windows = window_of([-1.0, 0.0, 9.99, 10.0], length_s=10.0)

    assert windows.tolist() == [-1, 0, 0, 1]


def test_a_length_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        window_of([1.0], length_s=0.0)


def test_a_window_closes_when_over_and_95_percent_reviewed() -> None:
    window = np.repeat([0, 1, 2, 3], 20)
    sampled = window != 1
    verdict = sampled.copy()
    verdict[0] = False  # window 0: 19 of 20
    verdict[40:42] = False  # window 2: 18 of 20

    assert closed_windows(window, sampled, verdict, now_window=3).tolist() == [0]
    assert closed_windows(window, sampled, verdict, now_window=4).tolist() == [0, 3]


def test_no_lookups_close_no_window() -> None:
    none = np.zeros(0, dtype=np.bool_)
    assert closed_windows(np.zeros(0, dtype=np.int64), none, none, now_window=1).size == 0


def test_fit_and_certify_windows_never_overlap() -> None:
    earlier, later = split_windows([5, 3, 4, 5, 3])
    assert (earlier.tolist(), later.tolist()) == ([3], [4, 5])
    assert [part.tolist() for part in split_windows([7])] == [[], [7]]
    assert [part.tolist() for part in split_windows([])] == [[], []]
