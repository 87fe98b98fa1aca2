"""Alembic's entry: runs on SQLite and PostgreSQL, one starter at a time, never waiting long for a lock."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from alembic import context
from sqlalchemy import Connection, Engine, create_engine, event, pool, text

from service.storage.models import Base

LOCK_ID = 7_305_411_928_001
"""Advisory lock of PostgreSQL under which migrations run, so that two starters can't race."""

LOCK_WAIT_S = 60.0
"""How long a starter waits for another one's migration (SQLite)."""


def run(connection: Connection) -> None:
    """Upgrade inside one transaction per migration."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        transaction_per_migration=True,
        transactional_ddl=True,  # a starter that dies in the middle leaves nothing behind
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=False,
    )
    with context.begin_transaction():
        context.run_migrations()


def main() -> None:
    """Connect to the URL that the caller configured and migrate."""
    url = context.config.get_main_option("sqlalchemy.url")
    if not url:
        raise RuntimeError("no database URL; run `surehit migrate`")
    engine = create_engine(url, poolclass=pool.NullPool)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _sqlite_pragmas)
        event.listen(engine, "begin", _sqlite_begin)
    with _alone(engine), engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET lock_timeout = '4s'"))
            connection.execute(text("SET statement_timeout = '60s'"))
            connection.execute(text(f"SELECT pg_advisory_lock({LOCK_ID})"))
            connection.commit()
        try:
            run(connection)
        finally:
            if connection.dialect.name == "postgresql":
                connection.rollback()
                connection.execute(text(f"SELECT pg_advisory_unlock({LOCK_ID})"))
                connection.commit()


@contextlib.contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """One starter at a time on SQLite, too: an empty database beside ours serves as the lock, on every platform."""
    path = engine.url.database
    if engine.dialect.name != "sqlite" or path in (None, "", ":memory:"):
        yield
        return
    lock = sqlite3.connect(f"{path}-migrating", timeout=LOCK_WAIT_S, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        lock.close()


def _sqlite_begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _sqlite_pragmas(connection: object, _record: object) -> None:
    # the driver's own BEGIN comes with the first row that is written, too late for a CREATE TABLE
    connection.isolation_level = None  # type: ignore[attr-defined]
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.execute("PRAGMA page_size=16384")  # must stand before the first table
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.close()


main()
