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

from tests.faults.conftest import fill
from tests.faults.parts import IN_EARNEST, Clients, Row, make_line, under_load
from tests.faults.test_workers import SMALL, near
from tests.workers import Limits, Worker, worker

pytestmark = pytest.mark.timeout(300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ENOSPC", "EFBIG"])
async def test_sqlite_is_full(
    kind: str, tmp_path: Path, sqlite_url: str, row: Row, request: pytest.FixtureRequest
) -> None:
    """A file system without room (tmpfs), or a file that may not grow (RLIMIT_FSIZE); then there is room again."""
    limits: Limits | None = None
    folder = tmp_path
    if kind == "ENOSPC":
        folder = request.getfixturevalue("small_disk")
        shutil.move(sqlite_url.removeprefix("sqlite:///"), folder / "surehit.db")
        sqlite_url = f"sqlite:///{folder / 'surehit.db'}"
    else:
        limits = {resource.RLIMIT_FSIZE: (6 << 20, resource.RLIM_INFINITY)}
    async with under_load(
        sqlite_url, tmp_path / "data", clients=Clients(size=200_000), first=3, limits=limits
    ) as scene:
        if kind == "ENOSPC":
            await asyncio.to_thread(fill, folder / "filler")
        await scene.clients.see("store 503", 5)
        await scene.clients.see("hit", 5)  # hits go on
        if kind == "ENOSPC":
            (folder / "filler").unlink()
        else:
            infinity = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(scene.one.pid, resource.RLIMIT_FSIZE, infinity)
        await scene.recovers()
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    scene.note(row, f"disk full, SQLite ({kind})")


@pytest.mark.slow
async def test_somebody_else_writes_to_the_sqlite_file(
    tmp_path: Path, sqlite_url: str, row: Row
) -> None:
    """A write lock held for longer than stores wait."""
    async with under_load(sqlite_url, tmp_path, first=5) as scene:
        other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        held = time.monotonic()
        async with httpx2.AsyncClient(base_url=scene.one.url, timeout=10) as http:
            began = time.monotonic()
            body = {"line": scene.clients.line, "prompt": "new"}
            found = await http.post("/v1/lookup", json=body)
            assert found.json()["reason"] == "degraded"
            assert time.monotonic() - began < 4
            for _ in range(5):
                assert await scene.clients.lookup(http, "q 1") == "exact"
        await scene.clients.see("store 503", 2)
        if IN_EARNEST:  # a store may wait behind another group that waits 5 s
            await asyncio.sleep(12)
        other.execute("ROLLBACK")
        other.close()
        held = time.monotonic() - held
        await scene.recovers()
    scene.note(
        row, f"somebody else holds SQLite's write lock for {held:.0f} s", more="; hits go on"
    )


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
        fill(disk / "filler")
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
        found = await near(clients, again.url)
        recovery = time.monotonic() - began
        lost = await clients.lost(again.url)
        log = again.log.read_text()
    assert ("snapshot_ignored" in log) == (damage == "flipped bits")
    assert found == len(clients.acknowledged)
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
