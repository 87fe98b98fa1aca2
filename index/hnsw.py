"""Approximate search by hnswlib, for partitions too large for exact search.

What hnswlib leaves to its caller, and what is done about it here:

- it cannot grow under a search (three of three runs crashed): a copy is grown, then swapped in;
- adding a removed label revives the old vector, and removing twice raises: its labels are slots
  that are used once, ours are mapped to them, and a slot without a label is never an answer;
- asking for more than it can reach raises: k is clamped, and exact search answers what is left;
- it forgets ``ef`` when copied or loaded, and accepts NaN: both are handled where they enter.

An index costs 2.4 MB empty, for hnswlib's fixed table of locks.

Reference: Malkov and Yashunin (2018), Efficient and Robust Approximate Nearest Neighbor Search
Using Hierarchical Navigable Small World Graphs.
"""

import contextlib
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import hnswlib
import numpy as np
import numpy.typing as npt

from index.flat import checked
from index.similarity import nearest, nearest_few, rounded, unit_vector
from index.types import Labels, Neighbor, Vector, Vectors

Slots = npt.NDArray[np.int64]
"""Places in the graph, used once each, in the order of insertion."""

_M = 24
"""Links per vector. At 100,000 sentence vectors and the same width of search, 16 finds 98.8 to
99.5 % of the neighbors at 0.85 or nearer, 24 finds 99.7 %, for an eighth more of building time."""
_EF_CONSTRUCTION = 200
"""Less is cheaper to build and cannot be made up for by searching longer: recall at 300,000 vectors
is 0.98 with 80 and 0.997 with 200."""
_EF = ((10_000, 40), (40_000, 64), (200_000, 100))
_WIDEST_EF = 200
"""Width of search by vectors in the graph. Of the sentences of many sets, as 8-bit MiniLM vectors, all neighbors at
0.7 or nearer are found with 20 among 8,000 and with 64 among 24,000; twice the width takes up to half as long again."""
_SEED = 1
_NOBODY = -1
_SPARE_RESULTS = 4
"""Fetched beyond k: slots that lose their label during a search come back, too."""
_READ_AT_ONCE = 256

_EMPTY_BYTES = 2_500_000
_LINK_BYTES = 220
_DICT_BYTES_PER_LABEL = 120


class _State(NamedTuple):
    """What a search reads; swapped as a whole, so that graph and labels belong together."""

    graph: Any
    label_of: Labels
    """Per slot of the graph its label, or -1 for one that must not be found."""


