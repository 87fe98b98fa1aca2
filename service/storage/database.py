"""How rows are reached: reads on the caller's event loop, writes through writers that commit in groups.

`Database` has two implementations with the same meaning. A *read* runs one prepared statement. A *write* runs a
function over a `Transaction` in a writer thread; several that wait together share one commit, each behind its own
savepoint, and every caller is answered after the commit that holds its work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from service.errors import InvalidRequest
from service.storage.query import Query

T = TypeVar("T")
Row = tuple[Any, ...]


class DuplicateKey(Exception):
    """A row with this id exists: two processes made one id in the same millisecond."""


class Transaction(Protocol):
    """What a write may do: run statements, in order, inside one transaction."""

    is_postgresql: bool
    keeps_vectors: bool
    """True where vectors are also kept for `storage.pgvector`."""

    def run(self, query: Query, params: dict[str, Any] | None = None) -> list[Row]:
        """Run a statement; the rows it returns, if any."""
        ...

    def run_many(self, query: Query, params: list[dict[str, Any]]) -> None:
        """Run a statement once per set of parameters."""
        ...

    def count(self, query: Query, params: dict[str, Any] | None = None) -> int:
        """Run a statement; how many rows it changed."""
        ...

    def text(self, sql: str, params: dict[str, Any] | None = None) -> list[Row]:
        """Run SQL of one dialect only (locks)."""
        ...


class Readable(Protocol):
    """Rows that can be read; which server's is its own affair."""

    async def read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """Rows of one committed state; raises Unavailable."""
        ...


class ReadsAtOnce(Protocol):
    """Rows so near that reading them costs less than waiting for anything would."""

    def read_now(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """Rows of one committed state, before anything else of this thread runs; raises Unavailable."""
        ...

    def version(self) -> bytes | None:
        """Another value after each commit, by whichever process; None where that cannot be told.

        While it stays the same, rows that were read under it are what they would be if they were read again.
        """
        ...


class Database(Protocol):
    """The rows, whichever server holds them. Raises Unavailable when it does not answer."""

    is_postgresql: bool
    keeps_vectors: bool
    at_once: ReadsAtOnce | None
    """None where a read goes over a network."""

    async def open(self) -> None:
        """Connect; raises Unavailable."""
        ...

    async def close(self) -> None:
        """Finish the writes that were accepted and disconnect."""
        ...

    async def read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """Rows of one committed state."""
        ...

    async def write(self, work: Callable[[Transaction], T], *, durable: bool = False) -> T:
        """Run `work` in a transaction; its value, once committed.

        `durable` asks for a commit that outlives a power cut (invalidation, verdicts, lines); without it a SQLite
        commit outlives a crash of the process, and a power cut may take the last moments of stored answers.
        `work` may run twice, so it must change nothing but rows.
        """
        ...


def unkeepable(error: Exception) -> InvalidRequest:
    """A value that no row can hold (a NUL, half a surrogate pair, a number beyond 64 bits) is its sender's fault."""
    return InvalidRequest(f"a value of this request cannot be kept: {first_line(error)}")


def first_line(trouble: object) -> str:
    """What a database says of a trouble: only the first line, since the rest may quote values."""
    return (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]


def open_database(url: str, *, budget_ms: int) -> Database:
    """The implementation for an SQLAlchemy URL."""
    from service.storage import postgresql, sqlite

    if url.startswith("sqlite"):
        return sqlite.SqliteDatabase(url)
    return postgresql.PostgresqlDatabase(url, budget_ms=budget_ms)
