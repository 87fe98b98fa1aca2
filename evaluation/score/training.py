"""From reviewed pairs to a scorer: a monotone booster, calibrated on folds it did not see, as plain trees.

scikit-learn grows the trees (Friedman, 2001; histograms as in Ke and others, 2017) and is needed here alone. Every
feature is bound to its declared direction, so that a model from few labels cannot learn that, say, more shared words
mean a wrong answer, which is a property of how some data sets were collected and of no cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs
from scipy.optimize import minimize

from evaluation.evidence import BoolArray, FloatArray
from evaluation.score.pairs import Pair, Rows, rows_of
from evaluation.score.region_training import (
    FOLDS,
    MOST_WEIGHT,
    Fitted,
    fit_region,
    log_loss,
    out_of_fold,
    space_of,
)
from index.types import Vector
from service.score import DIRECTIONS, FEATURES, FEATURES_VERSION, Scorer, Trees
from service.score.scorer import Model, dump
from service.score.trees import Tree
from service.score.weights import WordWeights, weights_of

LEAVES, RATE, ROUNDS, L2 = 6, 0.05, 80, 10.0
"""Few leaves, small steps: on 400 labels a larger model lost to the cosine, on 1,400 it won nothing."""
LEAST_LEAF, LEAF_SHARE = 15, 40
FEWEST_VECTORS = 50
"""Texts that a space is made from; fewer tell of no places."""


def train(
    pairs: Sequence[Pair],
    texts: Sequence[str],
    vectors: Mapping[str, Vector],
    *,
    fingerprint: str,
    least_cosine: float = -1.0,
) -> Scorer:
    """A scorer from labelled pairs; `texts` of the line's traffic give the weights of words and the space of vectors.

    Of a score of words and one of places it is the one that foretells unseen entries better. Candidates under
    `least_cosine` get probability 0, as do those under all that was labelled. Deterministic. Raises ValueError where
    there are fewer pairs of one verdict, or fewer entries, than folds.
    """
    words = weights_of(texts)
    rows = rows_of(pairs, words)
    of_words = fit(rows, words, fingerprint=fingerprint)
    place = train_place(pairs, rows, texts, vectors, fingerprint=fingerprint)
    is_place = place is not None and place.loss < of_words.loss
    return _from(least_cosine, (place if place is not None and is_place else of_words).scorer)


def train_place(
    pairs: Sequence[Pair],
    rows: Rows,
    texts: Sequence[str],
    vectors: Mapping[str, Vector],
    *,
    fingerprint: str,
) -> Fitted | None:
    """A scorer of places; None where too few texts or not all labelled queries have a vector."""
    known = [vectors[t] for t in dict.fromkeys([*texts, *(p.query for p in pairs)]) if t in vectors]
    if len(known) < FEWEST_VECTORS or any(p.query not in vectors for p in pairs):
        return None
    return fit_region(
        rows, [vectors[p.query] for p in pairs], space_of(known), fingerprint=fingerprint
    )


def _from(least_cosine: float, scorer: Scorer) -> Scorer:
    if scorer.model.least_cosine >= least_cosine:
        return scorer
    return dump(structs.replace(scorer.model, least_cosine=least_cosine))


def fit(rows: Rows, words: WordWeights, *, fingerprint: str) -> Fitted:
    """A scorer of words from rows of features."""
    good = ~rows.bad
    weight = np.minimum(rows.weight, MOST_WEIGHT)
    if min(int(good.sum()), int(rows.bad.sum())) < FOLDS:
        raise ValueError(f"need at least {FOLDS} pairs of each verdict")
    if np.unique(rows.cluster).size < FOLDS:
        raise ValueError(f"need pairs of at least {FOLDS} entries")
    cosine, raw = rows.x[:, 0], _out_of_fold(rows, weight)
    slope, cosine_slope, offset = calibrate(raw, cosine, good, weight)
    scorer = dump(
        Model(
            features_version=FEATURES_VERSION,
            names=list(FEATURES),
            trees=export(grow(rows.x, good, weight)),
            slope=slope,
            cosine_slope=cosine_slope,
            offset=offset,
            least_cosine=float(cosine.min()),
            words=words.known,
            fingerprint=fingerprint,
        )
    )
    odds = slope * raw + cosine_slope * cosine + offset
    alone = out_of_fold(rows, np.zeros((len(rows), 0)), pull=1.0)
    return Fitted(scorer, log_loss(odds, good, weight), odds, alone)


def export(booster: Any) -> Trees:
    """The trees of a fitted HistGradientBoostingClassifier of two classes: the same sums, without the library."""
    trees = []
    for (predictor,) in booster._predictors:  # no public form holds the trees
        nodes = predictor.nodes
        if nodes["is_categorical"].any():
            raise ValueError("categorical splits are not exported")
        leaf = nodes["is_leaf"].astype(bool)
        trees.append(
            Tree(
                feature=np.where(leaf, -1, nodes["feature_idx"].astype(np.int64)).tolist(),
                # a leaf's threshold is unset memory
                threshold=np.where(leaf, 0.0, nodes["num_threshold"]).tolist(),
                missing_left=(nodes["missing_go_to_left"].astype(bool) & ~leaf).tolist(),
                left=np.where(leaf, 0, nodes["left"].astype(np.int64)).tolist(),
                right=np.where(leaf, 0, nodes["right"].astype(np.int64)).tolist(),
                value=np.where(leaf, nodes["value"], 0.0).tolist(),
            )
        )
    return Trees(float(booster._baseline_prediction.ravel()[0]), trees)


def calibrate(
    raw: FloatArray, cosine: FloatArray, good: BoolArray, weight: FloatArray
) -> tuple[float, float, float]:
    """(slope, slope of the cosine, offset) of a logistic curve over both, neither slope under 0.

    Weighted maximum likelihood with a weak pull to 0. `raw` must come from folds that did not see their rows: a
    booster's own training rows look far too sure.
    """
    scale = np.asarray([max(float(raw.std()), 1e-9), max(float(cosine.std()), 1e-9)])
    middle = np.asarray([float(raw.mean()), float(cosine.mean())])
    z = (np.column_stack([raw, cosine]) - middle) / scale
    total = float(weight.sum())

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        u = z @ w[:2] + w[2]
        p = 1.0 / (1.0 + np.exp(-u))
        pull = w[:2] / total
        value = float((weight * (np.logaddexp(0.0, u) - good * u)).sum() / total + pull @ w[:2] / 2)
        slope = weight * (p - good) / total
        return value, np.concatenate([z.T @ slope + pull, [slope.sum()]])

    bounds = [(0.0, None), (1e-6, None), (None, None)]
    w = minimize(loss, np.asarray([1.0, 1.0, 0.0]), jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = w[:2] / scale
    return float(slopes[0]), float(slopes[1]), float(w[2] - slopes @ middle)


def grow(x: FloatArray, good: BoolArray, weight: FloatArray) -> Any:
    """A fitted HistGradientBoostingClassifier."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    # a feature that no row knows cannot be cut into bins; as a constant it takes part in no tree
    x = np.where(np.isnan(x).all(axis=0), 0.0, x)
    n = int(good.size)
    booster = HistGradientBoostingClassifier(
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        max_iter=ROUNDS,
        min_samples_leaf=max(LEAST_LEAF, n // LEAF_SHARE),
        l2_regularization=L2,
        monotonic_cst=list(DIRECTIONS),
        early_stopping=False,
        random_state=0,
    )
    return booster.fit(x, good, sample_weight=weight)


def _out_of_fold(rows: Rows, weight: FloatArray) -> FloatArray:
    """What boosters say that did not see the row, nor any other of its entry."""
    from sklearn.model_selection import StratifiedGroupKFold

    raw = np.zeros(len(rows))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    for seen, unseen in folds.split(rows.x, rows.bad, rows.cluster):
        booster = grow(rows.x[seen], ~rows.bad[seen], weight[seen])
        raw[unseen] = booster.decision_function(rows.x[unseen])
    return raw
