"""Embedders for tests: one whose pair similarities are chosen, one that is fast and repeatable.

They ship with the package, so that every test of the service can say what is near what without a
model. Neither knows any language.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence

import numpy as np

from index.normalize import cjk_share, is_blank, normalize
from index.similarity import unit_rows
from index.types import (
    Language,
    Readability,
    RefusalReason,
    TextRefused,
    TextTooLong,
    Vectors,
)

_EVERY_LANGUAGE: frozenset[Language] = frozenset({"en", "zh", "multi"})


class HashEmbedder:
    """Bags of hashed character trigrams: equal texts at 1.0, overlapping ones in between.

    Deterministic over processes and machines. A whitespace-separated word counts as a token.
    """

    def __init__(
        self,
        dimensions: int = 64,
        *,
        name: str = "hash",
        max_tokens: int = 512,
        preferred_batch: int = 8,
        delay_s: float = 0.0,
    ) -> None:
        self.fingerprint = f"{name}/{dimensions}"
        self.dimensions = dimensions
        self.languages = _EVERY_LANGUAGE
        self.max_tokens = max_tokens
        self.preferred_batch = preferred_batch
        self.calls: list[list[str]] = []
        """Every batch that was embedded, in order."""
        self._delay_s = delay_s

    def readability(self, text: str) -> Readability:
        """Blank and too long are reported; everything else is readable."""
        tokens = len(text.split())
        reason: RefusalReason | None = None
        if is_blank(text):
            reason = "blank"
        elif tokens > self.max_tokens:
            reason = "too_long"
        return Readability(tokens, 0.0, cjk_share(text), reason)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        self.calls.append(list(texts))
        if self._delay_s:
            time.sleep(self._delay_s)
        _refuse_unreadable(self, texts)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return unit_rows([self._bag(normalize(text)) for text in texts], self.dimensions)

    def _bag(self, text: str) -> np.ndarray:
        bag = np.zeros(self.dimensions)
        padded = f"  {text} "
        for start in range(len(padded) - 2):
            gram = padded[start : start + 3].encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(gram, digest_size=8).digest()
            place = int.from_bytes(digest[:7], "big") % self.dimensions
            bag[place] += 1.0 if digest[7] & 1 else -1.0
        # A constant part keeps a bag that cancels out from having no direction.
        bag[0] += 0.25
        return bag


class RiggedEmbedder:
    """Texts whose pair cosines are chosen; texts that are not named are unrelated to all.

    Parameters
    ----------
    similarities : from pairs of texts to their cosine in [-1, 1]. A text with itself is 1; pairs
        that are not given are 0. The texts are compared after normalisation.

    Raises
    ------
    ValueError
        The chosen cosines contradict each other (no vectors have them), e.g. a near b, b near c,
        a opposite to c.
    """

    def __init__(
        self,
        similarities: Mapping[tuple[str, str], float],
        *,
        spare_dimensions: int = 64,
        name: str = "rigged",
    ) -> None:
        names = sorted({normalize(text) for pair in similarities for text in pair})
        self._row_of = {text: row for row, text in enumerate(names)}
        gram = np.eye(len(names))
        for (a, b), similarity in similarities.items():
            row, column = self._row_of[normalize(a)], self._row_of[normalize(b)]
            gram[row, column] = gram[column, row] = similarity
        self._vectors = _vectors_with_gram(gram)
        self._spare = spare_dimensions
        self.fingerprint = name
        self.dimensions = len(names) + spare_dimensions
        self.languages = _EVERY_LANGUAGE
        self.max_tokens = 512
        self.preferred_batch = 8

    def readability(self, text: str) -> Readability:
        """Blank and more than 512 words are reported; everything else is readable."""
        tokens = len(text.split())
        reason: RefusalReason | None = None
        if is_blank(text):
            reason = "blank"
        elif tokens > self.max_tokens:
            reason = "too_long"
        return Readability(tokens, 0.0, cjk_share(text), reason)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        _refuse_unreadable(self, texts)
        vectors = np.zeros((len(texts), self.dimensions))
        for position, text in enumerate(texts):
            wanted = normalize(text)
            row = self._row_of.get(wanted)
            if row is not None:
                vectors[position, : len(self._row_of)] = self._vectors[row]
            else:
                # Random directions in the spare part: orthogonal to every named text, and nearly
                # so to each other.
                seed = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).digest()[:8]
                rng = np.random.default_rng(int.from_bytes(seed, "big"))
                vectors[position, len(self._row_of) :] = rng.standard_normal(self._spare)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return unit_rows(vectors, self.dimensions)


def _vectors_with_gram(gram: np.ndarray) -> np.ndarray:
    """Rows whose pairwise dot products are ``gram``, from its eigenvectors."""
    if len(gram) == 0:
        return gram
    values, vectors = np.linalg.eigh(gram)
    if values.min() < -1e-9:
        raise ValueError(f"similarities: no vectors have these cosines ({values.min():.3g} < 0)")
    rows: np.ndarray = vectors * np.sqrt(np.clip(values, 0.0, None))
    return rows


def _refuse_unreadable(embedder: HashEmbedder | RiggedEmbedder, texts: Sequence[str]) -> None:
    for position, text in enumerate(texts):
        seen = embedder.readability(text)
        if seen.reason == "too_long":
            raise TextTooLong(seen, position=position)
        if not seen.is_readable:
            raise TextRefused(seen, position=position)
