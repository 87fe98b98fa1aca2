"""Exact search in NumPy: the index of small partitions, and the oracle of the tests.

One contiguous float32 array that grows by doubling; a removed row is overwritten by the last one.
Up to about 2,000 rows this is as fast as a graph, has a recall of 1, and costs nothing when empty,
which is what makes one index per partition affordable.
"""

import threading

import numpy as np
import numpy.typing as npt

from index.similarity import ROUNDING_SLACK, nearest, rounded, unit_rows, unit_vector
from index.types import InvalidVector, Labels, Neighbor, Vector, Vectors

_DICT_BYTES_PER_LABEL = 120
"""Measured: the dictionary from label to row, with its two integers, per entry."""


class FlatIndex:
    """A `VectorIndex` that compares the query with every vector."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._vectors: Vectors = np.empty((0, dimensions), dtype=np.float32)
        self._labels: Labels = np.empty(0, dtype=np.int64)
        self._row_of: dict[int, int] = {}
        # Guards the four fields together: a search that met a half-moved row could pair a label
        # with its neighbour's similarity. Held for one matrix product at most (0.2 ms at 2,000
        # rows); nothing that waits is called under it.
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def memory_bytes(self) -> int:
        held = self._vectors.nbytes + self._labels.nbytes
        return held + _DICT_BYTES_PER_LABEL * len(self._row_of)

    def add(self, labels: Labels, vectors: Vectors) -> None:
        """See `VectorIndex.add`."""
        self.put(*checked(labels, vectors, self._dimensions))

    def put(self, names: Labels, rows: Vectors) -> None:
        """Like `add`, for labels and unit vectors that were checked."""
        with self._lock:
            self._reserve(len(self._row_of) + len(names))
            for label, row in zip(names.tolist(), rows, strict=True):
                at = self._row_of.setdefault(label, len(self._row_of))
                self._labels[at] = label
                self._vectors[at] = row

    def remove(self, labels: Labels) -> int:
        """See `VectorIndex.remove`."""
        with self._lock:
            before = len(self._row_of)
            for label in np.asarray(labels, dtype=np.int64).tolist():
                self._forget(label)
            removed = before - len(self._row_of)
            self._shrink()
        return removed

    def search(self, vector: Vector, k: int) -> list[Neighbor]:
        """See `VectorIndex.search`."""
        return self.nearest_to(unit_vector(vector, self._dimensions), k)

    def nearest_to(self, query: Vector, k: int) -> list[Neighbor]:
        """`search` for a unit vector that was checked."""
        if not self._row_of:
            return []
        with self._lock:
            count = len(self._row_of)
            if count == 0 or k <= 0:
                return []
            dots = self._vectors[:count] @ query
            best = _at_least_kth(dots, min(k, count))
            labels = self._labels[best]
        return nearest(labels, rounded(dots[best]), k)

    def items(self) -> tuple[Labels, Vectors]:
        """See `VectorIndex.items`."""
        with self._lock:
            count = len(self._row_of)
            return self._labels[:count].copy(), self._vectors[:count].copy()

    def first(self, count: int) -> tuple[Labels, Vectors]:
        """A copy of up to ``count`` labels and their vectors."""
        with self._lock:
            count = min(count, len(self._row_of))
            return self._labels[:count].copy(), self._vectors[:count].copy()

    def has_unchanged(self, labels: Labels, vectors: Vectors) -> npt.NDArray[np.bool_]:
        """Per label, whether it is still here with exactly this vector."""
        with self._lock:
            rows = [self._row_of.get(label, -1) for label in labels.tolist()]
            if not len(self._vectors):  # all were removed meanwhile, and the room given back
                return np.zeros(len(rows), dtype=np.bool_)
            same = (self._vectors[rows] == vectors).all(axis=1)
            unchanged: npt.NDArray[np.bool_] = same & (np.array(rows) >= 0)
            return unchanged

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, label: object) -> bool:
        return label in self._row_of

    def _reserve(self, count: int) -> None:
        """Make room for ``count`` rows; the caller holds the lock."""
        if count > len(self._labels):
            self._resize(max(count, 2 * len(self._labels), 4))

    def _shrink(self) -> None:
        """Give memory back when three quarters are unused; the caller holds the lock."""
        count = len(self._row_of)
        if len(self._labels) > 64 and count < len(self._labels) // 4:
            self._resize(2 * count)

    def _resize(self, capacity: int) -> None:
        count = len(self._row_of)
        vectors = np.empty((capacity, self._dimensions), dtype=np.float32)
        labels = np.empty(capacity, dtype=np.int64)
        vectors[:count] = self._vectors[:count]
        labels[:count] = self._labels[:count]
        self._vectors, self._labels = vectors, labels

    def _forget(self, label: int) -> None:
        """Overwrite the label's row by the last one; the caller holds the lock."""
        row = self._row_of.pop(label, None)
        if row is None:
            return
        last = len(self._row_of)
        if row != last:
            moved = int(self._labels[last])
            self._labels[row] = moved
            self._vectors[row] = self._vectors[last]
            self._row_of[moved] = row


def checked(labels: Labels, vectors: Vectors, dimensions: int) -> tuple[Labels, Vectors]:
    """Labels and unit vectors fit to be added; raises InvalidVector or ValueError."""
    names = np.asarray(labels, dtype=np.int64)
    if len(names) == 0:
        return np.empty(0, dtype=np.int64), np.empty((0, dimensions), dtype=np.float32)
    rows = unit_rows(vectors, dimensions)
    if names.shape != (len(rows),):
        raise InvalidVector(f"labels: shape {names.shape} for {len(rows)} vectors")
    if (names < 0).any():
        raise ValueError(f"labels: {names.min()} is below 0")
    return names, rows


def _at_least_kth(dots: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.intp]:
    """Row numbers of the k largest, and of all that may tie with the last of them."""
    if k == len(dots):
        return np.arange(k)
    kth = dots.max() if k == 1 else np.partition(dots, len(dots) - k)[len(dots) - k]
    return np.flatnonzero(dots >= kth - ROUNDING_SLACK)
