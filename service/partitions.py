"""The vector indexes of this process: loaded on first use, brought up to date before every search.

Rows are the truth. A partition remembers the change horizon up to which it has read; `refresh` reads what came since,
so a store that was answered by any worker is found by the next lookup on this one. A row that is gone is only noticed
when the index proposes it; the caller then tells us (`drop`), and nothing dead is ever served.

Large partitions are saved to disk now and then. A snapshot spares the building of a graph after a restart and is only
that: rows newer than it are read as always, and one that does not fit the database is ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import structlog

from index import snapshot
from index.adaptive import CROSSING, AdaptiveIndex
from index.registry import IndexRegistry
from index.types import Neighbor, SnapshotInvalid, Vector
from service.storage import partition_rows
from service.storage.database import Database, Readable, Row
from service.storage.replica import Reader

SNAPSHOT_S = 300.0
MAX_SNAPSHOTS = 256

_INLINE = 256
"""Vectors that are added on the event loop; more go to a thread."""

log = structlog.get_logger("surehit.partitions")


@dataclass(slots=True)
class Partition:
    """One partition's index and how far it has read."""

    tenant: str
    key: bytes
    fingerprint: str
    index: AdaptiveIndex
    since: int = 0
    version: bytes | None = None
    """The database's, under which nothing newer than `since` was found (`ReadsAtOnce.version`)."""
    saved_at: int = 0
    """The horizon of its last snapshot."""
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_empty(self) -> bool:
        """True when it has no entry."""
        return not len(self.index)


