"""The one place for the arithmetic of vectors: normalising, cosine, rounding, order.

A raw dot product of a vector with itself comes out as 0.99999994 or 1.0000001, so that a threshold
of 1.0 would mean nothing. Every similarity that leaves this package is therefore clipped to [-1, 1]
and rounded to 6 decimals here, which is coarser than float32 noise over a few hundred dimensions
(about 2e-7) and finer than any difference in meaning.
"""

import numpy as np
import numpy.typing as npt

from index.types import InvalidVector, Labels, Neighbor, Vector, Vectors

SIMILARITY_DECIMALS = 6
ROUNDING_SLACK = 2 * 10.0**-SIMILARITY_DECIMALS
"""Two raw cosines further apart than this cannot be equal after rounding."""


def unit_rows(vectors: npt.ArrayLike, dimensions: int) -> Vectors:
    """Check vectors and scale each to length 1.

    Parameters
    ----------
    vectors : array-like of real numbers, shape (n, dimensions)

    Returns
    -------
    float32, C-contiguous, shape (n, dimensions); a new array, never a view of the argument.

    Raises
    ------
    InvalidVector
        For another shape, NaN, infinity or a row of length 0. hnswlib would take a NaN and then
        answer every query with it.
    """
    rows = np.array(vectors, dtype=np.float64, ndmin=2)
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise InvalidVector(f"vectors: shape {rows.shape}, expected (n, {dimensions})")
    # In float64, and scaled by the largest component first: subnormal rows keep their direction.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(largest).all():
        raise InvalidVector("vectors: NaN or infinity")
    if not (largest > 0).all():
        raise InvalidVector("vectors: a row of length 0 has no direction")
    rows /= largest
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.ascontiguousarray(rows, dtype=np.float32)


def unit_vector(vector: npt.ArrayLike, dimensions: int) -> Vector:
    """The same for one vector of shape (dimensions,)."""
    flat = np.asarray(vector)
    if flat.shape != (dimensions,):
        raise InvalidVector(f"vector: shape {flat.shape}, expected ({dimensions},)")
    if flat.dtype == np.float32:
        # The hot path: an embedder's vector is of length 1 already, and one dot product shows
        # that it is finite, too.
        unit: Vector = np.ascontiguousarray(flat)
        if abs(float(unit @ unit) - 1.0) < 1e-6:
            return unit
    scaled: Vector = unit_rows(flat, dimensions)[0]
    return scaled


def cosine(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Cosine similarity of two vectors of one shape, clipped and rounded; 1.0 for ``a`` itself."""
    a_unit = unit_rows(a, np.shape(a)[-1])[0]
    b_unit = unit_rows(b, np.shape(a)[-1])[0]
    return float(rounded(np.array([a_unit @ b_unit]))[0])


def rounded(dots: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Dot products of unit vectors as similarities: clipped to [-1, 1], 6 decimals, float64."""
    clipped = np.clip(dots.astype(np.float64), -1.0, 1.0)
    # Adding zero turns -0.0 into 0.0.
    similarities: npt.NDArray[np.float64] = np.round(clipped, SIMILARITY_DECIMALS) + 0.0
    return similarities


def nearest_few(labels: list[int], dots: list[float], k: int) -> list[Neighbor]:
    """`nearest` of raw dot products, to the last bit, for a handful: after a model has been through the caches, each
    function of NumPy costs more than a dozen steps of Python."""
    scale = 10.0**SIMILARITY_DECIMALS
    best = sorted(
        (-(round(min(max(dot, -1.0), 1.0) * scale) / scale + 0.0), label)
        for dot, label in zip(dots, labels, strict=True)
    )
    return [Neighbor(label, -negative) for negative, label in best[:k]]


def nearest(labels: Labels, similarities: npt.NDArray[np.float64], k: int) -> list[Neighbor]:
    """The ``k`` best of rounded similarities, nearest first, ties by smaller label."""
    order = np.lexsort((labels, -similarities))[:k]
    return [
        Neighbor(label, similarity)
        for label, similarity in zip(
            labels[order].tolist(), similarities[order].tolist(), strict=True
        )
    ]
