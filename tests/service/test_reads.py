"""Who reads where: long reads never hold up the event loop, and those that stay on it find their rows by an index."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import re
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import select, text

import service.storage
from service.errors import Unavailable
from service.partitions import Partitions
from service.storage import entries, partition_rows, upkeep
from service.storage.database import open_database
from service.storage.query import Query
from service.storage.sqlite import connect
from tests.harness import running

_COUNTING = (
    "(WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 300000)"
    " SELECT max(n) FROM up)"
)
_LONG = Query("long", select(text(_COUNTING)))


def queries() -> dict[str, Query]:
    """Every statement of service.storage, by name."""
    found: dict[str, Query] = {}
    for module in pkgutil.iter_modules(service.storage.__path__):
        names = vars(importlib.import_module(f"service.storage.{module.name}"))
        found |= {item.name: item for item in names.values() if isinstance(item, Query)}
    return found


def _plan(connection: sqlite3.Connection, query: Query) -> list[str]:
    params = dict.fromkeys(re.findall(r":(\w+)", query.sqlite), 0)
    rows = connection.execute(f"EXPLAIN QUERY PLAN {query.sqlite}", params | query.bound({}))
    return [row[3] for row in rows]


@pytest.fixture
def connection(sqlite_url: str) -> sqlite3.Connection:
    return connect(sqlite_url)


async def test_the_loop_goes_on_while_a_long_read_runs(sqlite_url: str) -> None:
    db = open_database(sqlite_url, budget_ms=1000)
    await db.open()
    try:
        reading = asyncio.create_task(db.read(_LONG, {}))
        turns = 0
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        assert await reading == [(300_000,)]
        assert turns > 3
    finally:
        await db.close()


async def test_a_long_read_is_cut_short_by_the_end_and_refused_after_it(sqlite_url: str) -> None:
    db = open_database(sqlite_url, budget_ms=1000)
    await db.open()
    endless = Query("endless", select(text(_COUNTING.replace("300000", "10000000000"))))
    reading = asyncio.create_task(db.read(endless, {}))
    await asyncio.sleep(0.05)
    await asyncio.wait_for(db.close(), timeout=30)
    with pytest.raises(Unavailable):
        await reading
    with pytest.raises(Unavailable):
        await db.read(_LONG, {})


@pytest.mark.parametrize("name", sorted(n for n, q in queries().items() if q.reads_few))
def test_what_stays_on_the_loop_finds_its_rows_by_an_index(
    name: str, connection: sqlite3.Connection
) -> None:
    """Tables of a handful of rows (lines, keys, the counter) may be read whole."""
    small = re.compile(r"^SCAN (lines|api_keys|change_counter)\b")
    scans = [step for step in _plan(connection, queries()[name]) if step.startswith("SCAN")]
    assert [step for step in scans if not small.match(step)] == []


def test_there_are_statements_of_both_kinds() -> None:
    kinds = [query.reads_few for query in queries().values()]
    assert kinds.count(True) > 10
    assert kinds.count(False) > 10


def test_the_hot_reads_stay_on_the_loop() -> None:
    """A hop to a thread would cost more than the read."""
    for query in (entries._LIVE, partition_rows._CHANGED, partition_rows._FEW_VECTORS):
        assert query.reads_few


@pytest.mark.parametrize("query", [upkeep._TO_EMBED, entries._COUNT], ids=lambda q: q.name)
def test_upkeep_and_figures_read_an_index_and_not_the_entries(
    query: Query, connection: sqlite3.Connection
) -> None:
    """They ran over every row of every line, every two seconds: 0.5 s each at 100,000 entries."""
    plan = _plan(connection, query)
    assert all("ix_entries_by_model" in step for step in plan if "entries" in step), plan


def test_the_newest_entries_of_a_line_are_read_from_an_index_in_their_order(
    connection: sqlite3.Connection,
) -> None:
    plan = _plan(connection, entries._LIST)
    assert any("ix_entries_tenant_id_line_id" in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


async def test_a_partition_of_more_than_a_handful_is_read_whole(
    sqlite_url: str, tmp_path: Path
) -> None:
    """The short read that nearly always suffices has a limit: what is beyond it must not be lost."""
    async with running(sqlite_url, tmp_path) as client:
        await client.line("support", threshold=0.0)
        for n in range(partition_rows._FEW + 6):
            await client.store(f"question number {n}", "a", line="support")
    async with running(sqlite_url, tmp_path) as client:  # as after a restart
        await client.lookup("which question is this", line="support")
        partitions = client.cache.partitions
        assert isinstance(partitions, Partitions)
        held = [len(partition.index) for partition in partitions._held.values()]
        assert held == [partition_rows._FEW + 6]
