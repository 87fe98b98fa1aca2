"""Lengths of the sequences of a log, from a sample of bounded size."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

_SAMPLE = 100_000


@dataclass(frozen=True, slots=True)
class Lengths:
    """Prompt and answer together, in tokens. Exact up to 100,000 requests, then from a sample."""

    requests: int
    p50: int
    p95: int
    p99: int
    longest: int


class LengthSample:
    """A uniform sample of lengths (Vitter, 1985, "Random sampling with a reservoir")."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._seen = 0
        self._longest = 0
        self._kept: list[int] = []

    def add(self, tokens: int) -> None:
        """Note one sequence."""
        self._seen += 1
        self._longest = max(self._longest, tokens)
        if len(self._kept) < _SAMPLE:
            self._kept.append(tokens)
        elif (at := self._rng.randrange(self._seen)) < _SAMPLE:
            self._kept[at] = tokens

    def lengths(self) -> Lengths | None:
        """The quantiles so far; None before any sequence."""
        if not self._kept:
            return None
        p50, p95, p99 = np.quantile(self._kept, [0.5, 0.95, 0.99], method="higher").tolist()
        return Lengths(self._seen, int(p50), int(p95), int(p99), self._longest)
