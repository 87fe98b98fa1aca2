"""PostgreSQL through psycopg 3: an async pool that reads, and writer threads that commit in groups."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg_errors
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy.engine import make_url

from service.errors import SurehitError, Unavailable
from service.storage.database import Row, Transaction, unkeepable
from service.storage.query import Query
from service.storage.writer import Work, Writer

T = TypeVar("T")

READERS = 8
WRITERS = 2
"""Write connections of one process: a second one, so that one slow commit doesn't hold every store."""


def conninfo(url: str) -> str:
    """The libpq form of an SQLAlchemy URL."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


class PostgresqlDatabase:
    """The shared database."""

    is_postgresql = True

    def __init__(self, url: str, *, budget_ms: int) -> None:
        self._conninfo = conninfo(url)
        self._budget_s = budget_ms / 1000
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[Row]] | None = None
        self._writers: list[Writer] = []
        self._next = 0

    async def open(self) -> None:
        """Open the pool; the first connection must succeed within the budget (at least 5 s)."""
        self._pool = AsyncConnectionPool(
            self._conninfo,
            min_size=1,
            max_size=READERS,
            open=False,
            timeout=self._budget_s,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": tuple_row},
        )
        try:
            await self._pool.open(wait=True, timeout=max(5.0, self._budget_s))
        except (PoolTimeout, psycopg.Error) as error:
            await self._pool.close()
            raise Unavailable(f"PostgreSQL does not answer: {_short(error)}") from error
        self._writers = [
            Writer(lambda: _WriteConnection(self._conninfo), name=f"surehit-writer-{n}")
            for n in range(WRITERS)
        ]

    async def close(self) -> None:
        """Finish accepted writes and disconnect."""
        for writer in self._writers:
            await asyncio.to_thread(writer.close)
        if self._pool is not None:
            await self._pool.close()

    async def read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """One prepared statement on a pooled connection, within the budget."""
        if self._pool is None:
            raise Unavailable("the database is not open")
        try:
            async with asyncio.timeout(self._budget_s), self._pool.connection() as connection:
                cursor = connection.cursor(binary=True)
                await cursor.execute(query.postgresql, query.bound(params))
                return await cursor.fetchall()
        except (psycopg.DataError, UnicodeEncodeError) as error:
            raise unkeepable(error) from error
        except (psycopg.Error, PoolTimeout, TimeoutError) as error:
            raise Unavailable(f"PostgreSQL: {_short(error)}") from error

    async def write(self, work: Callable[[Transaction], T], *, durable: bool = False) -> T:
        """See `Database.write`; every commit is durable here."""
        if not self._writers:
            raise Unavailable("the database is not open")
        self._next = (self._next + 1) % len(self._writers)
        value: T = await self._writers[self._next].submit(work, durable=durable)
        return value


class PostgresqlTransaction:
    """Statements inside a writer's transaction."""

    is_postgresql = True

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
        self._connection: psycopg.Connection[Row] = psycopg.connect(
            info, autocommit=True, row_factory=tuple_row, prepare_threshold=0, connect_timeout=5
        )

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
            raise Unavailable(f"PostgreSQL: {_short(error)}") from error

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
        except (SurehitError, ValueError, pg_errors.IntegrityError) as error:
            work.error = error  # this work's own fault: the others of the group go on

    def close(self) -> None:
        self._connection.close()


def _short(error: BaseException) -> str:
    """The first line: the rest may quote values."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
