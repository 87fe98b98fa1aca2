"""Bringing a database to the newest schema, and saying whether it is there."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, pool

import migrations


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def upgrade(url: str, revision: str = "head") -> None:
    """Migrate up; safe to call from two starters at once."""
    command.upgrade(_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    """Migrate down (tests, and an operator's last resort)."""
    command.downgrade(_config(url), revision)


def current(url: str) -> str | None:
    """The revision of the database; None for an empty one."""
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
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
