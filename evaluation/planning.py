"""Decides the sampling plan of the next window, from earlier labels, logged scores and a budget.

A plan is made between windows and from earlier windows only: rates that followed the labels of
their own window would void the certificate.
"""

from collections.abc import Sequence

import numpy as np

from evaluation.bounds import hajek_rate
from evaluation.curve import SCORE_BINS
from evaluation.evidence import (
    LOWEST_THRESHOLD,
    FloatArray,
    Labels,
    check_thresholds,
    default_grid,
)
from service.sampling import SamplingPlan

EXPLORE_SHARE = 0.2  # of the label budget; the rest certifies
EVEN_SHARE = 0.5  # of what explores: spread evenly, so that no bin is believed on old labels alone
FLOOR_MULTIPLE = 1.5  # of the target: what an earlier estimate may be at the certify floor
FLOOR_STEPS_LOOSER = 2
LABELS_FOR_FLOOR = 20  # fewer above a threshold do not move the floor
PILOT_SHARE = 0.3
PILOT_LABELS = 200
UNSEEN_RATE = 0.1  # where the last window had no lookup: some labels, but no flooded queue


def first_plan(*, lookups_expected: float, label_budget: int) -> SamplingPlan:
    """Return the plan of a line that has no labels yet: stage one of two.

    One constant rate over everything from the lowest threshold up, guarded lookups included, worth
    30 % of the budget and at most 200 labels. `next_plan` spends the rest above the floor that
    they suggest.

    Parameters
    ----------
    lookups_expected : > 0
        Semantic lookups with a score of at least `LOWEST_THRESHOLD` in the window, a guess.
    label_budget : int >= 0
    """
    _check_budget(label_budget)
    if not lookups_expected > 0.0:
        raise ValueError(f"lookups_expected must be positive, got {lookups_expected}")
    rate = _rate(min(PILOT_SHARE * label_budget, PILOT_LABELS), lookups_expected)
    edges = bin_edges()
    return SamplingPlan(
        certify_rate=rate,
        certify_floor=edges[0],
        bin_edges=edges,
        explore_rates=(0.0,) * len(edges),
        guarded_rate=rate,
    )


def next_plan(
    earlier: Labels,
    logged_score: FloatArray,
    *,
    guarded_score: FloatArray,
    target_level: float,
    label_budget: int,
    traffic_ratio: float = 1.0,
    explore_share: float = EXPLORE_SHARE,
    thresholds: FloatArray | None = None,
) -> SamplingPlan:
    """Return a plan whose expected number of labels is the budget.

    Parameters
    ----------
    earlier : Labels
        Of earlier windows; `choose_certify_floor` takes t_lo from them.
    logged_score : float64, shape (N,)
        Of the unguarded lookups of the last window, finite or -inf.
    guarded_score : float64, shape (G,)
        What the guarded ones would have scored.
    target_level : in (0, 1)
    label_budget : int >= 0
        For the next window.
    traffic_ratio : > 0
        Expected lookups of the next window over those of the last.
    explore_share : in [0, 1]
        Of the budget. Half of it gives equal expected labels to each score bin that has traffic, the
        other half goes where one more label tells most (`uncertainty`). The guarded ones get an even
        part. What a bin cannot use (its rate would exceed 1) is not moved elsewhere. All of it is
        fixed before the window, so that every lookup has a known probability and weighted
        estimates stay unbiased.
    thresholds : grid for the floor; `default_grid` when not given

    Returns
    -------
    SamplingPlan
        Where the last window had no lookup the rate is `UNSEEN_RATE`.
    """
    _check_budget(label_budget)
    grid = check_thresholds(default_grid() if thresholds is None else thresholds)
    floor = choose_certify_floor(earlier, target_level=target_level, thresholds=grid)
    edges = bin_edges(float(grid[0]))
    counts = traffic_ratio * _bin_counts(logged_score, edges)
    guarded = traffic_ratio * float((guarded_score >= edges[0]).sum())
    shares = int((counts > 0.0).sum()) + int(guarded > 0.0)
    even = explore_share * label_budget / max(shares, 1)
    wanted = _by_uncertainty(even, counts, uncertainty(earlier, edges))
    above_floor = traffic_ratio * float((logged_score >= floor).sum())
    return SamplingPlan(
        certify_rate=_rate((1.0 - explore_share) * label_budget, above_floor),
        certify_floor=floor,
        bin_edges=edges,
        explore_rates=tuple(_rate(float(n), float(c)) for n, c in zip(wanted, counts, strict=True)),
        guarded_rate=_rate(even, guarded),
    )