class Partitions:
    """Partitions by key; the least recently used go when they outgrow their memory."""

    def __init__(
        self,
        db: Database,
        *,
        memory_bytes: int,
        folder: Path | None = None,
        reader: Reader | None = None,
    ) -> None:
        """`reader` fills what is loaded for the first time; what came since is always read from `db`."""
        self._db = db
        self._reader = reader
        self._saved = time.monotonic()
        self._folder = folder
        self._held: dict[bytes, Partition] = {}
        self._indexes = IndexRegistry(memory_budget_bytes=memory_bytes, on_evict=self._evicted)

    @property
    def count(self) -> int:
        """Partitions in memory."""
        return len(self._held)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all indexes."""
        return self._indexes.memory_bytes

    async def open(self) -> None:
        """Connect to the replica, if there is one."""
        if self._reader is not None:
            await self._reader.open()

    def holds(self, key: bytes) -> bool:
        """See `Candidates.holds`."""
        partition = self._held.get(key)
        return partition is not None and partition.since > 0 and not partition.is_empty

    async def refresh(
        self, tenant: str, key: bytes, *, fingerprint: str, dimensions: int
    ) -> Partition:
        """The partition with every entry in it whose store was answered before this call."""
        index = self._indexes.get_or_create(key, dimensions)
        partition = self._held.get(key)
        if partition is None:
            partition = self._held[key] = Partition(tenant, key, fingerprint, index)
        if partition.since == 0:
            async with partition.loading:  # one loads, the others wait for it
                if partition.since == 0:
                    await self._load(partition)
                    return partition
        # also after waiting: what the other one read may be older than a store answered before this call
        near = self._db.at_once
        version = None if near is None else near.version()
        if version is not None and version == partition.version:
            return partition
        if partition.since:
            changed = await partition_rows.changed_in_partition(
                self._db, tenant, partition=key, since=partition.since
            )
            if any(row[0] not in partition.index for row in changed):
                await self._read(partition, self._db)
            elif changed:
                partition.since = max(partition.since, *(row[1] for row in changed))
            partition.version = version
        return partition

    async def _load(self, partition: Partition) -> None:
        await self._restore(partition)
        if self._reader is not None and self._reader.has_replica and partition.since == 0:
            await self._read(partition, self._reader)
        await self._read(partition, self._db)
        if not len(partition.index):
            # each conversation is a partition of its own: those without an entry must not pile up
            self._indexes.forget(partition.key)
            self._held.pop(partition.key, None)

    def added(self, key: bytes, entry_id: int, vector: Vector) -> None:
        """A store of this process was committed; saves the next lookup the reading."""
        partition = self._held.get(key)
        if partition is not None and partition.since:
            partition.index.add(np.array([entry_id], dtype=np.int64), vector.reshape(1, -1))

    def drop(self, partition: Any, ids: list[int]) -> None:
        """These entries are no longer live."""
        if ids:
            partition.index.remove(np.array(ids, dtype=np.int64))

    def forget(self, dropped: Iterable[Row]) -> None:
        """These entries, (id, partition) each, were dropped."""
        by_partition: dict[bytes, list[int]] = {}
        for entry_id, key in dropped:
            if key is not None:
                by_partition.setdefault(bytes(key), []).append(entry_id)
        for key, ids in by_partition.items():
            partition = self._held.get(key)
            if partition is not None:
                self.drop(partition, ids)

    async def search(self, partition: Any, vector: Vector, k: int) -> list[Neighbor]:
        """The nearest entries, nearest first; some may be dead."""
        found: list[Neighbor] = partition.index.search(vector, k)
        return found

    async def tend(self) -> None:
        """Snapshots now and then; at a clean end `close` saves once more."""
        if time.monotonic() - self._saved < SNAPSHOT_S:
            return
        self._saved = time.monotonic()
        if await self.save() and self._folder is not None:
            await asyncio.to_thread(remove_orphans, self._folder, keep=MAX_SNAPSHOTS)

    async def save(self) -> int:
        """Write snapshots of large partitions that changed since their last one; how many were written."""
        written = 0
        for partition in list(self._held.values()):
            path = self._path(partition)
            due = partition.since > partition.saved_at and len(partition.index) >= CROSSING
            if path is None or not due or not partition.index.is_settled:
                continue
            since = partition.since
            try:
                await asyncio.to_thread(
                    snapshot.save,
                    path,
                    partition.index,
                    fingerprint=partition.fingerprint,
                    sequence=since,
                )
            except OSError as error:
                log.warning("snapshot_failed", error=error.strerror)
                return written
            partition.saved_at = since
            written += 1
        return written

    def _evicted(self, key: bytes) -> None:
        self._held.pop(key, None)

    async def close(self) -> None:
        """Save, and end the background work."""
        await self.save()
        self._indexes.close()
        if self._reader is not None:
            await self._reader.close()

    async def _restore(self, partition: Partition) -> None:
        """Begin from a snapshot where a sound one fits the database."""
        path = self._path(partition)
        if path is None or not path.exists():
            return
        try:
            found = await asyncio.to_thread(snapshot.load, path, fingerprint=partition.fingerprint)
        except SnapshotInvalid as error:
            log.warning("snapshot_ignored", reason=str(error))
            return
        if found.sequence > await partition_rows.horizon(self._db):
            # of a later state than the database has: it was restored from a back-up, or is another one
            log.warning("snapshot_ignored", reason="newer than the database")
            return
        partition.index = found.index
        partition.since = partition.saved_at = found.sequence
        self._indexes.put(partition.key, found.index)

    async def _read(self, partition: Partition, source: Readable) -> None:
        rows = await partition_rows.vectors_of_partition(
            source, partition.tenant, partition=partition.key, since=partition.since
        )
        if len(rows) > _INLINE:
            horizon = await asyncio.to_thread(_take_in, partition.index, rows)
        else:
            horizon = _take_in(partition.index, rows)
        if rows:
            self._indexes.keep_to_budget(partition.key)
        partition.since = max(1, partition.since, horizon)

    def _path(self, partition: Partition) -> Path | None:
        return self._folder / f"{partition.key.hex()}.snapshot" if self._folder else None


def _take_in(index: AdaptiveIndex, rows: list[Row]) -> int:
    """Add what the index does not have of (id, vector, horizon); the largest horizon, 0 without rows."""
    new = [row for row in rows if row[1] is not None and row[0] not in index]
    if new:
        labels = np.fromiter((row[0] for row in new), dtype=np.int64, count=len(new))
        joined = b"".join(row[1] for row in new)
        index.add(labels, np.frombuffer(joined, dtype="<f4").reshape(len(new), -1))
    return max((row[2] for row in rows), default=0)


def remove_orphans(folder: Path, *, keep: int) -> None:
    """Delete the oldest snapshots beyond `keep`: retired policy versions and models leave theirs behind."""
    if not folder.is_dir():
        return
    files = sorted(folder.glob("*.snapshot"), key=lambda p: p.stat().st_mtime, reverse=True)
    for path in files[keep:]:
        with contextlib.suppress(OSError):
            path.unlink()
