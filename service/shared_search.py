"""Candidates searched in PostgreSQL (`search = "pgvector"`): workers hold no index and need no memory for one.

Half precision proposes and single precision scores: the nearest by the small vectors are scored again with the
entries' own, so that a score, and with it a threshold, means the same as in the search in memory. On a replica the
search also says up to where it has seen; entries written since are read from the primary and compared one by one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import structlog
from sqlalchemy import text

from index.flat import FlatIndex
from index.types import Neighbor, Vector
from service.errors import Unavailable
from service.storage import partition_rows, pgvector
from service.storage.database import Database, Row
from service.storage.postgresql import PostgresqlDatabase
from service.storage.query import Query
from service.storage.replica import Reader
from service.storage.vectors import Reals

SPARE = 8
"""More proposals than asked for: half precision may exchange near ties, and one may just have been replaced."""

INDEX_S = 60.0
"""How often large partitions are looked for that have no graph yet."""

KNOWN = 20_000
"""Partitions of which it is remembered that they had entries."""

_OPTIONS = {
    # planning takes as long as searching a small partition; `_search_query` says how a graph is found nevertheless
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",  # a plan for every partition must suit the smallest beside the largest
    "enable_sort": "off",  # where there is a graph it is used; where there is none, sorting is all there is
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "hnsw.ef_search": str(pgvector.EF_SEARCH),
    "hnsw.iterative_scan": "strict_order",
}

log = structlog.get_logger("surehit.shared_search")


@dataclass(slots=True)
class SharedPartition:
    """A partition during one lookup."""

    tenant: str
    key: bytes
    dimensions: int
    is_empty: bool
    dropped: set[int] = field(default_factory=set)


class SharedSearch:
    """`Candidates` over the table `entry_vectors`."""

    count = 0
    memory_bytes = 0

    def __init__(
        self,
        db: Database,
        *,
        url: str,
        replica: str,
        budget_ms: int,
        clock_ms: Callable[[], int],
    ) -> None:
        self._db = db
        self._url = url
        self._clock_ms = clock_ms
        self._searcher = PostgresqlDatabase(url, budget_ms=budget_ms, writers=0, options=_OPTIONS)
        self._reader = Reader(self._searcher, replica, budget_ms=budget_ms, **_OPTIONS)
        self._graphs: frozenset[str] = frozenset()
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._indexing: threading.Thread | None = None
        self._tended = time.monotonic()

    async def open(self) -> None:
        """Make the database ready and connect; raises Unavailable when pgvector is missing."""
        await asyncio.to_thread(
            pgvector.prepare, self._url, tell=lambda done: log.info("preparing", done=done)
        )
        self._db.keeps_vectors = True
        await self._searcher.open()
        await self._reader.open()
        await self._look_for_graphs()

    def holds(self, key: bytes) -> bool:
        """See `Candidates.holds`."""
        return key in self._known

    async def refresh(
        self, tenant: str, key: bytes, *, fingerprint: str, dimensions: int
    ) -> SharedPartition:
        """See `Candidates.refresh`; the key stands for the fingerprint as well.

        A partition that had entries a moment ago is not asked again: should they be gone, the search finds nothing.
        """
        has_any = key in self._known or await partition_rows.is_searchable(
            self._db, tenant, partition=key
        )
        return SharedPartition(tenant, key, dimensions, not has_any)

    async def search(self, partition: Any, vector: Vector, k: int) -> list[Neighbor]:
        """See `Candidates.search`."""
        params = {
            "tenant": partition.tenant,
            "partition": partition.key,
            "vector": Reals(vector.tobytes()),
            "now": self._clock_ms(),
            "n": k + SPARE + len(partition.dropped),
        }
        rows = await self._reader.read(self._query(partition, params["n"]), params)
        found = [(row[1], row[2]) for row in rows if row[1] is not None]
        if self._reader.has_replica:
            since = min(row[0] for row in rows)
            newer = await partition_rows.vectors_of_partition(
                self._db, partition.tenant, partition=partition.key, since=since
            )
            found += [(row[0], row[1]) for row in newer if row[1] is not None]
        if found:
            self._remember(partition.key)
        else:
            self._known.pop(partition.key, None)
        return _scored(found, partition, vector, k)

    def added(self, key: bytes, entry_id: int, vector: Vector) -> None:
        """The store wrote the row."""
        self._remember(key)

    def drop(self, partition: Any, ids: list[int]) -> None:
        """Leave these out of the next search of this lookup: a replica may have them still."""
        partition.dropped.update(ids)

    def forget(self, dropped: Iterable[Row]) -> None:
        """Nothing to do: the rows went with their entries."""

    async def tend(self) -> None:
        """Give large partitions their graphs, one worker at a time."""
        if time.monotonic() - self._tended < INDEX_S:
            return
        self._tended = time.monotonic()
        await self._look_for_graphs()
        if self._indexing is None or not self._indexing.is_alive():
            # Minutes for a large partition: upkeep does not wait for it, and the end of the process neither.
            self._indexing = threading.Thread(target=self._index, name="graphs", daemon=True)
            self._indexing.start()

    async def close(self) -> None:
        """Disconnect."""
        await self._reader.close()
        await self._searcher.close()

    def _index(self) -> None:
        try:
            pgvector.index_large_partitions(self._url, large=pgvector.LARGE)
        except Unavailable as error:
            log.warning("graphs_wait", error=error.detail)
        except Exception:
            log.exception("graphs_failed")

    async def _look_for_graphs(self) -> None:
        """Which partitions have one; until a new one is seen here, its partition is compared row by row as before."""
        rows = await self._searcher.read(pgvector.GRAPHS, {})
        self._graphs = frozenset(row[0] for row in rows if row[1])

    def _remember(self, key: bytes) -> None:
        self._known[key] = None
        self._known.move_to_end(key)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)

    def _query(self, partition: SharedPartition, n: int) -> Query:
        if self._graphs and pgvector.graph_name(partition.key) in self._graphs:
            return _search_query(partition.dimensions, of=partition.key, n=n)
        return _search_query(partition.dimensions)


@lru_cache(maxsize=1024)
def _search_query(dimensions: int, *, of: bytes | None = None, n: int = 0) -> Query:
    """(horizon, id | None, vector) of the nearest live entries; one row without an id where there is none.

    The horizon is of the same snapshot as the rows. `dimensions` is part of the statement, as it is of the graphs. A
    plan is made once per statement and connection, for any parameters. It can only use the graph of a partition that
    the statement itself names (`of`), and only prefers it to comparing all rows when it knows how few are wanted (`n`).
    """
    partition = ":partition" if of is None else f"'\\x{of.hex()}'::bytea"
    limit = ":n" if of is None else str(int(n))
    by_nearness = f"embedding::halfvec({int(dimensions)}) <#> (:vector)::halfvec({int(dimensions)})"
    return Query(
        "search_vectors",
        text(
            f"""