def choose_certify_floor(
    earlier: Labels, *, target_level: float, thresholds: FloatArray | None = None
) -> float:
    """Return t_lo: two grid steps below the loosest threshold that may turn out to be certifiable.

    That is the loosest whose weighted earlier estimate, unsure ones counted as bad, is at most 1.5
    times the target, with at least 20 labels above it. The slack is there because what the floor
    leaves out cannot be certified, and what it takes in only costs labels.

    Parameters
    ----------
    earlier : Labels
        Of earlier windows only, imported ones (probability 1) welcome.
    target_level : in (0, 1)

    Returns
    -------
    float
        A grid point; the lowest one without enough labels or without any such threshold.
    """
    grid = check_thresholds(default_grid() if thresholds is None else thresholds)
    weight = 1.0 / earlier.inclusion_probability
    bad = earlier.counts_as_bad
    for i, t in enumerate(grid):
        above = earlier.score >= t
        if int(above.sum()) < LABELS_FOR_FLOOR:
            break
        if hajek_rate(bad[above], weight[above]) <= FLOOR_MULTIPLE * target_level:
            return float(grid[max(i - FLOOR_STEPS_LOOSER, 0)])
    return float(grid[0])


def uncertainty(earlier: Labels, edges: Sequence[float]) -> FloatArray:
    """Return the standard deviation of one more label, per score bin: float64, in (0, 0.5].

    ``sqrt(p (1 - p))`` of the weighted share of bad ones (unsure included) among earlier labels,
    pulled to one half as by one label more; 0.5 where there was none. Rates in proportion to it and
    to traffic make the weighted estimate over all bins vary least (Neyman, 1934).
    """
    position = np.searchsorted(np.asarray(edges), earlier.score, side="right")
    weight = 1.0 / earlier.inclusion_probability
    size = len(edges) + 1
    labels = np.bincount(position, minlength=size)[1:]
    total = np.bincount(position, weights=weight, minlength=size)[1:]
    bad = np.bincount(position, weights=weight * earlier.counts_as_bad, minlength=size)[1:]
    share = np.divide(bad, total, out=np.full(total.shape, 0.5), where=total > 0.0)
    share = (labels * share + 0.5) / (labels + 1.0)
    return np.asarray(np.sqrt(share * (1.0 - share)), dtype=np.float64)


def _by_uncertainty(even: float, counts: FloatArray, deviation: FloatArray) -> FloatArray:
    """Labels wanted of each bin; together as many as with ``even`` ones in each that has traffic."""
    has_traffic = counts > 0.0
    value = counts * deviation
    part = value / max(float(value.sum()), 1e-12)
    moved = (1.0 - EVEN_SHARE) * even * float(has_traffic.sum()) * part
    return np.asarray(has_traffic * EVEN_SHARE * even + moved, dtype=np.float64)


def expected_labels(
    plan: SamplingPlan, logged_score: FloatArray, *, guarded_score: FloatArray
) -> float:
    """Return how many labels a plan yields on a window with these scores, on average."""
    finite = logged_score[np.isfinite(logged_score)]
    explore = np.asarray((0.0, *plan.explore_rates))[
        np.searchsorted(np.asarray(plan.bin_edges), finite, side="right")
    ]
    certify = np.where(finite >= plan.certify_floor, plan.certify_rate, 0.0)
    guarded = plan.guarded_rate * float((guarded_score >= plan.floor).sum())
    return float((1.0 - (1.0 - certify) * (1.0 - explore)).sum()) + guarded


def bin_edges(floor: float = LOWEST_THRESHOLD) -> tuple[float, ...]:
    """Return the lower edges of eight equal score bins from ``floor`` to 1, ascending."""
    return tuple(round(float(e), 6) for e in np.linspace(floor, 1.0, SCORE_BINS + 1)[:-1])


def _bin_counts(score: FloatArray, edges: Sequence[float]) -> FloatArray:
    position = np.searchsorted(np.asarray(edges), score, side="right")
    counts = np.bincount(position, minlength=len(edges) + 1)[1:]
    return counts.astype(np.float64)


def _rate(labels: float, lookups: float) -> float:
    if lookups > 0.0:
        return min(1.0, labels / lookups)
    return UNSEEN_RATE if labels > 0.0 else 0.0


def _check_budget(label_budget: int) -> None:
    if label_budget < 0:
        raise ValueError(f"label_budget must be at least 0, got {label_budget}")
