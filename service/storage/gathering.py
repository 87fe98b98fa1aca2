"""Point reads that arrive together go to PostgreSQL together: one round trip and one statement for many.

Nobody waits for a batch to fill: a read goes at once while fewer than `MOST_RUNNING` statements are under way, and what
queues up behind them goes as one when the first of them has answered. A batch is sent after all of its reads were asked
for, so each sees everything that had been committed when it was asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from service.errors import InvalidRequest, Unavailable
from service.storage.query import Query

MOST_RUNNING = 2
"""Statements under way before reads are gathered; two keep the server busy while one answer is being taken apart."""

MOST_TOGETHER = 64
"""Reads of one statement: some 100 kB of answers."""

Read = Callable[[Query, dict[str, Any]], Awaitable[list[tuple[Any, ...]]]]


@dataclass(frozen=True, slots=True)
class PointQuery:
    """A read of at most one row, alone and for many at once.

    `many` takes each parameter as an array and returns, before the columns of `one`, the place in the arrays (from 1).
    """

    one: Query
    many: Query


class Gathering:
    """The reads of one `PointQuery` on one event loop."""

    def __init__(self, point: PointQuery, read: Read, *, wait_s: float | None = None) -> None:
        """`wait_s`: longest wait of a read that is queued, its statement included."""
        self._point = point
        self._wait_s = wait_s
        self._read = read
        self._running = 0
        self._waiting: list[tuple[dict[str, Any], asyncio.Future[tuple[Any, ...] | None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def read(self, params: dict[str, Any]) -> tuple[Any, ...] | None:
        """The row, or None. Raises what the read raises; Unavailable when the queue did not move in time.

        A server that hangs ends the statements one by one, each after its own time: those behind must not add them up.
        """
        if self._running >= MOST_RUNNING:
            answer: asyncio.Future[tuple[Any, ...] | None] = (
                asyncio.get_running_loop().create_future()
            )
            self._waiting.append((params, answer))
            try:
                async with asyncio.timeout(self._wait_s):
                    return await answer
            except TimeoutError as error:
                raise Unavailable(f"no answer within {self._wait_s:g} s") from error
        self._running += 1
        try:
            return await self._alone(params)
        finally:
            self._ended()

    async def _alone(self, params: dict[str, Any]) -> tuple[Any, ...] | None:
        rows = await self._read(self._point.one, params)
        return rows[0] if rows else None

    def _ended(self) -> None:
        """A statement has answered: the next one takes along all that wait."""
        self._running -= 1
        self._waiting = [w for w in self._waiting if not w[1].done()]  # some callers have left
        if self._waiting:
            batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
            self._running += 1
            task = asyncio.get_running_loop().create_task(self._together(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _together(
        self, batch: list[tuple[dict[str, Any], asyncio.Future[tuple[Any, ...] | None]]]
    ) -> None:
        try:
            try:
                arrays = {name: [params[name] for params, _ in batch] for name in batch[0][0]}
                rows = await self._read(self._point.many, arrays)
            except InvalidRequest:  # a value that no row can hold is the fault of one of them alone
                for params, answer in batch:
                    await _settle(answer, self._alone(params))
                return
            found = {row[0]: row[1:] for row in rows}
            for place, (_, answer) in enumerate(batch, start=1):
                if not answer.done():
                    answer.set_result(found.get(place))
        except BaseException as error:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._ended()


async def _settle(
    answer: asyncio.Future[tuple[Any, ...] | None], reading: Awaitable[tuple[Any, ...] | None]
) -> None:
    try:
        value = await reading
    except Exception as error:
        if not answer.done():
            answer.set_exception(error)
        return
    if not answer.done():
        answer.set_result(value)
