"""A line's learned score as data: trees, their calibration and the word weights, in one blob with a version."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from service.score.features import FEATURES, FEATURES_VERSION, Context, features
from service.score.region import Lift, Region
from service.score.trees import Trees, problem_of
from service.score.weights import WordWeights

COSINE = "cosine"
"""The score of a line that has learned none."""
PREFIX = "learned-"
REGION = "region"
"""Stands after the features' names where the place plays a part, so that a release without places refuses the model."""
_DIGITS = 12  # 48 bits name the few scorers of a line
_MARK = "+score-"
SCORE_NAME = rf"^({COSINE}|{PREFIX}[0-9a-f]{{{_DIGITS}}})$"
"""What a line's `score` may be called."""


class UnusableScorer(ValueError):
    """These bytes hold no scorer, or one for other features than this release computes."""


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a training."""

    features_version: str
    names: list[str]
    trees: Trees
    slope: float
    cosine_slope: float
    offset: float
    """Probability = 1 / (1 + exp(-(slope · raw + cosine_slope · cosine + offset))), neither slope under 0.

    The cosine stands beside the trees, since these give equal values to many pairs and know little from few labels.
    What re-orders candidates is the trees; a calibration of one score alone never changes its curve.
    """
    least_cosine: float
    """Nothing under it was ever labelled: such a candidate gets probability 0."""
    words: dict[int, float]
    fingerprint: str
    """The embedding model whose cosines it was trained on."""
    region: Region | None = None
    """What the place of the query adds to the exponent."""


class Scorer:
    """Probability that a stored answer may be reused, for one pair at a time.

    In [0, 1], larger is likelier; never a distance. Deterministic: the same pair and context give the same float.
    """

    def __init__(self, model: Model, blob: bytes) -> None:
        names = list(FEATURES) if model.region is None else [*FEATURES, REGION]
        if model.features_version != FEATURES_VERSION or model.names != names:
            raise UnusableScorer(
                f"made for features of version {model.features_version}; these are of {FEATURES_VERSION}"
            )
        wrong = problem_of(model.trees, len(FEATURES))
        if wrong is not None:
            raise UnusableScorer(wrong)
        slopes = (model.slope, model.cosine_slope)
        if not (min(slopes) >= 0.0 < max(slopes) and math.isfinite(sum(slopes) + model.offset)):
            raise UnusableScorer("the calibration must be finite and rising")
        self.model = model
        self.blob = blob
        self.version = version_of(blob)
        self.weigh = WordWeights(model.words)
        try:
            self._lift = None if model.region is None else Lift(model.region)
        except ValueError as error:
            raise UnusableScorer(str(error)) from error

    @property
    def kind(self) -> str:
        """`words` for trees over features of the texts, `place` for a score of the cosine and the query's place."""
        return "words" if self._lift is None else "place"

    @property
    def needs_vector(self) -> bool:
        """True when `lift` must be asked: the score depends on where the query lies."""
        return self._lift is not None

    @property
    def keeps_order(self) -> bool:
        """True when the nearest of a lookup's candidates is always the likeliest as well.

        Then a label of the cosine's candidate is one of this score's candidate.
        """
        return self.model.slope == 0.0

    def lift(self, vector: Any) -> float:
        """What the place of a query adds, from its vector; 0 where the place plays no part."""
        return 0.0 if self._lift is None else float(self._lift.of(vector[None, :])[0])

    def probability(self, entry_query: str, query: str, context: Context) -> float:
        """Of the stored answer being right for the new query.

        `context.lift` must come from `lift` where the score needs the vector: unknown (NaN) it gives 0.
        """
        if not context.cosine >= self.model.least_cosine:
            return 0.0
        if self.keeps_order:
            return self._from([context.cosine], 0.0, context.lift)
        row = features(entry_query, query, context, self.weigh)
        return self._from(row, self.model.trees.raw(row), context.lift)

    def of_row(self, row: Sequence[float], lift: float = 0.0) -> float:
        """The probability of one row of features."""
        raw = 0.0 if self.keeps_order else self.model.trees.raw(row)
        return self._from(row, raw, lift)

    def _from(self, row: Sequence[float], raw: float, lift: float) -> float:
        model = self.model
        x = model.slope * raw + model.cosine_slope * row[0] + model.offset
        if self._lift is not None:
            x += lift
        # a sum that is no number is never over anything
        return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


def load(blob: bytes) -> Scorer:
    """A scorer from its stored form; raises UnusableScorer."""
    try:
        return Scorer(msgspec.msgpack.decode(blob, type=Model), blob)
    except msgspec.DecodeError as error:
        raise UnusableScorer(str(error)) from error


def dump(model: Model) -> Scorer:
    """The scorer of a model, with its stored form."""
    return Scorer(model, msgspec.msgpack.encode(model))


def version_of(blob: bytes) -> str:
    """The name that a line's `score` holds: `learned-` and the first digits of the blob's SHA-256."""
    return PREFIX + hashlib.sha256(blob).hexdigest()[:_DIGITS]


def suffix(score: str) -> str:
    """What a line's score adds to the version of its scores; nothing for the cosine."""
    return "" if score == COSINE else f"{_MARK}{score}-f{FEATURES_VERSION}"


def split(score_version: str) -> tuple[str, str, str]:
    """(what stands before the score's part, the line's score, version of its features) of a version of scores."""
    rest, mark, learned = score_version.partition(_MARK)
    if not mark:
        return rest, COSINE, FEATURES_VERSION
    score, _, features_version = learned.rpartition("-f")
    return rest, score, features_version