SELECT h.horizon, near.id, near.vector
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon) AS h
LEFT JOIN LATERAL (
    SELECT e.id, e.vector FROM (
        SELECT v.entry_id FROM entry_vectors AS v
        WHERE v.partition = {partition} AND v.tenant_id = :tenant
            AND (v.expires_ms IS NULL OR v.expires_ms > :now)
        ORDER BY {by_nearness} LIMIT {limit}
    ) AS close JOIN entries AS e ON e.id = close.entry_id
    WHERE e.tenant_id = :tenant AND e.partition = :partition AND e.vector IS NOT NULL
        AND (e.expires_ms IS NULL OR e.expires_ms > :now)
) AS near ON true"""  # noqa: S608 - numbers and hexadecimal digits
        ),
    )


def _scored(
    found: list[tuple[int, bytes]], partition: SharedPartition, vector: Vector, k: int
) -> list[Neighbor]:
    """The nearest of some entries by their own vectors, scored as the index in memory scores."""
    by_id = {entry_id: blob for entry_id, blob in found if entry_id not in partition.dropped}
    if not by_id:
        return []
    index = FlatIndex(partition.dimensions)
    labels = np.fromiter(by_id, dtype=np.int64, count=len(by_id))
    joined = b"".join(bytes(blob) for blob in by_id.values())
    index.add(labels, np.frombuffer(joined, dtype="<f4").reshape(len(by_id), -1))
    return index.search(vector, k)
