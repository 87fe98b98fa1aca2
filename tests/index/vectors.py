"""Vectors for the index tests, all drawn from a given generator."""

import numpy as np
import numpy.typing as npt

from index.types import Labels, Vectors


def unit(rng: np.random.Generator, count: int, dimensions: int) -> Vectors:
    """Random directions."""
    rows = rng.standard_normal((count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def near(
    rng: np.random.Generator, vectors: Vectors, cosine: float | npt.NDArray[np.float64]
) -> Vectors:
    """For each vector, another one at exactly this cosine from it."""
    noise = rng.standard_normal(vectors.shape)
    noise -= np.einsum("ij,ij->i", noise, vectors)[:, None] * vectors
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    share = np.broadcast_to(cosine, (len(vectors),))[:, None]
    return (share * vectors + np.sqrt(1 - share**2) * noise).astype(np.float32)


def clustered(rng: np.random.Generator, count: int, dimensions: int) -> Vectors:
    """Like sentence embeddings: topics, and questions around them."""
    topics = unit(rng, max(count // 50, 1), dimensions)
    return near(rng, topics[rng.integers(len(topics), size=count)], rng.uniform(0.4, 0.97, count))


def labels(*numbers: int) -> Labels:
    return np.array(numbers, dtype=np.int64)
