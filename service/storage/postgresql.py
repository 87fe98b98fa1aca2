"""PostgreSQL through psycopg 3: an async pool that reads, and writer threads that commit in groups."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg_errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq.abc import PGconn
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import text
from sqlalchemy.engine import make_url

from service.errors import SurehitError, Unavailable
from service.storage.database import (
    DuplicateKey,
    ReadsAtOnce,
    Row,
    Transaction,
    first_line,
    unkeepable,
)
from service.storage.pipeline import Pipeline
from service.storage.query import Query
from service.storage.writer import Work, Writer

T = TypeVar("T")

READERS = 8
GRACE_S = 0.1
"""The server itself ends a statement at the budget; only one that does not answer even then loses its connection."""

STATEMENT_S = 15
"""Longest statement of a writer; the server ends it then, and with it the locks that others may wait for."""

WRITE_S = 20.0
"""Longest wait for a commit. Then the connection is cut, so that a server that hangs does not hold its writer."""

CONNECT_S = 5
"""Longest wait for a new connection: psycopg's own 130 s would outlast the outage that made it wait."""

RETRY_S = 2.0
"""The pool's pause between two tries to connect: its own rises to minutes, and with it the time to recover."""

PIPELINES = 2
"""Connections for short reads: the server runs what comes over one of them in turns."""

WRITERS = 2
"""Write connections of one process: a second one, so that one slow commit doesn't hold every store."""


def conninfo(url: str) -> str:
    """The libpq form of an SQLAlchemy URL."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def connection_settings(info: str, *, statement_s: float, **options: str) -> dict[str, Any]:
    """How long a connection may be silent and a statement may run, as arguments of `psycopg.connect`.

    A peer that vanished without a word (power, network) is noticed within half a minute instead of two hours. `options`
    are further settings of the session.
    """
    wanted = {"statement_timeout": f"{max(1, round(statement_s * 1000))}", **options}
    given = conninfo_to_dict(info).get("options") or ""
    return {
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 25_000,
        "options": " ".join([str(given), *(f"-c {k}={v}" for k, v in wanted.items())]).strip(),
    }


_HAS_VECTORS = Query("has_vectors", text("SELECT to_regclass('entry_vectors')::text"))


class PostgresqlDatabase:
    """The shared database."""

    is_postgresql = True
    at_once: ReadsAtOnce | None = None

    def __init__(
        self,
        url: str,
        *,
        budget_ms: int,
        write_s: float | None = None,
        writers: int = WRITERS,
        must_answer: bool = True,
        options: dict[str, str] | None = None,
    ) -> None:
        """`writers` 0: reads alone. Not `must_answer`: `open` does not wait. `options`: settings of its sessions."""
        self._conninfo = conninfo(url)
        self._writer_count = writers
        self._must_answer = must_answer
        self._options = options or {}
        self.keeps_vectors = False
        """True when the database holds vectors to be searched there (`storage.pgvector`)."""
        self._write_s = WRITE_S if write_s is None else write_s
        self._budget_s = budget_ms / 1000
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[Row]] | None = None
        self._writers: list[Writer] = []
        self._next = 0
        self._pipelines: list[Pipeline] = []

    async def open(self) -> None:
        """Open the pool; the first connection must succeed within the budget (at least 5 s)."""
        settings = {
            "autocommit": True,
            "connect_timeout": CONNECT_S,
            "prepare_threshold": 0,
            "row_factory": tuple_row,
            **connection_settings(self._conninfo, statement_s=self._budget_s, **self._options),
        }
        self._pool = AsyncConnectionPool(
            self._conninfo,
            min_size=1,
            max_size=READERS,
            open=False,
            timeout=self._budget_s,
            reconnect_timeout=RETRY_S,  # then it starts anew, when somebody next asks for a connection
            kwargs=settings,
        )
        # plans are kept, and the first are made while the tables are empty, where reading all of one looks cheapest
        by_index = self._options | {"enable_seqscan": "off"}
        settings = {
            **settings,
            **connection_settings(self._conninfo, statement_s=self._budget_s, **by_index),
            "conninfo": self._conninfo,
        }
        self._pipelines = [
            Pipeline(settings, wait_s=self._budget_s + GRACE_S) for _ in range(PIPELINES)
        ]
        try:
            await self._pool.open(wait=self._must_answer, timeout=max(5.0, self._budget_s))
            if self._must_answer:
                self.keeps_vectors = await self._has_vectors()
        except (PoolTimeout, psycopg.Error) as error:
            await self._pool.close()
            raise Unavailable(f"PostgreSQL does not answer: {first_line(error)}") from error
        self._writers = [
            Writer(
                lambda: _WriteConnection(self._conninfo),
                name=f"surehit-writer-{n}",
                limit_s=self._write_s,
            )
            for n in range(self._writer_count)
        ]

    async def close(self) -> None:
        """Finish accepted writes and disconnect."""
        for writer in self._writers:
            await asyncio.to_thread(writer.close)
        for pipeline in self._pipelines:
            await pipeline.close()
        if self._pool is not None:
            await self._pool.close()

    async def read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """One prepared statement within the budget: a short one in a pipeline, others on a connection of the pool."""
        if self._pool is None:
            raise Unavailable("the database is not open")
        try:
            if query.reads_few:
                pipeline = min(self._pipelines, key=lambda one: one.load)
                return await pipeline.read(query, params)
            return await self._read_long(self._pool, query, params)
        except (psycopg.DataError, UnicodeEncodeError) as error:
            raise unkeepable(error) from error
        except (psycopg.Error, PoolTimeout) as error:
            if _is_bug(error):
                raise
            raise Unavailable(f"PostgreSQL: {first_line(error)}") from error

    async def _read_long(
        self,
        pool: AsyncConnectionPool[psycopg.AsyncConnection[Row]],
        query: Query,
        params: dict[str, Any],
    ) -> list[Row]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._budget_s
        async with pool.connection() as connection:
            # Not by cancelling: psycopg would wait five seconds for a server that hangs to confirm.
            cut = loop.call_at(ends + GRACE_S, _cut, connection.pgconn)
            try:
                cursor = connection.cursor(binary=True)
                await cursor.execute(query.postgresql, query.bound(params))
                return await cursor.fetchall()
            finally:
                cut.cancel()

    async def _has_vectors(self) -> bool:
        rows = await self.read(_HAS_VECTORS, {})
        return rows[0][0] is not None

    async def write(self, work: Callable[[Transaction], T], *, durable: bool = False) -> T:
        """See `Database.write`; every commit is durable here."""
        if not self._writers:
            raise Unavailable("the database is not open")
        self._next = (self._next + 1) % len(self._writers)

        def run(tx: PostgresqlTransaction) -> T:
            tx.keeps_vectors = self.keeps_vectors
            return work(tx)

        value: T = await self._writers[self._next].submit(run, durable=durable)
        return value


class PostgresqlTransaction:
    """Statements inside a writer's transaction."""

    is_postgresql = True
    keeps_vectors = False

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def run(self, query: Query, params: dict[str, Any] | None = None) -> list[Row]:
        cursor = self._connection.cursor(binary=True)
        cursor.execute(query.postgresql, query.bound(params or {}))
        return cursor.fetchall() if cursor.description else []

    def run_many(self, query: Query, params: list[dict[str, Any]]) -> None:
        self._connection.cursor().executemany(query.postgresql, [query.bound(p) for p in params])

    def count(self, query: Query, params: dict[str, Any] | None = None) -> int:
        return self._connection.execute(query.postgresql, query.bound(params or {})).rowcount

    def text(self, sql: str, params: dict[str, Any] | None = None) -> list[Row]:
        cursor = self._connection.execute(sql, params or {})
        return cursor.fetchall() if cursor.description else []


