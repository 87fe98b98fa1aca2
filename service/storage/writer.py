"""The writer thread: drains a queue of works and commits them in groups."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from service.errors import Unavailable

MAX_GROUP = 64
"""Works per commit: more gains nothing (a commit costs as much as some 30 rows) and lengthens the wait of the first."""

MAX_WAITING = 10_000
"""Works that may wait; beyond it a write is refused at once instead of queued without end."""


@dataclass(slots=True)
class Work:
    """A unit of writing and whoever waits for it."""

    run: Callable[[Any], Any]
    durable: bool
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


class WriteConnection(Protocol):
    """What the thread needs of a connection; each method runs in that thread only."""

    def commit_group(self, works: list[Work]) -> None:
        """Run the works in one transaction and set each one's value or error; raises when nothing was committed."""
        ...

    def abort(self) -> None:
        """End a wait of `commit_group` with an error; called from another thread."""
        ...

    def close(self) -> None: ...


class Writer:
    """One thread with one write connection."""

    def __init__(
        self, connect: Callable[[], WriteConnection], *, name: str, limit_s: float | None
    ) -> None:
        self._connect = connect
        self._limit_s = limit_s
        self._connection: WriteConnection | None = None
        self._busy_since: float | None = None
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._waiting = 0  # touched by the event loop only
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._closed = False
        self._thread.start()

    async def submit(self, run: Callable[[Any], Any], *, durable: bool) -> Any:
        """Queue a work and wait for its commit."""
        if self._closed or self._waiting >= MAX_WAITING:
            raise Unavailable("the database takes no more writes at the moment")
        loop = asyncio.get_running_loop()
        work = Work(run, durable, loop, loop.create_future())
        self._waiting += 1
        self._queue.put(work)
        try:
            async with asyncio.timeout(self._limit_s):
                return await work.done
        except TimeoutError as error:
            self._cut()
            raise Unavailable(
                f"no commit within {self._limit_s:g} s; whether it happened is not known"
            ) from error
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Finish what is queued, then end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join(timeout=30)

    def _cut(self) -> None:
        """Cut a connection that has been at one group for too long."""
        connection, since = self._connection, self._busy_since
        if connection is None or since is None or self._limit_s is None:
            return
        if time.monotonic() - since > self._limit_s / 2:
            connection.abort()

    def _run(self) -> None:
        ending = False
        while not ending:
            first = self._queue.get()
            if first is None:
                break
            group = [first]
            while len(group) < MAX_GROUP:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    ending = True
                    break
                group.append(more)
            # whoever gave up waiting was told that nothing may have been written
            self._commit([work for work in group if not work.done.cancelled()])
            _answer(group)
        if self._connection is not None:
            _close_quietly(self._connection)

    def _commit(self, group: list[Work]) -> None:
        self._busy_since = time.monotonic()
        try:
            if self._connection is None:
                self._connection = self._connect()
            if group:
                self._connection.commit_group(group)
        except BaseException as error:
            for work in group:
                work.error = work.error or error
            if self._connection is not None:
                _close_quietly(self._connection)
                self._connection = None
        self._busy_since = None


def _answer(group: list[Work]) -> None:
    """Wake each caller on its own loop (one call per loop: waking is the dearest part of a group)."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Work]] = {}
    for work in group:
        by_loop.setdefault(work.loop, []).append(work)
    for loop, works in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, works)
        except RuntimeError:  # the loop was closed: nobody waits any more
            continue


def _resolve(works: list[Work]) -> None:
    for work in works:
        if work.done.done():  # cancelled by its caller
            continue
        if work.error is not None:
            work.done.set_exception(work.error)
        else:
            work.done.set_result(work.value)


def _close_quietly(connection: WriteConnection) -> None:
    with contextlib.suppress(Exception):  # it is broken already; a new one is made
        connection.close()
