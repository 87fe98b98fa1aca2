"""Workers that are killed while they store, snapshot or migrate, and workers that start together."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, pool

from service.settings import Settings
from service.storage import migrate
from service.storage.models import Base
from tests.faults.conftest import Server
from tests.faults.parts import LIMITS, Clients, Row, make_line, well_after
from tests.workers import Worker, worker

KILLS = 2

pytestmark = pytest.mark.timeout(300)

SMALL = LIMITS | {"service.partitions.CROSSING": 64, "service.partitions.SNAPSHOT_S": 0.0}
"""Partitions of 64 entries are saved to disk, at every pass of the upkeep."""


@pytest.mark.slow
async def test_kill_9_while_storing(database_url: str, tmp_path: Path, row: Row) -> None:
    """One of two workers dies in the middle of stores, again and again; the other goes on."""
    clients = Clients()
    other = Clients(prefix="other")
    slowest = 0.0
    async with worker(tmp_path, database_url) as survivor:
        await make_line(survivor.url)
        until = asyncio.Event()
        at_work = asyncio.create_task(other.work(survivor.url, until, pause_s=0.1))
        for _ in range(KILLS):
            victim = Worker(tmp_path, database_url)
            await victim.ready()
            try:
                async with clients.working(victim.url, clients=4):
                    await clients.told(12)
                    victim.kill()
            finally:
                victim.kill()
        until.set()
        await at_work
        again = Worker(tmp_path, database_url)
        try:
            slowest = await again.ready() + await well_after(again.url)
            lost = await clients.lost(again.url) + await other.lost(again.url)
        finally:
            again.end()
    assert not clients.wrong + other.wrong
    assert set(other.seen) <= {"store 201", "hit"}, other.seen
    assert other.slowest_s < 5
    answered = len(clients.acknowledged) + len(other.acknowledged)
    assert len(clients.acknowledged) >= 12 * KILLS
    saw = f"of the killed one: connections that break; of the other: no error, slowest {other.slowest_s:.2f} s"
    row(
        "kill -9 of a worker while it stores", saw=saw, lost=len(lost), of=answered,
        recovery_s=slowest,
    )  # fmt: skip


@pytest.mark.slow
async def test_kill_9_while_saving_a_snapshot(sqlite_url: str, tmp_path: Path, row: Row) -> None:
    """What is half written is never read; the next start has every entry, by key and by meaning."""
    model = tmp_path / "model"
    model.write_text("hash")
    given = {"knobs": SMALL, "FAULT_MODEL": str(model)}
    clients = Clients(rewords=True)
    victim = Worker(tmp_path, sqlite_url, **given)  # type: ignore[arg-type]
    try:
        await victim.ready()
        await make_line(victim.url, mode="serve", threshold=0.9)
        async with clients.working(victim.url):
            ends = time.monotonic() + 60
            while not list((tmp_path / "snapshots").glob("*.snapshot*")):
                assert time.monotonic() < ends, victim.log.read_text()
                await asyncio.sleep(0)
            victim.kill()  # the first one has just appeared, whole or not
    finally:
        victim.kill()
    async with worker(tmp_path, sqlite_url, **given) as again:
        recovery = time.monotonic() - again.began
        recovery += await well_after(again.url)
        lost = await clients.lost(again.url)
        found = await near(clients, again.url)
    assert len(clients.acknowledged) > 60
    assert found == len(clients.acknowledged)
    row(
        "kill -9 of a worker while it saves a snapshot",
        saw="connections that break",
        lost=len(lost),
        of=len(clients.acknowledged),
        recovery_s=recovery,
    )


async def near(clients: Clients, url: str) -> int:
    """How many acknowledged answers are found by other words, too."""
    found = 0
    async with httpx2.AsyncClient(base_url=url, timeout=30) as http:
        for prompt, answer in clients.acknowledged.items():
            body = {"line": clients.line, "prompt": prompt + "?"}
            reply = (await http.post("/v1/lookup", json=body)).json()
            found += reply.get("tier") == "semantic" and reply["response"] == answer
    return found


def _statements(url: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.migrating", url, "0"],
        capture_output=True,
        check=True,
        text=True,
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_kill_9_while_migrating(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, row: Row
) -> None:
    """Killed after the first, the last and some statements between: the next start brings the newest schema."""

    def fresh() -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / f'{time.monotonic_ns()}.db'}"
        server: Server = request.getfixturevalue("server")
        name = f"m_{time.monotonic_ns()}"
        server.run(f"CREATE DATABASE {name}")
        return server.url(name)

    total = _statements(fresh())
    slowest = 0.0
    for after in (1, total // 3, 2 * total // 3, total - 3)[:: 1 if kind == "sqlite" else 2]:
        url = fresh()
        killed = subprocess.run(
            [sys.executable, "-m", "tests.faults.migrating", url, str(after)], check=False
        )
        assert killed.returncode == -signal.SIGKILL, after
        began = time.monotonic()
        migrate.upgrade(url)
        slowest = max(slowest, time.monotonic() - began)
        engine = create_engine(url, poolclass=pool.NullPool)
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": False})
            assert compare_metadata(context, Base.metadata) == [], after
    row(
        "kill -9 during the migration",
        saw="nothing: no worker serves before its schema is current",
        lost=0,
        of=0,
        recovery_s=slowest,
    )


@pytest.mark.slow
async def test_two_starters_on_one_empty_data_directory(tmp_path: Path, row: Row) -> None:
    """Both migrate, both make the keys and the models' files; both serve the same cache."""
    workers = [Worker(tmp_path / "data") for _ in range(2)]
    try:
        took = [await one.ready("/readyz") for one in workers]
        await make_line(workers[0].url)
        clients = [Clients(prefix=str(n)) for n in range(2)]
        until = asyncio.Event()
        tasks = [
            asyncio.create_task(one.work(started.url, until))
            for one, started in zip(clients, workers, strict=True)
        ]
        await asyncio.sleep(0.5)
        until.set()
        await asyncio.gather(*tasks)
        lost = await clients[0].lost(workers[1].url) + await clients[1].lost(workers[0].url)
    finally:
        for one in workers:
            one.end()
    for one in clients:
        assert set(one.seen) == {"store 201", "hit"}, one.seen
        assert not one.wrong
    row(
        "two starters on one empty data directory",
        saw="both answer; no error",
        lost=len(lost),
        of=sum(len(c.acknowledged) for c in clients),
        recovery_s=max(took),
    )


