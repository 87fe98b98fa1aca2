"""HTTP/1.1 as uvicorn speaks it, with head and body of a short reply in one write, and an end to slow requests.

uvicorn writes the two apart, and each write is a system call that wakes the reader: a quarter of an exact hit's time.
It also waits without end for the rest of a request, and for the first one of a connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

JOINED_BYTES = 65_536
"""Longer bodies are written by themselves: copying them would cost more than a second write."""

REQUEST_S = 30.0
"""Longest time from a request's first byte (of a connection's first one: from connecting) to its last byte."""

SPARE_FILES = 64
"""Files that connections leave to the rest of the process: database, models, snapshots, upstreams."""

_SLOW = (
    b'{"type":"about:blank","title":"Request Timeout","status":408,'
    b'"detail":"the request did not arrive in time","code":"http-408"}'
)
_REFUSAL = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_SLOW), _SLOW)
)

_HEAD = b"HTTP/1.1 "
_LENGTH = b"\r\ncontent-length: "


class JoiningTransport:
    """A transport that holds a head whose body is about to follow.

    Only a head with a Content-Length is held: a stream's head goes out at once, since its first part may take long.
    """

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""

    def write(self, data: bytes) -> None:
        """See asyncio.WriteTransport.write."""
        if self._head:
            head, self._head = self._head, b""
            if len(data) <= JOINED_BYTES:
                self._transport.write(head + data)
                return
            self._transport.write(head)
        elif data.startswith(_HEAD) and _LENGTH in data:
            self._head = data
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Send a head that stayed alone: a reply to HEAD, or one whose body never came."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def close(self) -> None:
        """See asyncio.BaseTransport.close."""
        if not self._transport.is_closing():
            self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(HttpToolsProtocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        self._joining = JoiningTransport(transport)
        super().connection_made(cast(asyncio.Transport, self._joining))
        if len(self.connections) > most_connections():
            transport.abort()  # with a file taken for it, the next store could not reach its database
        self._is_arriving = True
        self._arrival: asyncio.TimerHandle | None = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._is_arriving = False
        self._watch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes came; only a request that they leave unfinished is timed."""
        super().data_received(data)
        self._watch()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._is_arriving = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        self._is_arriving = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A reply has ended."""
        self._joining.flush()
        super().on_response_complete()

    def _watch(self) -> None:
        """Time a request that is arriving, from its first byte; stop when it is whole."""
        if not self._is_arriving:
            if self._arrival is not None:
                self._arrival.cancel()
                self._arrival = None
        elif self._arrival is None and not self.transport.is_closing():
            self._arrival = self.loop.call_later(REQUEST_S, self._too_slow)

    def _too_slow(self) -> None:
        self._arrival = None
        cycle = self.cycle
        is_answering = cycle is not None and not (cycle.response_complete or cycle.more_body)
        if is_answering or self.flow.read_paused:  # we are the slow ones: the rest is not read yet
            self._watch()
            return
        if self.transport.is_closing():
            return
        has_begun = self.scope is not None  # a silent connection has asked nothing to be answered
        if has_begun and (cycle is None or cycle.response_complete or not cycle.response_started):
            self.transport.write(_REFUSAL)
        self.transport.close()


@functools.cache
def most_connections() -> int:
    """Connections that the limit of open files allows, which is raised to the highest that this process may set."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 1 << 30
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    if soft == resource.RLIM_INFINITY:
        return 1 << 30
    return max(soft - SPARE_FILES, soft // 2)
