"""Decides how far the reviewers can be trusted: against known answers, and against each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from evaluation.bounds import clopper_pearson_lower, clopper_pearson_upper
from evaluation.evidence import BoolArray, IntArray

VERDICTS: tuple[str, ...] = ("reusable", "not_reusable", "unsure")

# With 1 % false hits two good reviewers agree on 96 % of the items and still get a kappa of 0.27:
# below this share of the rarer verdict the number says more about the stream than about people.
RAREST_FOR_KAPPA = 0.10
ITEMS_FOR_KAPPA = 20


@dataclass(frozen=True)
class Share:
    """``count`` of ``total`` with its exact two-sided interval; (0, 1) and rate 0 when empty."""

    count: int
    total: int
    lower: float
    upper: float

    @property
    def rate(self) -> float:
        """``count / total``; 0 when there is nothing to count."""
        return self.count / self.total if self.total else 0.0


@dataclass(frozen=True)
class GoldAccuracy:
    """A reviewer (or the whole process) on items with a known answer.

    ``sensitivity``: known false hits not called reusable. ``missed``: those called reusable, its
    complement, the figure that the certificate is adjusted by. ``false_alarm``: known good reuses
    called ``not_reusable``. ``unsure``: of all gold items.
    """

    sensitivity: Share
    missed: Share
    false_alarm: Share
    unsure: Share


@dataclass(frozen=True)
class Agreement:
    """Two reviewers on the items that both judged; row = first, column = second.

    ``confusion`` is int64, shape (3, 3), in the order of `VERDICTS`. ``kappa`` in [-1, 1] is
    ``None`` where it would mislead, and ``kappa_withheld`` then says why.
    """

    items: int
    agreed: Share
    confusion: IntArray
    kappa: float | None
    kappa_withheld: str | None


def gold_accuracy(
    verdict: Sequence[str], is_false_hit: Sequence[bool], *, confidence: float = 0.95
) -> GoldAccuracy:
    """Compare verdicts with the known answers.

    Parameters
    ----------
    verdict : sequence of str from `VERDICTS`, length n
    is_false_hit : sequence of bool, length n
        The known answer.
    confidence : in (0, 1), of the two-sided intervals

    Returns
    -------
    GoldAccuracy
        Shares of an empty kind have total 0 and the interval (0, 1).
    """
    given = _verdict_codes(verdict)
    truth = np.asarray(is_false_hit, dtype=np.bool_)
    if given.shape != truth.shape:
        raise ValueError(f"{given.size} verdicts for {truth.size} gold items")
    reusable, not_reusable, unsure = (given == code for code in range(3))

    def share(of: BoolArray, within: BoolArray) -> Share:
        return _share(int((of & within).sum()), int(within.sum()), confidence)

    return GoldAccuracy(
        sensitivity=share(~reusable, truth),
        missed=share(reusable, truth),
        false_alarm=share(not_reusable, ~truth),
        unsure=share(unsure, np.ones_like(truth)),
    )


def agreement(
    first: Sequence[str], second: Sequence[str], *, confidence: float = 0.95
) -> Agreement:
    """Compare two reviewers item by item.

    Parameters
    ----------
    first, second : sequences of str from `VERDICTS`, length n, same items in the same order
    confidence : in (0, 1)

    Returns
    -------
    Agreement
        Kappa is withheld below `ITEMS_FOR_KAPPA` items, or where the rarer of good and not good is
        under `RAREST_FOR_KAPPA` of all verdicts given.

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales; A. R. Feinstein,
    D. V. Cicchetti (1990), High agreement but low kappa.
    """
    a, b = _verdict_codes(first), _verdict_codes(second)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} verdicts against {b.size}")
    matrix = (
        confusion_matrix(a, b, labels=range(len(VERDICTS)))
        if a.size
        else np.zeros((len(VERDICTS), len(VERDICTS)), dtype=np.int64)
    )
    withheld = _why_no_kappa(a, b)
    return Agreement(
        items=int(a.size),
        agreed=_share(int(np.trace(matrix)), int(a.size), confidence),
        confusion=np.asarray(matrix, dtype=np.int64),
        kappa=None if withheld else float(cohen_kappa_score(a, b)),
        kappa_withheld=withheld,
    )


def _why_no_kappa(a: IntArray, b: IntArray) -> str | None:
    if a.size < ITEMS_FOR_KAPPA:
        return f"fewer than {ITEMS_FOR_KAPPA} items judged by both"
    good = float(np.mean(np.concatenate([a, b]) == 0))
    if min(good, 1.0 - good) < RAREST_FOR_KAPPA:
        return f"the rarer verdict is under {RAREST_FOR_KAPPA:.0%}; use gold items"
    return None


def _verdict_codes(verdict: Sequence[str]) -> IntArray:
    unknown = set(verdict) - set(VERDICTS)
    if unknown:
        raise ValueError(f"unknown verdicts {sorted(unknown)}, expected {VERDICTS}")
    return np.asarray([VERDICTS.index(v) for v in verdict], dtype=np.int64)


def _share(count: int, total: int, confidence: float) -> Share:
    one_sided = 0.5 + confidence / 2.0
    return Share(
        count,
        total,
        lower=float(clopper_pearson_lower(count, total, confidence=one_sided)),
        upper=float(clopper_pearson_upper(count, total, confidence=one_sided)),
    )
