"""Decides whether a threshold may be promised: the sorted-label likelihood-ratio band.

One test covers all thresholds at once, for any shape of the curve and for unequal sampling rates.
Statement, assumptions, proof and limits are in docs/certificate.md; read it before changing a line.
The textbook alternative is in `evaluation.fallback`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from evaluation.bounds import clopper_pearson_upper, hajek_rate
from evaluation.evidence import (
    FloatArray,
    IntArray,
    Labels,
    Lookups,
    check_thresholds,
    default_grid,
    hits_at,
)

# False-hit rates that the capital bets on, as shares of the target: the small ones certify a clean
# line soonest, the large ones a line near its target. Their capitals are averaged.
ALTERNATIVES: tuple[float, ...] = (0.05, 0.2, 0.4, 0.65)

NotCertifiedReason = Literal[
    "no_labels",  # none at or above the floor
    "unsampled_lookups",  # some lookup at or above the floor had no chance of being drawn
    "not_enough_evidence",  # the capital reaches the mark at no threshold
]


@dataclass(frozen=True)
class Band:
    """The capital at every threshold; all arrays have the shape of ``thresholds``.

    Attributes
    ----------
    thresholds : float64, strictly ascending
    log_capital : float64, finite
        Natural logarithm; 0 where no label lies above. Not monotone.
    labels, bad : int64
        Counts of labels with ``score >= threshold``.
    """

    thresholds: FloatArray
    log_capital: FloatArray
    labels: IntArray
    bad: IntArray


@dataclass(frozen=True)
class Certificate:
    """A threshold whose false-hit rate is below the target, with the evidence.

    ``labels``, ``false_hits`` and ``unsure`` count labels with ``score >= threshold``;
    ``false_hits`` leaves out the unsure ones, which the test counts as bad all the same.
    ``point_estimate`` is the weighted rate with unsure as bad, ``hit_rate`` the share of all logged
    lookups. ``target_level`` is what the user asked for, ``tested_level`` what the labels had to
    beat after the reviewers' misses. ``capital >= capital_needed`` by construction.
    """

    threshold: float
    target_level: float
    tested_level: float
    confidence: float
    labels: int
    false_hits: int
    unsure: int
    capital: float
    capital_needed: float
    point_estimate: float
    hit_rate: float


@dataclass(frozen=True)
class NotCertified:
    """No threshold can be promised yet: a normal result.

    ``best_threshold`` is where the capital came nearest (``None`` without labels); ``labels``
    counts those at or above the floor. ``labels_needed`` is about how many would do, these
    included; ``None`` where no number is expected to.
    """

    reason: NotCertifiedReason
    target_level: float
    confidence: float
    labels: int
    capital: float
    capital_needed: float
    best_threshold: float | None
    labels_needed: int | None


def certify(
    labels: Labels,
    lookups: Lookups,
    *,
    target_level: float,
    confidence: float,
    floor: float,
    thresholds: FloatArray | None = None,
    minimum_hit_rate: float = 0.0,
    miss_rate_upper: float = 0.0,
    cautious: bool = False,
) -> Certificate | NotCertified:
    """Find the loosest threshold of a grid that the labels can vouch for.

    Parameters
    ----------
    labels : Labels
        All sampled lookups of closed windows of one score version, undecided ones as ``unsure``.
        Leaving any out breaks the promise. Rows below ``floor`` are not used.
    lookups : Lookups
        All lookups of the same windows, for the hit rate and for the smallest sampling rate.
    target_level : in (0, 1)
        α. False hits of all semantic hits.
    confidence : in (0, 1)
        1 - δ. Probability over the draws with which no false certificate is given.
    floor : float
        t_lo. Loosest threshold considered; set before the window from earlier labels alone.
    thresholds : float64, strictly ascending; `default_grid` when not given
        The answer is one of these. The false-hit rate is not monotone in the threshold, so a
        certified one must not be rounded afterwards, not even upward.
    minimum_hit_rate : in [0, 1]
        Thresholds that hit less are not worth serving and not considered.
    miss_rate_upper : in [0, 1)
        Upper bound on the share of false hits that the reviewers call reusable.
    cautious : bool
        Take the next stricter grid point that is certified too, if there is one.

    Returns
    -------
    Certificate | NotCertified
        ``labels_needed`` is left ``None`` here; `evaluation.power.labels_needed` estimates it.
    """
    check_levels(target_level, confidence)
    if not 0.0 <= miss_rate_upper < 1.0:
        raise ValueError(f"miss_rate_upper must lie in [0, 1), got {miss_rate_upper}")
    grid = check_thresholds(default_grid() if thresholds is None else thresholds)
    grid = grid[grid >= floor]
    needed = 1.0 / (1.0 - confidence)
    usable = labels.where(labels.score >= floor)

    def refuse(
        reason: NotCertifiedReason, *, capital: float = 1.0, best: float | None = None
    ) -> NotCertified:
        return NotCertified(
            reason, target_level, confidence, len(usable), capital, needed, best, labels_needed=None
        )

    smallest = smallest_probability(lookups, floor=floor)
    if smallest == 0.0:
        return refuse("unsampled_lookups")
    if len(usable) == 0 or grid.size == 0:
        return refuse("no_labels")
    tested_level = target_level * (1.0 - miss_rate_upper)
    band = capital_band(
        usable, target_level=tested_level, smallest_probability=smallest, thresholds=grid
    )
    hit_rate = hits_at(lookups.score, grid) / max(len(lookups), 1)
    worth = hit_rate >= minimum_hit_rate
    passed = np.flatnonzero(worth & (band.log_capital >= np.log(needed)))
    if passed.size == 0:
        candidates = np.where(worth, band.log_capital, -np.inf)
        best = int(np.argmax(candidates))
        return refuse(
            "not_enough_evidence",
            capital=_capital(float(band.log_capital[best])),
            best=float(grid[best]),
        )
    chosen = int(passed[1 if cautious and passed.size > 1 else 0])
    above = usable.where(usable.score >= grid[chosen])
    return Certificate(
        threshold=float(grid[chosen]),
        target_level=target_level,
        tested_level=tested_level,
        confidence=confidence,
        labels=len(above),
        false_hits=int(above.false_hit.sum()),
        unsure=int(above.unsure.sum()),
        capital=_capital(float(band.log_capital[chosen])),
        capital_needed=needed,
        point_estimate=hajek_rate(above.counts_as_bad, 1.0 / above.inclusion_probability),
        hit_rate=float(hit_rate[chosen]),
    )


def capital_band(
    labels: Labels,
    *,
    target_level: float,
    smallest_probability: float,
    thresholds: FloatArray,
) -> Band:
    """Bet on the labels from the strictest score down and return the capital at each threshold.

    Each label multiplies the capital by ``1 + w (rho - 1)``: ``w`` is ``smallest_probability``
    over its own inclusion probability, ``rho`` is ``p1 / α`` for a bad label and
    ``(1 - p1) / (1 - α)`` for a good one. The capitals of the `ALTERNATIVES` p1 are averaged. All
    labels of one score are in or out together.

    Parameters
    ----------
    labels : Labels
    target_level : in (0, 1)
        α.
    smallest_probability : in (0, 1]
        Over all lookups, sampled or not, that the loosest threshold admits; no label may have less.
    thresholds : float64, strictly ascending

    Returns
    -------
    Band
    """
    order = np.argsort(-labels.score, kind="stable")
    bad = labels.counts_as_bad[order]
    weight = smallest_probability / labels.inclusion_probability[order]
    reach = labels.score[order] >= (thresholds[0] if thresholds.size else np.inf)
    if np.any(weight[reach] > 1.0 + 1e-9):
        raise ValueError("a label has a smaller probability than smallest_probability")
    p1 = np.asarray(ALTERNATIVES)[:, None] * target_level
    gain = np.where(bad, p1 / target_level, (1.0 - p1) / (1.0 - target_level)) - 1.0
    path = np.cumsum(np.log1p(np.minimum(weight, 1.0) * gain), axis=1)
    path = np.concatenate([np.zeros((len(ALTERNATIVES), 1)), path], axis=1)
    above = hits_at(labels.score, thresholds)
    log_capital = special.logsumexp(path[:, above], axis=0) - np.log(len(ALTERNATIVES))
    return Band(
        thresholds=thresholds,
        log_capital=np.asarray(log_capital, dtype=np.float64),
        labels=above,
        bad=hits_at(labels.score[labels.counts_as_bad], thresholds),
    )


def smallest_probability(lookups: Lookups, *, floor: float) -> float:
    """Return the least inclusion probability of any lookup with ``score >= floor``: in [0, 1].

    Taken over the log and not over the labels: a lookup with a small rate is rarely among the
    labels, and a minimum over those would depend on the draws. 1 when no lookup is that high.
    """
    rates = lookups.inclusion_probability[lookups.score >= floor]
    return float(rates.min(initial=1.0))


def miss_rate_upper(*, missed: int, gold_traps: int, confidence: float) -> float:
    """Return an exact upper bound on the share of false hits that reviewers let pass.

    Parameters
    ----------
    missed : int in [0, gold_traps]
        Gold items known to be false hits that went through the whole review, second opinion
        included, and came out ``reusable``.
    gold_traps : int >= 0
    confidence : in (0, 1)

    Returns
    -------
    float in (0, 1]; 1.0 without gold items. The levels multiply: certify at ``α * (1 - bound)``.
    """
    return float(clopper_pearson_upper(missed, gold_traps, confidence=confidence))


def check_levels(target_level: float, confidence: float) -> None:
    """Raise ``ValueError`` unless both lie in the open interval (0, 1)."""
    if not 0.0 < target_level < 1.0:
        raise ValueError(f"target_level must lie in (0, 1), got {target_level}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")


def _capital(log_capital: float) -> float:
    # Reported as a finite number; nobody needs more than 1e300 to be convinced.
    return float(np.exp(min(log_capital, 690.0)))
