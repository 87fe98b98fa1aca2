"""How other semantic caches decide, restated from their papers and documentation on the same traffic and embeddings.

Ideas only: no code of theirs was taken, and what they do beside deciding (storing, evicting, speed) is not judged here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evaluation.bench.score_traffic import Entries, Traffic
from evaluation.evidence import BoolArray, FloatArray

GPTCACHE_COSINE = 0.6
"""GPTCache's default: 4 less the squared distance must reach 0.8 of 4. Of unit vectors that is 2 + 2·cosine >= 3.2."""

VCACHE_LEAST = 6
"""Observations of an entry, the two assumed ones included, before it may be served."""
_CONFIDENCES = np.linspace(0.005, 0.5, 50)


def best_f1(cosine: FloatArray, right: BoolArray) -> float:
    """The threshold with the best F1 on labelled pairs, as RedisVL's optimiser picks one; 1 without a right pair."""
    order = np.argsort(-cosine, kind="stable")
    hits = np.arange(1, cosine.size + 1)
    good = np.cumsum(right[order])
    total = int(right.sum())
    if not total:
        return 1.0
    f1 = 2.0 * good / (hits + total)
    return float(cosine[order][int(np.argmax(f1))])


@dataclass
class Counted:
    """Outcome of one rule over the judged part of the traffic."""

    lookups: int = 0
    hits: int = 0
    false_hits: int = 0
    labels: int = 0


@dataclass
class _Seen:
    """What is known of one entry: similarity of later requests, and whether its answer fitted."""

    similarity: list[float] = field(default_factory=lambda: [0.0, 1.0])
    fits: list[float] = field(default_factory=lambda: [0.0, 1.0])


def vcache(traffic: Traffic, *, delta: float, judged_from: int, seed: int) -> Counted:
    """vCache's policy (Schroeder and others, arXiv 2502.03771): a logistic curve per entry, and chance.

    With `a` a lower bound of the probability that the nearest entry's answer fits, the model is asked with probability
    1 - delta / (1 - a), the smallest over a range of confidence levels. Asking gives a label, free in the paper, since
    the fresh answer is compared with the stored one; the new answer is stored only where they differ. Its promise is on
    all requests: at most `delta` of them get a wrong stored answer. A curve through separable points is held finite by
    a small ridge, where the original has a table of variances. Requests from number `judged_from` on are counted.
    """
    rng = np.random.default_rng(seed)
    requests = traffic.requests
    entries = Entries(traffic)
    seen: dict[int, _Seen] = {}
    counted = Counted()
    for n, request in enumerate(requests):
        if entries.has_exact(n):
            continue
        near = entries.nearest(n, 1)
        is_judged = n >= judged_from
        counted.lookups += is_judged
        if not near:
            entries.put(n)
            continue
        stored, similarity = near[0]
        known = seen.setdefault(stored, _Seen())
        fits = requests[stored].group == request.group
        if rng.uniform() >= _ask_probability(known, similarity, delta):
            counted.hits += is_judged
            counted.false_hits += is_judged and not fits
            continue
        counted.labels += 1
        known.similarity.append(similarity)
        known.fits.append(float(fits))
        if not fits:
            entries.put(n)
    return counted


def _ask_probability(known: _Seen, similarity: float, delta: float) -> float:
    if len(known.fits) < VCACHE_LEAST:
        return 1.0
    x, y = np.asarray(known.similarity), np.asarray(known.fits)
    slope, turn, deviation = _logistic(x, y)
    from scipy.special import ndtri

    upper = np.minimum(turn + ndtri(1.0 - _CONFIDENCES) * deviation, 1.0)
    fits = 1.0 / (1.0 + np.exp(-np.clip(slope * (similarity - upper), -500, 500)))
    a = (1.0 - _CONFIDENCES) * fits
    return float(np.clip(1.0 - delta / np.maximum(1.0 - a, 1e-12), 0.0, 1.0).min())


def _logistic(x: FloatArray, y: FloatArray, ridge: float = 1e-3) -> tuple[float, float, float]:
    """(slope, turning point, its standard deviation by the delta method) of a logistic curve through points."""
    z = np.column_stack([np.ones_like(x), x])
    b = np.zeros(2)
    hessian = np.eye(2)
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(z @ b, -500, 500)))
        hessian = z.T @ (z * (p * (1.0 - p))[:, None]) + ridge * np.eye(2)
        step = np.linalg.solve(hessian, z.T @ (y - p) - ridge * b)
        b = b + np.clip(step, -20.0, 20.0)
        if float(np.abs(step).max()) < 1e-6:
            break
    slope = max(float(b[1]), 1e-6)
    turn = -float(b[0]) / slope
    gradient = np.asarray([-1.0 / slope, float(b[0]) / slope**2])
    variance = float(gradient @ np.linalg.solve(hessian, gradient))
    return slope, turn, max(variance, 0.0) ** 0.5
