"""A score of the cosine and of the place: from reviewed pairs to where in the vector space hits go wrong.

A logistic curve over the cosine and a smooth function of the query's vector. The function has a Gaussian process prior
(Rasmussen and Williams, 2006), on a fixed set of points (Nyström: Williams and Seeger, 2001), which pulls it to 0 where
there are no labels: there the score is the cosine under another name. Within one lookup it is the same for every
candidate, so it never changes which one comes first, only how near that has to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from evaluation.evidence import BoolArray, FloatArray
from evaluation.score.pairs import Rows
from service.score import FEATURES, FEATURES_VERSION, Scorer, Trees
from service.score.region import Region, as_bytes, bells, centred
from service.score.scorer import REGION, Model, dump

POINTS = 128
TEXTS_PER_POINT, LEAST_MEMBERS = 8, 3
"""A point is a mean of several texts: what is kept of a line must not be one text's own vector."""
WIDTH = 4.0
"""κ of the bells, on vectors less their mean: a place is as wide as a topic. 2 and 8 gave the same within chance."""
PULLS = (0.3, 1.0, 3.0)
"""Inverse prior variances that are tried; the one that foretells unseen entries best is taken."""
COSINE_PULL = 1e-3
FOLDS = 5
MOST_WEIGHT = 5.0
"""A label drawn with a tiny probability must not decide a score: weights are cut at this multiple of their mean."""
_SMALLEST = 1e-4  # of the greatest eigenvalue; what lies under it is noise of the arithmetic


@dataclass(frozen=True)
class Fitted:
    """A scorer, and what its kind says of each row when it has not seen the row's entry.

    ``unseen`` and ``alone`` are log odds, shape (n,), ``loss`` is their weighted log loss.
    """

    scorer: Scorer
    loss: float
    unseen: FloatArray
    alone: FloatArray
    """What the cosine alone says of each row in the same way."""


@dataclass(frozen=True)
class Space:
    """Where a line's queries lie: the mean, the points, and what turns bells at them into independent coordinates."""

    centre: FloatArray
    points: FloatArray
    turn: FloatArray

    def coordinates(self, vectors: Any) -> FloatArray:
        """float64, shape (n, at most `POINTS`); unit prior variance each."""
        near = bells(centred(vectors, self.centre), self.points, WIDTH)
        return np.asarray(near @ self.turn, dtype=np.float64)


@dataclass(frozen=True)
class Curve:
    """Log odds = slope · cosine + coordinates @ heights + offset; slope over 0."""

    slope: float
    heights: FloatArray
    offset: float

    def of(self, cosine: FloatArray, coordinates: FloatArray) -> FloatArray:
        """Log odds, shape (n,)."""
        return np.asarray(self.slope * cosine + coordinates @ self.heights + self.offset)


def space_of(vectors: Any) -> Space:
    """The space of a line's texts, from vectors of shape (m, d). Deterministic. Raises ValueError for too few."""
    from sklearn.cluster import KMeans

    given = np.asarray(vectors, dtype=np.float32)
    if len(given) < LEAST_MEMBERS:
        raise ValueError(f"a space needs at least {LEAST_MEMBERS} texts")
    centre = given.mean(axis=0)
    moved = centred(given, centre)
    clusters = min(POINTS, max(len(moved) // TEXTS_PER_POINT, 1))
    found = KMeans(clusters, n_init=1, max_iter=20, random_state=0).fit(moved)
    members = np.bincount(found.labels_, minlength=clusters)
    points = found.cluster_centers_[members >= LEAST_MEMBERS]
    if not len(points):
        raise ValueError("no texts lie together")
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-9)
    points = points.astype(np.float32)
    value, vector = np.linalg.eigh(bells(points, points, WIDTH))
    kept = value > _SMALLEST * value.max()
    return Space(centre, points, vector[:, kept] / np.sqrt(value[kept]))


def fit_region(rows: Rows, vectors: Any, space: Space, *, fingerprint: str) -> Fitted:
    """A scorer of rows whose queries have these vectors, shape (n, d). Raises ValueError as `training.fit` does."""
    good, weight = _checked(rows)
    coordinates, cosine = space.coordinates(vectors), rows.x[:, 0]
    tried = {p: out_of_fold(rows, coordinates, pull=p) for p in PULLS}
    loss, pull = min((log_loss(odds, good, weight), p) for p, odds in tried.items())
    curve = learn(cosine, coordinates, good, weight, pull=pull)
    region = Region(
        dimensions=int(space.centre.size),
        centre=as_bytes(space.centre),
        points=as_bytes(space.points),
        heights=(space.turn @ curve.heights).tolist(),
        width=WIDTH,
    )
    scorer = dump(
        Model(
            features_version=FEATURES_VERSION,
            names=[*FEATURES, REGION],
            trees=Trees(0.0, []),
            slope=0.0,
            cosine_slope=curve.slope,
            offset=curve.offset,
            least_cosine=float(cosine.min()),
            words={},
            fingerprint=fingerprint,
            region=region,
        )
    )
    alone = out_of_fold(rows, coordinates[:, :0], pull=pull)
    return Fitted(scorer, loss, tried[pull], alone)


def learn(
    cosine: FloatArray,
    coordinates: FloatArray,
    good: BoolArray,
    weight: FloatArray,
    *,
    pull: float,
) -> Curve:
    """The most probable curve: weighted logistic likelihood, a pull of each height to 0."""
    scale, middle = max(float(cosine.std()), 1e-9), float(cosine.mean())
    x = np.column_stack([(cosine - middle) / scale, coordinates])
    pulls = np.concatenate([[COSINE_PULL], np.full(coordinates.shape[1], pull)])

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        u = x @ w[:-1] + w[-1]
        value = float((weight * (np.logaddexp(0.0, u) - good * u)).sum() + pulls @ w[:-1] ** 2 / 2)
        slope = weight * (1.0 / (1.0 + np.exp(-np.clip(u, -500.0, 500.0))) - good)
        return value, np.concatenate([x.T @ slope + pulls * w[:-1], [slope.sum()]])

    bounds = [(1e-6, None), *[(None, None)] * (x.shape[1])]
    w = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, bounds=bounds, method="L-BFGS-B").x
    slope = float(w[0] / scale)
    return Curve(slope, np.asarray(w[1:-1]), float(w[-1] - slope * middle))


def out_of_fold(rows: Rows, coordinates: FloatArray, *, pull: float) -> FloatArray:
    """Log odds of each row by a curve that saw neither it nor any other row of its entry."""
    from sklearn.model_selection import StratifiedGroupKFold

    good, weight = _checked(rows)
    cosine, found = rows.x[:, 0], np.zeros(len(rows))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    for seen, unseen in folds.split(rows.x, rows.bad, rows.cluster):
        curve = learn(cosine[seen], coordinates[seen], good[seen], weight[seen], pull=pull)
        found[unseen] = curve.of(cosine[unseen], coordinates[unseen])
    return found


def log_loss(odds: FloatArray, good: BoolArray, weight: FloatArray) -> float:
    """Weighted mean of -log(probability of what was), from log odds."""
    return float((weight * (np.logaddexp(0.0, odds) - good * odds)).sum() / weight.sum())


def _checked(rows: Rows) -> tuple[BoolArray, FloatArray]:
    good = ~rows.bad
    if min(int(good.sum()), int(rows.bad.sum())) < FOLDS:
        raise ValueError(f"need at least {FOLDS} pairs of each verdict")
    if np.unique(rows.cluster).size < FOLDS:
        raise ValueError(f"need pairs of at least {FOLDS} entries")
    return good, np.minimum(rows.weight, MOST_WEIGHT)
