"""What every vector index promises, whatever its shape."""

from collections.abc import Callable

import numpy as np
import pytest

from index.adaptive import AdaptiveIndex
from index.flat import FlatIndex
from index.hnsw import HnswIndex
from index.types import InvalidVector, Neighbor, VectorIndex
from tests.index.vectors import labels, near, unit

DIMENSIONS = 32

Make = Callable[[], VectorIndex]


def _adaptive_in_two_parts() -> AdaptiveIndex:
    """Small enough to turn into a graph within the tests, upkeep on the caller's own thread."""
    return AdaptiveIndex(DIMENSIONS, crossing=40, run=lambda job: job())


@pytest.fixture(
    params=[
        lambda: FlatIndex(DIMENSIONS),
        lambda: HnswIndex(DIMENSIONS, capacity=8),
        lambda: AdaptiveIndex(DIMENSIONS),
        _adaptive_in_two_parts,
    ],
    ids=["flat", "hnsw", "adaptive", "adaptive-two-parts"],
)
def index(request: pytest.FixtureRequest) -> VectorIndex:
    made: VectorIndex = request.param()
    return made


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_an_empty_index_finds_nothing(index: VectorIndex, rng: np.random.Generator) -> None:
    assert index.search(unit(rng, 1, DIMENSIONS)[0], 5) == []
    assert len(index) == 0
    assert 1 not in index
    assert index.remove(labels(1, 2)) == 0
    assert [part.shape for part in index.items()] == [(0,), (0, DIMENSIONS)]


@pytest.mark.parametrize("count", [1, 2, 3, 60])
def test_k_beyond_the_size_gives_what_there_is(
    index: VectorIndex, rng: np.random.Generator, count: int
) -> None:
    """C-129: a lookup with fewer entries than candidates is not an error."""
    vectors = unit(rng, count, DIMENSIONS)
    index.add(np.arange(count), vectors)
    found = index.search(vectors[0], 100)
    assert sorted(neighbor.label for neighbor in found) == list(range(count))
    similarities = [neighbor.similarity for neighbor in found]
    assert similarities == sorted(similarities, reverse=True)
    assert found[0] == Neighbor(0, 1.0)


@pytest.mark.parametrize("k", [0, -1])
def test_no_neighbors_wanted(index: VectorIndex, rng: np.random.Generator, k: int) -> None:
    vectors = unit(rng, 60, DIMENSIONS)
    index.add(np.arange(60), vectors)
    assert index.search(vectors[0], k) == []


def test_every_vector_is_at_exactly_one_from_itself(
    index: VectorIndex, rng: np.random.Generator
) -> None:
    """C-129: growth beyond three times the capacity loses nothing."""
    vectors = unit(rng, 200, DIMENSIONS)
    for label, vector in enumerate(vectors):
        index.add(labels(label), vector[None])
    for label, vector in enumerate(vectors):
        assert index.search(vector, 1) == [Neighbor(label, 1.0)]


def test_vectors_are_normalised_when_added_and_when_searched(
    index: VectorIndex, rng: np.random.Generator
) -> None:
    vectors = unit(rng, 3, DIMENSIONS)
    index.add(np.arange(3), vectors * np.array([[0.001], [1.0], [1000.0]], dtype=np.float32))
    assert index.search(vectors[2] * 7, 1) == [Neighbor(2, 1.0)]
    assert np.linalg.norm(index.items()[1], axis=1) == pytest.approx(1.0)


def test_equal_vectors_are_ordered_by_label(index: VectorIndex, rng: np.random.Generator) -> None:
    vector = unit(rng, 1, DIMENSIONS)
    index.add(labels(5, 3, 9, 1), np.repeat(vector, 4, axis=0))
    assert [neighbor.label for neighbor in index.search(vector[0], 4)] == [1, 3, 5, 9]


def test_adding_a_label_again_replaces_its_vector(
    index: VectorIndex, rng: np.random.Generator
) -> None:
    """C-130: an entry whose prompt moved no longer matches its old one."""
    old, new = unit(rng, 2, DIMENSIONS)
    index.add(labels(1), old[None])
    index.add(labels(1), new[None])
    assert len(index) == 1
    assert index.search(new, 5) == [Neighbor(1, 1.0)]
    (found,) = index.search(old, 5)
    assert found.similarity < 0.9


def test_the_last_of_a_repeated_label_counts(index: VectorIndex, rng: np.random.Generator) -> None:
    old, new = unit(rng, 2, DIMENSIONS)
    index.add(labels(1, 1), np.stack([old, new]))
    assert index.search(new, 5) == [Neighbor(1, 1.0)]


