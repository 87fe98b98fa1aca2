"""`surehit bench index`: search time, recall, memory, snapshots of the index, against exact search.

Vectors are drawn like sentence embeddings: topics, and questions around them. A would-be hit is a query that has a
neighbor over the threshold; those are what a cache must not overlook. All searches run one at a time on one thread.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.bench.machine import machine
from index import snapshot
from index.adaptive import AdaptiveIndex
from index.registry import IndexRegistry
from index.types import Vector, Vectors

DIMENSIONS = 384
_QUESTIONS_PER_TOPIC = 50
_LOWEST = 0.85
"""Would-be hits have their neighbor at this cosine or above."""
_K = 8
_TENANTS, _TEN = 1000, 10


def run(
    *,
    sizes: Sequence[int],
    queries: int,
    seed: int = 7,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """One row per size; times in milliseconds, memory in bytes."""
    rows = []
    for size in sizes:
        tell(f"{size} vectors")
        rows.append(_measure(size, queries, np.random.default_rng(seed)))
    return {
        "machine": machine(),
        "rows": rows,
        "tenants": {"partitions": _TENANTS, "entries_each": _TEN, "bytes": _many_small(seed)},
    }


def _measure(size: int, queries: int, rng: np.random.Generator) -> dict[str, Any]:
    vectors = topical(rng, size)
    index = AdaptiveIndex(DIMENSIONS, run=lambda job: None)
    index.add(np.arange(size), vectors)
    began = time.perf_counter()
    index.upkeep()
    build_s = time.perf_counter() - began
    asked = near(rng, vectors[rng.integers(size, size=queries)], rng.uniform(0.86, 0.99, queries))
    took, exact_took, found, would_be = [], [], 0, 0
    for query in asked:
        began = time.perf_counter()
        neighbors = index.search(query, _K)
        took.append(time.perf_counter() - began)
        began = time.perf_counter()
        similarities = vectors @ query
        best = int(similarities.argmax())
        exact_took.append(time.perf_counter() - began)
        if similarities[best] >= _LOWEST:
            would_be += 1
            found += neighbors[0].label == best
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.snapshot"
        began = time.perf_counter()
        snapshot.save(path, index, fingerprint="bench", sequence=1)
        saved_s = time.perf_counter() - began
        began = time.perf_counter()
        snapshot.load(path, fingerprint="bench")
        loaded_s = time.perf_counter() - began
        snapshot_bytes = path.stat().st_size
    return {
        "vectors": size,
        "search_ms": statistics.median(took) * 1000,
        "search_p99_ms": float(np.percentile(took, 99)) * 1000,
        "exact_search_ms": statistics.median(exact_took) * 1000,
        "would_be_hits": would_be,
        "recall": found / max(would_be, 1),
        "build_s": build_s,
        "bytes_per_entry": index.memory_bytes / size,
        "snapshot_save_s": saved_s,
        "snapshot_load_s": loaded_s,
        "snapshot_bytes": snapshot_bytes,
    }


def _many_small(seed: int) -> int:
    """Memory of a thousand tenants with ten entries each."""
    rng = np.random.default_rng(seed)
    registry = IndexRegistry(memory_budget_bytes=2**33)
    made = []
    for n in range(_TENANTS):
        made.append(registry.get_or_create(n.to_bytes(4, "big"), DIMENSIONS))
        made[-1].add(np.arange(_TEN), _unit(rng, _TEN))
    return sum(index.memory_bytes for index in made)


def _unit(rng: np.random.Generator, count: int) -> Vectors:
    rows = rng.standard_normal((count, DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def topical(rng: np.random.Generator, count: int) -> Vectors:
    """Vectors around topics, shape (count, DIMENSIONS)."""
    topics = _unit(rng, max(count // _QUESTIONS_PER_TOPIC, 1))
    picked = topics[rng.integers(len(topics), size=count)]
    return near(rng, picked, rng.uniform(0.4, 0.97, count))


def near(
    rng: np.random.Generator, vectors: Vectors | Vector, cosine: npt.NDArray[np.float64]
) -> Vectors:
    """For each vector, another at exactly this cosine from it."""
    noise = rng.standard_normal(vectors.shape, dtype=np.float32)
    noise -= np.einsum("ij,ij->i", noise, vectors)[:, None] * vectors
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    share = cosine.astype(np.float32)[:, None]
    return np.asarray(share * vectors + np.sqrt(1 - share**2) * noise, dtype=np.float32)


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [found["machine"]["cpu"]]
    for row in found["rows"]:
        lines.append(
            f"  {row['vectors']:8} vectors  search {row['search_ms']:.3f} ms (p99 {row['search_p99_ms']:.3f})  exact "
            f"{row['exact_search_ms']:.2f} ms  recall {row['recall']:.4f} of {row['would_be_hits']} would-be hits  "
            f"built in {row['build_s']:.0f} s  {row['bytes_per_entry']:.0f} B per entry  snapshot "
            f"{row['snapshot_save_s']:.2f} / {row['snapshot_load_s']:.2f} s"
        )
    tenants = found["tenants"]
    lines.append(
        f"  {tenants['partitions']} partitions of {tenants['entries_each']} entries: "
        f"{tenants['bytes'] / 1e6:.1f} MB"
    )
    return "\n".join(lines)


def table(found: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = [
        "| vectors | search p50 / p99 | exact search | recall of would-be hits | built in | per entry | "
        "snapshot saved / loaded |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        cells = (
            f"{row['vectors']:,}",
            f"{row['search_ms']:.2f} / {row['search_p99_ms']:.2f} ms",
            f"{row['exact_search_ms']:.2f} ms",
            f"{row['recall']:.4f} of {row['would_be_hits']:,}",
            f"{row['build_s']:.0f} s",
            f"{row['bytes_per_entry']:,.0f} B",
            f"{row['snapshot_save_s']:.2f} / {row['snapshot_load_s']:.2f} s",
        )
        lines.append(f"| {' | '.join(cells)} |")
    tenants = found["tenants"]
    lines.append("")
    lines.append(
        f"{tenants['partitions']:,} partitions of {tenants['entries_each']} entries take "
        f"{tenants['bytes'] / 1e6:.1f} MB."
    )
    return "\n".join(lines)
