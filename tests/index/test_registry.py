"""Partitions in memory, and what is forgotten first."""

import threading

import numpy as np
import pytest

from index.adaptive import AdaptiveIndex
from index.registry import IndexRegistry
from index.types import Neighbor
from tests.index.vectors import labels, unit

DIMENSIONS = 64


def fill(index: AdaptiveIndex, count: int, seed: int = 0) -> None:
    index.add(np.arange(count), unit(np.random.default_rng(seed), count, DIMENSIONS))


def test_partitions_never_see_each_other() -> None:
    registry = IndexRegistry(memory_budget_bytes=10**9)
    vector = unit(np.random.default_rng(0), 1, DIMENSIONS)
    registry.get_or_create(b"a", DIMENSIONS).add(labels(1), vector)
    registry.get_or_create(b"b", DIMENSIONS).add(labels(2), vector)
    assert registry.get_or_create(b"a", DIMENSIONS).search(vector[0], 9) == [Neighbor(1, 1.0)]
    assert registry.get_or_create(b"b", DIMENSIONS).search(vector[0], 9) == [Neighbor(2, 1.0)]
    assert registry.get(b"c") is None


def test_the_least_recently_used_goes_first() -> None:
    told: list[bytes] = []
    registry = IndexRegistry(memory_budget_bytes=100_000, on_evict=told.append)
    for key in (b"a", b"b", b"c"):
        fill(registry.get_or_create(key, DIMENSIONS), 150)
        registry.get(key)
    registry.get(b"a")
    assert registry.keep_to_budget() == [b"b", b"c"]
    assert told == [b"b", b"c"]
    assert b"a" in registry
    assert registry.memory_bytes <= 100_000


def test_one_partition_beyond_the_budget_is_kept() -> None:
    registry = IndexRegistry(memory_budget_bytes=1)
    fill(registry.get_or_create(b"a", DIMENSIONS), 100)
    assert registry.keep_to_budget() == []
    assert len(registry) == 1


class Counted(AdaptiveIndex):
    """Counts how often any of its kind is measured."""

    measured = 0

    @property
    def memory_bytes(self) -> int:
        Counted.measured += 1
        return super().memory_bytes


def test_a_change_measures_one_index_however_many_there_are() -> None:
    """Every conversation is a partition: adding all of them up at each change would be quadratic."""
    registry = IndexRegistry(memory_budget_bytes=10**9)
    for n in range(500):
        index = Counted(DIMENSIONS)
        fill(index, 2, seed=n)
        registry.put(n.to_bytes(2, "big"), index)
    before, Counted.measured = registry.memory_bytes, 0
    fill(registry._indexes[b"\0\7"], 1_000)
    assert registry.keep_to_budget(b"\0\7") == []
    assert Counted.measured <= 2
    every = sum(AdaptiveIndex.memory_bytes.fget(i) for i in registry._indexes.values())  # type: ignore[attr-defined]
    assert registry.memory_bytes == every > before
    for key in list(registry._indexes):
        registry.forget(key)
    assert registry.memory_bytes == 0


def test_a_key_belongs_to_one_width() -> None:
    """C-128: vectors of another model are in another partition."""
    registry = IndexRegistry(memory_budget_bytes=10**9)
    registry.get_or_create(b"a", DIMENSIONS)
    with pytest.raises(ValueError, match="dimensions"):
        registry.get_or_create(b"a", DIMENSIONS + 1)


def test_many_threads_get_one_index() -> None:
    registry = IndexRegistry(memory_budget_bytes=10**9)
    barrier = threading.Barrier(8)
    made: list[AdaptiveIndex] = []

    def ask() -> None:
        barrier.wait()
        made.append(registry.get_or_create(b"a", DIMENSIONS))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(index) for index in made}) == 1


def test_graphs_are_built_in_the_registrys_one_thread() -> None:
    registry = IndexRegistry(memory_budget_bytes=10**9, crossing=50)
    indexes = [registry.get_or_create(bytes([n]), DIMENSIONS) for n in range(3)]
    for index in indexes:
        fill(index, 200)
    registry.close()
    thread = registry._upkeep_thread
    assert thread is not None
    thread.join(20)
    assert not thread.is_alive()
    assert all(index.is_settled for index in indexes)


def test_a_forgotten_or_replaced_index_is_not_used() -> None:
    registry = IndexRegistry(memory_budget_bytes=10**9)
    first = registry.get_or_create(b"a", DIMENSIONS)
    registry.forget(b"a")
    assert registry.get_or_create(b"a", DIMENSIONS) is not first
    loaded = AdaptiveIndex(DIMENSIONS)
    registry.put(b"a", loaded)
    assert registry.get(b"a") is loaded
