"""Migrations: up from nothing, agreeing with the models, down and up again, and two starters at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect, pool

from service.storage import migrate
from service.storage.models import Base
from tests.conftest import sqlalchemy_url
from tests.harness import running


@pytest.fixture
def empty_postgresql(postgresql_server: str) -> Iterator[str]:
    """A PostgreSQL database without any table."""
    name = f"e_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield sqlalchemy_url(postgresql_server, name)
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, once on each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    url: str = request.getfixturevalue("empty_postgresql")
    return url


def tables(url: str) -> set[str]:
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        return set(inspect(connection).get_table_names()) - {"alembic_version"}


def test_upgrade_from_empty_agrees_with_the_models(empty_url: str) -> None:
    assert migrate.current(empty_url) is None
    migrate.upgrade(empty_url)
    assert migrate.current(empty_url) == migrate.head()
    assert tables(empty_url) == set(Base.metadata.tables)
    engine = create_engine(empty_url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        assert compare_metadata(context, Base.metadata) == []
    migrate.upgrade(empty_url)  # once more changes nothing
    assert migrate.current(empty_url) == migrate.head()


def test_down_and_up_again(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    migrate.downgrade(empty_url, "base")
    assert tables(empty_url) == set()
    migrate.upgrade(empty_url)
    assert tables(empty_url) == set(Base.metadata.tables)


def test_two_starters_at_once(empty_url: str) -> None:
    """Both end well, on one schema."""
    start = "import sys; from service.storage import migrate; migrate.upgrade(sys.argv[1])"
    starters = [
        subprocess.Popen([sys.executable, "-c", start, empty_url], stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for starter in starters:
        _, errors = starter.communicate(timeout=60)
        assert starter.returncode == 0, errors
    assert migrate.current(empty_url) == migrate.head()
    assert tables(empty_url) == set(Base.metadata.tables)


def test_url_with_a_percent_sign(tmp_path: Path) -> None:
    """Alembic's configuration would take it for a placeholder."""
    url = f"sqlite:///{tmp_path / 'a%20b.db'}"
    migrate.upgrade(url)
    assert migrate.current(url) == migrate.head()


def test_migrated_database_serves(empty_url: str, tmp_path: Path) -> None:
    migrate.upgrade(empty_url)

    async def use() -> str:
        async with running(empty_url, tmp_path) as client:
            await client.store("q", "a")
            tier: str = (await client.lookup("q"))["tier"]
            return tier

    assert asyncio.run(use()) == "exact"
