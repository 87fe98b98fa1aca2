"""Decides which lookups belong to which window, and which windows may be tested.

Windows are cut by the clock alone, so that no label can move a lookup from one to another. Score
models are fitted on some windows and certified on others, never both on one.
"""

import numpy as np
import numpy.typing as npt

from evaluation.evidence import BoolArray, IntArray

COMPLETE_AT = 0.95  # share of sampled lookups with a verdict; the rest then count as bad


def window_of(lookup_time_s: npt.ArrayLike, *, length_s: float, origin_s: float = 0.0) -> IntArray:
    """Return the window number ``floor((time - origin) / length)`` of each lookup.

    Parameters
    ----------
    lookup_time_s : real, shape (N,)
        Of the lookup, not of its label.
    length_s : > 0

    Returns
    -------
    int64, shape (N,)
    """
    if not length_s > 0.0:
        raise ValueError(f"length_s must be positive, got {length_s}")
    time_s = np.asarray(lookup_time_s, dtype=np.float64)
    return np.floor((time_s - origin_s) / length_s).astype(np.int64)


def closed_windows(
    window: IntArray, is_sampled: BoolArray, has_verdict: BoolArray, *, now_window: int
) -> IntArray:
    """Return the windows that are over and reviewed to at least `COMPLETE_AT`, ascending.

    Parameters
    ----------
    window : int64, shape (N,)
    is_sampled, has_verdict : bool, shape (N,)
    now_window : int
        The window of the present moment, never closed.

    Returns
    -------
    int64, shape (W,)
        A past window in which nothing was sampled is not listed: it has nothing to test.
    """
    past = is_sampled & (window < now_window)
    numbers, position = np.unique(window[past], return_inverse=True)
    sampled = np.bincount(position, minlength=numbers.size)
    reviewed = np.bincount(position, weights=has_verdict[past], minlength=numbers.size)
    return np.asarray(numbers[reviewed >= COMPLETE_AT * sampled], dtype=np.int64)


def split_windows(windows: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Split windows into earlier ones to fit and plan on, and the later half to certify on.

    Returns
    -------
    earlier, later : int64, ascending, disjoint
        The later half is the larger one of an odd number; one window is all ``later``.
    """
    ascending = np.unique(np.asarray(windows, dtype=np.int64))
    cut = ascending.size // 2
    return ascending[:cut], ascending[cut:]
