"""Disks that are full, snapshots that are damaged, and a SQLite file that somebody else holds."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.faults.conftest import Row
from tests.faults.parts import Clients, Worker, make_line, well_after, worker
from tests.faults.test_postgresql import _fill, mild
from tests.faults.test_workers import SMALL, _near

pytestmark = pytest.mark.timeout(300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ENOSPC", "EFBIG"])
async def test_sqlite_is_full(
    kind: str, tmp_path: Path, sqlite_url: str, row: Row, request: pytest.FixtureRequest
) -> None:
    """A file system without room (tmpfs), or a file that may not grow (RLIMIT_FSIZE); then there is room again."""
    limit: Callable[[], None] | None = None
    folder = tmp_path
    if kind == "ENOSPC":
        folder = request.getfixturevalue("small_disk")
        shutil.move(sqlite_url.removeprefix("sqlite:///"), folder / "surehit.db")
        sqlite_url = f"sqlite:///{folder / 'surehit.db'}"
    else:

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, resource.RLIM_INFINITY))

    clients = Clients(size=200_000)
    async with worker(tmp_path / "data", sqlite_url, limit=limit) as one:
        await make_line(one.url)
        async with clients.working(one.url):
            await clients.told(3)
            if kind == "ENOSPC":
                await asyncio.to_thread(_fill, folder / "filler")
            while clients.seen["store 503"] < 5:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            before = clients.seen["hit"]
            while clients.seen["hit"] < before + 5:  # noqa: ASYNC110 - hits go on
                await asyncio.sleep(0.05)
            if kind == "ENOSPC":
                (folder / "filler").unlink()
            else:
                infinity = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, infinity)
            recovery = await well_after(one.url)
        lost = await clients.lost(one.url)
    assert mild(clients.seen), clients.seen
    assert not clients.wrong
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    row(f"disk full, SQLite ({kind})", saw=clients.summary(), lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


@pytest.mark.slow
async def test_somebody_else_writes_to_the_sqlite_file(
    tmp_path: Path, sqlite_url: str, row: Row
) -> None:
    """A write lock held for longer than stores wait."""
    clients = Clients()
    async with worker(tmp_path, sqlite_url) as one:
        await make_line(one.url)
        async with clients.working(one.url):
            await clients.told(5)
            other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            async with httpx2.AsyncClient(base_url=one.url, timeout=10) as http:
                began = time.monotonic()
                found = await http.post("/v1/lookup", json={"line": clients.line, "prompt": "new"})
                assert found.json()["reason"] == "degraded"
                assert time.monotonic() - began < 4
                for _ in range(5):
                    assert await clients.lookup(http, "q 1") == "exact"
            await asyncio.sleep(12)  # a store may wait behind another group that waits 5 s
            other.execute("ROLLBACK")
            other.close()
            recovery = await well_after(one.url)
        lost = await clients.lost(one.url)
    assert mild(clients.seen), clients.seen
    assert clients.seen["store 503"]
    row("somebody else holds SQLite's write lock for 13 s", saw=clients.summary() + "; hits go on",
        lost=len(lost), of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["no room", "flipped bits"])
async def test_snapshots(
    damage: str, tmp_path: Path, sqlite_url: str, row: Row, request: pytest.FixtureRequest
) -> None:
    """No room to write one, or a written one that was damaged: the rows are the truth."""
    model = tmp_path / "model"
    model.write_text("hash")
    data = tmp_path / "data"
    data.mkdir()
    if damage == "no room":
        disk: Path = request.getfixturevalue("small_disk")
        (data / "snapshots").symlink_to(disk)
        _fill(disk / "filler")
    clients = Clients(prefix=damage, rewords=True)
    one = Worker(data, sqlite_url, knobs=SMALL, FAULT_MODEL=str(model))
    try:
        await one.ready()
        await make_line(one.url, mode="serve", threshold=0.9)
        async with clients.working(one.url):
            await clients.told(80)
            await _until(lambda: _has_saved(data) or "snapshot_failed" in one.log.read_text())
    finally:
        one.end()
    log = one.log.read_text()
    if damage == "no room":
        assert "snapshot_failed" in log
        assert not _has_saved(data)
        assert [p.name for p in (data / "snapshots").iterdir()] == [
            "filler"
        ]  # nothing half written
    else:
        (file,) = (data / "snapshots").glob("*.snapshot")
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)
    async with worker(data, sqlite_url, knobs=SMALL, FAULT_MODEL=str(model)) as again:
        began = time.monotonic()
        near = await _near(clients, again.url)
        recovery = time.monotonic() - began
        lost = await clients.lost(again.url)
        log = again.log.read_text()
    assert ("snapshot_ignored" in log) == (damage == "flipped bits")
    assert near == len(clients.acknowledged)
    assert set(clients.seen) == {"store 201", "hit"}, clients.seen
    row(f"snapshots: {damage}", saw="nothing; the log says so", lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


def _has_saved(data: Path) -> bool:
    return bool(list((data / "snapshots").glob("*.snapshot")))


async def _until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends
        await asyncio.sleep(0.05)
