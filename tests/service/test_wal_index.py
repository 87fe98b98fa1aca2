"""The WAL index tells every commit, and what is kept in memory is never served beyond one."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.lookup import KEPT_BYTES
from service.storage import wal_index
from service.storage.database import open_database
from service.storage.sqlite import SqliteDatabase, connect
from service.storage.wal_index import WalIndex
from tests.harness import Client, Clock, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the mapping is found in /proc")

Scene = tuple[sqlite3.Connection, WalIndex]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A connection that writes, and the WAL index of another one that reads."""
    url = f"sqlite:///{tmp_path / 'a b.db'}"
    writer, reader = connect(url), connect(url, readonly=True)
    writer.execute("CREATE TABLE t (x)")
    index = WalIndex(reader)
    assert index.header() is not None
    yield writer, index
    index.close()
    reader.close()
    writer.close()


def test_each_commit_is_told_and_nothing_else_is(scene: Scene) -> None:
    writer, index = scene
    seen = [index.header()]
    for n in range(200):
        writer.execute("INSERT INTO t VALUES (?)", (n,))
        seen.append(index.header())
    assert len(set(seen)) == 201
    writer.execute("SELECT count(*) FROM t").fetchall()
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM t")
    assert index.header() == seen[-1]  # not committed
    writer.execute("ROLLBACK")
    assert index.header() == seen[-1]


def test_it_is_never_the_same_again(scene: Scene) -> None:
    """Not after the log was emptied and begun anew, and the same rows were written and removed again."""
    writer, index = scene
    seen = {index.header()}
    draw = random.Random(5)
    commits = 0
    for _ in range(400):
        for statement in ("INSERT INTO t VALUES (1)", "DELETE FROM t"):
            writer.execute(statement)
            commits += 1
            seen.add(index.header())
        if draw.random() < 0.1:
            writer.execute(f"PRAGMA wal_checkpoint({draw.choice(['RESTART', 'TRUNCATE'])})")
    assert len(seen) >= commits + 1


def test_another_process_is_seen(scene: Scene, tmp_path: Path) -> None:
    _, index = scene
    before = index.header()
    program = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('INSERT INTO t VALUES (1)'); c.commit()"
    subprocess.run([sys.executable, "-c", program, tmp_path / "a b.db"], check=True)
    assert index.header() not in (None, before)


