"""Guards: cheap checks on two texts that refuse a reuse. They see no vectors and never permit."""

from service.guards.analysis import Analysis, analyse, analyse_new
from service.guards.judging import (
    ALL,
    GUARD_VERSION,
    GUARDS,
    compare,
    judge,
    judge_all,
    read_word_lists,
)
from service.guards.refusal import Refusal

__all__ = [
    "ALL",
    "GUARDS",
    "GUARD_VERSION",
    "Analysis",
    "Refusal",
    "analyse",
    "analyse_new",
    "compare",
    "judge",
    "judge_all",
    "read_word_lists",
]
