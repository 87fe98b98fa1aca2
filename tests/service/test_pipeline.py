"""Short reads on PostgreSQL answer what each would answer alone, whatever the others or the server do."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import BigInteger, bindparam, cast, func, select, text

from service import key
from service.errors import InvalidRequest, Unavailable
from service.storage import entries, pipeline
from service.storage.postgresql import PostgresqlDatabase, conninfo
from service.storage.query import Query
from tests.harness import Client, chat, running
from tests.service.test_reads import queries

_N = cast(bindparam("n"), BigInteger)
DOUBLE = Query("double", select(_N * 2), reads_few=True)
INVERSE = Query("inverse", select(1000 // _N), reads_few=True)
SLEEP = Query("sleep", select(_N, func.pg_sleep(0.2).is_(None)), reads_few=True)
PID = Query("pid", select(func.pg_backend_pid()), reads_few=True)


@pytest.fixture
async def db(postgresql_url: str) -> AsyncIterator[PostgresqlDatabase]:
    db = PostgresqlDatabase(postgresql_url, budget_ms=1_000)
    await db.open()
    yield db
    await db.close()


async def _pids(db: PostgresqlDatabase) -> set[int]:
    """The server processes behind the pipelines, every one connected."""
    found = await asyncio.gather(*(one.read(PID, {}) for one in db._pipelines))
    return {rows[0][0] for rows in found}


async def test_each_of_many_gets_its_own_rows(db: PostgresqlDatabase) -> None:
    found = await asyncio.gather(*(db.read(DOUBLE, {"n": n}) for n in range(500)))
    assert found == [[(2 * n,)] for n in range(500)]


async def test_values_of_every_kind_come_back_as_they_went(db: PostgresqlDatabase) -> None:
    kinds = {
        "a_text": "text",
        "a_name": "varchar",
        "some_bytes": "bytea",
        "large": "bigint",
        "small": "int",
        "smallest": "smallint",
        "share": "float8",
        "yes": "boolean",
        "nothing": "text",
    }
    query = Query("kinds", select(text("1")), reads_few=True)
    columns = ", ".join(f"%({name})s::{kind}" for name, kind in kinds.items())
    query.postgresql = f"SELECT {columns} WHERE 5 %% 2 = 1"
    values = ("退款 «?» 😀", "", b"\x00\xff", -(2**63), -(2**31), 7, 0.1, True, None)
    assert await db.read(query, dict(zip(kinds, values, strict=True))) == [values]


async def test_the_types_of_every_short_read_are_known(db: PostgresqlDatabase) -> None:
    """A column of another type would fail in production only, where PostgreSQL is."""
    for query in queries().values():
        if query.reads_few:
            await db._pipelines[0]._statement(query)


@pytest.mark.parametrize("value", [2**63, "one"])
async def test_a_value_that_no_row_can_hold_is_its_own_readers_fault(
    db: PostgresqlDatabase, value: Any
) -> None:
    asked = (db.read(DOUBLE, {"n": n}) for n in (1, value, 3))
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert (found[0], found[2]) == ([(2,)], [(6,)])
    assert isinstance(found[1], InvalidRequest)


async def test_an_error_of_the_servers_is_its_own_readers(db: PostgresqlDatabase) -> None:
    asked = (db.read(INVERSE, {"n": n}) for n in (1, 2, 0, 4, 5))
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [found[n] for n in (0, 1, 3, 4)] == [[(1000,)], [(500,)], [(250,)], [(200,)]]
    assert isinstance(found[2], InvalidRequest)  # division by zero: the value's fault


async def test_a_statement_that_is_wrong_is_no_trouble_of_the_servers(
    db: PostgresqlDatabase,
) -> None:
    wrong = Query("wrong", select(text("absent FROM nowhere")), reads_few=True)
    for _ in range(2):
        with pytest.raises(psycopg.ProgrammingError):
            await db.read(wrong, {})
    assert await db.read(DOUBLE, {"n": 1}) == [(2,)]


async def test_a_reader_that_leaves_takes_nobody_along(db: PostgresqlDatabase) -> None:
    await db.read(DOUBLE, {"n": 0})
    asked = [asyncio.create_task(db.read(DOUBLE, {"n": n})) for n in range(8)]
    await asyncio.sleep(0)
    asked[0].cancel()
    asked[5].cancel()
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [found[n] for n in (1, 2, 3, 4, 6, 7)] == [[(2 * n,)] for n in (1, 2, 3, 4, 6, 7)]
    assert await db.read(DOUBLE, {"n": 9}) == [(18,)]


async def test_those_behind_a_slow_statement_wait_no_longer_than_their_own_time(
    db: PostgresqlDatabase,
) -> None:
    """Twenty of 0.2 s on two connections take 2 s; nobody waits for more than 1.1, and the connections stay."""
    pids = await _pids(db)
    loop = asyncio.get_running_loop()
    began = loop.time()
    asked = (db.read(SLEEP, {"n": n}) for n in range(20))
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert loop.time() - began < 1.8
    assert sum(isinstance(one, list) for one in found) >= 4
    assert all(isinstance(one, list | Unavailable) for one in found)
    await asyncio.sleep(1.2)  # the server works off what nobody waits for any more
    assert await _pids(db) == pids


async def test_a_server_that_hangs_costs_the_budget_and_then_a_new_connection(
    db: PostgresqlDatabase,
) -> None:
    pids = await _pids(db)
    loop = asyncio.get_running_loop()
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        began = loop.time()
        asked = (db.read(DOUBLE, {"n": n}) for n in range(50))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(one) for one in found} == {Unavailable}
        assert loop.time() - began < 5
        await asyncio.sleep(0.5)  # whoever asked first gave up a moment before the connection was
        assert await db.read(DOUBLE, {"n": 4}) == [(8,)]
        assert not pids & await _pids(db)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def test_a_lost_connection_is_told_at_once_and_made_anew(
    db: PostgresqlDatabase, postgresql_url: str
) -> None:
    pids = await _pids(db)
    asked = [asyncio.create_task(db.read(SLEEP, {"n": n})) for n in range(6)]
    await asyncio.sleep(0.05)
    with psycopg.connect(conninfo(postgresql_url), autocommit=True) as other:
        for pid in pids:
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(one) for one in found} == {Unavailable}
    assert await db.read(DOUBLE, {"n": 4}) == [(8,)]


async def test_a_queue_without_end_is_refused(
    db: PostgresqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "MOST_WAITING", 10)
    await _pids(db)
    asked = (db.read(SLEEP, {"n": n}) for n in range(30))
    found = await asyncio.gather(*asked, return_exceptions=True)
    refused = [one for one in found if "are waiting" in str(one)]
    assert refused
    assert all(isinstance(one, Unavailable) for one in refused)


async def test_a_column_that_a_migration_changes_costs_one_read(
    db: PostgresqlDatabase, postgresql_url: str
) -> None:
    kept = Query("kept", select(text("value FROM kept_values")), reads_few=True)
    with psycopg.connect(conninfo(postgresql_url), autocommit=True) as other:
        other.execute("CREATE TABLE kept_values (value int)")
        other.execute("INSERT INTO kept_values VALUES (7)")
        assert await db._pipelines[0].read(kept, {}) == [(7,)]
        other.execute("ALTER TABLE kept_values ALTER value TYPE text")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            await db._pipelines[0].read(kept, {})
        assert await db._pipelines[0].read(kept, {}) == [("7",)]


async def test_plans_made_while_the_tables_are_empty_use_their_indexes(
    db: PostgresqlDatabase,
) -> None:
    """A plan is kept for a connection's life: until the next ANALYZE every exact hit of a new service read all rows."""
    query = Query("scans", select(func.current_setting("enable_seqscan")), reads_few=True)
    for one in db._pipelines:
        assert await one.read(query, {}) == [("off",)]
    assert await db.read(Query("long", select(func.current_setting("enable_seqscan"))), {}) == [
        ("on",)
    ]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("exact", "uq_entries_exact_key"),
        ("exact_with_key", "uq_entries_exact_key"),
        ("stale", "uq_entries_exact_key"),
        ("live_entries", "pk_entries"),
        ("one_entry", "pk_entries"),
        ("changed_in_partition", "ix_entries_partition_change_seq_id"),
        ("few_vectors_of_partition", "ix_entries_partition_change_seq_id"),
        ("get_lookup", "pk_lookups"),
        ("alias_of_request", "uq_entries_exact_key"),
    ],
)
def test_rows_are_found_by_their_own_key_also_by_a_plan_for_empty_tables(
    postgresql_url: str, name: str, index: str
) -> None:
    """By the tenant an exact hit would read all its entries: half the hits per second at 1,000 entries."""
    query = queries()[name]
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", query.postgresql)))
    sql = re.sub(
        r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", query.postgresql
    ).replace("%%", "%")
    with psycopg.connect(conninfo(postgresql_url), autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        rows = connection.execute(f"EXPLAIN (GENERIC_PLAN) {sql}".encode()).fetchall()
    used = re.findall(r"(?:using|Index Scan on) (\w+)", "\n".join(row[0] for row in rows))
    assert index in used, rows


async def test_after_the_end_nothing_is_read(postgresql_url: str) -> None:
    db = PostgresqlDatabase(postgresql_url, budget_ms=1_000)
    await db.open()
    asked = [asyncio.create_task(db.read(SLEEP, {"n": n})) for n in range(3)]
    await asyncio.sleep(0.05)
    await asyncio.wait_for(db.close(), timeout=10)
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(one) for one in found} == {Unavailable}


