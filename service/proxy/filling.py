"""An upstream call from its first byte to its stored answer, whoever reads along.

Only a complete, successful answer is stored: its stream has had its last event, its body is an answer of the API, and
the API's own rules find nothing against it. Whatever goes wrong here is nobody's error but a missing entry.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import httpx2
import structlog

from service import ids
from service.cache import Cache, Caller
from service.errors import SurehitError
from service.ledger import Ledger, Spent
from service.lines import LineConfig
from service.proxy.flight import Flight, FlightKey, Flights, Head
from service.proxy.headers import HeaderList, account_of
from service.proxy.measures import Measures
from service.proxy.upstream import Target, UpstreamFailed, Upstreams, failed
from service.storage import fills
from service.store import Put, store
from service.wire.api import JsonObject, WireApi
from service.wire.assembling import StreamAssembler
from service.wire.json_text import NotJson, dump, parse
from service.wire.storing import is_replayable, why_not

STORE_GRACE_S = 0.25
"""A reply's very end waits this long for its answer to be stored: whoever has read it all finds it stored.

In a stream that is the chunk with the last event; a store that takes longer goes on by itself.
"""

LEASE_S = 6.0
"""How long a call's lease lasts; while it flies it is renewed in good time. So a worker that dies with a call in the
air holds up the others for no longer.
"""
RENEW_S = 2.0

MAX_ORPHANS = 10_000
"""Leases remembered that could not be given back."""

STORE_LIMIT_S = 10.0
"""A store that takes longer is given up; until then latecomers read the answer from memory."""

log = structlog.get_logger("surehit.proxy")


@dataclass(frozen=True, slots=True)
class Keep:
    """What storing the answer needs, from the lookup that missed."""

    lookup_id: str
    exact_key: bytes
    config: LineConfig
    tags: tuple[str, ...]
    ttl_s: float | None
    embedded_tokens: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an upstream, as it goes out."""

    api: WireApi
    target: Target
    caller: Caller | None
    line: str
    model: str
    path: str
    query: bytes
    headers: HeaderList
    content: bytes
    is_streaming: bool
    body: JsonObject
    keep: Keep | None = None
    """None where the answer must not be stored."""


class Renewal:
    """Work done every RENEW_S until it is cancelled. A timer and no task: nearly all are cancelled before."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(RENEW_S, self._begin)

    def cancel(self) -> None:
        """No more of it."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await self._work()
            await asyncio.sleep(RENEW_S)


