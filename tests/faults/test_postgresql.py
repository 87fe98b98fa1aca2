"""A PostgreSQL that stops, hangs, is slow, full, out of connections, or out of a worker's reach."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from pathlib import Path

import httpx2
import psycopg
import pytest
from sqlalchemy import select, text

from service.errors import Unavailable
from service.storage import postgresql
from service.storage.database import open_database
from service.storage.query import Query
from tests.faults.conftest import Server, fill
from tests.faults.parts import (
    IN_EARNEST,
    LIMITS,
    LINE,
    SOON_S,
    Clients,
    Link,
    Row,
    make_line,
    under_load,
    well_after,
)
from tests.faults.test_workers import near
from tests.workers import Worker, worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OUTAGE_S = 9.0 if IN_EARNEST else 4.0
"""Longer than a try to connect and the pause after it."""


async def test_database_stopped_and_started(server: Server, tmp_path: Path, row: Row) -> None:
    """`pg_ctl stop -m immediate`, as a crash; later it starts again, through recovery."""
    async with under_load(server.url(server.database()), tmp_path) as scene:
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(OUTAGE_S)
        async with httpx2.AsyncClient(base_url=scene.one.url, timeout=10) as http:
            assert (await http.get("/healthz")).status_code == 200
            assert (await http.get("/readyz")).status_code == 503
        await asyncio.to_thread(server.start)
        await scene.recovers()
    assert scene.clients.seen["miss (degraded)"]
    assert scene.clients.seen["store 503"]
    assert scene.clients.slowest_lookup_s < 5
    scene.note(row, "database crashed, started again")


async def test_database_restarted_at_once(server: Server, tmp_path: Path, row: Row) -> None:
    async with under_load(server.url(server.database()), tmp_path) as scene:
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        await scene.recovers()
        await scene.clients.told(10)
    scene.note(row, "database restarted")


@pytest.mark.parametrize("how", ["answers again", "another takes its place"])
async def test_database_falls_silent(server: Server, tmp_path: Path, row: Row, how: str) -> None:
    """No byte comes back; then the connections live on, or (failover) only new ones are answered."""
    link = Link(server.socket)
    async with (
        link.running(),
        under_load(server.url(server.database(), port=link.port), tmp_path) as scene,
    ):
        link.hold()
        await asyncio.sleep(OUTAGE_S)
        async with httpx2.AsyncClient(base_url=scene.one.url, timeout=10) as http:
            began = time.monotonic()
            for _ in range(3):
                await scene.clients.lookup(http, "q 1")
            assert time.monotonic() - began < 12
        link.go_on(with_old=how == "answers again")
        await scene.recovers()
    assert scene.clients.seen["miss (degraded)"]
    assert scene.clients.slowest_lookup_s < 5
    write_s = LIMITS.get("service.storage.postgresql.WRITE_S", postgresql.WRITE_S)
    assert scene.clients.slowest_s < write_s + 15
    # a writer that waits for a connection that is dead is cut after its limit
    silent = write_s + 5 if how == "another takes its place" else SOON_S
    scene.note(row, f"database falls silent, {how}", within_s=silent)


async def test_database_is_slow(server: Server, tmp_path: Path, row: Row) -> None:
    """Every packet takes 0.3 s longer each way."""
    link = Link(server.socket)
    async with (
        link.running(),
        under_load(server.url(server.database(), port=link.port), tmp_path) as scene,
    ):
        link.delay_s = 0.3
        await asyncio.sleep(6 if IN_EARNEST else 4)
        link.delay_s = 0.0
        await scene.recovers()
    assert scene.clients.slowest_lookup_s < 5
    scene.note(row, "database slow (0.3 s per packet and direction)")


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
        async with under_load(server.url(name), tmp_path, clients=clients, first=3) as scene:
            filler = small_disk / "filler"
            fill(filler)
            await clients.see("store 503", 5)
            await clients.see("hit", 5)  # hits go on
            filler.unlink()
            await scene.recovers()
    finally:
        server.run(f"DROP DATABASE {name} WITH (FORCE)")
        server.run(f"DROP TABLESPACE {space}")
    scene.note(row, "database disk full (ENOSPC)")


async def test_no_connection_is_left(server: Server, tmp_path: Path, row: Row) -> None:
    """Others take every connection that the role may have, also those of this worker; then they let go."""
    name, role = server.database(), f"role_{time.monotonic_ns()}"
    server.run(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 6")
    with psycopg.connect(server.address.replace("/postgres?", f"/{name}?"), autocommit=True) as own:
        own.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
        own.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}")
    url = server.url(name).replace("postgres:@", f"{role}:@").replace("postgres@", f"{role}@")
    taken: list[psycopg.Connection[tuple[object, ...]]] = []
    try:
        # more clients than the pool may grow to
        async with under_load(url, tmp_path, number=12, first=24) as scene:
            _take_all(server, role, url, taken)
            await scene.clients.see("miss (degraded)", 5)
            refused = Worker(tmp_path, url)
            try:
                code = await asyncio.to_thread(refused.wait, 100)
            finally:
                refused.kill()
            said = refused.log.read_text()
            assert code == 2, said
            assert "too many connections" in said
            assert "Traceback" not in said
            for connection in taken:
                connection.close()
            await scene.recovers()
    finally:
        for connection in taken:
            connection.close()
        server.run(f"DROP DATABASE {name} WITH (FORCE)")
        server.run(f"DROP ROLE {role}")
    assert scene.clients.slowest_lookup_s < 8
    scene.note(row, "database gives no more connections")


def _take_all(
    server: Server, role: str, url: str, taken: list[psycopg.Connection[tuple[object, ...]]]
) -> None:
    """Every connection of a role: those in use are ended until ours are all there are."""
    address = url.replace("postgresql+psycopg://", "postgresql://")
    ends = time.monotonic() + 20
    while len(taken) < 6 and time.monotonic() < ends:
        server.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}' "
            f"AND pid <> ALL (ARRAY{[c.info.backend_pid for c in taken] or [0]})"
        )
        with contextlib.suppress(psycopg.OperationalError):
            while len(taken) < 6:
                taken.append(psycopg.connect(address))
    assert len(taken) == 6


async def test_a_transaction_stays_open(server: Server, tmp_path: Path, row: Row) -> None:
    """A session that wrote and was forgotten: what is newer than it is read again by every search, and found."""
    name = server.database()
    (tmp_path / "model").write_text("hash")
    clients = Clients(rewords=True)
    async with worker(tmp_path, server.url(name), FAULT_MODEL=str(tmp_path / "model")) as one:
        await make_line(one.url, mode="serve", threshold=0.9)
        with psycopg.connect(server.address.replace("/postgres?", f"/{name}?")) as forgotten:
            forgotten.execute("SELECT pg_current_xact_id()")
            async with clients.working(one.url):
                await clients.told(60)
            assert await near(clients, one.url) == len(clients.acknowledged)
        recovery = await well_after(one.url)
        lost = await clients.lost(one.url)
    assert set(clients.seen) == {"hit", "store 201"}, clients.seen
    assert not clients.wrong
    assert clients.slowest_lookup_s < 5
    row("a transaction of somebody else, which has written, stays open", saw=clients.summary(),
        lost=len(lost), of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


async def test_a_worker_is_cut_off_and_comes_back(server: Server, tmp_path: Path, row: Row) -> None:
    """What the other one invalidated meanwhile is never served by the one that did not hear of it."""
    name = server.database()
    clients = Clients()
    link = Link(server.socket)
    async with (
        link.running(),
        worker(tmp_path, server.url(name, port=link.port), knobs=LIMITS) as cut,
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
            for prompt in gone[:: 1 if IN_EARNEST else 4]:
                assert await clients.lookup(here, prompt) == "degraded"
            link.go_on()
            recovery = await well_after(cut.url)
            for prompt in gone:
                assert await clients.lookup(here, prompt) in ("empty", "mode")
        lost = await clients.lost(cut.url)
    assert not clients.wrong
    assert clients.seen["miss (degraded)"]
    assert recovery < SOON_S
    row("a worker is cut off from the database and comes back, while the other invalidates",
        saw=f"of the one cut off: misses (degraded), no stale answer after; slowest {clients.slowest_s:.1f} s",
        lost=len(lost), of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


async def test_the_pauses_between_tries_do_not_grow(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that doubles them (1, 2, 4, 8 s …) would be minutes late after an outage of minutes."""
    monkeypatch.setattr(postgresql, "RETRY_S", 0.5)
    link = Link(server.socket)
    async with link.running():
        db = open_database(server.url(server.database(), port=link.port), budget_ms=300)
        await db.open()
        link.refuses = True
        link.cut()
        began = time.monotonic()
        before = 0
        # a pool that doubles its pauses tries at 0, 1, 3 and 7 s, give or take a tenth
        while (since := time.monotonic() - began) < 6.2:
            if since < 3.5:
                before = link.attempts
            with contextlib.suppress(Unavailable):
                await db.read(Query("one", select(text("1"))), {})
            await asyncio.sleep(0.1)
        assert link.attempts - before >= 2
        for _ in range(3):  # a writer that cannot connect is an outage, too, and no fault of ours
            with pytest.raises(Unavailable):
                await db.write(lambda tx: tx.text("SELECT 1"))
        link.go_on()
        assert await db.write(lambda tx: tx.text("SELECT 2")) == [(2,)]
        await db.close()
