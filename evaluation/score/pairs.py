"""Reviewed pairs as rows of features, and the rule by which a body of them is cut into earlier and later."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.evidence import BoolArray, FloatArray, IntArray
from service.score import Context
from service.score.features import features

Weigh = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Pair:
    """A stored query, a new one, and what a reviewer said of reusing the answer.

    `inclusion_probability` in (0, 1] is that of having been sampled.
    """

    at_ms: int
    entry_query: str
    query: str
    cosine: float
    other_cosine: float
    age_s: float
    is_bad: bool
    is_unsure: bool
    inclusion_probability: float

    @property
    def context(self) -> Context:
        """What the texts don't tell; the lift is the scorer's to say."""
        return Context(self.cosine, self.other_cosine, self.age_s)


@dataclass(frozen=True)
class Rows:
    """Pairs as arrays. x: float64, shape (n, features), NaN where unknown; bad: bool; weight: > 0, mean 1; cluster.

    Pairs of one entry share a cluster: they are right or wrong together, so no fold and no resample may part them.
    """

    x: FloatArray
    bad: BoolArray
    weight: FloatArray
    cluster: IntArray

    def __len__(self) -> int:
        return int(self.bad.size)


def rows_of(pairs: Sequence[Pair], weigh: Weigh) -> Rows:
    """Features of pairs; unsure ones count as bad, as they do in a certificate."""
    number: dict[str, int] = {}
    x = [features(p.entry_query, p.query, p.context, weigh) for p in pairs]
    weight = 1.0 / np.asarray([p.inclusion_probability for p in pairs], dtype=np.float64)
    return Rows(
        x=np.asarray(x, dtype=np.float64).reshape(len(pairs), -1),
        bad=np.asarray([p.is_bad or p.is_unsure for p in pairs], dtype=np.bool_),
        weight=weight / weight.mean() if len(pairs) else weight,
        cluster=np.asarray(
            [number.setdefault(p.entry_query, len(number)) for p in pairs], dtype=np.int64
        ),
    )


def cut_at(pairs: Sequence[Pair], at_ms: int) -> tuple[list[Pair], list[Pair]]:
    """(those before a time, those from it on)."""
    return [p for p in pairs if p.at_ms < at_ms], [p for p in pairs if p.at_ms >= at_ms]


def cut(pairs: Sequence[Pair], share: float) -> tuple[list[Pair], list[Pair]]:
    """(earlier, later): the first `share` by time to learn from, the rest to judge by. Equal times stay together."""
    ordered = sorted(pairs, key=lambda p: (p.at_ms, p.entry_query, p.query))
    at = math.ceil(share * len(ordered))
    while 0 < at < len(ordered) and ordered[at].at_ms == ordered[at - 1].at_ms:
        at += 1
    return ordered[:at], ordered[at:]
