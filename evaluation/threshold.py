"""Decides what to recommend for a line: a threshold, more labels, or no serving by meaning.

"Nothing can be certified" is a normal answer and says what is missing. A recommendation changes
nothing by itself; a person or a policy applies it.
"""

from dataclasses import dataclass
from math import ceil, log, log1p

import numpy as np
import numpy.typing as npt

from evaluation.certificate import (
    Certificate,
    NotCertified,
    NotCertifiedReason,
    certify,
    miss_rate_upper,
)
from evaluation.curve import Curve, estimate_curve
from evaluation.evidence import FloatArray, Labels, Lookups
from evaluation.fallback import fallback_sequence
from evaluation.power import labels_needed

MINIMUM_HIT_RATE = 0.01

# Shares of the error δ. One part pays for the first look at a body of labels, the rest for looking
# again after more have come; one part of a look pays for the bound on the reviewers' misses.
FIRST_LOOK_SHARE = 0.8
GOLD_SHARE = 0.2
MOST_MISSED = 0.99


@dataclass(frozen=True)
class GoldTraps:
    """Known false hits that were slipped into the queue, and how many came out ``reusable``."""

    shown: int
    missed: int

    def __post_init__(self) -> None:
        if not 0 <= self.missed <= self.shown or self.shown == 0:
            raise ValueError("need 0 <= missed <= shown and at least one trap shown")


@dataclass(frozen=True)
class Recommendation:
    """A certified threshold. ``cross_check`` is what exact binomial tests would allow, if anything.

    ``cross_check`` is ``None`` where they pass nothing or the sampling rates differ; a threshold
    far looser than it deserves a second look by a person, not a refusal.
    """

    certificate: Certificate
    curve: Curve
    look: int
    cross_check: float | None

    @property
    def threshold(self) -> float:
        """The smallest score that may hit."""
        return self.certificate.threshold


@dataclass(frozen=True)
class NotEnoughEvidence:
    """Nothing can be promised yet. ``labels_missing`` >= 1 is about how many more are needed."""

    reason: NotCertifiedReason
    target_level: float
    confidence: float
    labels: int
    labels_missing: int
    curve: Curve

    @property
    def labels_needed(self) -> int:
        """All labels at or above the floor that would about do, those already there included."""
        return self.labels + self.labels_missing


@dataclass(frozen=True)
class TargetUnreachable:
    """No threshold worth serving meets the target: use the exact tier, or raise the target.

    ``lowest_rate`` is the least estimated false-hit rate at any threshold with enough labels to
    judge by, ``at_threshold`` where that is; guards or a better embedder can move it, more labels
    cannot.
    """

    target_level: float
    confidence: float
    labels: int
    lowest_rate: float
    at_threshold: float
    curve: Curve


Outcome = Recommendation | NotEnoughEvidence | TargetUnreachable


