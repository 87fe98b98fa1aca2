"""What is particular to exact search."""

import numpy as np

from index.flat import FlatIndex
from tests.index.vectors import clustered, labels, unit


def test_an_empty_partition_costs_next_to_nothing() -> None:
    """A thousand tenants with ten entries each must stay under 100 MB."""
    assert FlatIndex(384).memory_bytes == 0
    index = FlatIndex(384)
    index.add(np.arange(10), unit(np.random.default_rng(0), 10, 384))
    assert index.memory_bytes < 30_000


def test_memory_is_given_back_when_most_is_removed() -> None:
    index = FlatIndex(64)
    index.add(np.arange(1000), unit(np.random.default_rng(0), 1000, 64))
    full = index.memory_bytes
    index.remove(np.arange(990))
    assert index.memory_bytes < full / 10
    assert len(index) == 10


def test_the_result_is_that_of_sorting_everything() -> None:
    rng = np.random.default_rng(1)
    vectors = clustered(rng, 3000, 48)
    index = FlatIndex(48)
    index.add(np.arange(3000), vectors)
    for query in clustered(rng, 20, 48):
        found = index.search(query, 10)
        dots = np.round((vectors.astype(np.float64) @ query).clip(-1, 1), 6)
        assert [n.similarity for n in found] == np.sort(dots)[::-1][:10].tolist() or np.allclose(
            [n.similarity for n in found], np.sort(dots)[::-1][:10], atol=2e-6
        )


def test_many_ties_at_the_last_place_give_the_smallest_labels() -> None:
    vector = unit(np.random.default_rng(2), 1, 16)
    index = FlatIndex(16)
    index.add(np.arange(500)[::-1].copy(), np.repeat(vector, 500, axis=0))
    assert [n.label for n in index.search(vector[0], 3)] == [0, 1, 2]


def test_first_and_has_unchanged_see_replacements_and_removals() -> None:
    rng = np.random.default_rng(3)
    index = FlatIndex(16)
    index.add(np.arange(4), unit(rng, 4, 16))
    names, vectors = index.first(3)
    assert names.tolist() == [0, 1, 2]
    index.add(labels(1), unit(rng, 1, 16))
    index.remove(labels(2))
    assert index.has_unchanged(names, vectors).tolist() == [True, False, False]
