"""One partition's index: exact while it is small, a graph when it is large, complete at all times.

New vectors always go to an exact index, which takes microseconds. Beyond a size, work in the
background moves them into a graph, a few at a time; a search asks both and merges. So nothing waits
for a graph to be built, to grow or to be cleaned of its dead: a store is found by the next search,
and a removal is in force when it returns, whatever the background is doing.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from index.flat import FlatIndex, checked
from index.hnsw import HnswIndex
from index.similarity import unit_vector
from index.types import Labels, Neighbor, Vector, Vectors

CROSSING = 2048
"""Vectors above which a graph is used.

In a loop of its own a comparison with all of 8,000 takes no longer; after a model has been through the caches, 2,000
are the point: their 3 MB come from memory then, and a graph touches a few hundred of them.
"""

_SMALL_PART = 16
"""A sixteenth of the crossing may wait beside a graph, or be dead in it, before it is worth a job;
comparing with 128 vectors costs 10 µs."""
_MOVED_AT_ONCE = 32
"""Keeps the number of vectors that both parts hold, and that a search may meet twice, small."""
_DEAD_SHARE = 0.4
"""Dead vectors in the graph, from which it is built anew: at a half, searching costs a third more,
at nine tenths five times as much."""

Job = Callable[[], None]


def in_new_thread(job: Job) -> None:
    """Run a background job in a thread of its own, which does not keep the process alive."""
    threading.Thread(target=job, name="index-upkeep", daemon=True).start()


class AdaptiveIndex:
    """A `VectorIndex` that changes its shape with its size.

    Parameters
    ----------
    crossing : vectors above which the graph is used.
    run : how a background job is started. The job may take seconds, and is started again only
        after it has returned; a function that drops it leaves everything exact and correct.
    """

    def __init__(
        self,
        dimensions: int,
        *,
        crossing: int = CROSSING,
        run: Callable[[Job], None] = in_new_thread,
    ) -> None:
        self._recent = FlatIndex(dimensions)
        self._settled: HnswIndex | None = None
        self._crossing = crossing
        self._small = max(crossing // _SMALL_PART, 1)
        self._run = run
        # Makes each change one step for both parts: a label is moved, replaced or removed, never
        # two of these at once. Held for microseconds per label; searches don't take it.
        self._changing = threading.Lock()
        self._has_upkeep = False

    @property
    def dimensions(self) -> int:
        return self._recent.dimensions

    @property
    def memory_bytes(self) -> int:
        settled = self._settled
        return self._recent.memory_bytes + (settled.memory_bytes if settled is not None else 0)

    @property
    def is_settled(self) -> bool:
        """True when no upkeep is due or running."""
        return not (self._has_upkeep or self._is_upkeep_due())

    def add(self, labels: Labels, vectors: Vectors) -> None:
        """See `VectorIndex.add`."""
        names, rows = checked(labels, vectors, self.dimensions)
        with self._changing:
            # First in, then out: a search must not find neither. Of both it takes the new one.
            self._recent.put(names, rows)
            if self._settled is not None:
                self._settled.remove(names)
        self._start_upkeep()

    def remove(self, labels: Labels) -> int:
        """See `VectorIndex.remove`."""
        with self._changing:
            removed = self._recent.remove(labels)
            if self._settled is not None:
                removed += self._settled.remove(labels)
        self._start_upkeep()
        return removed

    def search(self, vector: Vector, k: int) -> list[Neighbor]:
        """See `VectorIndex.search`."""
        query = unit_vector(vector, self.dimensions)
        while True:
            settled = self._settled
            # In this order: what is moved in between is found in the second part, at least.
            neighbors = self._recent.nearest_to(query, k)
            if settled is not None:
                neighbors = _merged(neighbors, settled, query, k)
            if settled is self._settled:
                return neighbors
            # The graph was exchanged meanwhile, and with it perhaps what the two parts hold.

    def items(self) -> tuple[Labels, Vectors]:
        """See `VectorIndex.items`."""
        with self._changing:
            labels, vectors = self._recent.items()
            if self._settled is None:
                return labels, vectors
            more_labels, more_vectors = self._settled.items()
        return np.concatenate([labels, more_labels]), np.concatenate([vectors, more_vectors])

    def upkeep(self) -> None:
        """Bring the shape up to date: move, rebuild, or go back to exact search. May take long."""
        if self._settled is None and self._is_upkeep_due():
            self._settled = HnswIndex(self.dimensions, capacity=2 * len(self._recent))
        while (settled := self._settled) is not None:
            if self._is_mostly_dead(settled):
                self._rebuild(settled)
            elif len(self._recent):
                # Once begun, to the end: what is left is compared by every search.
                self._move(settled)
            else:
                return

    def __len__(self) -> int:
        settled = self._settled
        return len(self._recent) + (len(settled) if settled is not None else 0)

    def __contains__(self, label: object) -> bool:
        settled = self._settled
        return label in self._recent or (settled is not None and label in settled)

    def _is_upkeep_due(self) -> bool:
        settled = self._settled
        if settled is None:
            return len(self._recent) > self._crossing
        return len(self._recent) > self._small or self._is_mostly_dead(settled)

    def _is_mostly_dead(self, settled: HnswIndex) -> bool:
        return settled.dead > max(self._small, _DEAD_SHARE * (settled.dead + len(settled)))

    def _start_upkeep(self) -> None:
        if not self._is_upkeep_due():
            return
        with self._changing:
            if self._has_upkeep:
                return
            self._has_upkeep = True
        self._run(self._finish_upkeep)

    def _finish_upkeep(self) -> None:
        try:
            self.upkeep()
        finally:
            self._has_upkeep = False
        # What was added between the last look and the line above.
        self._start_upkeep()

    def _move(self, settled: HnswIndex) -> None:
        """Move some recent vectors into the graph."""
        labels, vectors = self._recent.first(_MOVED_AT_ONCE)
        slots = settled.stage(vectors)
        with self._changing:
            # Replaced or removed while the graph took them in: these stay as they are now.
            same = self._recent.has_unchanged(labels, vectors)
            settled.publish(slots[same], labels[same])
            self._recent.remove(labels[same])
            settled.discard(slots[~same])

    def _rebuild(self, settled: HnswIndex) -> None:
        """Put the living into a new graph, or back into the exact index if they are few."""
        labels, vectors = settled.items()
        if len(labels) <= self._crossing // 2:
            with self._changing:
                here = _present(settled, labels)
                self._recent.put(labels[here], vectors[here])
                self._settled = None
            return
        fresh = HnswIndex(self.dimensions, capacity=2 * len(labels))
        slots = fresh.stage(vectors)
        with self._changing:
            # Only removals can have happened: whatever is added goes to the recent part.
            here = _present(settled, labels)
            fresh.publish(slots[here], labels[here])
            fresh.discard(slots[~here])
            self._settled = fresh

    # For snapshots.

    def dump(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All there is, as plain numbers and arrays; see `restore`.

        Nothing waits for it. Changes made meanwhile may be in it or not; those made before are.
        """
        while True:
            settled = self._settled
            # In this order: what is moved in between is in both parts, and once when restored.
            labels, vectors = self._recent.items()
            arrays: dict[str, npt.NDArray[Any]] = {"labels": labels, "vectors": vectors}
            numbers: dict[str, Any] = {"dimensions": self.dimensions, "graph": None}
            if settled is not None:
                numbers["graph"], graph_arrays = settled.dump()
                arrays |= {f"graph.{name}": value for name, value in graph_arrays.items()}
            if settled is self._settled:
                return numbers, arrays

    @classmethod
    def restore(
        cls,
        numbers: dict[str, Any],
        arrays: dict[str, npt.NDArray[Any]],
        *,
        crossing: int = CROSSING,
        run: Callable[[Job], None] = in_new_thread,
    ) -> "AdaptiveIndex":
        """The index that was dumped."""
        index = cls(numbers["dimensions"], crossing=crossing, run=run)
        if numbers["graph"] is not None:
            graph_arrays = {
                name.removeprefix("graph."): value
                for name, value in arrays.items()
                if name.startswith("graph.")
            }
            index._settled = HnswIndex.restore(numbers["graph"], graph_arrays)
        index.add(arrays["labels"], arrays["vectors"])
        return index


def _merged(neighbors: list[Neighbor], settled: HnswIndex, query: Vector, k: int) -> list[Neighbor]:
    """The k best of both parts; of a label that both have, the recent vector."""
    if not neighbors:
        return settled.nearest_to(query, k)
    seen = {neighbor.label for neighbor in neighbors}
    # Beyond k, since those that both parts have take places in the second.
    more = settled.nearest_to(query, k + min(len(seen), _MOVED_AT_ONCE))
    both = neighbors + [neighbor for neighbor in more if neighbor.label not in seen]
    both.sort(key=lambda neighbor: (-neighbor.similarity, neighbor.label))
    return both[: max(k, 0)]


def _present(index: HnswIndex, labels: Labels) -> npt.NDArray[np.bool_]:
    return np.fromiter((label in index for label in labels.tolist()), dtype=bool, count=len(labels))
