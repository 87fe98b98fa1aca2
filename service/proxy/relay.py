"""Handing an upstream's answer on to one of its readers, as it comes or in one piece."""

from __future__ import annotations

from collections.abc import Callable

from service.proxy.exchange import Exchange
from service.proxy.flight import Reader
from service.proxy.headers import HeaderList
from service.proxy.upstream import UpstreamFailed

_EVENT_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")


async def relay_stream(exchange: Exchange, reader: Reader, headers: HeaderList) -> None:
    """Send the stream's bytes untouched, each as it comes.

    A stream that broke off between two events is ended by an error event, which the clients raise. One that broke off
    inside an event is cut off here as well: nothing that we could add would make it readable.
    """
    out, flight = exchange.out, reader.flight
    await out.head(flight.head.status if flight.head else 200, headers)
    tail = b"\n\n"
    while chunk := await reader.read():
        await out.body(chunk)
        tail = (tail + chunk)[-4:]
    if flight.failure is None:
        await out.end()
    elif tail.endswith(_EVENT_ENDS):
        failure = flight.failure
        await out.end(exchange.api.error_event(failure.status, f"Surehit: {failure.detail}"))


async def relay_whole(
    exchange: Exchange, reader: Reader, headers_of: Callable[[bool], HeaderList], *, grace_s: float
) -> None:
    """Send the answer when it is whole, so that its headers can say whether it was stored.

    Raises UpstreamFailed when it broke off. An answer too long to be kept is sent as it comes.
    """
    out, flight = exchange.out, reader.flight
    status = flight.head.status if flight.head else 200
    if await reader.whole():
        await reader.settled(grace_s)
        await out.whole(status, headers_of(flight.is_stored), flight.whole_body)
        return
    if flight.failure is not None:
        raise flight.failure
    await out.head(status, headers_of(False))
    while chunk := await reader.read():
        await out.body(chunk)
    if flight.failure is None:
        await out.end()


def failure_of(reader: Reader) -> UpstreamFailed:
    """Why a flight that has ended brought nothing."""
    return reader.flight.failure or UpstreamFailed("the upstream gave no answer")
