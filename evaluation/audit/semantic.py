"""The semantic layer: how often another question of the same partition would be near enough to ask.

Nothing here says that a candidate's answer is right: that takes labels, and the report says how
many. Queries that repeat byte for byte are the exact layer's and are not counted. Every query is
compared with all earlier ones of its partition (same line, tenant, scope and context).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.audit.hashing import hash64
from evaluation.audit.records import Record
from index.types import Embedder, Vectors
from service.errors import InvalidRequest
from service.guards import judge
from service.key import canonicalize

THRESHOLDS = (0.80, 0.85, 0.90, 0.92, 0.95, 0.97, 0.99)
DEFAULT_MAX_QUERIES = 50_000
TARGETS = (0.01, 0.03)
CONFIDENCE = 0.95
_EXAMPLES = 2
_MAX_QUERY_CHARS = 8_000  # far above what any of our embedders reads
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Example:
    """A pair near a threshold; `guard` names the guard that refuses it, if any."""

    score: float
    earlier: str
    query: str
    guard: str | None


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """Lookups that would have a candidate at this threshold. `share` is of the compared lookups."""

    threshold: float
    with_candidate: int
    share: float
    refused_by_guards: int
    left: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """Labels, none of them a false hit, that certify a false-hit rate at `CONFIDENCE`."""

    target: float
    labels: int


@dataclass(frozen=True, slots=True)
class SemanticReport:
    """What the semantic layer found.

    `lookups` are the compared ones (different queries that can be read); `left_out` came after the
    limit. `guards` counts refusals by guard among pairs at or above the lowest threshold.
    `break_even_share` is the share of lookups that must hit to pay for the embeddings, by list
    prices; None without token counts.
    """

    embedder: str
    partitions: int
    lookups: int
    unreadable: int
    left_out: int
    thresholds: tuple[AtThreshold, ...]
    guards: tuple[tuple[str, int], ...]
    labels: tuple[LabelsNeeded, ...]
    embedding_ms: float
    break_even_share: float | None


class SemanticLayer:
    """Collects the different queries of a stream, at most `max_queries`; embeds them at the end."""

    def __init__(self, *, max_queries: int = DEFAULT_MAX_QUERIES) -> None:
        self._max_queries = max_queries
        self._texts: list[str] = []
        self._partitions: list[int] = []
        self._seen: set[int] = set()
        self._left_out = self._unreadable = 0
        self._input_tokens = self._output_tokens = self._usage_rows = 0

    def add(self, record: Record, prompt_tokens: int | None = None) -> None:
        """Note one request; rows without a query to compare are passed over."""
        if record.request is None:
            return
        try:
            canonical = canonicalize(record.request)
        except InvalidRequest:
            return
        if canonical.query is None:
            return
        if record.usage is not None or prompt_tokens is not None:
            self._usage_rows += 1
            self._input_tokens += record.usage.input_tokens if record.usage else prompt_tokens or 0
            self._output_tokens += record.usage.output_tokens if record.usage else 0
        if len(self._texts) >= self._max_queries:
            self._left_out += 1
            return
        if len(canonical.query) > _MAX_QUERY_CHARS:
            self._unreadable += 1
            return
        owner = "\x1f".join((record.line, record.tenant, record.scope)).encode()
        # the context of a bare prompt is the same for all; only a body has one of its own
        context = canonical.context if isinstance(record.request, dict) else b""
        partition = hash64(owner, context)
        key = hash64(partition.to_bytes(8, "little"), canonical.query.encode())
        if key not in self._seen:
            self._seen.add(key)
            self._texts.append(canonical.query)
            self._partitions.append(partition)

    @property
    def sample(self) -> Sequence[str]:
        """The first thousand queries, from which a language may be told."""
        return self._texts[:1000]

    def report(
        self,
        embedder: Embedder,
        name: str,
        *,
        input_price: float,
        output_price: float,
        embedding_price: float,
        on_done: Callable[[int, int], object] = lambda done, total: None,
    ) -> SemanticReport:
        """Embed and compare. Prices are per million tokens; `on_done` hears of embedded texts."""
        readable, partitions = self._readable(embedder)
        began = time.perf_counter()
        vectors = _embed(embedder, readable, on_done)
        embedding_ms = (time.perf_counter() - began) * 1000 / max(1, len(readable))
        nearest, scores = nearest_earlier(vectors, partitions)
        lowest = THRESHOLDS[0]
        verdicts: dict[int, str | None] = {}
        guards: dict[str, int] = {}
        for at in np.flatnonzero(scores >= lowest).tolist():
            refusal = judge(readable[nearest[at]], readable[at])
            verdicts[at] = refusal.guard if refusal else None
            if refusal:
                guards[refusal.guard] = guards.get(refusal.guard, 0) + 1
        return SemanticReport(
            name,
            len(set(partitions.tolist())),
            len(readable),
            self._unreadable,
            self._left_out,
            tuple(self._at(t, scores, nearest, verdicts, readable) for t in THRESHOLDS),
            tuple(sorted(guards.items(), key=lambda item: -item[1])),
            tuple(LabelsNeeded(t, labels_without_error(t, CONFIDENCE)) for t in TARGETS),
            embedding_ms,
            self._break_even(readable, input_price, output_price, embedding_price),
        )

    def _readable(self, embedder: Embedder) -> tuple[list[str], npt.NDArray[np.uint64]]:
        keep = [at for at, t in enumerate(self._texts) if embedder.readability(t).is_readable]
        self._unreadable += len(self._texts) - len(keep)
        partitions = np.array([self._partitions[at] for at in keep], np.uint64)
        return [self._texts[at] for at in keep], partitions

    def _at(
        self,
        threshold: float,
        scores: npt.NDArray[np.float32],
        nearest: npt.NDArray[np.int64],
        verdicts: dict[int, str | None],
        texts: Sequence[str],
    ) -> AtThreshold:
        above = np.flatnonzero(scores >= threshold)
        refused = sum(1 for at in above.tolist() if verdicts[at] is not None)
        closest = above[np.argsort(scores[above], kind="stable")][:_EXAMPLES].tolist()
        return AtThreshold(
            threshold,
            len(above),
            len(above) / len(texts) if texts else 0.0,
            refused,
            len(above) - refused,
            tuple(
                Example(float(scores[at]), texts[nearest[at]], texts[at], verdicts[at])
                for at in closest
            ),
        )

    def _break_even(
        self, texts: Sequence[str], input_price: float, output_price: float, embedding_price: float
    ) -> float | None:
        if not self._usage_rows or not texts:
            return None
        answer = (
            self._input_tokens * input_price + self._output_tokens * output_price
        ) / self._usage_rows
        tokens_per_query = sum(map(len, texts)) / len(texts) / 4  # about 4 characters a token
        return tokens_per_query * embedding_price / answer if answer else None


def labels_without_error(target: float, confidence: float) -> int:
    """Smallest n with (1 - target)^n <= 1 - confidence: n labels, no false hit, certify the target.

    The exact binomial bound with no error (Clopper and Pearson, 1934, "The use of confidence or
    fiducial limits illustrated in the case of the binomial").
    """
    return math.ceil(math.log(1 - confidence) / math.log1p(-target))


def nearest_earlier(
    vectors: Vectors, partitions: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """For each row the most similar earlier row of its partition, and the cosine.

    Parameters
    ----------
    vectors : float32, shape (n, d), rows of length 1.
    partitions : uint64, shape (n,).

    Returns
    -------
    nearest : int64, shape (n,); -1 for the first row of a partition.
    scores : float32, shape (n,), in [-1, 1]; -1 where there is no earlier row.
    """
    n = len(vectors)
    nearest = np.full(n, -1, np.int64)
    scores = np.full(n, -1, np.float32)
    order = np.argsort(partitions, kind="stable")
    cuts = np.flatnonzero(np.diff(partitions[order])) + 1
    for rows in np.split(order, cuts):
        block = max(1, min(512, 40_000_000 // max(1, len(rows))))  # at most 160 MB of products
        members = vectors[rows]
        for start in range(0, len(rows), block):
            stop = min(start + block, len(rows))
            products = members[start:stop] @ members[:stop].T
            later = np.arange(stop)[None, :] >= np.arange(start, stop)[:, None]
            products[later] = -2
            best = products.argmax(axis=1)
            value = products[np.arange(stop - start), best]
            found = value > -2
            nearest[rows[start:stop][found]] = rows[best[found]]
            scores[rows[start:stop][found]] = np.clip(value[found], -1, 1)
    return nearest, scores


def _embed(
    embedder: Embedder, texts: Sequence[str], on_done: Callable[[int, int], object]
) -> Vectors:
    """Vectors in the order of the texts; texts of like length share a batch."""
    vectors = np.empty((len(texts), embedder.dimensions), np.float32)
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        vectors[batch] = embedder.embed([texts[at] for at in batch])
        on_done(min(start + _BATCH, len(order)), len(order))
    return vectors
