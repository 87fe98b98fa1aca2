"""A line's learned score as data: trees, their calibration and the word weights, in one blob with a version."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import msgspec

from service.score.features import FEATURES, FEATURES_VERSION, Context, features
from service.score.trees import Trees, problem_of
from service.score.weights import WordWeights

COSINE = "cosine"
"""The score of a line that has learned none."""
PREFIX = "learned-"
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


class Scorer:
    """Probability that a stored answer may be reused, for one pair at a time.

    In [0, 1], larger is likelier; never a distance. Deterministic: the same pair and context give the same float.
    """

    def __init__(self, model: Model, blob: bytes) -> None:
        if model.features_version != FEATURES_VERSION or model.names != list(FEATURES):
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

    def probability(self, entry_query: str, query: str, context: Context) -> float:
        """Of the stored answer being right for the new query."""
        if not context.cosine >= self.model.least_cosine:
            return 0.0
        return self.of_row(features(entry_query, query, context, self.weigh))

    def of_row(self, row: Sequence[float]) -> float:
        """The probability of one row of features."""
        model = self.model
        x = model.slope * model.trees.raw(row) + model.cosine_slope * row[0] + model.offset
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
