"""Decides how many labels a line will need, by the certificate's own arithmetic.

At one constant rate the capital depends only on the number of labels above the threshold and on how
many are bad, so the chance of a certificate is a binomial probability. It is an estimate, since the
true false-hit rate is; it promises nothing.
"""

from functools import lru_cache

import numpy as np
from scipy import special, stats

from evaluation.bounds import clopper_pearson_lower
from evaluation.certificate import ALTERNATIVES
from evaluation.curve import Curve

POWER = 0.8
MOST_LABELS = 200_000  # more than any team will read; beyond it the answer is "no number"
# Of the target, where nothing speaks against it: a threshold may be chosen that is well inside.
ASSUMED_SHARE = 0.25
LABELS_TO_JUDGE_BY = 20.0  # fewer effective labels above a threshold say nothing about its rate


def labels_needed(
    curve: Curve,
    *,
    target_level: float,
    confidence: float,
    floor: float,
    minimum_hit_rate: float = 0.01,
    power: float = POWER,
) -> int | None:
    """Estimate how many labels at or above the floor give a first certificate.

    Parameters
    ----------
    curve : Curve
        From the labels so far; one without labels gives the planning figure for a new line.
    target_level, confidence : in (0, 1)
    floor : float
        t_lo; labels are spread over the lookups above it as the log is.
    minimum_hit_rate : in [0, 1]
        Thresholds that hit less are not worth a certificate.
    power : in (0, 1)
        Chance of success at that number.

    Returns
    -------
    int | None
        Least over the thresholds, those already there included. ``None`` when at every threshold
        the labels rule the target out or more than `MOST_LABELS` would be needed.

    Notes
    -----
    At each threshold the rate is taken as the median of its likelihood, but as a quarter of the
    target where that is still credible (the 95 % lower bound is below it). Thresholds with fewer
    than `LABELS_TO_JUDGE_BY` effective labels are left out as soon as any has more; while none has,
    the labels are not looked at. An empty log counts as one in which every lookup above the floor
    passes every threshold.
    """
    within = curve.thresholds >= floor
    if not within.any():
        return None
    hit_rate = curve.hit_rate[within]
    logged = bool(hit_rate.any())
    size = curve.effective_labels[within]
    if size.max() < LABELS_TO_JUDGE_BY:
        size = np.zeros_like(size)
    judged = size >= min(LABELS_TO_JUDGE_BY, float(size.max()))
    bad = curve.unsure_as_bad_rate[within] * size
    lower = clopper_pearson_lower(np.minimum(bad, size), size, confidence=0.95)
    likely = (bad + 0.7) / (size + 0.4)
    assumed = np.maximum(ASSUMED_SHARE * target_level, lower)
    rate = np.minimum(likely, assumed)
    best: int | None = None
    for i in np.flatnonzero(judged & (rate < target_level)):
        if logged and hit_rate[i] < max(minimum_hit_rate, 1e-12):
            continue
        here = labels_above(
            round(float(rate[i]), 6), target_level=target_level, confidence=confidence, power=power
        )
        if here is None:
            continue
        total = int(np.ceil(here * (hit_rate[0] / hit_rate[i] if logged else 1.0)))
        best = total if best is None else min(best, total)
    return best if best is not None and best <= MOST_LABELS else None


@lru_cache(maxsize=4096)
def labels_above(
    true_rate: float, *, target_level: float, confidence: float, power: float = POWER
) -> int | None:
    """Return how many labels above one threshold certify it with probability ``power``.

    Parameters
    ----------
    true_rate : in [0, 1]
        Of false hits above the threshold.
    target_level, confidence, power : in (0, 1)

    Returns
    -------
    int | None
        Least such number, up to the saw teeth of the binomial (within a few per cent); ``None`` at
        or above the target or beyond `MOST_LABELS`.
    """
    if true_rate >= target_level:
        return None
    low, high = 0, 32
    while _power(high, true_rate, target_level, confidence) < power:
        low, high = high, 2 * high
        if low > MOST_LABELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _power(middle, true_rate, target_level, confidence) >= power:
            high = middle
        else:
            low = middle
    return high


def most_bad_allowed(labels: int, *, target_level: float, confidence: float) -> int:
    """Return the most bad ones among equal labels that still certify; -1 when not even 0 do."""
    # Far above the expected number at the target no capital is left, so the list may end there.
    ceiling = min(labels, int(labels * target_level) + 1)
    bad = np.arange(ceiling + 1)
    p1 = np.asarray(ALTERNATIVES)[:, None] * target_level
    bad_gain, good_gain = np.log(p1 / target_level), np.log((1.0 - p1) / (1.0 - target_level))
    path = bad * bad_gain + (labels - bad) * good_gain
    log_capital = special.logsumexp(path, axis=0) - np.log(len(ALTERNATIVES))
    return int(np.count_nonzero(log_capital >= -np.log(1.0 - confidence))) - 1


def _power(labels: int, true_rate: float, target_level: float, confidence: float) -> float:
    allowed = most_bad_allowed(labels, target_level=target_level, confidence=confidence)
    return float(stats.binom.cdf(allowed, labels, true_rate)) if allowed >= 0 else 0.0
