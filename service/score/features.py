"""What a learned score sees of a pair: a stored query and a new one.

No feature tells the length of a text: a free model on Chinese pairs lost a sixth of its AUC to one that did (it had
learned the training set's lengths). Each feature bears a direction, and the model is bound to it: more overlap can only
raise a probability, more words of one side alone can only lower it. All but `margin` and `age` are the same for (a, b)
and (b, a).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from service.score.matching import match
from service.score.wording import Wording, read

FEATURES_VERSION = "1"
"""Changes whenever a value may change; a scorer of another version is not used."""

UNKNOWN = math.nan
Weigh = Callable[[str], float]

FEATURES: dict[str, tuple[int, str]] = {
    "cosine": (1, "Cosine of the two embeddings."),
    "margin": (1, "That cosine, less the greatest of any other candidate; at most 1 without one."),
    "overlap": (1, "Weighted share of words that both have (Dice)."),
    "aligned": (1, "Weighted share of content matched, synonyms and slips of the pen included."),
    "covered": (1, "The same of the side that is covered less."),
    "runs": (1, "Share of runs of two or three characters that both have (Dice)."),
    "order": (1, "Longest common sequence of words over the longer one."),
    "rarest_alone": (-1, "Weight of the rarest word of content that one side alone has."),
    "swapped": (
        -1,
        "Content on one side only, of the side that has less of it: a word changed for a word.",
    ),
    "hard_alone": (-1, "Names, numbers, code and unknown words on one side only."),
    "opposites": (-1, "Words that are opposites of each other."),
    "negation": (-1, "Difference in the number of negations."),
    "scripts": (-1, "1 where the two are written in different scripts, else 0."),
    "age": (-1, "Age of the entry, log(1 + hours)."),
}
"""Name → (direction, what it is). Direction 1: more can only raise the probability; -1: only lower it."""

DIRECTIONS = tuple(direction for direction, _ in FEATURES.values())
_HARD = frozenset({"name", "num", "code", "unknown", "op", "choice"})


@dataclass(frozen=True, slots=True)
class Context:
    """What the texts don't tell. NaN where it isn't known."""

    cosine: float
    other_cosine: float = UNKNOWN
    """The greatest cosine of any other candidate of the lookup; -inf without one."""
    age_s: float = UNKNOWN
    """Of the entry when it was looked up."""
    lift: float = UNKNOWN
    """What the place of the query adds, in log odds: `Scorer.lift`."""


def features(entry_query: str, query: str, context: Context, weigh: Weigh) -> list[float]:
    """One value per feature, in the order of `FEATURES`; finite, or NaN where it isn't known."""
    a, b = read(entry_query), read(query)
    pair = match(a.analysis.units, b.analysis.units)
    left = [weigh(a.contents[i]) for i in pair.left_a]
    right = [weigh(b.contents[i]) for i in pair.left_b]
    total_a, total_b = sum(map(weigh, a.contents)), sum(map(weigh, b.contents))
    alone_a, alone_b = sum(left), sum(right)
    return [
        context.cosine,
        min(context.cosine - context.other_cosine, 1.0),
        _overlap(a, b, weigh),
        _share(total_a + total_b - alone_a - alone_b, total_a + total_b),
        min(_share(total_a - alone_a, total_a), _share(total_b - alone_b, total_b)),
        2.0 * len(a.runs & b.runs) / (len(a.runs) + len(b.runs)),
        float(LCSseq.normalized_similarity(a.words, b.words)),
        max([*left, *right], default=0.0),
        min(alone_a, alone_b),
        float(_hard(a, pair.left_a) + _hard(b, pair.left_b)),
        float(pair.opposites),
        float(abs(a.analysis.negations - b.analysis.negations)),
        float(a.analysis.script != b.analysis.script),
        math.log1p(max(context.age_s, 0.0) / 3600.0) if context.age_s == context.age_s else UNKNOWN,
    ]


def _overlap(a: Wording, b: Wording, weigh: Weigh) -> float:
    mine, yours = Counter(a.words), Counter(b.words)
    shared = sum(weigh(word) * min(n, yours[word]) for word, n in mine.items() if word in yours)
    return _share(2.0 * shared, sum(map(weigh, a.words)) + sum(map(weigh, b.words)))


def _hard(text: Wording, left: list[int]) -> int:
    units = text.analysis.units
    return sum(units[i].kind in _HARD for i in left)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 1.0
