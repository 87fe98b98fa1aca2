"""A learned score: features of a pair of texts, the trees that make a probability of them, the rule of a verifier.

No I/O, no training.
"""

from service.score.features import DIRECTIONS, FEATURES, FEATURES_VERSION, Context, features
from service.score.scorer import COSINE, SCORE_NAME, Scorer, UnusableScorer
from service.score.trees import Trees
from service.score.verifier import VerifierRule
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
    "VerifierRule",
    "WordWeights",
    "features",
]