class HnswIndex:
    """A `VectorIndex` over a navigable small-world graph.

    Searches take no lock. Additions come one at a time, and beside searches.
    """

    def __init__(self, dimensions: int, *, capacity: int = 1024) -> None:
        graph = hnswlib.Index(space="ip", dim=dimensions)
        graph.init_index(
            max_elements=capacity, M=_M, ef_construction=_EF_CONSTRUCTION, random_seed=_SEED
        )
        self._open(dimensions, graph, np.full(capacity, _NOBODY, dtype=np.int64))

    def _open(self, dimensions: int, graph: Any, label_of: Labels) -> None:
        self._dimensions = dimensions
        self._state = _State(graph, label_of)
        occupied = np.flatnonzero(label_of >= 0)
        self._slot_of = dict(zip(label_of[occupied].tolist(), occupied.tolist(), strict=True))
        self._used_slots = int(graph.get_current_count())
        # Held for a whole insertion or growth, seconds for a large one: makes them one at a time.
        # Neither searches nor removals wait for it.
        self._inserting = threading.Lock()
        # Guards `_slot_of`, `label_of` and the swap of `_state`. Held for microseconds per label;
        # taken inside `_inserting`, never around it.
        self._naming = threading.Lock()
        self._removed_while_growing: list[int] | None = None
        self._staged = 0
        self._tune()

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def memory_bytes(self) -> int:
        # Room that was never used was never touched, and is no memory of the machine yet.
        per_slot = 4 * self._dimensions + _LINK_BYTES + self._state.label_of.itemsize
        return (
            _EMPTY_BYTES + self._used_slots * per_slot + _DICT_BYTES_PER_LABEL * len(self._slot_of)
        )

    @property
    def dead(self) -> int:
        """Slots whose vector was removed or replaced; they still cost memory and time."""
        return self._used_slots - self._staged - len(self._slot_of)

    def add(self, labels: Labels, vectors: Vectors) -> None:
        """See `VectorIndex.add`."""
        names, rows = checked(labels, vectors, self._dimensions)
        self.publish(self.stage(rows), names)

    def stage(self, vectors: Vectors) -> Slots:
        """Insert unit vectors without a label yet, so that no search finds them. The slow part."""
        with self._inserting:
            first, count = self._used_slots, len(vectors)
            if first + count > len(self._state.label_of):
                self._grow(first + count)
            slots = np.arange(first, first + count)
            if count:
                self._used_slots += count
                with self._naming:
                    self._staged += count
                self._state.graph.add_items(vectors, slots, num_threads=1)
                self._tune()
        return slots

    def publish(self, slots: Slots, labels: Labels) -> None:
        """Give staged slots their labels; a label that has a slot already moves to the new one."""
        with self._naming:
            self._staged -= len(slots)
            for slot, label in zip(slots.tolist(), labels.tolist(), strict=True):
                self._forget(label)
                self._slot_of[label] = slot
                self._state.label_of[slot] = label

    def discard(self, slots: Slots) -> None:
        """Give up staged slots."""
        with self._naming:
            self._staged -= len(slots)
            for slot in slots.tolist():
                self._kill(slot)

    def remove(self, labels: Labels) -> int:
        """See `VectorIndex.remove`."""
        with self._naming:
            return sum(self._forget(label) for label in labels.tolist())

    def search(self, vector: Vector, k: int) -> list[Neighbor]:
        """See `VectorIndex.search`; with recall below 1, and exactly if the graph falls short."""
        return self.nearest_to(unit_vector(vector, self._dimensions), k)

    def nearest_to(self, query: Vector, k: int) -> list[Neighbor]:
        """`search` for a unit vector that was checked."""
        state = self._state
        live, staged = len(self._slot_of), self._staged
        if min(k, live) <= 0:
            return []
        fetched = min(k + staged + _SPARE_RESULTS, live + staged)
        try:
            slots, distances = state.graph.knn_query(query, k=fetched, num_threads=1)
        except RuntimeError:
            # Fewer can be reached than exist: removals or many equal vectors have cut the graph.
            return self._search_exactly(query, k)
        labels = state.label_of[slots[0]].tolist()
        # hnswlib's distance of an inner product is 1 less that
        found = [(n, 1.0 - d) for n, d in zip(labels, distances[0].tolist(), strict=True) if n >= 0]
        return nearest_few([n for n, _ in found], [dot for _, dot in found], k)

    def items(self) -> tuple[Labels, Vectors]:
        """See `VectorIndex.items`."""
        labels, vectors = [np.empty(0, dtype=np.int64)], [self._no_vectors()]
        for first in range(0, self._used_slots, _READ_AT_ONCE):
            # hnswlib refuses to read a removed vector, so none may be removed meanwhile.
            with self._naming:
                part = self._state.label_of[first : first + _READ_AT_ONCE]
                slots = np.flatnonzero(part >= 0)
                if len(slots):
                    labels.append(part[slots])
                    found = self._state.graph.get_items(slots + first)
                    vectors.append(np.asarray(found, dtype=np.float32))
        return np.concatenate(labels), np.concatenate(vectors)

    def dump(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All there is, as plain numbers and arrays; see `restore`."""
        with self._inserting:
            (parameters,) = self._state.graph.__getstate__()
            arrays = {
                name: value for name, value in parameters.items() if isinstance(value, np.ndarray)
            }
            numbers = {name: value for name, value in parameters.items() if name not in arrays}
            # After the graph: a removal in between is then in the labels, which decide.
            with self._naming:
                arrays["label_of"] = self._state.label_of.copy()
        return numbers, arrays

    @classmethod
    def restore(
        cls, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> "HnswIndex":
        """The index that was dumped. Only for bytes known to be those of `dump`: the C++ side
        believes every number."""
        parameters = dict(numbers) | {n: a for n, a in arrays.items() if n != "label_of"}
        index = cls.__new__(cls)
        index._open(
            int(parameters["dim"]), hnswlib.Index(params=parameters), arrays["label_of"].copy()
        )
        return index

    def __len__(self) -> int:
        return len(self._slot_of)

    def __contains__(self, label: object) -> bool:
        return label in self._slot_of

    def _forget(self, label: int) -> bool:
        """Take a label's slot away; the caller holds `_naming`."""
        slot = self._slot_of.pop(label, None)
        if slot is None:
            return False
        self._kill(slot)
        return True

    def _kill(self, slot: int) -> None:
        self._state.label_of[slot] = _NOBODY
        self._state.graph.mark_deleted(slot)
        if self._removed_while_growing is not None:
            self._removed_while_growing.append(slot)

    def _grow(self, at_least: int) -> None:
        """Make room in a copy and swap it in; the caller holds `_inserting`."""
        with self._naming:
            self._removed_while_growing = []
        graph = hnswlib.Index(index=self._state.graph)
        capacity = max(at_least, len(self._state.label_of) * 3 // 2)
        graph.resize_index(capacity)
        with self._naming:
            for slot in self._removed_while_growing:
                _mark_deleted(graph, slot)
            self._removed_while_growing = None
            label_of = np.full(capacity, _NOBODY, dtype=np.int64)
            label_of[: len(self._state.label_of)] = self._state.label_of
            self._state = _State(graph, label_of)
        self._tune()

    def _tune(self) -> None:
        """Search wider in a larger graph; hnswlib forgets the width in a copy."""
        count = self._used_slots
        self._state.graph.set_ef(next((ef for most, ef in _EF if count <= most), _WIDEST_EF))

    def _search_exactly(self, query: Vector, k: int) -> list[Neighbor]:
        labels, vectors = self.items()
        return nearest(labels, rounded(vectors @ query), k)

    def _no_vectors(self) -> Vectors:
        return np.empty((0, self._dimensions), dtype=np.float32)


def _mark_deleted(graph: Any, slot: int) -> None:
    with contextlib.suppress(RuntimeError):  # it was removed before it was copied
        graph.mark_deleted(slot)
