"""Single flight: one upstream call that any number of identical requests read along, from its first byte.

The call belongs to nobody: whoever leaves, it goes on while somebody reads, and ends when nobody does. It stays open
to latecomers until its answer has been stored, so that between «in the air» and «in the cache» there is no gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from service.proxy.headers import HeaderList
from service.proxy.upstream import UpstreamFailed
from service.wire.api import JsonObject

MAX_BUFFER = 16 << 20
"""Bytes kept for latecomers; a longer answer is read at the pace of its slowest reader and takes no more of them."""

FlightKey = tuple[str, bytes, int]
"""Tenant, exact key, and the newest invalidation that the call knew of: a later one must not be overtaken."""


@dataclass(frozen=True, slots=True)
class Head:
    """How the upstream's answer begins."""

    status: int
    headers: HeaderList
    is_stream_expected: bool = False
    """True where the call asked for a stream."""

    @property
    def is_good(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300

    @property
    def is_whole(self) -> bool:
        """True for 200, which alone says that the answer is there and whole: 202 is a promise, 206 a part."""
        return self.status == 200

    @property
    def is_stream(self) -> bool:
        """True for server-sent events, and for an answer to a call for them that is not said to be JSON: some servers
        name no type, and whoever waits for a stream must not wait for its end.
        """
        is_named = self._is_typed(b"text/event-stream")
        return is_named or (self.is_stream_expected and not self._is_typed(b"json"))

    def _is_typed(self, name: bytes) -> bool:
        return any(n == b"content-type" and name in v.lower() for n, v in self.headers)


class Flight:
    """One upstream call: what has come so far, and who reads it."""

    def __init__(self, form: bytes, account: HeaderList | None = None) -> None:
        self.form = form
        """How the answer is spelled: streamed or whole, with usage or not. Equal forms share its bytes."""
        self.account = account or []
        """At whose expense: a refusal is shared by requests of the same account alone."""
        self.head: Head | None = None
        self.failure: UpstreamFailed | None = None
        self.is_ended = False
        self.is_settled = False
        self.is_stored = False
        self.answer: JsonObject | None = None
        """The whole answer, as soon as it is complete and good."""
        self.tags: tuple[str, ...] = ()
        self.ttl_s: float | None = None
        """What those who share the call want of its entry: the tags of all, the shortest life time."""
        self.is_overflowing = False
        self.is_abandoned = False
        self._chunks: list[bytes] = []
        self._dropped = 0  # chunks that went from the front of `_chunks`
        self._size = 0
        self._readers: set[Reader] = set()
        self._signal = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_kept = False

    # by the call

    def start(self, call: Coroutine[Any, Any, None], *, keep: bool = False) -> asyncio.Task[None]:
        """Take off. `keep` flies on without readers (a refresh in the background)."""
        self._is_kept = keep
        self._task = asyncio.create_task(call)
        return self._task

    def begin(self, head: Head) -> None:
        """The head is here."""
        self.head = head
        self._wake()

    async def add(self, chunk: bytes) -> None:
        """More of the body; waits for the slowest reader once the buffer is full."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._wake()
        while self._size > MAX_BUFFER:
            self.is_overflowing = True
            self._wake()
            self._drop_read()
            if self._size > MAX_BUFFER:
                if self._is_kept and not self._readers:
                    self._abandon()  # nobody reads it, and it has grown too long to be kept
                await self._signal.wait()

    def end(self) -> None:
        """The upstream has ended its answer, properly as far as HTTP can tell."""
        self.is_ended = True
        self._wake()

    def fail(self, failure: UpstreamFailed) -> None:
        """The upstream gave no answer, or not all of it."""
        self.failure = failure
        self.is_ended = True
        self._wake()

    def settle(self, *, stored: bool) -> None:
        """Nothing more will happen."""
        self.is_stored = stored
        self.is_ended = self.is_settled = True
        self._wake()

    @property
    def whole_body(self) -> bytes:
        """Everything that came; only while nothing was dropped."""
        return b"".join(self._chunks)

    def wish(self, tags: tuple[str, ...], ttl_s: float | None) -> None:
        """One more who shares the call: its answer must end with the tags and within the life time of each of them."""
        self.tags = tuple(dict.fromkeys((*self.tags, *tags)))
        wanted = [ttl for ttl in (self.ttl_s, ttl_s) if ttl is not None]
        self.ttl_s = min(wanted, default=None)

    # by readers

    def join(self) -> Reader:
        """Read along."""
        reader = Reader(self)
        self._readers.add(reader)
        return reader

    def _leave(self, reader: Reader) -> None:
        self._readers.discard(reader)
        self._wake()
        is_over = self.is_ended or self.answer is not None
        if not self._readers and not is_over and not self._is_kept and self._task:
            self._abandon()

    def _abandon(self) -> None:
        """End the call."""
        self.is_abandoned = True
        if self._task is not None:
            # not at once: a task that is cancelled before its first step never runs its clean-up
            asyncio.get_running_loop().call_soon(self._task.cancel)

    def _take(self, reader: Reader) -> bytes:
        new = self._chunks[reader.position - self._dropped :]
        reader.position = self._dropped + len(self._chunks)
        if self.is_overflowing:
            self._wake()
        return b"".join(new)

    def _drop_read(self) -> None:
        slowest = min((r.position for r in self._readers), default=0)
        while self._chunks and self._dropped < slowest:
            self._size -= len(self._chunks.pop(0))
            self._dropped += 1

    def _wake(self) -> None:
        self._signal.set()
        self._signal = asyncio.Event()


class Reader:
    """One request that reads a flight."""

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.position = 0

    async def head(self, timeout_s: float | None) -> bool:
        """Wait until head or failure is known; False when the time was up first."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.flight.head is None and not self.flight.is_ended:
                    await self.flight._signal.wait()
        except TimeoutError:
            return False
        return True

    async def read(self) -> bytes:
        """The next bytes; empty at the end, also when the call failed."""
        while True:
            found = self.flight._take(self)
            if found or self.flight.is_ended:
                return found
            await self.flight._signal.wait()

    async def whole(self) -> bool:
        """Wait for the end; False when the answer grew too long to be kept, or broke off."""
        while not self.flight.is_ended and not self.flight.is_overflowing:
            await self.flight._signal.wait()
        return not self.flight.is_overflowing and self.flight.failure is None

    async def settled(self, timeout_s: float) -> bool:
        """Wait until the answer has been stored, or will not be; False when the time was up first."""
        try:
            async with asyncio.timeout(timeout_s):
                while not self.flight.is_settled:
                    await self.flight._signal.wait()
        except TimeoutError:
            return False
        return True

    def leave(self) -> None:
        """Stop reading; the last one to leave ends the call."""
        self.flight._leave(self)


class Flights:
    """The calls in the air, by what they ask."""

    def __init__(self) -> None:
        self._by_key: dict[FlightKey, Flight] = {}
        self._leads: dict[tuple[str, bytes], int] = {}

    def find(self, key: FlightKey) -> Flight | None:
        """A flight that may still be joined."""
        flight = self._by_key.get(key)
        if flight is None or flight.is_overflowing or flight.is_abandoned:
            return None
        return flight

    def lead(self, key: FlightKey, flight: Flight) -> None:
        """From now on identical requests join this one."""
        self._by_key[key] = flight
        self._leads[key[:2]] = self._leads.get(key[:2], 0) + 1

    def is_led_here(self, key: FlightKey) -> bool:
        """True when this process flies for the same exact key, be it from before an invalidation."""
        return key[:2] in self._leads

    def remove(self, key: FlightKey, flight: Flight) -> None:
        """A flight that was led is over."""
        if self._by_key.get(key) is flight:
            del self._by_key[key]
        left = self._leads[key[:2]] - 1
        if left:
            self._leads[key[:2]] = left
        else:
            del self._leads[key[:2]]