def test_starters_agree_on_the_sampling_key(tmp_path: Path) -> None:
    """Whoever comes second reads a whole key, never the empty file of one that is being written."""
    ask = (
        "import sys, time; from pathlib import Path; from service.settings import Settings\n"
        "settings = [Settings(data_dir=Path(sys.argv[1]) / str(n)) for n in range(300)]\n"
        "time.sleep(max(0, float(sys.argv[2]) - time.time()))\n"
        "print(*(s.sampling_secret().hex() or 'empty' for s in settings))"
    )
    at = str(time.time() + 2.5)
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", ask, str(tmp_path), at], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    told = [starter.communicate(timeout=60)[0].split() for starter in starters]
    assert [len(one) for one in told] == [300] * 3
    assert told[0] == told[1] == told[2]
    assert {len(secret) for secret in told[0]} == {64}


def test_a_key_file_that_a_crash_left_empty_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "sampling.key").touch()
    first = Settings(data_dir=tmp_path).sampling_secret()
    assert len(first) == 32
    assert Settings(data_dir=tmp_path).sampling_secret() == first


def test_the_database_file_is_whole_after_a_kill(tmp_path: Path, sqlite_url: str) -> None:
    """SQLite's own check, after a writer was killed in the middle of large stores."""

    async def run() -> Clients:
        clients = Clients(size=200_000)
        victim = Worker(tmp_path, sqlite_url)
        await victim.ready()
        try:
            await make_line(victim.url)
            async with clients.working(victim.url, clients=4):
                await clients.told(8)
                victim.kill()
        finally:
            victim.kill()
        return clients

    clients = asyncio.run(run())
    assert len(clients.acknowledged) > 5
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    held = {
        bytes(found[0]).decode() for found in connection.execute("SELECT response FROM entries")
    }
    connection.close()
    assert {f'"{answer}"' for answer in clients.acknowledged.values()} <= held
