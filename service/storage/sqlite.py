"""SQLite (WAL): held connections, for short reads on the event loop, for long ones and for writes in a thread each."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.engine import make_url

from service.errors import SurehitError, Unavailable
from service.storage.database import DuplicateKey, ReadsAtOnce, Row, Transaction, unkeepable
from service.storage.query import Query
from service.storage.wal_index import WalIndex
from service.storage.writer import Work, Writer

T = TypeVar("T")

PAGE_SIZE = 16_384
"""Bytes. An entry is 3–6 kB; 4 kB pages waste half the file. In force only before the first table."""

BUSY_MS = 5_000
"""How long a writer waits for another process's writer (the page, a tuning job)."""


def connect(url: str, *, readonly: bool = False) -> sqlite3.Connection:
    """A connection with our settings; the file and its folder are made when absent."""
    path = make_url(url).database or ":memory:"
    if path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    connection.execute(f"PRAGMA page_size={PAGE_SIZE}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA mmap_size=1073741824")
    connection.execute("PRAGMA cache_size=-65536")
    if readonly:
        connection.execute("PRAGMA query_only=ON")
    return connection


class SqliteDatabase:
    """The embedded database."""

    is_postgresql = False
    keeps_vectors = False

    def __init__(self, url: str) -> None:
        self._url = url
        self.at_once: ReadsAtOnce | None = self
        self._reader: sqlite3.Connection | None = None
        self._wal_index: WalIndex | None = None
        self._long_reader: sqlite3.Connection | None = None
        self._long_reads: ThreadPoolExecutor | None = None
        self._writer: Writer | None = None

    async def open(self) -> None:
        """Open the connections."""
        try:
            self._reader = connect(self._url, readonly=True)
            self._wal_index = WalIndex(self._reader)
            self._long_reader = connect(self._url, readonly=True)
        except (sqlite3.Error, OSError) as error:
            raise Unavailable(f"SQLite cannot be opened: {error}") from error
        self._long_reads = ThreadPoolExecutor(1, "surehit-reader")
        self._writer = Writer(
            lambda: _WriteConnection(self._url), name="surehit-writer", limit_s=None
        )

    async def close(self) -> None:
        """Finish accepted writes, cut long reads short, and close."""
        if self._writer is not None:
            self._writer.close()
        if self._long_reader is not None and self._long_reads is not None:
            self._long_reader.interrupt()
            self._long_reads.shutdown(cancel_futures=True)
            self._long_reader.close()
            self._long_reader = self._long_reads = None
        if self._reader is not None:
            if self._wal_index is not None:
                self._wal_index.close()
                self._wal_index = None
            self._reader.close()
            self._reader = None

    async def read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """See `Database.read`. What may read many rows does so in a thread: exact hits must not wait behind it."""
        if query.reads_few:
            return self.read_now(query, params)
        if self._long_reads is None:
            raise Unavailable("the database is not open")
        connection, loop = self._long_reader, asyncio.get_running_loop()
        return await loop.run_in_executor(self._long_reads, _rows, connection, query, params)

    def read_now(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """A point read costs some 10 µs, less than a hop to a thread would."""
        return _rows(self._reader, query, params)

    def version(self) -> bytes | None:
        """See `ReadsAtOnce.version`."""
        return None if self._wal_index is None else self._wal_index.header()

    async def write(self, work: Callable[[Transaction], T], *, durable: bool = False) -> T:
        """See `Database.write`."""
        if self._writer is None:
            raise Unavailable("the database is not open")
        value: T = await self._writer.submit(work, durable=durable)
        return value


def _rows(connection: sqlite3.Connection | None, query: Query, params: dict[str, Any]) -> list[Row]:
    if connection is None:
        raise Unavailable("the database is not open")
    try:
        return connection.execute(query.sqlite, query.bound(params)).fetchall()
    except (UnicodeEncodeError, OverflowError) as error:
        raise unkeepable(error) from error
    except sqlite3.ProgrammingError:
        raise  # a fault of ours, not of the database's: waiting would not mend it
    except sqlite3.Error as error:
        raise Unavailable(f"SQLite: {error}") from error


class SqliteTransaction:
    """Statements inside the writer's transaction."""

    is_postgresql = False
    keeps_vectors = False

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, query: Query, params: dict[str, Any] | None = None) -> list[Row]:
        return self._connection.execute(query.sqlite, query.bound(params or {})).fetchall()

    def run_many(self, query: Query, params: list[dict[str, Any]]) -> None:
        self._connection.executemany(query.sqlite, [query.bound(p) for p in params])

    def count(self, query: Query, params: dict[str, Any] | None = None) -> int:
        return self._connection.execute(query.sqlite, query.bound(params or {})).rowcount

    def text(self, sql: str, params: dict[str, Any] | None = None) -> list[Row]:
        return self._connection.execute(sql, params or {}).fetchall()


_DUPLICATE = (
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
)


def _duplicate(error: BaseException) -> DuplicateKey | None:
    if getattr(error, "sqlite_errorcode", None) not in _DUPLICATE:
        return None
    return DuplicateKey(str(error))


class _WriteConnection:
    def __init__(self, url: str) -> None:
        try:
            self._connection = connect(url)
        except (sqlite3.Error, OSError) as error:
            raise Unavailable(f"SQLite cannot be opened: {error}") from error
        self._is_full = False

    def commit_group(self, works: list[Work]) -> None:
        connection = self._connection
        durable = any(work.durable for work in works)
        if durable != self._is_full:
            # FULL only where losing the commit would serve a withdrawn answer again
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._is_full = durable
        transaction = SqliteTransaction(connection)
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                for work in works:
                    self._run_one(transaction, work)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise Unavailable(f"SQLite: {error}") from error

    def _run_one(self, transaction: SqliteTransaction, work: Work) -> None:
        self._connection.execute("SAVEPOINT work")
        try:
            work.value = work.run(transaction)
        except (UnicodeEncodeError, OverflowError) as error:
            self._connection.execute("ROLLBACK TO work")
            work.error = unkeepable(error)
        except (
            SurehitError,
            ValueError,
            DuplicateKey,
            sqlite3.IntegrityError,
            sqlite3.ProgrammingError,
        ) as error:
            # this work's own fault: the others of the group go on
            self._connection.execute("ROLLBACK TO work")
            work.error = _duplicate(error) or error
        self._connection.execute("RELEASE work")

    def abort(self) -> None:
        """Nothing to cut: every wait of SQLite's ends by itself."""

    def close(self) -> None:
        self._connection.close()
