"""What hnswlib leaves to its caller."""

import numpy as np
import pytest

from index.flat import FlatIndex
from index.hnsw import HnswIndex
from index.types import Neighbor
from tests.index.vectors import clustered, labels, near, unit


def test_recall_of_would_be_hits() -> None:
    """Of queries that have a neighbor at 0.85 or nearer, practically all must find it."""
    rng = np.random.default_rng(0)
    vectors = clustered(rng, 6000, 64)
    index, oracle = HnswIndex(64, capacity=6000), FlatIndex(64)
    index.add(np.arange(6000), vectors)
    oracle.add(np.arange(6000), vectors)
    asked = near(rng, vectors[rng.integers(6000, size=1000)], rng.uniform(0.86, 0.99, 1000))
    # Labels alone: the two sum up in another order, and may differ in the sixth decimal.
    found = sum(index.search(q, 1)[0].label == oracle.search(q, 1)[0].label for q in asked)
    assert found >= 995


def test_a_build_is_the_same_every_time() -> None:
    rng = np.random.default_rng(1)
    vectors, queries = unit(rng, 500, 32), unit(rng, 50, 32)
    results = []
    for _ in range(2):
        index = HnswIndex(32, capacity=100)
        for start in range(0, 500, 50):
            index.add(np.arange(start, start + 50), vectors[start : start + 50])
        results.append([index.search(query, 5) for query in queries])
    assert results[0] == results[1]


def test_staged_vectors_are_not_found_until_they_have_labels() -> None:
    rng = np.random.default_rng(2)
    query = unit(rng, 1, 16)
    index = HnswIndex(16, capacity=4)
    index.add(labels(1), unit(rng, 1, 16))
    slots = index.stage(near(rng, np.repeat(query, 40, axis=0), 0.99))
    assert [neighbor.label for neighbor in index.search(query[0], 5)] == [1]
    assert len(index) == 1
    index.publish(slots[:2], labels(7, 8))
    index.discard(slots[2:])
    assert sorted(neighbor.label for neighbor in index.search(query[0], 5)) == [1, 7, 8]
    assert index.dead == 38


def test_what_the_graph_cannot_reach_is_found_by_comparing() -> None:
    """hnswlib raises when it reaches fewer than were asked for."""
    rng = np.random.default_rng(3)
    index = HnswIndex(8, capacity=10)
    vectors = unit(rng, 3000, 8)
    index.add(np.arange(3000), vectors)
    index.remove(np.arange(20, 3000))
    found = index.search(vectors[3], 20)
    assert found[0] == Neighbor(3, 1.0)
    assert sorted(neighbor.label for neighbor in found) == list(range(20))


def test_removals_during_growth_hold_in_the_larger_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    vectors = unit(rng, 9, 16)
    index = HnswIndex(16, capacity=8)
    index.add(np.arange(8), vectors[:8])
    swap = index._tune

    # The graph is copied before `_tune` is called for it; removing by then is removing meanwhile.
    def remove_first() -> None:
        index.remove(labels(2))
        swap()

    monkeypatch.setattr(index, "_tune", remove_first)
    index.add(labels(8), vectors[8:])
    assert 2 not in index
    assert all(neighbor.label != 2 for neighbor in index.search(vectors[2], 8))
    assert len(index.search(vectors[2], 20)) == 8


def test_what_is_restored_answers_the_same() -> None:
    rng = np.random.default_rng(5)
    index = HnswIndex(32, capacity=64)
    index.add(np.arange(300), unit(rng, 300, 32))
    index.remove(np.arange(0, 300, 7))
    copy = HnswIndex.restore(*index.dump())
    for query in unit(rng, 20, 32):
        assert copy.search(query, 8) == index.search(query, 8)
    copy.add(np.arange(1000, 1200), unit(rng, 200, 32))
    assert len(copy) == len(index) + 200
    assert copy.dead == index.dead