class _WriteConnection:
    def __init__(self, info: str) -> None:
        try:
            self._connection: psycopg.Connection[Row] = psycopg.connect(
                info,
                autocommit=True,
                row_factory=tuple_row,
                prepare_threshold=0,
                connect_timeout=CONNECT_S,
                **connection_settings(info, statement_s=STATEMENT_S),
            )
        except psycopg.Error as error:
            raise Unavailable(f"PostgreSQL: {first_line(error)}") from error

    def abort(self) -> None:
        """Cut the connection from another thread: whoever waits on it gets an error at once."""
        _cut(self._connection.pgconn)

    def commit_group(self, works: list[Work]) -> None:
        try:
            try:
                self._commit(works)
            except (pg_errors.DeadlockDetected, pg_errors.SerializationFailure):
                # groups of two processes took the same rows in another order: one by one nobody waits in a ring
                for work in works:
                    work.error = None
                    self._commit([work])
        except psycopg.Error as error:
            raise Unavailable(f"PostgreSQL: {first_line(error)}") from error

    def _commit(self, works: list[Work]) -> None:
        transaction = PostgresqlTransaction(self._connection)
        if len(works) == 1:  # the common case saves the savepoint's two round trips
            self._run_one(transaction, works[0])
            return
        with self._connection.transaction():
            for work in works:
                self._run_one(transaction, work)

    def _run_one(self, transaction: PostgresqlTransaction, work: Work) -> None:
        try:
            with self._connection.transaction():
                work.value = work.run(transaction)
        except (psycopg.DataError, UnicodeEncodeError) as error:
            work.error = unkeepable(error)
        except pg_errors.UniqueViolation as error:
            work.error = DuplicateKey(first_line(error))
        except (SurehitError, ValueError, DuplicateKey, pg_errors.IntegrityError) as error:
            work.error = error  # this work's own fault: the others of the group go on
        except psycopg.ProgrammingError as error:
            if not _is_bug(error):
                raise
            work.error = error

    def close(self) -> None:
        self._connection.close()


def _cut(connection: PGconn) -> None:
    """Shut the connection's socket: whoever waits on it gets an error at once, whatever the server does."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.socket)) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)


def _is_bug(error: BaseException) -> bool:
    """True for a fault of our statements: it is no trouble of the server's, and waiting would not mend it."""
    theirs = (pg_errors.InsufficientPrivilege, pg_errors.InvalidCatalogName)
    return isinstance(error, psycopg.ProgrammingError) and not isinstance(error, theirs)