def recommend(
    labels: Labels,
    lookups: Lookups,
    *,
    target_level: float,
    floor: float,
    confidence: float = 0.95,
    thresholds: FloatArray | None = None,
    bin_edges: npt.ArrayLike | None = None,
    minimum_hit_rate: float = MINIMUM_HIT_RATE,
    look: int = 1,
    gold: GoldTraps | None = None,
    cautious: bool = False,
) -> Outcome:
    """Recommend the loosest certified threshold, or say why there is none.

    Deterministic, and the same for any order of the rows.

    Parameters
    ----------
    labels, lookups, target_level, floor, confidence, thresholds, minimum_hit_rate, cautious
        As for `evaluation.certificate.certify`; ``confidence`` is that of the whole promise.
    bin_edges
        Score bins of the curve, those of the sampling plan.
    look : int >= 1
        How often a body of evidence that shares labels with this one has been tested, this time
        included. Repeating a run on the very same labels is the same look; disjoint windows start
        at 1. See `error_of_look`.
    gold : GoldTraps | None
        Without it the reviewers are taken at their word, and the certificate's ``tested_level``
        equals its target.

    Returns
    -------
    Recommendation | NotEnoughEvidence | TargetUnreachable
    """
    certificate_confidence, missed = _split_confidence(confidence, look=look, gold=gold)
    result = certify(
        labels,
        lookups,
        target_level=target_level,
        confidence=certificate_confidence,
        floor=floor,
        thresholds=thresholds,
        minimum_hit_rate=minimum_hit_rate,
        miss_rate_upper=missed,
        cautious=cautious,
    )
    curve = estimate_curve(labels, lookups, thresholds=thresholds, bin_edges=bin_edges)
    if isinstance(result, Certificate):
        check = _cross_check(
            labels,
            lookups,
            target_level=result.tested_level,
            confidence=certificate_confidence,
            floor=floor,
            thresholds=thresholds,
        )
        return Recommendation(result, curve, look, check)
    tested_level = target_level * (1.0 - missed)
    needed = labels_needed(
        curve,
        target_level=tested_level,
        confidence=certificate_confidence,
        floor=floor,
        minimum_hit_rate=minimum_hit_rate,
    )
    if needed is None:
        return _unreachable(result, curve, confidence=confidence, floor=floor)
    missing = max(needed - result.labels, _all_good_still_needed(result, tested_level))
    return NotEnoughEvidence(result.reason, target_level, confidence, result.labels, missing, curve)


def error_of_look(error: float, look: int) -> float:
    """Return the share of ``error`` that the ``look``-th test of growing evidence may use.

    ``0.8, 0.1, 0.05, ...`` times ``error``: however often someone looks, the shares add up to no
    more than the whole. Looking once costs about a tenth more labels than without the reserve.

    Raises ``ValueError`` for ``look`` below 1.
    """
    if look < 1:
        raise ValueError(f"look counts from 1, got {look}")
    if look == 1:
        return FIRST_LOOK_SHARE * error
    return float((1.0 - FIRST_LOOK_SHARE) * error * 0.5 ** (look - 1))


def _split_confidence(
    confidence: float, *, look: int, gold: GoldTraps | None
) -> tuple[float, float]:
    """Return the certificate's own confidence and the upper bound on the reviewers' misses."""
    error = error_of_look(1.0 - confidence, look)
    if gold is None:
        return 1.0 - error, 0.0
    bound = miss_rate_upper(
        missed=gold.missed, gold_traps=gold.shown, confidence=1.0 - GOLD_SHARE * error
    )
    # A bound of 1 (every trap missed) would leave no level to test.
    return 1.0 - (1.0 - GOLD_SHARE) * error, min(bound, MOST_MISSED)


def _cross_check(
    labels: Labels,
    lookups: Lookups,
    *,
    target_level: float,
    confidence: float,
    floor: float,
    thresholds: FloatArray | None,
) -> float | None:
    rates = lookups.inclusion_probability[lookups.score >= floor]
    if np.ptp(rates) > 0.0:
        return None
    return fallback_sequence(
        labels,
        lookups,
        target_level=target_level,
        confidence=confidence,
        floor=floor,
        thresholds=thresholds,
    )


def _all_good_still_needed(result: NotCertified, tested_level: float) -> int:
    """Return how many more labels it takes at the very least, were all of them good."""
    shortfall = log(result.capital_needed) - log(max(result.capital, 1e-300))
    return max(1, ceil(shortfall / -log1p(-tested_level)))


def _unreachable(
    result: NotCertified, curve: Curve, *, confidence: float, floor: float
) -> TargetUnreachable:
    considered = (curve.thresholds >= floor) & (curve.labels > 0) & ~curve.is_thin
    rates = np.where(considered, curve.unsure_as_bad_rate, np.inf)
    lowest = int(np.argmin(rates))
    return TargetUnreachable(
        target_level=result.target_level,
        confidence=confidence,
        labels=result.labels,
        lowest_rate=float(min(rates[lowest], 1.0)),
        at_threshold=float(curve.thresholds[lowest]),
        curve=curve,
    )