@pytest.mark.parametrize("how", ["memory", "no maps", "another format", "closed"])
def test_what_cannot_be_told_is_none(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Then each row is read each time."""
    connection = connect("sqlite://" if how == "memory" else f"sqlite:///{tmp_path / 'a b.db'}")
    if how == "no maps":
        monkeypatch.setattr(wal_index, "_MAPS", tmp_path / "none")
    if how == "another format":
        monkeypatch.setattr(wal_index, "_FORMAT", 1)
    index = WalIndex(connection)
    if how == "closed":
        assert index.header() is not None
        index.close()
    assert index.header() is None
    connection.close()


async def test_a_database_that_is_closed_tells_nothing(sqlite_url: str) -> None:
    database = open_database(sqlite_url, budget_ms=1000)
    assert isinstance(database, SqliteDatabase)
    assert database.version() is None
    await database.open()
    assert database.version() is not None
    await database.close()
    assert database.version() is None


# ------------------------------------------------------------------------------------------------ rows that are kept


class Reads:
    """Counts the exact tier's reads."""

    def __init__(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n = 0
        read: Any = client.cache.db.at_once
        read_now = read.read_now

        def counted(query: Any, params: Any) -> Any:
            self.n += query.name.startswith("exact")
            return read_now(query, params)

        monkeypatch.setattr(read, "read_now", counted)


async def _warm(client: Client, *, answer: Any = "a", **more: Any) -> None:
    """A hit that is kept, and nothing that would commit by itself soon."""
    await client.line()
    await client.store("Where is the manual", answer, **more)
    for _ in range(3):  # the caller, the line, the request
        assert (await client.lookup("Where is the manual"))["response"] == answer
    await client.cache.journal.flush()
    assert (await client.lookup("Where is the manual"))["response"] == answer


async def test_an_exact_hit_is_read_once_per_commit(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await _warm(client)
        reads = Reads(client, monkeypatch)
        found = [await client.lookup("Where is the manual") for _ in range(5)]
        assert reads.n == 0
        assert {one["response"] for one in found} == {"a"}
        assert len({one["lookup_id"] for one in found}) == 5
        await client.store("something else", "b")
        reads.n = 0
        for _ in range(5):
            assert (await client.lookup("Where is the manual"))["response"] == "a"
        assert reads.n == 1


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [
        ("UPDATE entries SET response = CAST('\"other\"' AS BLOB)", "hit"),
        ("DELETE FROM entries", "miss"),
        ("UPDATE entries SET expires_ms = 1", "miss"),
    ],
)
async def test_what_another_process_commits_is_served_next(
    sqlite_url: str, tmp_path: Path, statement: str, outcome: str
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await _warm(client)
        other = connect(sqlite_url)
        other.execute(statement)
        found = await client.lookup("Where is the manual")
        assert (found["outcome"], found.get("response")) in {("hit", "other"), ("miss", None)}
        assert found["outcome"] == outcome
        other.close()


async def test_a_key_that_another_process_revokes_is_refused_next(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        mine = await client.key("t1")
        await client.line(headers=mine)
        await client.store("Where is the manual", "a", headers=mine)
        for _ in range(4):
            await client.lookup("Where is the manual", headers=mine)
        other = connect(sqlite_url)
        other.execute("UPDATE api_keys SET revoked_ms = 1")
        other.close()
        asked = {"line": "faq", "prompt": "Where is the manual"}
        assert (await client.call("POST", "/v1/lookup", asked, headers=mine)).status_code == 401


async def test_what_is_kept_ends_with_its_time_to_live(
    sqlite_url: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await _warm(client, ttl_s=60)
        clock.turn(59.9)
        reads = Reads(client, monkeypatch)
        assert (await client.lookup("Where is the manual"))["age_s"] == 59
        assert reads.n == 0
        clock.turn(0.1)
        assert (await client.lookup("Where is the manual"))["outcome"] == "miss"


async def test_a_commit_beside_the_read_keeps_nothing(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the row was read before or after it is not known."""
    async with running(sqlite_url, tmp_path) as client:
        await _warm(client)
        near: Any = client.cache.db.at_once
        read_now = near.read_now
        other = connect(sqlite_url)

        def late(*args: Any) -> Any:
            rows = read_now(*args)
            other.execute("UPDATE entries SET response = CAST('\"other\"' AS BLOB)")
            return rows

        other.execute("UPDATE entries SET hits = hits + 1")  # so that the next lookup reads
        monkeypatch.setattr(near, "read_now", late)
        assert (await client.lookup("Where is the manual"))["response"] == "a"
        monkeypatch.undo()
        assert (await client.lookup("Where is the manual"))["response"] == "other"
        other.close()


async def test_long_answers_are_not_kept(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await _warm(client, answer="x" * KEPT_BYTES)
        reads = Reads(client, monkeypatch)
        for _ in range(3):
            await client.lookup("Where is the manual")
        assert reads.n == 3


async def test_lookups_while_others_write_are_never_behind(sqlite_url: str, tmp_path: Path) -> None:
    """A thread of its own replaces the answer again and again: what was committed before a lookup began is served."""
    async with running(sqlite_url, tmp_path) as client:
        await _warm(client, answer=0)
        committed = 0

        def write() -> None:
            nonlocal committed
            other = connect(sqlite_url)
            for n in range(1, 400):
                other.execute("UPDATE entries SET response = ?", (b"%d" % n,))
                committed = n
            other.close()

        writing = asyncio.create_task(asyncio.to_thread(write))
        lookups = 0
        while not writing.done():
            at_least = committed
            found = (await client.lookup("Where is the manual"))["response"]
            assert at_least <= found <= committed + 1
            lookups += 1
            await asyncio.sleep(0)
        await writing
        assert (await client.lookup("Where is the manual"))["response"] == 399
        assert lookups > 10
