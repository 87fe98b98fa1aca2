"""A PostgreSQL that stops, hangs, is slow, full, out of connections, or out of a worker's reach."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections import Counter
from pathlib import Path

import httpx2
import psycopg
import pytest
from sqlalchemy import select, text

from service.errors import Unavailable
from service.storage.database import open_database
from service.storage.query import Query
from tests.faults.conftest import Row, Server
from tests.faults.parts import LINE, Clients, Link, Worker, make_line, well_after, worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OUTAGE_S = 9.0

SOON_S = 8.0
"""To be well again: one connection that hangs (5 s), one pause (2 s), some reserve for a busy machine."""


def mild(seen: Counter[str]) -> bool:
    """True when clients saw answers, misses that say `degraded`, and stores that were refused as unavailable."""
    allowed = {"hit", "miss (degraded)", "store 201", "store 503"}
    return set(seen) <= allowed


async def test_database_stopped_and_started(server: Server, tmp_path: Path, row: Row) -> None:
    """`pg_ctl stop -m immediate`, as a crash; later it starts again, through recovery."""
    clients = Clients()
    async with worker(tmp_path, server.url(server.database())) as one:
        await make_line(one.url)
        async with clients.working(one.url):
            await clients.told(10)
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(OUTAGE_S)
            async with httpx2.AsyncClient(base_url=one.url, timeout=10) as http:
                assert (await http.get("/healthz")).status_code == 200
                assert (await http.get("/readyz")).status_code == 503
            await asyncio.to_thread(server.start)
            recovery = await well_after(one.url)
        lost = await clients.lost(one.url)
    assert mild(clients.seen), clients.seen
    assert clients.seen["miss (degraded)"]
    assert clients.seen["store 503"]
    assert clients.slowest_lookup_s < 5
    assert not clients.wrong
    assert recovery < SOON_S
    row("database crashed, started again", saw=clients.summary(), lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


async def test_database_restarted_at_once(server: Server, tmp_path: Path, row: Row) -> None:
    clients = Clients()
    async with worker(tmp_path, server.url(server.database())) as one:
        await make_line(one.url)
        async with clients.working(one.url):
            await clients.told(10)
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            recovery = await well_after(one.url)
            await clients.told(10)
        lost = await clients.lost(one.url)
    assert mild(clients.seen), clients.seen
    assert not clients.wrong
    assert recovery < SOON_S
    row("database restarted", saw=clients.summary(), lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


@pytest.mark.parametrize("how", ["answers again", "another takes its place"])
async def test_database_falls_silent(server: Server, tmp_path: Path, row: Row, how: str) -> None:
    """No byte comes back; then the connections live on, or (failover) only new ones are answered."""
    clients = Clients()
    link = Link(server.socket)
    async with (
        link.running(),
        worker(tmp_path, server.url(server.database(), port=link.port)) as one,
    ):
        await make_line(one.url)
        async with clients.working(one.url):
            await clients.told(10)
            link.hold()
            await asyncio.sleep(OUTAGE_S)
            async with httpx2.AsyncClient(base_url=one.url, timeout=10) as http:
                began = time.monotonic()
                for _ in range(3):
                    await clients.lookup(http, "q 1")
                assert time.monotonic() - began < 12
            link.go_on(with_old=how == "answers again")
            recovery = await well_after(one.url)
        lost = await clients.lost(one.url)
    assert mild(clients.seen), clients.seen
    assert clients.seen["miss (degraded)"]
    assert clients.slowest_lookup_s < 5
    assert clients.slowest_s < 35
    assert not clients.wrong
    # a writer that waits for a connection that is dead is cut after 20 s
    assert recovery < (SOON_S if how == "answers again" else 25)
    row(f"database falls silent, {how}", saw=clients.summary(), lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


async def test_database_is_slow(server: Server, tmp_path: Path, row: Row) -> None:
    """Every packet takes 0.3 s longer each way."""
    clients = Clients()
    link = Link(server.socket)
    async with (
        link.running(),
        worker(tmp_path, server.url(server.database(), port=link.port)) as one,
    ):
        await make_line(one.url)
        async with clients.working(one.url):
            await clients.told(10)
            link.delay_s = 0.3
            await asyncio.sleep(6)
            link.delay_s = 0.0
            recovery = await well_after(one.url)
        lost = await clients.lost(one.url)
    assert mild(clients.seen), clients.seen
    assert clients.slowest_lookup_s < 5
    assert not clients.wrong
    assert recovery < SOON_S
    row("database slow (0.3 s per packet and direction)", saw=clients.summary(), lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


async def test_database_is_full(server: Server, tmp_path: Path, small_disk: Path, row: Row) -> None:
    """The disk of its tables takes nothing more (ENOSPC); then there is room again."""
    folder = small_disk / "space"
    folder.mkdir()
    if server.user:
        shutil.chown(folder, server.user)
    space = f"full_{time.monotonic_ns()}"
    server.run(f"CREATE TABLESPACE {space} LOCATION '{folder}'")
    name = server.database(options=f"TABLESPACE {space}")
    clients = Clients(size=300_000)
    try:
        async with worker(tmp_path, server.url(name)) as one:
            await make_line(one.url)
            filler = small_disk / "filler"
            async with clients.working(one.url):
                await clients.told(3)
                _fill(filler)
                while clients.seen["store 503"] < 5:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                before = clients.seen["hit"]
                while clients.seen["hit"] < before + 5:  # noqa: ASYNC110 - hits go on
                    await asyncio.sleep(0.05)
                filler.unlink()
                recovery = await well_after(one.url)
            lost = await clients.lost(one.url)
    finally:
        server.run(f"DROP DATABASE {name} WITH (FORCE)")
        server.run(f"DROP TABLESPACE {space}")
    assert mild(clients.seen), clients.seen
    assert not clients.wrong
    assert recovery < SOON_S
    row("database disk full (ENOSPC)", saw=clients.summary(), lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


def _fill(path: Path) -> None:
    """Take all room that is left."""
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 4096, 512):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue


async def test_no_connection_is_left(server: Server, tmp_path: Path, row: Row) -> None:
    """Others take every connection that the role may have, also those of this worker; then they let go."""
    name, role = server.database(), f"role_{time.monotonic_ns()}"
    server.run(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 6")
    with psycopg.connect(server.address.replace("/postgres?", f"/{name}?"), autocommit=True) as own:
        own.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
        own.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}")
    url = server.url(name).replace("postgres:@", f"{role}:@").replace("postgres@", f"{role}@")
    address = url.replace("postgresql+psycopg://", "postgresql://")
    clients = Clients()
    taken: list[psycopg.Connection[tuple[object, ...]]] = []
    try:
        async with worker(tmp_path, url) as one:
            await make_line(one.url)
            async with clients.working(one.url, clients=12):  # more than the pool may grow to
                await clients.told(24)
                assert mild(clients.seen), clients.seen
                ends = time.monotonic() + 20
                while len(taken) < 6 and time.monotonic() < ends:
                    server.run(
                        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}' "
                        f"AND pid <> ALL (ARRAY{[c.info.backend_pid for c in taken] or [0]})"
                    )
                    try:
                        while len(taken) < 6:
                            taken.append(psycopg.connect(address))
                    except psycopg.OperationalError:
                        continue
                assert len(taken) == 6
                degraded = clients.seen["miss (degraded)"]
                while clients.seen["miss (degraded)"] < degraded + 5:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                refused = Worker(tmp_path, url)
                try:
                    code = await asyncio.to_thread(refused.process.wait, 100)
                finally:
                    refused.process.kill()
                said = refused.log.read_text()
                assert code == 2, said
                assert "too many connections" in said
                assert "Traceback" not in said
                for connection in taken:
                    connection.close()
                recovery = await well_after(one.url)
            lost = await clients.lost(one.url)
    finally:
        for connection in taken:
            connection.close()
        server.run(f"DROP DATABASE {name} WITH (FORCE)")
        server.run(f"DROP ROLE {role}")
    assert mild(clients.seen), clients.seen
    assert clients.slowest_lookup_s < 8
    assert not clients.wrong
    assert recovery < SOON_S
    row("database gives no more connections", saw=clients.summary(), lost=len(lost),
        of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


async def test_a_worker_is_cut_off_and_comes_back(server: Server, tmp_path: Path, row: Row) -> None:
    """What the other one invalidated meanwhile is never served by the one that did not hear of it."""
    name = server.database()
    clients = Clients()
    link = Link(server.socket)
    async with (
        link.running(),
        worker(tmp_path, server.url(name, port=link.port)) as cut,
        worker(tmp_path, server.url(name)) as other,
    ):
        await make_line(cut.url)
        async with (
            httpx2.AsyncClient(base_url=cut.url, timeout=30) as here,
            httpx2.AsyncClient(base_url=other.url, timeout=30) as there,
        ):
            for _ in range(20):
                await clients.store(here)
            gone = list(clients.acknowledged)[:10]
            for prompt in gone:
                assert await clients.lookup(here, prompt) == "exact"
            link.refuses = True
            link.cut()
            for prompt in gone:
                found = (
                    await there.post("/v1/lookup", json={"line": LINE, "prompt": prompt})
                ).json()
                reply = await there.post("/v1/invalidate", json={"entry_id": found["entry_id"]})
                assert reply.json() == {"invalidated": 1}
                del clients.acknowledged[prompt]
                assert await clients.lookup(here, prompt) == "degraded"
            link.go_on()
            recovery = await well_after(cut.url)
            for prompt in gone:
                assert await clients.lookup(here, prompt) in ("empty", "mode")
        lost = await clients.lost(cut.url)
    assert not clients.wrong
    assert clients.seen["miss (degraded)"] == len(gone)
    assert recovery < SOON_S
    row("a worker is cut off from the database and comes back, while the other invalidates",
        saw=f"of the one cut off: misses (degraded), no stale answer after; slowest {clients.slowest_s:.1f} s",
        lost=len(lost), of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


async def test_the_pauses_between_tries_do_not_grow(server: Server) -> None:
    """A pool that doubles them (1, 2, 4, 8 s …) would be minutes late after an outage of minutes."""
    link = Link(server.socket)
    async with link.running():
        db = open_database(server.url(server.database(), port=link.port), budget_ms=300)
        await db.open()
        link.refuses = True
        link.cut()
        began = time.monotonic()
        before = 0
        while (since := time.monotonic() - began) < 14:
            if since < 8:
                before = link.attempts
            with contextlib.suppress(Unavailable):
                await db.read(Query("one", select(text("1"))), {})
            await asyncio.sleep(0.2)
        assert link.attempts - before >= 2
        for _ in range(3):  # a writer that cannot connect is an outage, too, and no fault of ours
            with pytest.raises(Unavailable):
                await db.write(lambda tx: tx.text("SELECT 1"))
        link.go_on()
        assert await db.write(lambda tx: tx.text("SELECT 2")) == [(2,)]
        await db.close()
