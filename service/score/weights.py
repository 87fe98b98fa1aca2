"""How much a word tells: rare words of a line's traffic weigh much, everyday ones little.

The table is part of a scorer and never changes under it: a score that moved with every new entry could not be
certified. Words are kept as 32-bit checksums, since a table of texts would spread what users wrote.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping

from service.score.wording import read

MAX_WORDS = 20_000
"""The most common ones; all others weigh as much as a word that was never seen."""


class WordWeights:
    """Weights in (0, 1] by word; 1 for a word that the texts did not hold."""

    def __init__(self, known: Mapping[int, float]) -> None:
        self.known = dict(known)
        """By CRC-32 of the word's UTF-8 bytes."""
        self._by_word: dict[str, float] = {}

    def __call__(self, word: str) -> float:
        """The weight of one word, as `wording` writes it."""
        found = self._by_word.get(word)
        if found is None:
            if (
                len(self._by_word) > 4 * MAX_WORDS
            ):  # whoever sends new words must not fill the memory
                self._by_word.clear()
            found = self._by_word[word] = self.known.get(checksum(word), 1.0)
        return found


def checksum(word: str) -> int:
    """CRC-32 of the word."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def weights_of(texts: Iterable[str]) -> WordWeights:
    """Inverse document frequency over distinct texts, scaled so that a word of no text weighs 1.

    `log((n + 1) / (f + 1)) / log(n + 1)` for a word in f of n texts, at least 0.01 (Spärck Jones, 1972, smoothed).
    Without texts every word weighs 1.
    """
    found: Counter[int] = Counter()
    n = 0
    for text in dict.fromkeys(texts):
        n += 1
        found.update({checksum(word) for word in read(text).words})
    if not n:
        return WordWeights({})
    whole = math.log(n + 1)
    return WordWeights(
        {
            word: round(max(math.log((n + 1) / (f + 1)) / whole, 0.01), 4)
            for word, f in found.most_common(MAX_WORDS)
            if f > 1
        }
    )
