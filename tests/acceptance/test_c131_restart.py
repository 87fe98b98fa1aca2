"""C-131: after a restart the index is empty, or entries are doubled, or keys no longer match."""

import random
from pathlib import Path

import httpx2
import pytest

from tests.acceptance.many import found_by, live, seed
from tests.harness import Client, running
from tests.two_workers import PairClient, two_workers

PROMPTS = [f"What does paragraph {n} of the handbook say" for n in range(2_500)]
EXPIRED = [f"What does paragraph {n} of the old handbook say" for n in range(40)]
DELETED = PROMPTS[:20]
SAMPLES = random.Random(9).sample(PROMPTS[20:], 200)
LIVE = len(PROMPTS) - len(DELETED)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_c131_restarts_keep_everything_and_double_nothing(
    database_url: str, tmp_path: Path
) -> None:
    """2,500 entries, some expired or deleted; one worker, then two, each restarted in turn, find the same."""
    async with running(database_url, tmp_path / "first") as client:
        await client.line()
        await seed(client, PROMPTS)
        await seed(client, EXPIRED, expires_ms=client.cache.clock_ms() - 1)
        for text in DELETED:
            entry_id = (await client.lookup(text))["entry_id"]
            await client.call("DELETE", f"/v1/entries/{entry_id}")
        assert await live(client) == LIVE
    async with running(database_url, tmp_path / "first") as client:
        await _finds_the_same(client, SAMPLES[:5])
        # rows that expired are only proposed, never served; every live one is in the index once
        in_index = sum(len(p.index) for p in client.cache.partitions._held.values())
        assert LIVE <= in_index <= LIVE + len(EXPIRED)
    # forked from another process than this one, so they hash text otherwise, as with another PYTHONHASHSEED
    async with two_workers(database_url, tmp_path) as client:
        for round_ in range(3):
            if round_:
                await client.pair.restart(round_ - 1)
            await _finds_the_same(client, SAMPLES[round_::3])
        for worker in client.pair.workers:
            async with httpx2.AsyncClient(base_url=worker.url, timeout=60) as http:
                await _finds_the_same(PairClient(client.pair, http), SAMPLES[:5])


async def _finds_the_same(client: Client, samples: list[str]) -> None:
    assert await live(client) == LIVE
    for text, found in (await found_by(client, samples)).items():
        assert found == ["exact", f"answer to {text}", "semantic", f"answer to {text}"]
    gone = [*EXPIRED[:3], *DELETED[:3]]
    for text, (_, answer, _, near_answer) in (await found_by(client, gone)).items():
        assert f"answer to {text}" not in (answer, near_answer)
