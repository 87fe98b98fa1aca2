"""The vector indexes of this process: loaded from rows on first use, brought up to date before every search.

Rows are the truth. A partition remembers the change horizon up to which it has read; `refresh` reads what came since,
so a store that was answered by any worker is found by the next lookup on this one. A row that is gone is only noticed
when the index proposes it; the caller then tells us (`drop`), and nothing dead is ever served.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from index.adaptive import AdaptiveIndex
from index.types import Neighbor, Vector
from service.storage import entries
from service.storage.database import Database


@dataclass(slots=True)
class Partition:
    """One partition's index and how far it has read."""

    tenant: str
    key: bytes
    index: AdaptiveIndex
    since: int = 0
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)


class Partitions:
    """Partitions by key; the least recently used go when they outgrow their memory."""

    def __init__(self, db: Database, *, memory_bytes: int) -> None:
        self._db = db
        self._memory_bytes = memory_bytes
        self._held: OrderedDict[bytes, Partition] = OrderedDict()
        self._bytes = 0

    @property
    def count(self) -> int:
        """Partitions in memory."""
        return len(self._held)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all indexes."""
        return sum(p.index.memory_bytes for p in self._held.values())

    async def refresh(self, tenant: str, key: bytes, *, dimensions: int) -> Partition:
        """The partition with every entry in it whose store was answered before this call."""
        partition = self._held.get(key)
        if partition is None:
            partition = Partition(tenant, key, AdaptiveIndex(dimensions))
            self._held[key] = partition
        else:
            self._held.move_to_end(key)
        if partition.since == 0:
            async with partition.loading:  # one loads, the others wait for it
                if partition.since == 0:
                    await self._read(partition)
        else:
            changed = await entries.changed_in_partition(
                self._db, tenant, partition=key, since=partition.since
            )
            if changed:
                if all(row[0] in partition.index for row in changed):
                    partition.since = max(partition.since, *(row[1] for row in changed))
                else:
                    await self._read(partition)
        return partition

    async def _read(self, partition: Partition) -> None:
        rows = await entries.vectors_of_partition(
            self._db, partition.tenant, partition=partition.key, since=partition.since
        )
        new = [row for row in rows if row[1] is not None and row[0] not in partition.index]
        if new:
            labels = np.fromiter((row[0] for row in new), dtype=np.int64, count=len(new))
            vectors = np.frombuffer(b"".join(row[1] for row in new), dtype="<f4").reshape(
                len(new), -1
            )
            if len(new) > 256:
                await asyncio.to_thread(partition.index.add, labels, vectors)
            else:
                partition.index.add(labels, vectors)
        partition.since = max([1, partition.since, *(row[2] for row in rows)])
        if new:
            self._evict(keep=partition)

    def added(self, key: bytes, entry_id: int, vector: Vector) -> None:
        """A store of this process was committed; saves the next lookup the reading."""
        partition = self._held.get(key)
        if partition is not None and partition.since:
            partition.index.add(np.array([entry_id], dtype=np.int64), vector.reshape(1, -1))

    def drop(self, partition: Partition, ids: list[int]) -> None:
        """These entries are no longer live."""
        if ids:
            partition.index.remove(np.array(ids, dtype=np.int64))

    def forget(self, ids: list[int]) -> None:
        """These entries were dropped, whatever their partitions."""
        if not ids:
            return
        labels = np.array(ids, dtype=np.int64)
        for partition in self._held.values():
            if len(partition.index):
                partition.index.remove(labels)

    def search(self, partition: Partition, vector: Vector, k: int) -> list[Neighbor]:
        """The nearest entries, nearest first; some may be dead."""
        return partition.index.search(vector, k)

    def _evict(self, *, keep: Partition) -> None:
        total = self.memory_bytes
        for key in list(self._held):
            if total <= self._memory_bytes or len(self._held) == 1:
                return
            partition = self._held[key]
            if partition is keep or partition.loading.locked():
                continue
            total -= partition.index.memory_bytes
            del self._held[key]
