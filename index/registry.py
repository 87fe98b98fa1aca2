"""The indexes of all partitions in memory, the least recently used forgotten beyond a budget.

A partition is known by its key, bytes that the caller derives from everything that must be equal
before meaning is compared; nothing is ever searched across keys. An index that is forgotten is
loaded again from rows or a snapshot.
"""

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable

from index.adaptive import CROSSING, AdaptiveIndex, Job

log = logging.getLogger(__name__)


class IndexRegistry:
    """Partition keys to indexes; safe to use from several threads.

    Parameters
    ----------
    memory_budget_bytes : for all indexes together. The one asked for last is always kept, whatever
        its size.
    on_evict : told the key of each index that is forgotten, outside of the lock.
    """

    def __init__(
        self,
        *,
        memory_budget_bytes: int,
        crossing: int = CROSSING,
        on_evict: Callable[[bytes], None] | None = None,
    ) -> None:
        self._budget_bytes = memory_budget_bytes
        self._crossing = crossing
        self._on_evict = on_evict
        # Guards the map; indexes have locks of their own and are not changed under it.
        self._lock = threading.Lock()
        self._indexes: OrderedDict[bytes, AdaptiveIndex] = OrderedDict()
        # What each index took when it was last used, and their sum: adding all up again at every
        # change would cost as many steps as there are partitions.
        self._sizes: dict[bytes, int] = {}
        self._total = 0
        # One thread for all upkeep: graphs are built one after the other, on one core. It begins
        # with the first job; None ends it.
        self._upkeep: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._upkeep_thread: threading.Thread | None = None

    @property
    def memory_bytes(self) -> int:
        """Bytes of all indexes, each as it was when last used."""
        return self._total

    def get(self, key: bytes) -> AdaptiveIndex | None:
        """The partition's index, and a use of it; None if it is not in memory."""
        with self._lock:
            index = self._indexes.get(key)
            if index is not None:
                self._use(key, index)
            return index

    def get_or_create(self, key: bytes, dimensions: int) -> AdaptiveIndex:
        """The partition's index, an empty one if it is not in memory.

        Raises
        ------
        ValueError
            The index there has another number of dimensions: the key must name the embedder.
        """
        with self._lock:
            index = self._indexes.get(key)
            if index is None:
                index = AdaptiveIndex(dimensions, crossing=self._crossing, run=self._run)
                self._indexes[key] = index
            elif index.dimensions != dimensions:
                raise ValueError(f"dimensions: {dimensions}, the index has {index.dimensions}")
            self._use(key, index)
            return index

    def put(self, key: bytes, index: AdaptiveIndex) -> None:
        """Use a loaded index for a partition, instead of what was there."""
        with self._lock:
            self._indexes[key] = index
            self._use(key, index)

    def forget(self, key: bytes) -> None:
        """Drop a partition's index."""
        with self._lock:
            if self._indexes.pop(key, None) is not None:
                self._total -= self._sizes.pop(key)

    def keep_to_budget(self, changed: bytes | None = None) -> list[bytes]:
        """Forget least recently used indexes until the rest fits; returns their keys.

        Parameters
        ----------
        changed : the partition that has grown since it was asked for, if any.
        """
        evicted = []
        with self._lock:
            if changed is not None and (index := self._indexes.get(changed)) is not None:
                self._use(changed, index)
            while self._total > self._budget_bytes and len(self._indexes) > 1:
                key, _ = self._indexes.popitem(last=False)
                self._total -= self._sizes.pop(key)
                evicted.append(key)
        if self._on_evict is not None:
            for key in evicted:
                self._on_evict(key)
        return evicted

    def close(self) -> None:
        """End the background work after the job it is at; nothing waits for that."""
        self._upkeep.put(None)

    def __len__(self) -> int:
        return len(self._indexes)

    def __contains__(self, key: object) -> bool:
        return key in self._indexes

    def _use(self, key: bytes, index: AdaptiveIndex) -> None:
        """The index becomes the most recently used and is measured; the caller holds the lock."""
        self._indexes.move_to_end(key)
        size = index.memory_bytes
        self._total += size - self._sizes.get(key, 0)
        self._sizes[key] = size

    def _run(self, job: Job) -> None:
        with self._lock:
            if self._upkeep_thread is None:
                # A daemon: a graph half built at the end of the process is of no use to anyone.
                self._upkeep_thread = threading.Thread(
                    target=self._work, name="index-upkeep", daemon=True
                )
                self._upkeep_thread.start()
        self._upkeep.put(job)

    def _work(self) -> None:
        while (job := self._upkeep.get()) is not None:
            try:
                job()
            except Exception:
                # one index's trouble must not end the upkeep of all others; searches stay exact
                log.exception("upkeep of an index failed")
