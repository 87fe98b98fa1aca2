"""Any sequence of additions, replacements, removals and restarts, against brute force."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from index import snapshot
from index.adaptive import AdaptiveIndex, Job
from index.flat import FlatIndex
from index.hnsw import HnswIndex
from index.similarity import rounded
from index.types import VectorIndex
from tests.index.vectors import labels, near, unit

DIMENSIONS = 16
K = 5

some_labels = st.lists(st.integers(0, 120), min_size=1, max_size=40)
seeds = st.integers(0, 2**31)


class IndexMachine(RuleBasedStateMachine):
    """The model is a dictionary. The index under test is set by the subclasses."""

    is_exact = True

    def __init__(self) -> None:
        super().__init__()
        self.index = self.make()
        self.expected: dict[int, np.ndarray] = {}
        self.found = self.wanted = 0

    def make(self) -> VectorIndex:
        raise NotImplementedError

    @rule(numbers=some_labels, seed=seeds)
    def add(self, numbers: list[int], seed: int) -> None:
        """New labels, known ones with another vector, and the same one twice in a batch."""
        rng = np.random.default_rng(seed)
        vectors = unit(rng, len(numbers), DIMENSIONS)
        self.index.add(labels(*numbers), vectors)
        self.expected.update(zip(numbers, vectors, strict=True))

    @rule(seed=seeds)
    def add_near_what_is_there(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        if self.expected:
            around = self.expected[rng.choice(list(self.expected))]
            vectors = near(rng, np.repeat(around[None], 10, axis=0), 0.98)
            numbers = rng.integers(200, 300, 10).tolist()
            self.index.add(labels(*numbers), vectors)
            self.expected.update(zip(numbers, vectors, strict=True))

    @rule(numbers=some_labels)
    def remove(self, numbers: list[int]) -> None:
        present = {number for number in numbers if number in self.expected}
        assert self.index.remove(labels(*numbers)) == len(present)
        for number in present:
            del self.expected[number]

    @rule()
    def remove_most(self) -> None:
        gone = list(self.expected)[: len(self.expected) * 9 // 10]
        assert self.index.remove(labels(*gone)) == len(gone)
        for number in gone:
            del self.expected[number]

    @rule(seed=seeds)
    def search(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        query = unit(rng, 1, DIMENSIONS)[0]
        numbers = list(self.expected)
        matrix = np.array([self.expected[n] for n in numbers]).reshape(-1, DIMENSIONS)
        truth = rounded(matrix @ query)
        neighbors = self.index.search(query, K)
        assert len(neighbors) == min(K, len(numbers))
        assert len({neighbor.label for neighbor in neighbors}) == len(neighbors)
        by_label = dict(zip(numbers, truth.tolist(), strict=True))
        for neighbor in neighbors:
            # A ghost has no such key, a replaced vector another similarity.
            assert neighbor.similarity == pytest.approx(by_label[neighbor.label], abs=2e-6)
        best = sorted(by_label, key=lambda n: (-by_label[n], n))[:K]
        self.wanted += len(best)
        self.found += len({neighbor.label for neighbor in neighbors} & set(best))

    @invariant()
    def knows_what_it_holds(self) -> None:
        assert len(self.index) == len(self.expected)
        held, _ = self.index.items()
        assert sorted(held.tolist()) == sorted(self.expected)
        assert all(number in self.index for number in self.expected)

    def teardown(self) -> None:
        if self.wanted:
            # Ties at the sixth decimal may swap the last place of an exact search.
            assert self.found / self.wanted >= (0.99 if self.is_exact else 0.95)


class FlatMachine(IndexMachine):
    def make(self) -> VectorIndex:
        return FlatIndex(DIMENSIONS)


class HnswMachine(IndexMachine):
    is_exact = False

    def make(self) -> VectorIndex:
        return HnswIndex(DIMENSIONS, capacity=4)


class AdaptiveMachine(IndexMachine):
    """Upkeep happens when the machine says so, in between anything."""

    is_exact = False

    def make(self) -> AdaptiveIndex:
        self.jobs: list[Job] = []
        return AdaptiveIndex(DIMENSIONS, crossing=50, run=self.jobs.append)

    @rule()
    def upkeep(self) -> None:
        while self.jobs:
            self.jobs.pop()()

    @rule(sequence=st.integers(0, 2**40))
    def restart(self, sequence: int) -> None:
        assert isinstance(self.index, AdaptiveIndex)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "partition"
            snapshot.save(path, self.index, fingerprint="f", sequence=sequence)
            loaded = snapshot.load(path, fingerprint="f")
        assert loaded.sequence == sequence
        self.jobs.clear()
        self.index = loaded.index


_settings = settings(max_examples=80, stateful_step_count=40, deadline=None)

TestFlat = FlatMachine.TestCase
TestFlat.settings = _settings
TestHnsw = HnswMachine.TestCase
TestHnsw.settings = _settings
TestAdaptive = AdaptiveMachine.TestCase
TestAdaptive.settings = _settings
