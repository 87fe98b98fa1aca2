"""C-129: asking for more neighbours than there are, and growing past the initial size."""

import random
from pathlib import Path

import pytest

from tests.harness import running

CAPACITY = 100


async def test_c129_every_size_answers_and_every_entry_is_found(
    database_url: str, tmp_path: Path
) -> None:
    """0, 1 and 2 entries with k = 8; then three times the size at which the index becomes a graph."""
    async with running(database_url, tmp_path) as client:
        client.cache.partitions._indexes._crossing = CAPACITY
        await client.line(limits={"max_candidates": 8})
        for n in range(3 * CAPACITY):
            prompt = f"What is stored in box {n}"
            if n in (0, 1, 2) or n % 40 == 0:
                found = await client.lookup(prompt + "?")
                assert found.get("tier") != "exact"
                assert found["outcome"] == "miss"
            await client.store(prompt, n)
        (partition,) = client.cache.partitions._held.values()
        assert len(partition.index) == 3 * CAPACITY
        for n in random.Random(3).sample(range(3 * CAPACITY), 100):
            found = await client.lookup(f"What is stored in box {n}?")
            assert (found.get("tier"), found["score"], found["response"]) == ("semantic", 1.0, n)


@pytest.mark.parametrize("k", [1, 5, 8])
async def test_c129_fewer_entries_than_candidates(sqlite_url: str, tmp_path: Path, k: int) -> None:
    """One entry is found whatever number of candidates is asked for."""
    async with running(sqlite_url, tmp_path) as client:
        await client.line(limits={"max_candidates": k})
        await client.store("What is stored in box 1", 1)
        assert (await client.lookup("What is stored in box 1?")).get("tier") == "semantic"
