"""One text as the features see it: its words and its short runs of characters. Read once, compared often."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from service.guards import Analysis, analyse

_CODE_WORD = re.compile(r"[^\W\d]\w*|\d+|[^\w\s]")
_SPACES = re.compile(r"\s+")
LONGEST = 4_000
"""Characters whose runs are compared; two texts that differ behind them alone differ for the other features, too."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What one text holds."""

    analysis: Analysis
    words: tuple[str, ...]
    """In order, lower case: words, numbers, Chinese words; of code, its identifiers and signs."""
    runs: frozenset[str]
    """Two characters each in Chinese, three elsewhere."""
    contents: tuple[str, ...]
    """The word behind each unit of content, as the weights know it."""


@lru_cache(8192)
def read(text: str) -> Wording:
    """Read one text. Pure; the last few thousand readings are kept."""
    found = analyse(text)
    flat = _SPACES.sub(" ", found.text[:LONGEST].lower())
    words = tuple(_CODE_WORD.findall(flat)) if found.source else found.skeleton
    size = 2 if found.script == "han" else 3
    runs = frozenset(flat[at : at + size] for at in range(max(1, len(flat) - size + 1)))
    return Wording(found, words, runs, tuple(unit.text.lower() for unit in found.units))
