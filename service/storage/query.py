"""A SQLAlchemy Core statement, compiled once per dialect and then run by the plain driver.

SQLAlchemy's own execution costs 3–20 times the driver's for a point read (../DECISIONS.md); compiling keeps one set of
models and one text for both databases at the driver's price.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Executable, func, literal_column
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.sqltypes import BigInteger

SQLITE = sqlite.dialect(paramstyle="named")
POSTGRESQL = psycopg.dialect()  # type: ignore[no-untyped-call]


class Query:
    """One statement with named parameters (`bindparam`), in the spelling of either driver.

    `reads_few` promises that it finds its rows through an index and that they are few, however much is stored: on
    SQLite such a read is done by the time a thread would have been woken for it, and others go to a thread.
    """

    __slots__ = ("_defaults", "name", "postgresql", "reads_few", "sqlite")

    def __init__(self, name: str, statement: Executable, *, reads_few: bool = False) -> None:
        self.name = name
        self.reads_few = reads_few
        on_sqlite = statement.compile(dialect=SQLITE)  # type: ignore[attr-defined]
        on_postgresql = statement.compile(dialect=POSTGRESQL)  # type: ignore[attr-defined]
        self.sqlite = str(on_sqlite)
        self.postgresql = str(on_postgresql)
        # constants that the statement itself holds (a limit, a null); what the caller must give is "required"
        self._defaults = {
            name: bind.effective_value
            for bind, name in on_sqlite.bind_names.items()
            if not bind.required
        }

    def bound(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters with the statement's own constants filled in."""
        return {**self._defaults, **params} if self._defaults else params


def checked(column: Any) -> Any:
    """A column of text or bytes, never empty, for a condition on rows that another one's index finds.

    PostgreSQL keeps the plans of prepared statements. Made while a table is empty, one may search by the tenant and
    read all of its entries for each exact hit, until somebody analyses the table. No index is searched by this.
    """
    return func.nullif(column, literal_column("''"))


class change_horizon(FunctionElement[int]):
    """The `change_seq` from which the next reader must look again; argument: the row's own `change_seq`.

    PostgreSQL hands out transaction numbers before they commit, so everything from the oldest one still running must
    be read again, or a row that commits late would be lost. SQLite has one writer: nothing commits late.
    """

    type = BigInteger()
    inherit_cache = True


@compiles(change_horizon, "sqlite")
def _sqlite_horizon(element: change_horizon, compiler: Any, **kw: Any) -> str:
    return f"({compiler.process(element.clauses, **kw)} + 1)"


@compiles(change_horizon, "postgresql")
def _postgresql_horizon(element: change_horizon, compiler: Any, **kw: Any) -> str:
    return "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
