"""How much the part of the vector space that a query lies in is to be trusted: learned from labels, a few dot products.

False hits of a line crowd in few places, where two answers are asked for in nearly the same words; elsewhere a far
lower cosine would do. A smooth function of the query's vector says so: a sum of bells around points that are means of
many texts, so that no single text can be read from it.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

_FLOAT = np.dtype("<f4")


class Region(msgspec.Struct, frozen=True, array_like=True):
    """A function of a unit vector with `dimensions` numbers."""

    dimensions: int
    centre: bytes
    """Little-endian float32: the mean of the line's vectors, taken off before vectors are compared."""
    points: bytes
    """Little-endian float32, one unit vector after the other."""
    heights: list[float]
    """One per point, in units of log odds."""
    width: float
    """κ > 0: a point counts with exp(κ (cos - 1))."""


class Lift:
    """A region, ready to be evaluated."""

    def __init__(self, region: Region) -> None:
        """Raises ValueError where the numbers do not fit together."""
        count = len(region.heights)
        if region.dimensions < 1 or not count:
            raise ValueError("a region needs points")
        self._centre = np.frombuffer(region.centre, dtype=_FLOAT)
        points = np.frombuffer(region.points, dtype=_FLOAT)
        if self._centre.size != region.dimensions or points.size != region.dimensions * count:
            raise ValueError("the numbers of a region do not fit its dimensions")
        self._points = points.reshape(count, region.dimensions)
        self._heights = np.asarray(region.heights, dtype=np.float64)
        self._width = region.width
        finite = all(np.isfinite(a).all() for a in (self._centre, self._points, self._heights))
        if not (finite and 0.0 < self._width < math.inf):
            raise ValueError("the numbers of a region must be finite")

    def of(self, vectors: Any) -> Any:
        """Log odds that the place adds: float64, shape (n,), of vectors of shape (n, dimensions)."""
        return bells(centred(vectors, self._centre), self._points, self._width) @ self._heights


def centred(vectors: Any, centre: Any) -> Any:
    """Vectors less the centre, of unit length again: float32, shape (n, dimensions)."""
    moved = np.asarray(vectors, dtype=np.float32) - centre
    length = np.sqrt(np.einsum("ij,ij->i", moved, moved))[:, None]
    return moved / np.maximum(length, 1e-9)


def bells(vectors: Any, points: Any, width: float) -> Any:
    """exp(κ (cos - 1)) of every vector and point: float64, shape (n, points), in (0, 1]."""
    return np.exp(width * ((vectors @ points.T).astype(np.float64) - 1.0))


def as_bytes(numbers: Any) -> bytes:
    """The stored form of vectors."""
    return np.ascontiguousarray(numbers, dtype=_FLOAT).tobytes()
