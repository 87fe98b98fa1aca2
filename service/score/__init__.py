"""A learned score: features of a pair of texts, and the trees that make a probability of them. No I/O, no training."""

from service.score.features import DIRECTIONS, FEATURES, FEATURES_VERSION, Context, features
from service.score.scorer import COSINE, SCORE_NAME, Scorer, UnusableScorer
from service.score.trees import Trees
from service.score.weights import WordWeights

__all__ = [
    "COSINE",
    "DIRECTIONS",
    "FEATURES",
    "FEATURES_VERSION",
    "SCORE_NAME",
    "Context",
    "Scorer",
    "Trees",
    "UnusableScorer",
    "WordWeights",
    "features",
]
