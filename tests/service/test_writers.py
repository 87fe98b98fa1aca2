"""What the writers do when the server hangs, an id exists already, or a statement of ours is wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import select, text

from service.errors import Unavailable
from service.storage import entries, lookups
from service.storage.database import Database, DuplicateKey, Transaction, open_database
from service.storage.models import Entry, Lookup, StoreCount
from service.storage.postgresql import PostgresqlDatabase, conninfo
from service.storage.query import Query
from tests.harness import Clock, running
from tests.service.ways import problem, rows

_ONE = Query("one", select(text("1")))


async def test_a_server_that_hangs_costs_its_callers_the_limit_and_then_a_new_connection(
    postgresql_url: str,
) -> None:
    """A stopped server process still holds its connection; without a limit the write would never be answered."""
    db = PostgresqlDatabase(postgresql_url, budget_ms=1000, write_s=1.0)
    await db.open()
    pids: list[int] = []
    try:
        for _ in range(2):  # both writers
            pids.append(await db.write(lambda tx: tx.text("SELECT pg_backend_pid()")[0][0]))
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(Unavailable, match="no commit within 1 s"):
            await db.write(lambda tx: tx.text("SELECT 1"))
        assert time.monotonic() - began < 10
        for _ in range(4):
            try:
                await db.write(lambda tx: tx.text("SELECT 1"))
            except Unavailable:
                continue
        assert await db.write(lambda tx: tx.text("SELECT 2")[0][0]) == 2
        assert await db.write(lambda tx: tx.text("SELECT 2")[0][0]) == 2
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        await db.close()


async def test_a_read_from_a_server_that_hangs_ends_within_its_budget(postgresql_url: str) -> None:
    db = PostgresqlDatabase(postgresql_url, budget_ms=500)
    await db.open()
    pids: set[int] = set()
    try:
        pid = Query("pid", text("SELECT pg_backend_pid()"))
        pids |= {row[0] for row in await db.read(pid, {})}
        for one in pids:
            os.kill(one, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(Unavailable):
            await db.read(_ONE, {})
        assert time.monotonic() - began < 5
        assert await db.read(_ONE, {}) == [(1,)]  # over another connection
    finally:
        for one in pids:
            os.kill(one, signal.SIGCONT)
        await db.close()


async def test_sessions_have_limits_of_their_own(postgresql_url: str) -> None:
    db = PostgresqlDatabase(postgresql_url, budget_ms=700)
    await db.open()
    try:
        timeout = await db.write(lambda tx: tx.text("SHOW statement_timeout")[0][0])
        assert timeout == "15s"
        assert await db.read(Query("show", text("SHOW statement_timeout")), {}) == [("700ms",)]
    finally:
        await db.close()


async def test_a_work_that_nobody_waits_for_any_more_is_not_done(postgresql_url: str) -> None:
    db = PostgresqlDatabase(postgresql_url, budget_ms=1000)
    await db.open()
    done: list[int] = []
    try:
        slow = [
            asyncio.create_task(db.write(lambda tx: tx.text("SELECT pg_sleep(0.3)")))
            for _ in range(2)
        ]
        await asyncio.sleep(0.05)
        late = asyncio.create_task(db.write(lambda tx: done.append(1)))
        await asyncio.sleep(0.05)
        late.cancel()
        await asyncio.gather(*slow)
        await db.write(lambda tx: None)
        await db.write(lambda tx: None)
        assert done == []
    finally:
        await db.close()


@pytest.mark.parametrize("how", ["read", "write"])
async def test_a_wrong_statement_is_an_error_and_no_outage(database_url: str, how: str) -> None:
    """Shown as `degraded`, a fault of ours would never be found."""
    db = open_database(database_url, budget_ms=1000)
    await db.open()
    wrong = Query("wrong", text("SELECT :a FROM entries WHERE id = :b").columns())
    try:
        call = db.read(wrong, {"a": 1})
        if how == "write":
            call.close()
            call = db.write(lambda tx: tx.run(wrong, {"a": 1}))
        with pytest.raises((sqlite3.ProgrammingError, psycopg.ProgrammingError)):
            await call
    finally:
        await db.close()


async def test_one_wrong_work_leaves_the_rest_of_its_group_alone(database_url: str) -> None:
    db = open_database(database_url, budget_ms=1000)
    await db.open()

    def wrong(tx: Transaction) -> None:
        tx.run(Query("wrong", text("SELECT :a").columns()), {})

    try:
        await asyncio.gather(db.write(lambda tx: None), db.write(lambda tx: None))
        found = await asyncio.gather(
            *(db.write(wrong if n == 3 else _noop) for n in range(8)), return_exceptions=True
        )
        assert [n for n, value in enumerate(found) if isinstance(value, Exception)] == [3]
    finally:
        await db.close()


def _noop(tx: Transaction) -> None:
    tx.run(_ONE)


async def test_an_id_that_another_process_made_too_is_made_anew(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """41 bits of time and 22 of chance: two busy workers meet about once an hour."""
    async with running(database_url, tmp_path, clock=clock) as client:
        await client.line()
        first = await client.store("Where is the manual", "a")
        taken = int(first["entry_id"][4:], 16)
        fresh = client.cache.new_id
        answers = [taken]
        client.cache.new_id = lambda: answers.pop() if answers else fresh()  # type: ignore[assignment]
        second = await client.store("Something else entirely", "b")
        assert second["entry_id"] != first["entry_id"]
        assert second["replaced"] is False
        assert (await client.lookup("Where is the manual"))["response"] == "a"
        missed = await client.lookup("No such thing")
        answers = [int(missed["lookup_id"][4:], 16)]
        again = await client.lookup("No such thing either")
        assert (again["outcome"], again["fill"]) == ("miss", True)
        assert again["lookup_id"] != missed["lookup_id"]


async def test_a_log_row_that_exists_does_not_take_its_batch_along(database_url: str) -> None:
    db: Database = open_database(database_url, budget_ms=1000)
    await db.open()
    try:
        texts = (
            "tenant_id line scope outcome reason query entry_query guard guard_detail mode "
            "policy_version score_version"
        )
        row: dict[str, Any] = dict.fromkeys((c.name for c in Lookup.__table__.columns), 1)
        row |= dict.fromkeys(texts.split(), "x")
        row |= {"exact_key": b"k", "context_hash": b"c", "response_hash": b"r"}
        await db.write(lambda tx: lookups.add(tx, [row]))
        await db.write(lambda tx: lookups.add(tx, [row, row | {"id": 2}]))
        assert sorted(await db.read(Query("ids", select(Lookup.id)), {})) == [(1,), (2,)]
    finally:
        await db.close()


async def test_workers_count_a_capped_keys_stores_together(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Two workers with one database: the cap is the key's, not each process's."""
    async with (
        running(database_url, tmp_path, clock=clock) as one,
        running(database_url, tmp_path, clock=clock) as other,
    ):
        headers = await one.key("acme", max_stores_per_hour=3)
        await one.line(headers=headers)
        for n, client in enumerate([one, other, one]):
            await client.store(f"q{n}", "a", headers=headers)
        refused = await other.call(
            "POST", "/v1/store", {"line": "faq", "prompt": "q9", "response": "a"}, headers=headers
        )
        problem(refused, 429, "too-many-requests")
        assert [row[0] for row in await rows(one, StoreCount.count)] == [3]  # the refused is none
        clock.turn(3600 * 1.9)  # an hour on and most of the next: a tenth of the three still counts
        for n in range(2):
            await other.store(f"later {n}", "a", headers=headers)
        assert len(await rows(one, Entry.id)) == 5