class Filler:
    """Makes upstream calls and stores what comes of them."""

    def __init__(
        self,
        cache: Cache,
        upstreams: Upstreams,
        flights: Flights,
        ledger: Ledger,
        measures: Measures,
    ) -> None:
        self._cache = cache
        self._upstreams = upstreams
        self._flights = flights
        self._ledger = ledger
        self._measures = measures
        self._running: set[asyncio.Task[Any]] = set()
        self._orphans: set[tuple[str, bytes]] = set()

    def start(
        self, call: Call, *, form: bytes = b"", key: FlightKey | None = None, keep: bool = False
    ) -> Flight:
        """Begin a call; with a key, identical requests join it. `keep` goes on without readers."""
        flight = Flight(form, account_of(call.headers))
        if key is not None:
            self._flights.lead(key, flight)
        task = flight.start(self._fly(call, flight, key), keep=keep)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return flight

    async def close(self) -> None:
        """End all calls."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def give_up(self, caller: Caller, *, lookup_id: str, exact_key: bytes) -> None:
        """Nobody fills this key any more: the next one who asks need not wait."""
        number = ids.decode("lkp", lookup_id)
        if number is None:
            return
        try:
            async with asyncio.timeout(STORE_LIMIT_S):
                await self._cache.db.write(
                    lambda tx: fills.give_up(tx, caller.tenant, key=exact_key, lookup_id=number)
                )
        except (
            Exception
        ) as error:  # the lease ends by itself; whoever asks here need not wait for that
            if len(self._orphans) < MAX_ORPHANS:
                self._orphans.add((caller.tenant, exact_key))
            log.warning("lease_not_given_up", error=type(error).__name__)

    def adopt(self, key: FlightKey) -> bool:
        """True once for a key whose lease this process held and could not give back: nobody fills it."""
        if key[:2] in self._orphans:
            self._orphans.discard(key[:2])
            return True
        return False

    async def _fly(self, call: Call, flight: Flight, key: FlightKey | None) -> None:
        storing: asyncio.Task[bool] | None = None
        stored = False
        renewal = self._renew_later(call) if key is not None else None
        try:
            storing = await self._receive(call, flight)
            if storing is not None:
                stored = await storing
        except Exception:
            log.exception("upstream_call_failed", line=call.line)
            flight.fail(UpstreamFailed("the service failed during the call"))
        finally:
            if renewal is not None:
                renewal.cancel()
            if flight.head is not None and flight.head.is_good and flight.answer is None:
                self._note(call, None)  # it began, so it costs, and nobody said how much
            if call.keep is not None and call.caller is not None and not stored:
                await self.give_up(
                    call.caller, lookup_id=call.keep.lookup_id, exact_key=call.keep.exact_key
                )
            if key is not None:
                self._flights.remove(key, flight)
            if not flight.is_ended:  # the call was cancelled
                flight.fail(UpstreamFailed("the service ended the call"))
            flight.settle(stored=stored)

    def _renew_later(self, call: Call) -> Renewal:
        """Renew the call's lease every RENEW_S until the renewal is cancelled; most calls are over before the first."""
        return Renewal(lambda: self._renew(call))

    async def _renew(self, call: Call) -> None:
        keep, caller, cache = call.keep, call.caller, self._cache
        number = None if keep is None else ids.decode("lkp", keep.lookup_id)
        if keep is None or caller is None or number is None:
            return
        until = cache.clock_ms() + round(min(LEASE_S, cache.settings.fill_lease_s) * 1000)
        try:
            await cache.db.write(
                lambda tx: fills.renew(
                    tx, caller.tenant, lookup_id=number, key=keep.exact_key, lease_until=until
                )
            )
        except Exception as error:  # another worker may call as well: dearer, and no fault
            log.warning("lease_not_renewed", error=type(error).__name__)

    async def _receive(self, call: Call, flight: Flight) -> asyncio.Task[bool] | None:
        """Read the upstream's reply into the flight; the storing of its answer, if it is complete and good.

        The chunk that completes a stream is held until the answer is stored (STORE_GRACE_S at most).
        """
        began = time.perf_counter()
        assembler = None
        storing = None
        provider = call.target.provider
        try:
            async with asyncio.timeout(self._cache.settings.upstream_timeout_s):
                async with self._upstreams.call(
                    call.target, "POST", call.path, call.query, call.headers, call.content
                ) as response:
                    head, chunks, is_plain = _opened(response, call)
                    assembler = _assembler(call, head) if is_plain else None
                    flight.begin(head)
                    async for chunk in chunks:
                        if assembler is not None:
                            assembler.feed(chunk)
                            if storing is None and assembler.complete is not None:
                                storing = self._keep(call, flight, assembler.complete)
                                await asyncio.wait({storing}, timeout=STORE_GRACE_S)
                        await flight.add(chunk)
        except (UpstreamFailed, httpx2.HTTPError, TimeoutError) as error:
            failure = error if isinstance(error, UpstreamFailed) else failed(error)
            flight.fail(failure)
            self._measures.upstream_errors.labels(provider, _code(failure, flight.head)).inc()
            return storing
        finally:
            stream = "true" if call.is_streaming else "false"
            self._measures.upstream_seconds.labels(provider, stream).observe(
                time.perf_counter() - began
            )
        if not head.is_good:
            self._measures.upstream_errors.labels(provider, str(head.status)).inc()
        answer = None
        if assembler is not None and storing is None:
            assembler.finish()
            answer = assembler.complete
            if answer is None:
                self._measures.not_stored.labels(assembler.failure or "unknown").inc()
        elif assembler is None and head.is_whole and is_plain and not flight.is_overflowing:
            answer = _object(flight.whole_body)
        if answer is not None:
            storing = self._keep(call, flight, answer)
        flight.end()
        return storing

    def _keep(self, call: Call, flight: Flight, answer: JsonObject) -> asyncio.Task[bool]:
        """Book a complete answer and begin to store it; from here on nobody's leaving ends the call."""
        flight.answer = answer
        self._note(call, answer)
        storing = asyncio.create_task(self._store(call, answer, flight))
        self._running.add(storing)
        storing.add_done_callback(self._running.discard)
        return storing

    def _note(self, call: Call, answer: JsonObject | None) -> None:
        if call.caller is not None:
            embedded = call.keep.embedded_tokens if call.keep is not None else 0
            self._ledger.note(
                call.caller.tenant,
                call.line,
                call.model,
                "provider",
                Spent.of(
                    None if answer is None else call.api.usage(answer), embedded_tokens=embedded
                ),
            )

    async def _store(self, call: Call, answer: JsonObject, flight: Flight) -> bool:
        keep, caller = call.keep, call.caller
        if keep is None or caller is None:
            return False
        reason: str | None = why_not(
            call.api,
            answer,
            call.body,
            allow_truncated=keep.config.store_truncated,
            allow_filtered=keep.config.store_filtered,
            allow_tool_calls=keep.config.reuse_tool_calls,
        )
        if reason is None and not is_replayable(call.api, answer, call.body):
            reason = "malformed"
        if reason is None:
            # as it came where it came whole, so that numbers keep their spelling
            is_whole = flight.head is not None and not flight.head.is_stream
            body = flight.whole_body.strip() if is_whole else dump(answer)
            flight.wish(keep.tags, keep.ttl_s)
            put = Put(
                body,
                keep.lookup_id,
                ttl_s=flight.ttl_s,
                tags=flight.tags,  # with too many of them it is refused: each must find it
                is_checked=True,
            )
            try:
                async with asyncio.timeout(STORE_LIMIT_S):
                    return (await store(self._cache, caller, put)).entry_id is not None
            except SurehitError as error:
                reason = error.code
            except TimeoutError:
                reason = "timeout"
            except Exception:
                log.exception("answer_not_stored", line=call.line)
                reason = "internal"
        self._measures.not_stored.labels(reason).inc()
        return False


