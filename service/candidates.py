"""Where candidates come from: one interface, searched in this process (`partitions`) or by PostgreSQL.

Whoever proposes, the row decides: a lookup re-reads every candidate on the primary before it is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from index.types import Neighbor, Vector
from service.errors import InvalidRequest
from service.partitions import Partitions
from service.settings import Settings
from service.shared_search import SharedSearch
from service.storage.database import Database, Row
from service.storage.replica import Reader


class Partition(Protocol):
    """One partition, as a lookup holds it between `refresh` and its last `search`."""

    @property
    def key(self) -> bytes: ...

    @property
    def is_empty(self) -> bool:
        """True when it has no entry: nothing needs to be embedded."""
        ...


class Candidates(Protocol):
    """The entries of partitions, by nearness. Raises Unavailable when a database does not answer."""

    @property
    def count(self) -> int:
        """Partitions in this process's memory."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Bytes of indexes in this process's memory."""
        ...

    async def open(self) -> None:
        """Make ready."""
        ...

    def holds(self, key: bytes) -> bool:
        """True when the partition is known here and had entries when it was last looked at."""
        ...

    async def refresh(
        self, tenant: str, key: bytes, *, fingerprint: str, dimensions: int
    ) -> Partition:
        """The partition with every entry in it whose store was answered before this call."""
        ...

    async def search(self, partition: Partition, vector: Vector, k: int) -> list[Neighbor]:
        """The nearest entries, nearest first, cosine to 6 decimals; some may be dead."""
        ...

    def added(self, key: bytes, entry_id: int, vector: Vector) -> None:
        """A store of this process was committed."""
        ...

    def drop(self, partition: Partition, ids: list[int]) -> None:
        """These entries are no longer live; they are not proposed again."""
        ...

    def forget(self, dropped: Iterable[Row]) -> None:
        """These entries, (id, partition) each, were dropped."""
        ...

    async def tend(self) -> None:
        """Upkeep now and then: snapshots, graphs."""
        ...

    async def close(self) -> None:
        """Keep what is worth keeping, and let go."""
        ...


def build(settings: Settings, db: Database, *, clock_ms: Callable[[], int]) -> Candidates:
    """The implementation that the settings name."""
    if settings.read_dsn and not db.is_postgresql:
        raise InvalidRequest.field("SUREHIT_READ_DSN", "needs PostgreSQL in SUREHIT_DATABASE_URL")
    reader = Reader(db, settings.read_dsn, budget_ms=settings.database_budget_ms)
    if settings.search == "local":
        return Partitions(
            db,
            reader=reader,
            memory_bytes=settings.index_memory_mb << 20,
            folder=settings.data_dir / "snapshots",
        )
    if not db.is_postgresql:
        raise InvalidRequest.field(
            "SUREHIT_SEARCH", "pgvector needs PostgreSQL in SUREHIT_DATABASE_URL"
        )
    return SharedSearch(
        db,
        url=settings.database,
        replica=settings.read_dsn,
        budget_ms=settings.database_budget_ms,
        clock_ms=clock_ms,
    )