async def test_the_exact_tiers_read_alone_and_among_many(database_url: str, tmp_path: Path) -> None:
    """Found, absent, expired, another tenant's, a revoked key, no key, an unknown line: as one by one."""
    async with running(database_url, tmp_path) as client:
        cases = await _cases(client)
        db = client.cache.db
        alone = [await entries.exact(db, **case) for case in cases]
        assert sum(row is not None and row[1] is not None for row in alone) == 2
        assert sum(row is None for row in alone) >= 3
        many = list(itertools.islice(itertools.cycle(cases), 60))
        together = await asyncio.gather(*(entries.exact(db, **case) for case in many))
        for row, case in zip(together, many, strict=True):
            assert row == alone[cases.index(case)]


async def _cases(client: Client) -> list[dict[str, Any]]:
    one, two = await client.key("t1"), await client.key("t2")
    await client.line(headers=one)
    await client.line(headers=two)
    await client.store(chat("kept"), "a", headers=one)
    await client.store(chat("short"), "b", headers=one, ttl_s=1)
    hashes = {}
    for tenant, headers in (("t1", one), ("t2", two)):
        caller = await client.app._keys().caller(headers["authorization"])
        hashes[tenant] = caller.key_hash
    now = client.cache.clock_ms() + 5_000
    made = []
    for question, tenant, line, api_key in [
        ("kept", "t1", "faq", hashes["t1"]),
        ("kept", "t1", "faq", None),
        ("short", "t1", "faq", hashes["t1"]),
        ("kept", "t2", "faq", hashes["t2"]),
        ("absent", "t1", "faq", None),
        ("kept", "t1", "none", hashes["t1"]),
        ("kept", "t1", "faq", b"revoked"),
        ("kept", "t3", "faq", None),
    ]:
        exact_key = key.exact_key(
            tenant=tenant,
            scope="",
            line=line,
            policy_version="1",
            body=key.canonicalize(chat(question)).body,
        )
        made.append(
            {"tenant": tenant, "line": line, "key": exact_key, "now": now, "api_key": api_key}
        )
    return made


async def test_a_store_is_found_by_whoever_asks_after_it(
    postgresql_url: str, tmp_path: Path
) -> None:
    """While many others read: no read may go along with a statement that began before it was asked for."""
    async with running(postgresql_url, tmp_path) as client:
        await client.line(mode="exact")
        is_over = asyncio.Event()

        async def noise() -> None:
            while not is_over.is_set():
                await client.lookup("noise")

        others = [asyncio.create_task(noise()) for _ in range(12)]
        for n in range(40):
            await client.store(f"q{n}", n)
            assert (await client.lookup(f"q{n}"))["outcome"] == "hit"
        is_over.set()
        await asyncio.gather(*others)