def _assembler(call: Call, head: Head) -> StreamAssembler | None:
    if not head.is_whole or not head.is_stream:
        return None
    try:
        return call.api.assembler()
    except ValueError:  # an API that knows no streams; what came is for the caller to judge
        return None


def _opened(response: httpx2.Response, call: Call) -> tuple[Head, AsyncIterator[bytes], bool]:
    """(how the answer begins, its body, whether that is plain). We ask for no compression; some compress all the same.

    What we can unpack is passed on and stored unpacked; what we cannot passes as it is, for the caller to unpack.
    """
    headers = [(name.lower(), value) for name, value in response.headers.raw]
    codings = response.headers.get_list("content-encoding", split_commas=True)
    named = {coding.strip().lower() for coding in codings} - {"", "identity"}
    if named <= _UNPACKED:
        if named:
            headers = [(n, v) for n, v in headers if n not in _OF_THE_CODING]
        head = Head(response.status_code, headers, call.is_streaming)
        return head, response.aiter_bytes(), True
    return Head(response.status_code, headers, call.is_streaming), response.aiter_raw(), False


_UNPACKED = frozenset({"gzip", "deflate"})
_OF_THE_CODING = (b"content-encoding", b"content-length")


def _object(body: bytes) -> JsonObject | None:
    try:
        value = parse(body)
    except NotJson:
        return None
    return value if isinstance(value, dict) else None


def _code(failure: UpstreamFailed, head: Head | None) -> str:
    if failure.status == 504:
        return "timeout"
    return "unreachable" if head is None else "cut"
