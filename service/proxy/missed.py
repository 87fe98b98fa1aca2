"""A miss on its way to an answer: single flight, in this process by reading along, across workers by the lease.

Whoever finds an identical request in the air reads along. A call that does not begin to answer in time is left: the
first to leave calls anew and the others join that; who loses patience a second time calls for itself alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from service import ids, waiting
from service.cache import Caller
from service.errors import Unavailable
from service.outcome import Forward, Miss
from service.policy import Policy
from service.proxy import filling, replies
from service.proxy.exchange import Exchange
from service.proxy.filling import STORE_GRACE_S, Call
from service.proxy.flight import Flight, FlightKey, Reader
from service.proxy.headers import HeaderList, account_of, to_caller
from service.proxy.parts import Parts, book, rendered
from service.proxy.relay import failure_of, relay_stream, relay_whole
from service.proxy.stale import serve_stale
from service.storage import entries
from service.storage.database import Row

_TOGETHER = 2
"""Flights that a request shares before it calls for itself alone."""

_STALE_ON = frozenset({500, 502, 503, 504, 529})
"""Statuses at which an ended entry may stand in (RFC 5861 §4; 529 is Anthropic's «overloaded»)."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A request that the cache did not answer and whose answer can be stored."""

    parts: Parts
    exchange: Exchange
    caller: Caller
    policy: Policy
    miss: Miss
    key: FlightKey
    call: Call


async def answer(missed: Missed) -> str:
    """Reply; `miss` or `stale`. Raises SurehitError while nothing of the reply was sent."""
    if await _revalidating(missed):
        return "stale"
    if await _filled_meanwhile(missed):
        return "miss"
    abandoned: Flight | None = None
    leads = False
    try:
        for attempt in range(_TOGETHER + 1):
            flight, leads = _board(missed, abandoned, alone=attempt == _TOGETHER)
            flight.wish(missed.exchange.controls.tags, missed.exchange.controls.ttl_s)
            reader = flight.join()
            try:
                patience_s = None if leads else missed.parts.cache.settings.collapse_wait_s
                if await reader.head(patience_s):
                    outcome = await _relay(missed, reader, leads)
                    if outcome is not None:
                        return outcome
            finally:
                reader.leave()
            abandoned = flight
        raise AssertionError("a call of one's own always answers")  # pragma: no cover
    finally:
        if missed.miss.fill and not leads:  # a lease that no call of its own will give back
            await missed.parts.filler.give_up(
                missed.caller, lookup_id=missed.miss.lookup_id, exact_key=missed.key[1]
            )


def _board(missed: Missed, abandoned: Flight | None, *, alone: bool) -> tuple[Flight, bool]:
    """(a flight, whether this request leads it)."""
    parts, exchange = missed.parts, missed.exchange
    if alone:
        return parts.filler.start(missed.call, form=exchange.form), True
    flight = parts.flights.find(missed.key) if exchange.controls.may_serve else None
    if flight is not None and flight is not abandoned:
        return flight, False
    return parts.filler.start(missed.call, form=exchange.form, key=missed.key), True


async def _relay(missed: Missed, reader: Reader, leads: bool) -> str | None:
    """Send what the flight brings; None when this request cannot be answered by it."""
    flight, exchange = reader.flight, missed.exchange
    head = flight.head
    if head is not None and not head.is_good and flight.account != account_of(missed.call.headers):
        return None  # a bad key or a used-up limit of somebody else's
    if (head is None or head.status in _STALE_ON) and await serve_stale(
        missed.parts, exchange, missed.policy, missed.key[1], missed.miss, why="stale-if-error"
    ):
        return "stale"
    exchange.looked = _own_headers(missed, collapsed=not leads, stored=False)
    if head is None:
        raise failure_of(reader)

    def headers_of(stored: bool) -> HeaderList:
        drop = () if leads else (b"set-cookie",)
        upstream = to_caller(head.headers, cached_route=True, drop=drop)
        return upstream + _own_headers(missed, collapsed=not leads, stored=stored)

    if head.is_good and flight.form != exchange.form:
        if not await _relay_rendered(missed, reader):
            return None
    elif head.is_good and head.is_stream:
        await relay_stream(exchange, reader, headers_of(False))
    else:
        await relay_whole(exchange, reader, headers_of, grace_s=STORE_GRACE_S)
    if not leads:
        missed.parts.measures.collapsed.inc()
        if flight.answer is not None:
            book(missed.parts, exchange, missed.caller.tenant, "collapsed", flight.answer)
    return "miss"


async def _relay_rendered(missed: Missed, reader: Reader) -> bool:
    """Send the answer of a flight that is spelled in another form, once it is whole."""
    if not await reader.whole() or reader.flight.answer is None:
        return False
    await reader.settled(STORE_GRACE_S)
    try:
        found = rendered(missed.parts, missed.exchange, reader.flight.answer)
    except replies.NotReplayable:
        return False
    await _send_rendered(missed, found, stored=reader.flight.is_stored)
    return True


async def _send_rendered(missed: Missed, found: replies.Rendered, *, stored: bool) -> None:
    headers = [
        (b"content-type", found.content_type),
        *_own_headers(missed, collapsed=True, stored=stored),
    ]
    await missed.exchange.out.whole(200, headers, found.body)


def _own_headers(missed: Missed, *, collapsed: bool, stored: bool) -> HeaderList:
    forward: Forward | None = None if missed.exchange.controls.may_serve else "request"
    return replies.miss_headers(missed.miss, forward=forward, collapsed=collapsed, stored=stored)


async def _revalidating(missed: Missed) -> bool:
    """Serve the ended entry at once and fetch a new answer behind the caller's back."""
    parts = missed.parts
    if not await serve_stale(
        parts,
        missed.exchange,
        missed.policy,
        missed.key[1],
        missed.miss,
        why="stale-while-revalidate",
    ):
        return False
    if missed.miss.fill and parts.flights.find(missed.key) is None:
        parts.filler.start(missed.call, form=missed.exchange.form, key=missed.key, keep=True)
    return True


async def _filled_meanwhile(missed: Missed) -> bool:
    """Send the answer that was stored since the lookup read the exact tier, or that another worker is about to store.

    True when it was sent. The first matters with fast upstreams: an identical request may have been answered and
    stored while this one was being embedded.
    """
    parts, exchange = missed.parts, missed.exchange
    if not exchange.controls.may_serve or parts.flights.is_led_here(missed.key):
        return False
    try:
        async with asyncio.timeout(parts.cache.settings.collapse_wait_s):
            is_alone = missed.miss.fill or parts.filler.adopt(missed.key)
            response = await (_stored(missed) if is_alone else _poll(missed))
        found = None if response is None else rendered(parts, exchange, response)
    except (TimeoutError, Unavailable, replies.NotReplayable):
        return False
    if found is None:
        return False
    parts.measures.collapsed.inc()
    book(parts, exchange, missed.caller.tenant, "collapsed", found.answer)
    await _send_rendered(missed, found, stored=True)
    return True


async def _stored(missed: Missed) -> bytes | None:
    cache, now = missed.parts.cache, missed.parts.cache.clock_ms()
    row = await entries.exact(
        cache.db,
        missed.caller.tenant,
        line=missed.policy.line,
        key=missed.key[1],
        now=now,
        api_key=missed.caller.key_hash,
    )
    return None if row is None else _wanted(missed, row, now)


def _wanted(missed: Missed, row: Row, now: int) -> bytes | None:
    """The answer in a row of the exact tier, if there is one and the caller takes one of its age."""
    if row[1] is None or not missed.exchange.controls.takes(row[3], row[4], now):
        return None
    return bytes(row[2])


async def _poll(missed: Missed) -> bytes | None:
    """The answer that another worker stores; None when this one should call (or has begun to)."""
    parts, key = missed.parts, missed.key
    waited = await waiting.for_answer(
        parts.cache,
        missed.caller,
        line=missed.policy.line,
        key=key[1],
        lookup_id=ids.decode("lkp", missed.miss.lookup_id) or 0,
        lease_s=min(filling.LEASE_S, parts.cache.settings.fill_lease_s),
        take=lambda row, now: _wanted(missed, row, now),
        is_over=lambda: parts.flights.is_led_here(key),
    )
    return waited.answer
