"""The change of shape: what it does, and that nobody notices."""

import threading
import time

import numpy as np

from index.adaptive import AdaptiveIndex, Job
from index.flat import FlatIndex
from index.types import Neighbor
from tests.index.vectors import clustered, labels, near, unit

DIMENSIONS = 32


def settle(jobs: list[Job]) -> None:
    while jobs:
        jobs.pop()()


def test_it_stays_exact_up_to_the_crossing() -> None:
    jobs: list[Job] = []
    index = AdaptiveIndex(DIMENSIONS, crossing=100, run=jobs.append)
    index.add(np.arange(100), unit(np.random.default_rng(0), 100, DIMENSIONS))
    assert jobs == []
    assert index.is_settled
    index.add(labels(100), unit(np.random.default_rng(1), 1, DIMENSIONS))
    assert len(jobs) == 1
    assert not index.is_settled
    settle(jobs)
    assert index.is_settled
    assert len(index) == 101


def test_small_partitions_do_not_pay_for_a_graph() -> None:
    """A thousand tenants with ten entries each: under 100 MB."""
    index = AdaptiveIndex(384)
    index.add(np.arange(10), unit(np.random.default_rng(0), 10, 384))
    assert 1000 * index.memory_bytes < 100e6


def test_one_job_at_a_time() -> None:
    jobs: list[Job] = []
    index = AdaptiveIndex(DIMENSIONS, crossing=10, run=jobs.append)
    for label in range(50):
        index.add(labels(label), unit(np.random.default_rng(label), 1, DIMENSIONS))
    assert len(jobs) == 1


def test_a_background_that_never_runs_leaves_exact_answers() -> None:
    rng = np.random.default_rng(2)
    index = AdaptiveIndex(DIMENSIONS, crossing=10, run=lambda job: None)
    vectors = unit(rng, 200, DIMENSIONS)
    index.add(np.arange(200), vectors)
    assert [index.search(v, 1)[0].label for v in vectors] == list(range(200))


def test_recall_of_both_parts_together() -> None:
    rng = np.random.default_rng(3)
    vectors = clustered(rng, 4000, DIMENSIONS)
    jobs: list[Job] = []
    index, oracle = AdaptiveIndex(DIMENSIONS, crossing=3000, run=jobs.append), FlatIndex(DIMENSIONS)
    oracle.add(np.arange(4000), vectors)
    index.add(np.arange(3900), vectors[:3900])
    settle(jobs)
    index.add(np.arange(3900, 4000), vectors[3900:])
    assert jobs == []
    asked = near(rng, vectors[rng.integers(4000, size=400)], rng.uniform(0.86, 0.99, 400))
    found = sum(index.search(q, 1)[0].label == oracle.search(q, 1)[0].label for q in asked)
    assert found >= 398


def test_replacing_and_removing_while_vectors_are_moved() -> None:
    """Whatever happens between taking vectors from one part and naming them in the other."""
    rng = np.random.default_rng(4)
    jobs: list[Job] = []
    index = AdaptiveIndex(DIMENSIONS, crossing=10, run=jobs.append)
    vectors = unit(rng, 20, DIMENSIONS)
    index.add(np.arange(20), vectors)
    replacement = unit(rng, 1, DIMENSIONS)

    original = AdaptiveIndex._move

    class Interrupted(Exception):
        pass

    def interrupt(settled: object) -> None:
        stage = settled.stage  # type: ignore[attr-defined]

        def stage_then_change(rows: np.ndarray) -> np.ndarray:
            slots = stage(rows)
            index.remove(labels(3))
            index.add(labels(5), replacement)
            index.remove(labels(7))
            index.add(labels(7), vectors[7:8])
            settled.stage = stage  # type: ignore[attr-defined]
            return slots

        settled.stage = stage_then_change  # type: ignore[attr-defined]
        original(index, settled)  # type: ignore[arg-type]
        raise Interrupted

    index._move = interrupt  # type: ignore[method-assign]
    try:
        jobs.pop()()
    except Interrupted:
        del index._move
    for _ in range(2):
        assert 3 not in index
        assert all(n.label != 3 for n in index.search(vectors[3], 20))
        assert index.search(replacement[0], 1) == [Neighbor(5, 1.0)]
        assert index.search(vectors[5], 1)[0].similarity < 1.0
        assert index.search(vectors[7], 1) == [Neighbor(7, 1.0)]
        assert len(index) == len(index.search(vectors[0], 100)) == 19
        index.upkeep()


def test_a_graph_of_the_dead_is_built_anew() -> None:
    rng = np.random.default_rng(5)
    index = AdaptiveIndex(DIMENSIONS, crossing=100, run=lambda job: job())
    vectors = unit(rng, 1000, DIMENSIONS)
    index.add(np.arange(1000), vectors)
    before = index.memory_bytes
    index.remove(np.arange(300, 1000))
    assert index.is_settled
    assert index.memory_bytes < before
    assert [index.search(v, 1)[0].label for v in vectors[:300]] == list(range(300))
    assert len(index) == 300


def test_a_graph_that_has_become_small_is_exact_again() -> None:
    rng = np.random.default_rng(6)
    index = AdaptiveIndex(DIMENSIONS, crossing=100, run=lambda job: job())
    vectors = unit(rng, 1000, DIMENSIONS)
    index.add(np.arange(1000), vectors)
    assert index.memory_bytes > 2_000_000
    index.remove(np.arange(20, 1000))
    assert index.memory_bytes < 100_000
    assert [index.search(v, 1)[0].label for v in vectors[:20]] == list(range(20))


def test_searches_beside_every_kind_of_change() -> None:
    """C-134: growth, moves and rebuilds under readers: no error, no ghost, nothing lost."""
    rng = np.random.default_rng(7)
    vectors = clustered(rng, 6000, DIMENSIONS)
    index = AdaptiveIndex(DIMENSIONS, crossing=300)
    kept = np.arange(0, 100)
    index.add(kept, vectors[kept])
    gone = np.arange(100, 200)
    index.add(gone, vectors[gone])
    index.remove(gone)
    problems: list[object] = []
    done = threading.Event()

    def read(seed: int) -> None:
        own = np.random.default_rng(seed)
        try:
            while not done.is_set():
                label = int(own.integers(100))
                found = index.search(vectors[label], 3)
                if found[0].similarity != 1.0 or label not in [n.label for n in found]:
                    problems.append((label, found))
                ghosts = [n for n in index.search(vectors[100 + label], 3) if 100 <= n.label < 200]
                if ghosts:
                    problems.append(ghosts)
        except Exception as error:
            problems.append(error)

    def write(first: int) -> None:
        try:
            for start in range(first, first + 2800, 50):
                block = np.arange(start, start + 50)
                index.add(block, vectors[block])
                index.remove(block[::2])
                index.add(block[::4], vectors[block[::4]])
                index.remove(block[1::4])
        except Exception as error:
            problems.append(error)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(2)]
    writers = [threading.Thread(target=write, args=(first,)) for first in (200, 3000)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    deadline = time.monotonic() + 20
    while not index.is_settled and time.monotonic() < deadline:
        time.sleep(0.01)
    done.set()
    for thread in readers:
        thread.join()
    assert problems == []
    block = np.arange(200, 5800).reshape(-1, 50)
    expected = {*kept.tolist(), *block[:, ::4].ravel().tolist(), *block[:, 3::4].ravel().tolist()}
    held, _ = index.items()
    assert sorted(held.tolist()) == sorted(expected)
    assert len(index) == len(expected)
