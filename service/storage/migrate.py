"""Bringing a database to the newest schema, and saying whether it is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import create_engine, pool
from sqlalchemy.exc import DatabaseError, OperationalError

import migrations
from service.errors import Unavailable
from service.storage.database import first_line


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """A database that does not answer, or is none of ours, is an outage, to be told in a line."""
    try:
        yield
    except OperationalError as error:
        raise Unavailable(f"the database does not answer: {first_line(error.orig)}") from error
    except DatabaseError as error:
        if type(error) is not DatabaseError:  # its kinds are faults of ours
            raise
        raise Unavailable(f"the database cannot be read: {first_line(error.orig)}") from error
    except CommandError as error:
        raise Unavailable(
            f"the database's schema is not known to this program ({error}): a newer one has migrated it"
        ) from error


def upgrade(url: str, revision: str = "head") -> None:
    """Migrate up; safe to call from two starters at once. Raises Unavailable."""
    with _answering():
        command.upgrade(_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    """Migrate down (tests, and an operator's last resort)."""
    command.downgrade(_config(url), revision)


def current(url: str) -> str | None:
    """The revision of the database; None for an empty one. Raises Unavailable."""
    engine = create_engine(url, poolclass=pool.NullPool)
    with _answering(), engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """The revision that this code expects."""
    found = ScriptDirectory.from_config(_config("sqlite://")).get_current_head()
    if found is None:
        raise RuntimeError("the package holds no migration")
    return found


def new_revision(url: str, message: str, revision_id: str) -> None:
    """Draft a migration from the difference between models and database (developers)."""
    command.revision(_config(url), message=message, autogenerate=True, rev_id=revision_id)