def test_ids_of_one_key_do_not_collide_in_the_database(database_url: str) -> None:
    """The upsert meets the unique key, never the id: `DuplicateKey` is for ids alone."""

    async def run() -> None:
        db = open_database(database_url, budget_ms=1000)
        await db.open()
        try:
            entry = entries.NewEntry(
                id=7, exact_key=b"k", tenant="t", line="l", scope="", policy_version="1", model="",
                created_ms=1, expires_ms=None, response=b"1", request=b"{}", query=None,
                partition=None, fingerprint=None, context_hash=b"", vector=None, tags=(),
                quarantined=False, stored_by="",
            )  # fmt: skip
            assert await db.write(lambda tx: entries.put(tx, "t", entry)) == (7, False)
            from dataclasses import replace

            same = replace(entry, id=8)
            assert await db.write(lambda tx: entries.put(tx, "t", same)) == (7, True)
            with pytest.raises(DuplicateKey):
                await db.write(lambda tx: entries.put(tx, "t", replace(entry, exact_key=b"other")))
        finally:
            await db.close()

    asyncio.run(run())


def test_a_vanished_peer_is_noticed(postgresql_url: str) -> None:
    from service.storage.postgresql import connection_settings

    info = conninfo(postgresql_url)
    with psycopg.connect(info, **connection_settings(info, statement_s=2)) as connection:
        assert connection.info.get_parameters()["keepalives_idle"] == "10"
        assert connection.execute("SHOW statement_timeout").fetchone() == ("2s",)
