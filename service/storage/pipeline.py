"""Short reads on a held PostgreSQL connection in libpq's pipeline mode: each is sent the moment it is asked for.

A read through psycopg's pool and cursors costs some 0.3 ms of processor time, most of it for handing a connection
around and waiting twice; here it is one system call to send, one to receive, and nobody waits for the one before. Every
read is a transaction of its own, so it sees everything that had been committed when it was asked, and an error is its
asker's alone.

Reference: PostgreSQL documentation, libpq, Pipeline Mode.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from service.errors import Unavailable
from service.storage.database import Row, first_line, unkeepable
from service.storage.query import Query

MOST_WAITING = 1_000
"""Reads under way on one connection; the next one is refused at once instead of waiting without end."""

_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")
_BINARY = 1

Dump = Callable[[Any], bytes]
Load = Callable[[bytes], Any]


def _number(layout: str) -> tuple[Dump, Load]:
    packed = struct.Struct(layout)
    return packed.pack, lambda value: packed.unpack(value)[0]


_TEXT: tuple[Dump, Load] = (str.encode, bytes.decode)
_TYPES: dict[int, tuple[Dump, Load]] = {
    16: _number(">?"),
    17: (bytes, bytes),
    20: _number(">q"),
    21: _number(">h"),
    23: _number(">i"),
    25: _TEXT,
    701: _number(">d"),
    1043: _TEXT,
}
"""How values travel in binary, by the OID of their type: bool, bytea, int8, int2, int4, text, float8, varchar."""


@dataclass(slots=True)
class _Statement:
    """A statement as the server knows it."""

    name: bytes
    parameters: list[str]
    dumps: list[Dump]
    loads: list[Load]

    def values(self, params: dict[str, Any]) -> list[bytes | None]:
        given = zip(self.parameters, self.dumps, strict=True)
        return [None if params[n] is None else dump(params[n]) for n, dump in given]

    def rows(self, result: PGresult) -> list[Row]:
        get, loads = result.get_value, list(enumerate(self.loads))
        return [
            tuple([None if (v := get(n, at)) is None else load(v) for at, load in loads])
            for n in range(result.ntuples)
        ]


@dataclass(slots=True)
class _Asked:
    """What was sent and is not answered yet."""

    answer: asyncio.Future[list[PGresult]]
    sent: float
    results: list[PGresult]
    error: psycopg.Error | None = None


class Pipeline:
    """One connection, made when it is first wanted and again when it was lost; used on one event loop.

    Parameters
    ----------
    settings : arguments of `psycopg.connect`, the server's own statement time limit among them.
    wait_s : longest wait of one read. A connection on which nothing moves for so long is given up.
    """

    def __init__(self, settings: dict[str, Any], *, wait_s: float) -> None:
        self._settings = settings
        self._wait_s = wait_s
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._socket = -1
        self._is_blocked = False
        self._names = itertools.count()
        self._statements: dict[Query, asyncio.Task[_Statement]] = {}
        self._asked: deque[_Asked] = deque()
        self._reading = 0
        self._moved = 0.0
        self._watch: asyncio.TimerHandle | None = None

    @property
    def load(self) -> int:
        """How busy it is: reads that somebody waits for, and what the server still has to answer."""
        return self._reading + len(self._asked)

    async def read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """The rows. Raises psycopg.Error, Unavailable, InvalidRequest for values that no row can hold."""
        self._reading += 1
        try:
            return await self._read(query, params)
        finally:
            self._reading -= 1

    async def _read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        prepared = self._statements.get(query)
        if prepared is not None and prepared.done():
            return await self._run(prepared.result(), query, params)
        try:
            async with asyncio.timeout(self._wait_s):  # for all steps together
                return await self._run(await self._statement(query), query, params)
        except TimeoutError as error:
            raise Unavailable(f"PostgreSQL: no answer within {self._wait_s:g} s") from error

    async def _run(self, statement: _Statement, query: Query, params: dict[str, Any]) -> list[Row]:
        try:
            values = statement.values(query.bound(params))
        except (struct.error, UnicodeEncodeError) as error:
            raise unkeepable(error) from error
        formats = [_BINARY] * len(values)
        try:
            (result,) = await self._ask(
                lambda pg: pg.send_query_prepared(statement.name, values, formats, _BINARY)
            )
        except psycopg.errors.FeatureNotSupported:
            self._statements.pop(query, None)  # a migration has changed its columns: prepare anew
            raise
        return statement.rows(result)

    async def close(self) -> None:
        """Disconnect; whoever still waits gets Unavailable."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        self._lose("it was closed")

    async def _statement(self, query: Query) -> _Statement:
        if self._connection is None:
            if self._connecting is None or self._connecting.done():
                self._connecting = asyncio.create_task(self._connect())
            await asyncio.shield(self._connecting)
        prepared = self._statements.get(query)
        if prepared is None:
            prepared = self._statements[query] = asyncio.create_task(self._prepare(query))
            prepared.add_done_callback(lambda done: self._forget(query, done))
        return await asyncio.shield(prepared)

    def _forget(self, query: Query, done: asyncio.Task[_Statement]) -> None:
        """What could not be prepared is tried again by whoever wants it next."""
        failed = done.cancelled() or done.exception() is not None
        if failed and self._statements.get(query) is done:
            del self._statements[query]

    async def _prepare(self, query: Query) -> _Statement:
        parameters: list[str] = []

        def numbered(found: re.Match[str]) -> str:
            if found[1] is None:
                return "%"
            if found[1] not in parameters:
                parameters.append(found[1])
            return f"${parameters.index(found[1]) + 1}"

        sql = _PLACEHOLDER.sub(numbered, query.postgresql).encode()
        name = f"read_{next(self._names)}".encode()

        def send(pg: PGconn) -> None:
            pg.send_prepare(name, sql)
            pg.send_describe_prepared(name)

        _, described = await self._ask(send)
        dumps = [_TYPES[described.param_type(n)][0] for n in range(described.nparams)]
        loads = [_TYPES[described.ftype(n)][1] for n in range(described.nfields)]
        return _Statement(name, parameters, dumps, loads)

    # The connection.

    async def _connect(self) -> None:
        connection = await psycopg.AsyncConnection.connect(**self._settings)
        connection.pgconn.enter_pipeline_mode()
        self._connection, self._socket = connection, connection.pgconn.socket
        asyncio.get_running_loop().add_reader(self._socket, self._receive)

    def _ask(self, send: Callable[[PGconn], None]) -> asyncio.Future[list[PGresult]]:
        """Send commands as one transaction; their results."""
        if self._connection is None:
            raise Unavailable("PostgreSQL: the connection was lost")
        if len(self._asked) >= MOST_WAITING:
            raise Unavailable(f"PostgreSQL: {MOST_WAITING} reads are waiting")
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not self._asked:
            self._moved = now
        asked = _Asked(loop.create_future(), now, [])
        self._asked.append(asked)
        pg = self._connection.pgconn
        try:
            send(pg)
            pg.pipeline_sync()
        except psycopg.OperationalError as error:
            self._lose(str(error))
        self._flush()
        if self._watch is None:
            self._watch = loop.call_later(self._wait_s, self._look)
        return asked.answer

    def _flush(self) -> None:
        """Give the kernel what it takes; the rest when it takes more."""
        if self._connection is None:
            return
        loop = asyncio.get_running_loop()
        try:
            is_full = bool(self._connection.pgconn.flush())
            if is_full and not self._is_blocked:
                loop.add_writer(self._socket, self._flush)
            elif self._is_blocked and not is_full:
                loop.remove_writer(self._socket)
            self._is_blocked = is_full
        except psycopg.OperationalError as error:
            self._lose(str(error))

    def _receive(self) -> None:
        if self._connection is None:
            return
        pg = self._connection.pgconn
        try:
            pg.consume_input()
            while self._asked and not pg.is_busy():
                self._take(pg.get_result())
        except psycopg.OperationalError as error:
            self._lose(str(error))

    def _take(self, result: PGresult | None) -> None:
        if result is None:  # the end of one statement's results
            return
        asked = self._asked[0]
        if result.status == ExecStatus.PIPELINE_SYNC:
            self._asked.popleft()
            self._moved = asyncio.get_running_loop().time()
            if asked.answer.done():  # its asker has left
                return
            if asked.error is not None:
                asked.answer.set_exception(asked.error)
            else:
                asked.answer.set_result(asked.results)
        elif result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            asked.results.append(result)
        elif (
            asked.error is None
        ):  # the first error: what follows it in a transaction is only «aborted»
            asked.error = _error(result)

    def _look(self) -> None:
        """Let go whoever has waited for too long, and the connection if nothing has moved on it for as long."""
        loop = asyncio.get_running_loop()
        late = loop.time() - 0.99 * self._wait_s  # a timer may come a little early
        self._watch = None
        if not self._asked:
            return
        if self._moved <= late:
            self._lose(f"no answer within {self._wait_s:g} s")
            return
        for asked in self._asked:
            if asked.sent > late:
                break
            if not asked.answer.done():
                asked.answer.set_exception(
                    Unavailable(f"PostgreSQL: no answer within {self._wait_s:g} s")
                )
        self._watch = loop.call_later(self._wait_s / 8, self._look)

    def _lose(self, why: str) -> None:
        connection, self._connection = self._connection, None
        self._statements.clear()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if connection is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            if self._is_blocked:
                loop.remove_writer(self._socket)
                self._is_blocked = False
            connection.pgconn.finish()
        while self._asked:
            asked = self._asked.popleft()
            if not asked.answer.done():
                asked.answer.set_exception(Unavailable(f"PostgreSQL: {first_line(why)}"))


def _error(result: PGresult) -> psycopg.Error:
    state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
    message = result.error_message.decode(errors="replace").strip()
    if state is None:
        return psycopg.OperationalError(message)
    try:
        kind = psycopg.errors.lookup(state.decode())
    except KeyError:
        kind = psycopg.DatabaseError
    return kind(message)
