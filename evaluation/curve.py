"""Decides what is known about each threshold: how often it would hit, and how often falsely.

The hit rate comes from the log and needs no labels. The false-hit rate comes from the labels,
re-weighted so that each score bin counts as much as it does in the log (post-stratification).
Intervals here are for looking at; the certificate is the promise.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.bounds import effective_labels, hajek_rate, korn_graubard
from evaluation.evidence import (
    BoolArray,
    FloatArray,
    IntArray,
    Labels,
    Lookups,
    check_thresholds,
    default_grid,
    hits_at,
)

SCORE_BINS = 8
LABELS_FOR_DISPLAY = 10.0  # fewer effective labels than this are drawn grey


@dataclass(frozen=True)
class Curve:
    """Rates over thresholds; every array has the shape of ``thresholds`` and is finite.

    The rule behind each point is ``score >= threshold``. Where no label lies above a threshold its
    rate and upper bound are 1 and its lower bound 0, with ``labels`` 0: nothing known counts as the
    worst, never as the best.

    Attributes
    ----------
    thresholds : float64, strictly ascending
    hit_rate : float64 in [0, 1], never rising
        Of all logged lookups, guarded ones included in the denominator; 0 for an empty log.
    hit_rate_error : float64 >= 0
        Standard error ``sqrt(h (1-h) / N)`` as a forecast for like traffic.
    false_hit_rate : float64 in [0, 1]
        Among labels that were decided, good or bad.
    false_hit_lower, false_hit_upper : float64 in [0, 1]
        Korn-Graubard, two-sided at ``confidence``, pointwise.
    unsure_as_bad_rate, unsure_as_bad_upper : float64 in [0, 1]
        The same with every ``unsure`` or overdue label counted as bad, as the certificate does.
    original_bad_rate : float64 in [0, 1]
        Share of hits whose stored answer was bad for its own request: the entry's fault, apart.
        0 without labels.
    wrong_reuse_rate : float64 in [0, 1]
        Per lookup: ``hit_rate * false_hit_rate``; 0 where nothing hits.
    labels, false_hits, unsure : int64
        Plain counts of labels with ``score >= threshold``.
    effective_labels : float64
        Kish's size of the decided labels' weights.
    confidence : float
    """

    thresholds: FloatArray
    hit_rate: FloatArray
    hit_rate_error: FloatArray
    false_hit_rate: FloatArray
    false_hit_lower: FloatArray
    false_hit_upper: FloatArray
    unsure_as_bad_rate: FloatArray
    unsure_as_bad_upper: FloatArray
    original_bad_rate: FloatArray
    wrong_reuse_rate: FloatArray
    labels: IntArray
    false_hits: IntArray
    unsure: IntArray
    effective_labels: FloatArray
    confidence: float

    @property
    def is_thin(self) -> BoolArray:
        """Where fewer than ten effective labels stand behind a point: bool, shape of thresholds."""
        return np.asarray(self.effective_labels < LABELS_FOR_DISPLAY, dtype=np.bool_)


@dataclass(frozen=True)
class ExpectedValue:
    """Money per lookup over thresholds, in the unit of the two prices; arrays as in `Curve`.

    ``saved`` and ``lost`` are both >= 0, ``net`` is their difference, ``net_pessimistic`` the same
    at the upper bound of the false-hit rate.
    """

    thresholds: FloatArray
    saved: FloatArray
    lost: FloatArray
    net: FloatArray
    net_pessimistic: FloatArray


def estimate_curve(
    labels: Labels,
    lookups: Lookups,
    *,
    thresholds: FloatArray | None = None,
    bin_edges: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Curve:
    """Estimate both rates over a grid.

    Parameters
    ----------
    labels, lookups
        Of the same windows and score version. Guarded ones have score -inf and never hit.
    thresholds : float64, strictly ascending; `default_grid` when not given
    bin_edges : ascending lower edges of the score bins; by default eight equal bins over the grid
    confidence : in (0, 1), of the two-sided intervals

    Returns
    -------
    Curve
        With no labels, no lookups or neither: the same arrays, saying that nothing is known.
    """
    grid = check_thresholds(default_grid() if thresholds is None else thresholds)
    edges = _bin_edges(grid, bin_edges)
    weight = 1.0 / labels.inclusion_probability
    hits = hits_at(lookups.score, grid)
    decided = ~labels.unsure
    rows = [
        _point(labels, lookups, weight, decided, t=float(t), edges=edges, confidence=confidence)
        for t in grid
    ]
    rates = np.asarray(rows, dtype=np.float64).reshape(grid.size, 7).T
    total = max(len(lookups), 1)
    hit_rate = hits / total
    return Curve(
        thresholds=grid,
        hit_rate=hit_rate,
        hit_rate_error=np.sqrt(hit_rate * (1.0 - hit_rate) / total),
        false_hit_rate=rates[0],
        false_hit_lower=rates[1],
        false_hit_upper=rates[2],
        unsure_as_bad_rate=rates[3],
        unsure_as_bad_upper=rates[4],
        original_bad_rate=rates[5],
        wrong_reuse_rate=hit_rate * rates[0],
        labels=hits_at(labels.score, grid),
        false_hits=hits_at(labels.score[labels.false_hit], grid),
        unsure=hits_at(labels.score[labels.unsure], grid),
        effective_labels=rates[6],
        confidence=confidence,
    )


def expected_value(curve: Curve, *, saved_per_hit: float, cost_of_wrong: float) -> ExpectedValue:
    """Turn a curve into money: what good hits save, less what false ones cost.

    ``net = hit_rate * ((1 - false_hit_rate) * saved_per_hit - false_hit_rate * cost_of_wrong)`` per
    lookup. Both prices are at least 0, in any one currency.
    """
    if saved_per_hit < 0.0 or cost_of_wrong < 0.0:
        raise ValueError("saved_per_hit and cost_of_wrong must be at least 0")
    saved = curve.hit_rate * (1.0 - curve.false_hit_rate) * saved_per_hit
    lost = curve.wrong_reuse_rate * cost_of_wrong
    worst = curve.unsure_as_bad_upper
    pessimistic = curve.hit_rate * ((1.0 - worst) * saved_per_hit - worst * cost_of_wrong)
    return ExpectedValue(curve.thresholds, saved, lost, saved - lost, pessimistic)


def post_stratified_weights(
    score: FloatArray,
    weight: FloatArray,
    logged_score: FloatArray,
    *,
    threshold: float,
    bin_edges: FloatArray,
) -> FloatArray:
    """Rescale weights so that the labels above a threshold weigh, bin by bin, as the log does.

    Parameters
    ----------
    score, weight : float64, shape (n,)
        Of the labels; ``weight`` is ``1 / inclusion_probability``, 0 counts as absent.
    logged_score : float64, shape (N,)
        Of all lookups.
    threshold : float
        Only scores ``>= threshold`` count, on both sides, also inside the bin that it cuts.
    bin_edges : float64, ascending lower edges; what lies below the first belongs to the first bin

    Returns
    -------
    float64, shape (n,)
        0 below the threshold. Log mass in a bin without labels goes to the nearest bin with some
        (the looser one of two equally near), so that no lookup is dropped. With an empty log: the
        weights themselves.
    """
    above = (score >= threshold) & (weight > 0.0)
    if not above.any():
        return np.zeros_like(weight)
    logged = logged_score[logged_score >= threshold]
    if logged.size == 0:
        return np.where(above, weight, 0.0)
    bins = len(bin_edges)
    own = _bin_of(score[above], bin_edges)
    labelled_mass = np.bincount(own, weights=weight[above], minlength=bins)
    log_mass = np.bincount(_bin_of(logged, bin_edges), minlength=bins).astype(np.float64)
    filled = np.flatnonzero(labelled_mass)
    for empty in np.flatnonzero((labelled_mass == 0.0) & (log_mass > 0.0)):
        nearest = filled[np.argmin(np.abs(filled - empty))]
        log_mass[nearest] += log_mass[empty]
    rescaled = np.zeros_like(weight)
    rescaled[above] = weight[above] * log_mass[own] / labelled_mass[own]
    return rescaled


def _point(
    labels: Labels,
    lookups: Lookups,
    weight: FloatArray,
    decided: BoolArray,
    *,
    t: float,
    edges: FloatArray,
    confidence: float,
) -> tuple[float, ...]:
    one_sided = 0.5 + confidence / 2.0

    def rescale(raw: FloatArray) -> FloatArray:
        return post_stratified_weights(
            labels.score, raw, lookups.score, threshold=t, bin_edges=edges
        )

    all_weights = rescale(weight)
    weights = rescale(np.where(decided, weight, 0.0)) if not decided.all() else all_weights
    lower, upper = korn_graubard(labels.false_hit, weights, confidence=one_sided)
    _, upper_unsure = korn_graubard(labels.counts_as_bad, all_weights, confidence=one_sided)
    known = all_weights.any()
    return (
        hajek_rate(labels.false_hit, weights),
        lower,
        upper,
        hajek_rate(labels.counts_as_bad, all_weights),
        upper_unsure,
        hajek_rate(labels.original_bad, all_weights) if known else 0.0,
        effective_labels(weights),
    )


def _bin_edges(grid: FloatArray, bin_edges: npt.ArrayLike | None) -> FloatArray:
    if bin_edges is not None:
        return check_thresholds(np.asarray(bin_edges, dtype=np.float64))
    if grid.size == 0:
        return np.zeros(1)
    top = max(1.0, float(grid[-1]) + 1e-9)
    return np.linspace(float(grid[0]), top, SCORE_BINS + 1)[:-1]


def _bin_of(score: FloatArray, edges: FloatArray) -> IntArray:
    return np.maximum(np.searchsorted(edges, score, side="right") - 1, 0)
