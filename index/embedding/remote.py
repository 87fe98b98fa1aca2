"""An embedder that is a server: OpenAI's `/v1/embeddings`, as many inference servers speak it.

The model behind an address can be exchanged without a word, and its new vectors must not meet the old ones. So some
fixed texts are embedded when the server is first used, and again along with a batch now and then; what they came to is
the model's identity. Nothing tells how the server splits a text, and many cut a long one silently, so the length is
judged here, on the safe side.
"""

import math
import re
import threading
import time
import weakref
from collections.abc import Sequence

import httpx2
import numpy as np

from index.normalize import VERSION, cjk_share, is_blank
from index.similarity import unit_rows
from index.types import (
    EmbedderUnavailable,
    Language,
    Readability,
    RefusalReason,
    TextRefused,
    TextTooLong,
    Vectors,
)

PROBES = (
    "how do i reset my password",
    "the train to berlin leaves at 7:45",
    "refund of an annual plan",
)
"""Texts whose vectors stand for the model. In English, which every model reads."""

SAME = 0.9999
"""Smallest cosine of each probe to its earlier vector. One model in other arithmetic (batch size, GPU, half precision)
stays above it; the same model in 8 bit does not."""

VERIFY_S = 10.0
"""How old the last look at the probes may be when a batch goes out."""

CALL_S = 5.0
"""Longest call. Whoever waits for a vector has given up long before."""

BATCH = 32

_WORD = re.compile(r"[a-z]+", re.IGNORECASE | re.ASCII)
_TOO_LONG = ("context_length_exceeded", "maximum context length", "too_long", "too long")


class RemoteEmbedder:
    """Texts to vectors over HTTP. Several threads may use it at once.

    Parameters
    ----------
    url : address of the server, with or without `/v1` or `/v1/embeddings` at its end.
    dimensions : what the model is declared to give; 0 takes what it gives first.
    max_tokens : what the model reads, its special tokens included.
    """

    preferred_batch = BATCH
    languages: frozenset[Language] = frozenset({"en", "zh", "multi"})

    def __init__(
        self, url: str, *, model: str, api_key: str = "", dimensions: int = 0, max_tokens: int = 256
    ) -> None:
        base = url.rstrip("/")
        if not base.endswith("/embeddings"):
            base += "/embeddings" if base.endswith("/v1") else "/v1/embeddings"
        self.model = model
        self.max_tokens = max_tokens
        self.dimensions = dimensions
        self.fingerprint = ""
        """Set by whoever compared the probes with those of earlier times (`identify`)."""
        self.has_changed = False
        """True once the probes came back otherwise: this object is of no more use, a new one is."""
        self._url = base
        self._probe: Vectors | None = None
        self._verified = 0.0
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx2.Client(headers=headers, timeout=CALL_S)
        weakref.finalize(self, self._http.close)  # commands that use one for a moment only drop it
        # Guards the time of the last verification, so that one batch of several carries the probes.
        self._lock = threading.Lock()

    def probe(self) -> Vectors:
        """The vectors of the probes, shape (len(PROBES), dimensions).

        Raises
        ------
        EmbedderUnavailable
            The server does not answer, or with something else than vectors of the declared size.
        """
        self._probe = self._call(list(PROBES))
        self._verified = time.monotonic()
        return self._probe

    def identify(self, generation: int) -> None:
        """Take the fingerprint of a model that gave these probes as its nth (1, 2, …)."""
        self.fingerprint = f"remote/{self.model}/{self.dimensions}/{generation}/{VERSION}"

    def readability(self, text: str) -> Readability:
        """Blank, and too long by a count of tokens that real ones hardly reach."""
        tokens = estimated_tokens(text)
        reason: RefusalReason | None = None
        if is_blank(text):
            reason = "blank"
        elif tokens > self.max_tokens:
            reason = "too_long"
        return Readability(tokens, 0.0, cjk_share(text), reason)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        for position, text in enumerate(texts):
            seen = self.readability(text)
            if seen.reason is not None:
                kind = TextTooLong if seen.reason == "too_long" else TextRefused
                raise kind(seen, position=position)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        with self._lock:
            is_due = time.monotonic() - self._verified > VERIFY_S
            if is_due:
                self._verified = time.monotonic()
        if self.has_changed:
            raise EmbedderUnavailable(f"the model behind {self.model} is another than before")
        found = self._call([*texts, *PROBES] if is_due else list(texts))
        if is_due:
            self._verify(found[len(texts) :])
        return found[: len(texts)]

    def close(self) -> None:
        """Disconnect."""
        self._http.close()

    def _verify(self, probe: Vectors) -> None:
        if self._probe is not None and not is_same(probe, self._probe):
            self.has_changed = True
            raise EmbedderUnavailable(f"the model behind {self.model} is another than before")

    def _call(self, texts: list[str]) -> Vectors:
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        try:
            reply = self._http.post(self._url, json=body)
        except httpx2.HTTPError as error:
            raise EmbedderUnavailable(f"embedding server: {type(error).__name__}") from error
        if reply.status_code != 200:
            raise self._refused(reply, texts)
        try:
            data = sorted(reply.json()["data"], key=lambda item: item["index"])
            rows = np.array([item["embedding"] for item in data], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailable("embedding server: its reply holds no vectors") from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise EmbedderUnavailable(
                f"embedding server: {len(rows)} vectors for {len(texts)} texts"
            )
        self.dimensions = self.dimensions or rows.shape[1]
        if rows.shape[1] != self.dimensions:
            self.has_changed = self._probe is not None
            raise EmbedderUnavailable(
                f"embedding server: vectors of {rows.shape[1]} dimensions, {self.dimensions} were declared"
            )
        return unit_rows(rows, self.dimensions)

    def _refused(self, reply: httpx2.Response, texts: list[str]) -> Exception:
        """An outage, unless the server says that a text is too long for its model or unreadable to it."""
        said = reply.text[:2000].lower()
        if reply.status_code in (400, 413, 422) and len(texts) == 1:
            if "unreadable" in said:
                return TextRefused(Readability(0, 1.0, cjk_share(texts[0]), "unreadable"))
            if any(word in said for word in _TOO_LONG):
                tokens = estimated_tokens(texts[0])
                return TextTooLong(Readability(tokens, 0.0, cjk_share(texts[0]), "too_long"))
        return EmbedderUnavailable(f"embedding server: status {reply.status_code}")


def is_same(probe: Vectors, earlier: Vectors) -> bool:
    """True when every probe came back as it was: the same model."""
    if probe.shape != earlier.shape:
        return False
    return bool((np.einsum("nd,nd->n", probe, earlier) >= SAME).all())


def estimated_tokens(text: str) -> int:
    """A count on the safe side: three letters a token, any other character one, two for start and end."""
    letters = _WORD.findall(text)
    rest = sum(not c.isspace() for c in text) - sum(map(len, letters))
    return 2 + rest + sum(math.ceil(len(word) / 3) for word in letters)