def test_a_removed_label_is_gone_and_can_come_back(
    index: VectorIndex, rng: np.random.Generator
) -> None:
    vectors = unit(rng, 3, DIMENSIONS)
    index.add(np.arange(3), vectors)
    assert index.remove(labels(1, 99, 1)) == 1
    assert 1 not in index
    assert {neighbor.label for neighbor in index.search(vectors[1], 9)} == {0, 2}
    other = unit(rng, 1, DIMENSIONS)
    index.add(labels(1), other)
    assert index.search(other[0], 1) == [Neighbor(1, 1.0)]
    assert all(n.similarity < 1.0 for n in index.search(vectors[1], 9))


def test_a_tight_cluster_that_is_mostly_removed_still_gives_its_living(
    index: VectorIndex, rng: np.random.Generator
) -> None:
    """C-130: 200 entries at 0.93 to 0.99 of the query, of which four stay."""
    query = unit(rng, 1, DIMENSIONS)
    cosines = np.linspace(0.93, 0.99, 200)
    index.add(np.arange(200), near(rng, np.repeat(query, 200, axis=0), cosines))
    kept = [10, 60, 110, 199]
    index.remove(np.setdiff1d(np.arange(200), kept))
    found = index.search(query[0], 5)
    assert [neighbor.label for neighbor in found] == kept[::-1]
    assert [n.similarity for n in found] == pytest.approx(cosines[kept[::-1]], abs=1e-5)


def test_a_thousand_rounds_of_remove_and_add_leave_one(
    index: VectorIndex, rng: np.random.Generator
) -> None:
    """C-130: neither the count nor the answers show how often an entry was replaced."""
    vector = unit(rng, 1, DIMENSIONS)
    index.add(labels(0), unit(rng, 1, DIMENSIONS))
    for _ in range(1000):
        index.add(labels(1), vector)
        assert index.remove(labels(1)) == 1
    index.add(labels(1), vector)
    assert len(index) == 2
    assert [neighbor.label for neighbor in index.search(vector[0], 9)] == [1, 0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_bad_vector_is_refused_and_nothing_of_its_batch_is_added(
    index: VectorIndex, rng: np.random.Generator, bad: float
) -> None:
    """A NaN in hnswlib would be the answer to every later query."""
    vectors = unit(rng, 2, DIMENSIONS)
    vectors[1] = bad
    with pytest.raises(InvalidVector):
        index.add(labels(1, 2), vectors)
    assert len(index) == 0
    with pytest.raises(InvalidVector):
        index.search(vectors[1], 1)


def test_other_dimensions_are_refused(index: VectorIndex, rng: np.random.Generator) -> None:
    """C-128: a vector of another model's width is an error, not an answer."""
    with pytest.raises(InvalidVector, match="shape"):
        index.add(labels(1), unit(rng, 1, DIMENSIONS + 1))
    with pytest.raises(InvalidVector, match="shape"):
        index.search(unit(rng, 1, DIMENSIONS + 1)[0], 1)


def test_labels_and_vectors_must_be_as_many(index: VectorIndex, rng: np.random.Generator) -> None:
    with pytest.raises(InvalidVector, match="labels"):
        index.add(labels(1, 2, 3), unit(rng, 2, DIMENSIONS))
    with pytest.raises(ValueError, match="below 0"):
        index.add(labels(-1), unit(rng, 1, DIMENSIONS))


def test_adding_nothing_is_allowed(index: VectorIndex) -> None:
    index.add(labels(), np.empty((0, DIMENSIONS), dtype=np.float32))
    assert len(index) == 0


def test_memory_grows_with_the_vectors(index: VectorIndex, rng: np.random.Generator) -> None:
    before = index.memory_bytes
    index.add(np.arange(2000), unit(rng, 2000, DIMENSIONS))
    assert index.memory_bytes - before >= 2000 * 4 * DIMENSIONS


def test_what_goes_in_comes_out_of_items(index: VectorIndex, rng: np.random.Generator) -> None:
    vectors = unit(rng, 300, DIMENSIONS)
    index.add(np.arange(300), vectors)
    index.remove(np.arange(0, 300, 3))
    found_labels, found_vectors = index.items()
    order = np.argsort(found_labels)
    expected = np.setdiff1d(np.arange(300), np.arange(0, 300, 3))
    assert found_labels[order].tolist() == expected.tolist()
    assert found_vectors[order] == pytest.approx(vectors[expected], abs=1e-6)
