"""Traffic with known truth as arrays: each lookup with its nearest entries, replayed without a database.

The parts that decide are the service's own: what may be compared (`service.key`, `service.eligibility`), guards,
features, `service.decision.decide`. Only the rows are missing, so that many rules can be tried on the same lookups.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from index.types import Embedder
from service import eligibility, key
from service.eligibility import RULES
from service.guards import judge
from service.score import FEATURES, Context, features
from service.score.weights import weights_of
from service.scoring import MOST_SCORED

Floats = npt.NDArray[np.float32]
TOP = 8
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """One request that reached the semantic tier. Equal `group` means that the answer may be shared."""

    at_s: float
    text: str
    vector_id: int
    context: bytes
    group: str
    could_hit: bool
    body: bytes


@dataclass
class Traffic:
    """The requests of one line in order of arrival, and the vectors of their texts."""

    line: str
    language: str
    seed: int
    requests: list[Request]
    vectors: Floats
    exact: int = 0
    """Requests that the exact tier answers or that may not be compared by meaning."""
    notes: dict[str, int] = field(default_factory=dict)


def load(
    rows: Sequence[dict[str, Any]],
    embedder: Embedder,
    folder: Path,
    *,
    line: str,
    language: str,
    seed: int,
    tell: Tell = lambda text: None,
) -> Traffic:
    """Rows of make_traffic.py as requests; a text is embedded once and kept in `folder` for the next run."""
    rules = frozenset(RULES)
    kept: list[tuple[dict[str, Any], Any]] = []
    for row in rows:
        asked = {"model": "m", "temperature": 0, "messages": row["messages"]}
        canonical = key.canonicalize(asked)
        if canonical.query is None or eligibility.classify(canonical.query, enabled=rules):
            continue
        if embedder.readability(canonical.query).reason is None:
            kept.append((row, canonical))
    texts = list(dict.fromkeys(canonical.query for _, canonical in kept))
    vectors = embed(texts, embedder, folder, tell=tell)
    number = {text: n for n, text in enumerate(texts)}
    requests = [
        Request(
            at_s=row["ts_ms"] / 1000.0,
            text=canonical.query,
            vector_id=number[canonical.query],
            context=canonical.context,
            group=row["group"],
            could_hit=bool(row["seen"]),
            body=canonical.body,
        )
        for row, canonical in kept
    ]
    return Traffic(line, language, seed, requests, vectors, exact=len(rows) - len(kept))


def embed(
    texts: Sequence[str], embedder: Embedder, folder: Path, *, tell: Tell = lambda text: None
) -> Floats:
    """Vectors of texts, float32, shape (n, dimensions): from the folder where they are known, else made and kept."""
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(embedder.fingerprint.encode()).hexdigest()[:12]
    path = folder / f"vectors-{name}.npz"
    known: dict[str, Any] = {}
    if path.exists():
        with np.load(path) as stored:
            known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
    keys = [
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24] for text in texts
    ]
    new = [n for n, k in enumerate(keys) if k not in known]
    for start in range(0, len(new), 64):
        part = new[start : start + 64]
        made = embedder.embed([texts[n] for n in part])
        known.update({keys[n]: vector for n, vector in zip(part, made, strict=True)})
        if start % 1024 == 0:
            tell(f"embedded {start + len(part)} of {len(new)} new texts")
    if new:
        partial = path.with_suffix(".part.npz")
        np.savez(
            partial,
            keys=np.asarray(list(known), dtype=str),
            vectors=np.asarray(list(known.values()), dtype=np.float32),
        )
        partial.replace(path)
    return np.asarray([known[k] for k in keys], dtype=np.float32).reshape(
        len(texts), embedder.dimensions
    )


class Entries:
    """What a cache holds while it is replayed: entries by context, the newest of equal requests alone."""

    def __init__(self, traffic: Traffic) -> None:
        self._vectors = traffic.vectors
        self._requests = traffic.requests
        self._held: dict[bytes, tuple[Floats, list[int]]] = {}
        self._exact: set[bytes] = set()

    def has_exact(self, n: int) -> bool:
        """Whether the exact tier answers request `n`."""
        return self._requests[n].body in self._exact

    def put(self, n: int) -> None:
        """Store request `n` with its own answer."""
        request = self._requests[n]
        if request.body in self._exact:
            return
        self._exact.add(request.body)
        matrix, numbers = self._held.get(
            request.context, (np.empty((16, self._vectors.shape[1]), np.float32), [])
        )
        if len(numbers) == matrix.shape[0]:
            matrix = np.concatenate([matrix, np.empty_like(matrix)])
        matrix[len(numbers)] = self._vectors[request.vector_id]
        numbers.append(n)
        self._held[request.context] = (matrix, numbers)

    def nearest(self, n: int, k: int = TOP) -> list[tuple[int, float]]:
        """(request number of the entry, cosine) of the nearest, nearest first."""
        request = self._requests[n]
        held = self._held.get(request.context)
        if held is None:
            return []
        matrix, numbers = held
        cosines = matrix[: len(numbers)] @ self._vectors[request.vector_id]
        best = np.argpartition(-cosines, k - 1)[:k] if len(numbers) > k else np.arange(len(numbers))
        best = best[np.argsort(-cosines[best], kind="stable")]
        return [(numbers[i], float(min(cosines[i], 1.0))) for i in best]


@dataclass(frozen=True)
class Log:
    """A line in shadow: every lookup with the nearest entries, all of which it had stored.

    ``n`` lookups, ``k`` candidates each, nearest first. ``cosine`` is -inf where there is no candidate, ``x`` their
    features (NaN there), ``refused`` whether a guard objects, ``right`` whether the answer may be shared.
    """

    at: npt.NDArray[np.int64]
    cosine: npt.NDArray[np.float64]
    refused: npt.NDArray[np.bool_]
    right: npt.NDArray[np.bool_]
    entry: npt.NDArray[np.int64]
    x: npt.NDArray[np.float64]
    could_hit: npt.NDArray[np.bool_]
    requests: int
    guards_ms: float
    features_ms: float
    """Per lookup."""

    def __len__(self) -> int:
        return int(self.at.size)


def shadow_log(
    traffic: Traffic, *, floor: float, words_from: float, tell: Tell = lambda text: None
) -> Log:
    """Replay in shadow. Candidates under the cosine ``floor`` are not looked at.

    Word weights come from the texts of the first share ``words_from`` of the requests: what is judged comes after.
    """
    requests = traffic.requests
    past = requests[: int(words_from * len(requests))]
    weigh = weights_of(request.text for request in past)
    entries = Entries(traffic)
    rows: list[tuple[int, list[tuple[int, float]]]] = []
    for n in range(len(requests)):
        if entries.has_exact(n):
            continue
        rows.append((n, entries.nearest(n)))
        entries.put(n)
    size = (len(rows), MOST_SCORED)
    cosine = np.full(size, -np.inf)
    refused, right = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    entry = np.full(size, -1, dtype=np.int64)
    x = np.full((*size, len(FEATURES)), np.nan)
    spent = {"guards": 0.0, "features": 0.0}
    for i, (n, near) in enumerate(rows):
        request = requests[n]
        for j, (stored, similarity) in enumerate(near[:MOST_SCORED]):
            if similarity < floor:
                break
            other = max((c for s, c in near[:MOST_SCORED] if s != stored), default=-np.inf)
            a = requests[stored].text
            began = time.perf_counter()
            refused[i, j] = judge(a, request.text) is not None
            between = time.perf_counter()
            context = Context(similarity, other, request.at_s - requests[stored].at_s)
            x[i, j] = features(a, request.text, context, weigh)
            spent["guards"] += between - began
            spent["features"] += time.perf_counter() - between
            cosine[i, j], entry[i, j] = similarity, stored
            right[i, j] = requests[stored].group == request.group
        if i % 2_000 == 1_999:
            tell(f"{i + 1} of {len(rows)} lookups")
    return Log(
        at=np.asarray([n for n, _ in rows], dtype=np.int64),
        cosine=cosine,
        refused=refused,
        right=right,
        entry=entry,
        x=x,
        could_hit=np.asarray([requests[n].could_hit for n, _ in rows], dtype=np.bool_),
        requests=len(requests),
        guards_ms=1000 * spent["guards"] / max(len(rows), 1),
        features_ms=1000 * spent["features"] / max(len(rows), 1),
    )
