"""What an embedder and a vector index are: protocols, value types, errors, sizes and ranges.

Everything outside this package speaks only these words. Similarity is cosine, in [-1, 1], larger
is nearer; no distance leaves ``index/similarity.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""One float32 array of shape ``(dimensions,)`` and length 1."""

Vectors = npt.NDArray[np.float32]
"""A float32 array of shape ``(n, dimensions)``, every row of length 1; ``n`` may be 0."""

Labels = npt.NDArray[np.int64]
"""An int64 array of shape ``(n,)``: row ids of the database, 0 or more."""

Language = Literal["en", "zh", "multi"]
"""What an embedder reads: English, Chinese, or many languages."""

RefusalReason = Literal["blank", "unreadable", "too_long"]
"""``blank``: no letter, digit or symbol. ``unreadable``: written in a script that the model does
not know. ``too_long``: more tokens than the model reads; it would see only the beginning."""


class Neighbor(NamedTuple):
    """One search result: a label and its cosine similarity, rounded to 6 decimals."""

    label: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Readability:
    """Whether a model can read a text, and the figures behind the answer."""

    tokens: int
    """Tokens that the model would be given, with its own special tokens and its prefix. For a
    text far beyond the limit a lower bound, since it is not tokenised to the end."""
    unknown_share: float
    """Share of the text's own tokens that are the unknown token, in [0, 1]; 0 without tokens."""
    cjk_share: float
    """Share of Han, kana and hangul among the text's letters and digits, in [0, 1]."""
    reason: RefusalReason | None = None
    """Why the text must not be compared by meaning; None when it may be."""

    @property
    def is_readable(self) -> bool:
        """True when a vector of this text stands for the whole of it."""
        return self.reason is None


class EmbeddingError(Exception):
    """No vector could be had for a text."""


class TextRefused(EmbeddingError):
    """The model cannot read the text as a whole; it is not embedded rather than cut or guessed."""

    def __init__(self, readability: Readability, *, position: int = 0) -> None:
        super().__init__(
            f"{readability.reason}: {readability.tokens} tokens, "
            f"{readability.unknown_share:.0%} unknown, {readability.cjk_share:.0%} CJK"
        )
        self.readability = readability
        self.position = position
        """Index of the refused text in the batch that was given to ``embed``."""


class TextTooLong(TextRefused):
    """The text has more tokens than the model reads."""


class EmbedderUnavailable(EmbeddingError):
    """The engine failed or is stuck; the caller should go on without the semantic tier."""


class EmbedderBusy(EmbedderUnavailable):
    """The queue in front of the engine is full; the caller should not wait."""


class ModelNotInstalled(EmbeddingError):
    """The package or folder that holds the model is missing, or is not the expected file."""


class InvalidVector(ValueError):
    """A vector with NaN, infinity, length 0 or the wrong number of dimensions."""


class SnapshotInvalid(Exception):
    """A snapshot file is missing, damaged, foreign or of another version; rebuild instead."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose cosine stands for nearness of meaning."""

    @property
    def fingerprint(self) -> str:
        """Changes with model, file bytes, numeric format of the engine and text normalisation.

        Vectors of different fingerprints are never compared.
        """
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def languages(self) -> frozenset[Language]: ...

    @property
    def max_tokens(self) -> int:
        """Most tokens of one text, the model's special tokens and prefix included."""
        ...

    @property
    def preferred_batch(self) -> int:
        """Texts per call beyond which the cost of each no longer falls; 1 if it never does."""
        ...

    def readability(self, text: str) -> Readability:
        """Say whether ``embed`` would take the text, without running the model."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; each is normalised first (``index/normalize.py``), so callers need not.

        Returns
        -------
        float32 array, shape (len(texts), dimensions), rows of length 1, in the order given. A text
        has the same vector alone and in any batch, to a cosine of at least 0.9999. Shape
        (0, dimensions) for no text.

        Raises
        ------
        TextRefused
            For the first text that is blank, unreadable or (as TextTooLong) too long.
        """
        ...


class VectorIndex(Protocol):
    """Labels with vectors, searched by cosine. Safe to use from several threads."""

    @property
    def dimensions(self) -> int: ...

    @property
    def memory_bytes(self) -> int:
        """Bytes of the machine's memory, within about a tenth."""
        ...

    def add(self, labels: Labels, vectors: Vectors) -> None:
        """Add vectors, or replace those of labels that are there already.

        Parameters
        ----------
        labels : int64, shape (n,), each at least 0. If one occurs twice, its last row counts.
        vectors : float32, shape (n, dimensions); normalised here if they are not.

        Raises
        ------
        InvalidVector
            NaN, infinity, zero length or wrong shape. Nothing is added then.
        """
        ...

    def remove(self, labels: Labels) -> int:
        """Forget labels; unknown ones are ignored. Returns how many were there."""
        ...

    def search(self, vector: Vector, k: int) -> list[Neighbor]:
        """The ``min(k, len(self))`` nearest, nearest first, equal similarities by smaller label.

        Empty list for an empty index or ``k <= 0``. Raises InvalidVector like ``add``.
        """
        ...

    def items(self) -> tuple[Labels, Vectors]:
        """A copy of all labels and their vectors, in no particular order."""
        ...

    def __len__(self) -> int: ...

    def __contains__(self, label: object) -> bool: ...
