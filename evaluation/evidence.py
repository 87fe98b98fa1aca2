"""What the statistics work on: the log of a window's lookups, and the labels drawn from it.

Both are plain arrays. A score is a similarity (or calibrated probability): larger is nearer, and
the rule is always ``score >= threshold``. A guarded lookup has score ``-inf``: no threshold admits
it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

LOWEST_THRESHOLD = 0.70
HIGHEST_THRESHOLD = 0.995
GRID_STEP = 0.005


@dataclass(frozen=True)
class Lookups:
    """Every semantic lookup of the windows under study, sampled or not.

    Attributes
    ----------
    score : float64, shape (N,), finite or -inf
        Top score after guards; -inf for a guarded lookup or one without a candidate. Any order.
    inclusion_probability : float64, shape (N,), in [0, 1]
        With which the lookup was sampled, as stored when it was drawn. 0 below the floor.
    """

    score: FloatArray
    inclusion_probability: FloatArray

    def __post_init__(self) -> None:
        _check_scores(self.score)
        _check_same_length(self.score, self.inclusion_probability, "inclusion_probability")
        p = self.inclusion_probability
        if not np.all((p >= 0.0) & (p <= 1.0)):
            raise ValueError("inclusion_probability of every lookup must be known and in [0, 1]")

    def __len__(self) -> int:
        return int(self.score.size)


@dataclass(frozen=True)
class Labels:
    """The reviewed lookups; one row per sampled lookup, any order.

    Attributes
    ----------
    score : float64, shape (n,), finite or -inf
        The score that was logged with the lookup, to the bit.
    false_hit : bool, shape (n,)
        Verdict ``not_reusable``.
    unsure : bool, shape (n,)
        Verdict ``unsure``, or sampled and still without a verdict when the window was closed.
    original_bad : bool, shape (n,)
        The stored answer was bad for its own request; reported apart, neither good reuse nor bad.
    inclusion_probability : float64, shape (n,), in (0, 1]
        As stored when the lookup was drawn, never recomputed.
    """

    score: FloatArray
    false_hit: BoolArray
    unsure: BoolArray
    original_bad: BoolArray
    inclusion_probability: FloatArray

    def __post_init__(self) -> None:
        _check_scores(self.score)
        for name in ("false_hit", "unsure", "original_bad", "inclusion_probability"):
            _check_same_length(self.score, getattr(self, name), name)
        if np.any(self.false_hit & self.unsure):
            raise ValueError("a label is either a false hit or unsure, not both")
        p = self.inclusion_probability
        if not np.all((p > 0.0) & (p <= 1.0)):
            raise ValueError(
                "inclusion_probability of a label must lie in (0, 1]; "
                "labels without one belong in the pilot (probability 1), never in a certificate"
            )

    def __len__(self) -> int:
        return int(self.score.size)

    @property
    def counts_as_bad(self) -> BoolArray:
        """What the certificate calls bad: false hits, and whatever nobody could decide."""
        return self.false_hit | self.unsure

    def where(self, mask: BoolArray) -> "Labels":
        """Return the rows for which ``mask`` (bool, shape (n,)) is true, in the same order."""
        return Labels(
            score=self.score[mask],
            false_hit=self.false_hit[mask],
            unsure=self.unsure[mask],
            original_bad=self.original_bad[mask],
            inclusion_probability=self.inclusion_probability[mask],
        )


def make_labels(
    score: npt.ArrayLike,
    false_hit: npt.ArrayLike,
    *,
    unsure: npt.ArrayLike | None = None,
    original_bad: npt.ArrayLike | None = None,
    inclusion_probability: npt.ArrayLike = 1.0,
) -> Labels:
    """Build `Labels` from anything array-like: absent flags are false, a scalar rate is constant.

    Raises ``ValueError`` for unequal lengths, NaN or +inf scores, or probabilities outside (0, 1].
    """
    scores = np.asarray(score, dtype=np.float64)
    none = np.zeros(scores.shape, dtype=np.bool_)
    rate = np.asarray(inclusion_probability, dtype=np.float64)
    return Labels(
        score=scores,
        false_hit=np.asarray(false_hit, dtype=np.bool_),
        unsure=none if unsure is None else np.asarray(unsure, dtype=np.bool_),
        original_bad=none if original_bad is None else np.asarray(original_bad, dtype=np.bool_),
        inclusion_probability=np.full(scores.shape, rate) if rate.ndim == 0 else rate,
    )


def make_lookups(score: npt.ArrayLike, inclusion_probability: npt.ArrayLike = 1.0) -> Lookups:
    """Build `Lookups` from anything array-like; a scalar rate is constant."""
    scores = np.asarray(score, dtype=np.float64)
    rate = np.asarray(inclusion_probability, dtype=np.float64)
    return Lookups(scores, np.full(scores.shape, rate) if rate.ndim == 0 else rate)


def default_grid() -> FloatArray:
    """Return the 60 thresholds 0.700, 0.705, ..., 0.995: float64, ascending."""
    steps = round((HIGHEST_THRESHOLD - LOWEST_THRESHOLD) / GRID_STEP) + 1
    # Rounded, so that a grid point is the float that a person types: 0.93, not 0.9299999.
    return np.round(np.linspace(LOWEST_THRESHOLD, HIGHEST_THRESHOLD, steps), 6)


def check_thresholds(thresholds: FloatArray) -> FloatArray:
    """Return ``thresholds`` as float64 after checking: one row, finite, strictly ascending."""
    grid = np.asarray(thresholds, dtype=np.float64)
    if grid.ndim != 1 or not np.all(np.isfinite(grid)) or np.any(np.diff(grid) <= 0.0):
        raise ValueError("thresholds must be one-dimensional, finite and strictly ascending")
    return grid


def hits_at(score: FloatArray, thresholds: FloatArray) -> IntArray:
    """Count the scores that each threshold admits: ``#{score >= t}``, int64, shape of thresholds.

    All scores equal to a threshold are admitted by it: a tie is never split.
    """
    ascending = np.sort(score)
    below = np.searchsorted(ascending, thresholds, side="left")
    return np.asarray(ascending.size - below, dtype=np.int64)


def _check_scores(score: FloatArray) -> None:
    if score.ndim != 1:
        raise ValueError(f"score must be one-dimensional, got {score.ndim} dimensions")
    if np.any(np.isnan(score)) or np.any(score == np.inf):
        raise ValueError("score must be finite, or -inf for a guarded lookup")


def _check_same_length(score: FloatArray, other: npt.NDArray[np.generic], name: str) -> None:
    if other.shape != score.shape:
        raise ValueError(f"{name} has shape {other.shape}, score has {score.shape}")
