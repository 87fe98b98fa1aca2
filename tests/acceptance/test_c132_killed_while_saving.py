"""C-132: a crash leaves a file that crashes the loader, or entries that exist in only one place."""

import asyncio
import contextlib
import itertools
import random
import time
from pathlib import Path

import httpx2
import pytest

from service import partitions
from tests.acceptance.many import found_by, seed
from tests.harness import Client, running
from tests.two_workers import PairClient, two_workers

SMALL = 64
"""Entries from which a partition is saved to disk, here."""

ROUNDS = {"sqlite": 5, "postgresql": 4}
QUICK = {
    "service.partitions.CROSSING": SMALL,
    "service.partitions.SNAPSHOT_S": 0.0,
    "service.maintenance.PASS_S": 0.05,
}
"""Partitions of 64 entries are saved twenty times a second."""


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_c132_every_acknowledged_store_survives_kill_9(
    database_url: str, tmp_path: Path
) -> None:
    """One of two workers is killed and started again, round after round, two of five times while it saves a snapshot.

    Both find everything that either had acknowledged, by key and by meaning.
    """
    rng = random.Random(4)
    told: list[str] = []
    async with two_workers(database_url, tmp_path, knobs=QUICK) as client:
        await client.line()
        for round_ in range(ROUNDS[database_url.split("+")[0].split(":")[0]]):
            over = asyncio.Event()
            tasks = [
                asyncio.create_task(_store(client, f"{round_} part {n}", over, told))
                for n in range(2)
            ]
            which, before = round_ % 2, len(told)
            if round_ % 5 < 2:
                folder = tmp_path / "ab"[which] / "snapshots"
                await _grown(told, before + SMALL)
                await _saving(folder)
            else:
                await _grown(told, before + 1)
                await asyncio.sleep(rng.uniform(0.05, 0.4))
            await asyncio.to_thread(client.pair.workers[which].kill)
            over.set()
            await asyncio.gather(*tasks)
            await client.pair.restart(which)
        assert len(told) > 2 * SMALL
        for worker in client.pair.workers:
            async with httpx2.AsyncClient(base_url=worker.url, timeout=60) as http:
                alone = PairClient(client.pair, http)
                await _finds(alone, [*told[-20:], *rng.sample(told, 30)])
        for text in told:
            found = await client.lookup(text)
            assert (found.get("tier"), found["response"]) == ("exact", f"answer to {text}")


async def _store(client: Client, part: str, over: asyncio.Event, told: list[str]) -> None:
    """Store on both in turns; what was acknowledged is told. A worker that is dead gives no answer."""
    for n in itertools.count():
        if over.is_set():
            return
        text = f"What does paragraph {n} of volume {part} say"
        with contextlib.suppress(httpx2.HTTPError):
            await client.lookup(text + "?")
            await client.store(text, f"answer to {text}")
            told.append(text)
        await asyncio.sleep(0.01)


async def _grown(told: list[str], size: int) -> None:
    while len(told) < size:  # noqa: ASYNC110 - several tell
        await asyncio.sleep(0.005)


async def _saving(folder: Path) -> None:
    """Until a snapshot is being written, or has just been."""
    ends = time.monotonic() + 30
    seen = _snapshots(folder)
    while _snapshots(folder) == seen:
        assert time.monotonic() < ends
        await asyncio.sleep(0)


def _snapshots(folder: Path) -> set[tuple[str, int]]:
    found = set()
    for path in folder.glob("*.snapshot*"):
        with contextlib.suppress(FileNotFoundError):
            found.add((path.name, path.stat().st_mtime_ns))
    return found


@pytest.mark.parametrize("damage", ["half", "old", "empty", "foreign"])
async def test_c132_damaged_or_old_snapshot_is_rebuilt_from_the_rows(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """Truncated, from yesterday, empty, or something else altogether: complete after the start."""
    monkeypatch.setattr(partitions, "CROSSING", SMALL)
    first = [f"What does paragraph {n} say" for n in range(100)]
    later = [f"What does paragraph {n} say" for n in range(100, 160)]
    async with running(database_url, tmp_path) as client:
        await client.line()
        await seed(client, first)
        await client.lookup("Anything else")
    (path,) = (tmp_path / "snapshots").glob("*.snapshot")
    yesterday = path.read_bytes()
    async with running(database_url, tmp_path) as client:
        await seed(client, later)
        gone = await client.lookup(first[0])
        await client.call("DELETE", f"/v1/entries/{gone['entry_id']}")
        await client.lookup("Anything else")
    written = path.read_bytes()
    assert written != yesterday
    left = {
        "half": written[: len(written) // 2],
        "old": yesterday,
        "empty": b"",
        "foreign": b"x" * 999,
    }
    path.write_bytes(left[damage])
    async with running(database_url, tmp_path) as client:
        await _finds(client, first[1:] + later)
        found = await client.lookup(first[0] + "?")
        assert found.get("response") != f"answer to {first[0]}"


async def _finds(client: Client, prompts: list[str]) -> None:
    for text, found in (await found_by(client, prompts)).items():
        assert found == ["exact", f"answer to {text}", "semantic", f"answer to {text}"]
