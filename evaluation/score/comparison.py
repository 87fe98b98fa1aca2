"""Whether one score serves more than another at the same share of false hits, on labels that neither has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.evidence import BoolArray, FloatArray, IntArray

RESAMPLES = 400


@dataclass(frozen=True)
class Comparison:
    """Hit rates of both scores at the cap, and what the difference may be by chance.

    Each is the share of the window's lookups that the loosest threshold admits whose weighted share of false hits is at
    most `cap`, `lower` … `upper` the interval of their difference (new less old) at `confidence`. Both thresholds are
    chosen from these very labels, so both rates flatter; the difference is what counts, and neither is a promise.
    """

    cap: float
    confidence: float
    labels: int
    bad: int
    old_hit_rate: float
    new_hit_rate: float
    lower: float
    upper: float

    @property
    def is_better(self) -> bool:
        """True when chance alone does not explain the new score's lead."""
        return self.lower > 0.0


@dataclass(frozen=True)
class Foretold:
    """How much better one score foretells verdicts than another: mean log loss of the old less that of the new.

    A proper score (Good, 1952), so what lowers it knows more; it takes far fewer labels to tell from chance than hit
    rates at a cap, which hang on the few bad labels near one threshold.
    """

    gain: float
    lower: float
    upper: float


def foretold(
    old: FloatArray,
    new: FloatArray,
    bad: BoolArray,
    weight: FloatArray,
    cluster: IntArray,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Foretold:
    """Compare log odds that did not see their rows, all float64, shape (n,); the bootstrap is that of `compare`."""
    good = ~bad
    losses = [np.logaddexp(0.0, odds) - good * odds for odds in (old, new)]
    clusters = int(cluster.max()) + 1 if cluster.size else 0
    total = np.bincount(cluster, weight * (losses[0] - losses[1]), clusters)
    size = np.bincount(cluster, weight, clusters)
    rng = np.random.default_rng(bad.size)
    gains = np.zeros(resamples)
    for r in range(resamples):
        drawn = rng.integers(0, clusters, clusters)
        gains[r] = total[drawn].sum() / size[drawn].sum()
    low, high = np.quantile(gains, [1.0 - confidence, confidence])
    return Foretold(float(total.sum() / size.sum()), float(low), float(high))


def compare(
    old: FloatArray,
    new: FloatArray,
    bad: BoolArray,
    weight: FloatArray,
    cluster: IntArray,
    *,
    lookups: float,
    cap: float,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare two scores of the same labels, all float64, shape (n,).

    `weight` is 1 / inclusion probability, `lookups` the number of lookups of the window. The interval is a paired
    bootstrap over clusters (Efron and Tibshirani, 1993; one-sided levels, so `lower` > 0 errs with 1 - confidence): the
    labels of one entry are drawn together, and both scores always meet the same draw.
    """
    orders = [_Order(score, bad) for score in (old, new)]
    rates = [order.admitted(weight, cap) / lookups for order in orders]
    rng = np.random.default_rng(bad.size)
    clusters = int(cluster.max()) + 1 if cluster.size else 0
    differences = np.zeros(resamples)
    for r in range(resamples):
        times = np.bincount(rng.integers(0, clusters, clusters), minlength=clusters)[cluster]
        drawn = weight * times
        differences[r] = orders[1].admitted(drawn, cap) - orders[0].admitted(drawn, cap)
    differences /= lookups
    low, high = np.quantile(differences, [1.0 - confidence, confidence])
    return Comparison(
        cap=cap,
        confidence=confidence,
        labels=int(bad.size),
        bad=int(bad.sum()),
        old_hit_rate=float(rates[0]),
        new_hit_rate=float(rates[1]),
        lower=float(low),
        upper=float(high),
    )


class _Order:
    """Labels from the best score down, ties as one step."""

    def __init__(self, score: FloatArray, bad: BoolArray) -> None:
        self._order = np.argsort(-score, kind="stable")
        ordered = score[self._order]
        self._bad = bad[self._order].astype(np.float64)
        self._ends = (
            np.append(ordered[1:] != ordered[:-1], True) if score.size else np.zeros(0, bool)
        )

    def admitted(self, weight: FloatArray, cap: float) -> float:
        """Weight that the loosest threshold admits whose share of bad weight is at most `cap`."""
        w = weight[self._order]
        total = np.cumsum(w)
        fits = (np.cumsum(w * self._bad) <= cap * total) & self._ends
        return float(total[fits].max()) if fits.any() else 0.0
