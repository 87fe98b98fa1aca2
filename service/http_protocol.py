"""HTTP/1.1 as uvicorn speaks it, with less work for what is answered at once, and an end to slow requests.

- uvicorn makes a task per request and waits in it for the body. A request of a hot route that came whole is given to
  the application's `begin` (api/hot.py) instead, and only what that leaves undone becomes a task.
- uvicorn parses each head anew. One that is the same, byte for byte, as an earlier one of a hot route is known
  (request_heads.py); on a kept connection that is all of them.
- uvicorn writes head and body apart, and each write is a system call that wakes the reader: a short reply is one write.
- uvicorn loses the body of a request that offers to go on in another protocol; here such offers are ignored
  (upgrade_offers.py).
- uvicorn waits without end for the rest of a request, and for the first one of a connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Coroutine
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from service.api.hot import HotPath, Reply
from service.request_heads import RequestHeads
from service.upgrade_offers import OfferIgnoringParser

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

    def write_whole(self, data: bytes) -> None:
        """Send a reply, head and body."""
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


_heads = RequestHeads()


class Protocol(HttpToolsProtocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        self._joining = JoiningTransport(transport)
        self._hot = self.app if isinstance(self.app, HotPath) and not self.access_log else None
        self._held: RequestResponseCycle | None = None
        self._is_between = True
        """No byte of a request has come since the last one was whole."""
        self._whole = b""
        """What came last, if a request began with it."""
        self._begun: Reply | Coroutine[Any, Any, Reply] | None = None
        """Of a request with a known head that is answered later."""
        self._answered_at = float("-inf")
        self._knows = (
            self._hot is not None
            and self._hot.answers_at_once  # else nothing is gained by doing without the parser
            and not self.root_path
            and not self.limit_concurrency
        )
        self.parser = OfferIgnoringParser(self)
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
        if self._is_between and self._knows:
            if self._answer_known(data):
                return
            self._whole = data
        super().data_received(data)
        self._whole = b""
        if isinstance(self._begun, Coroutine):  # the connection was closed before it was asked for
            self._begun.close()
        self._begun = None
        if self._held is not None:  # the rest of its body is still to come
            self._start_held()
        self._watch()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._is_arriving = True
        self._is_between = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A request's head is whole; one with an offer to upgrade is parsed once more without it."""
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        if self.parser.should_upgrade():
            return
        self._is_arriving = False
        self._is_between = True
        super().on_message_complete()
        held, self._held = self._held, None
        if held is not None and self._hot is not None:
            self._answer(self._hot, held)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """A request's head is complete. One of a hot route is held until its body is, if that comes along with it."""
        is_next = cycle is self.cycle and cycle.more_body and not cycle.waiting_for_100_continue
        if (
            self._hot is not None
            and app is self._hot
            and is_next
            and app.answers(cast(Any, cycle.scope))
        ):
            self._held = cycle
        else:
            super()._start_asgi_task(cycle, app)

    def _start_held(self) -> None:
        """What was held becomes a task after all."""
        held, self._held = self._held, None
        if held is not None:
            super()._start_asgi_task(held, self.app)

    def _answer(self, app: HotPath, cycle: RequestResponseCycle) -> None:
        """A whole request of a hot route: its reply at once, or a task for what is left to do."""
        body = bytes(cycle.body)
        found, self._begun = self._begun, None
        if found is None:
            found = app.begin(cast(Any, cycle.scope), body)
            if self._whole and self._knows and cycle.keep_alive:
                _heads.keep(self._whole, cycle.scope, body)
        cycle.body = bytearray()
        if not isinstance(found, Reply) or self.flow.write_paused:
            super()._start_asgi_task(cycle, self._rest(cycle, found))
        else:
            self._finish(cycle, found)

    def _rest(self, cycle: RequestResponseCycle, found: Reply | Coroutine[Any, Any, Reply]) -> Any:
        """An ASGI application, for its task's sake alone, that writes one reply which may have to be waited for."""

        async def app(scope: Any, receive: Any, send: Any) -> None:
            reply = found if isinstance(found, Reply) else await found
            if self.flow.write_paused and not cycle.disconnected:
                await self.flow.drain()
            if not cycle.disconnected:
                self._finish(cycle, reply)

        return app

    def _finish(self, cycle: RequestResponseCycle, reply: Reply) -> None:
        cycle.response_started = cycle.response_complete = True
        self._write(reply, keep_alive=cycle.keep_alive)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _answer_known(self, data: bytes) -> bool:
        """Answer a whole request with a known head, if that takes no waiting; else the parser is to read it."""
        is_busy = self.cycle is not None and not self.cycle.response_complete
        known = None if is_busy or self.flow.write_paused else _heads.find(data)
        if known is None or self._hot is None:
            return False
        found = self._hot.begin(*known)
        if not isinstance(found, Reply):
            self._begun = found
            return False
        self._write(found, keep_alive=True)
        self.server_state.total_requests += 1
        self._answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._is_arriving = False
            self._watch()
            self._close_when_idle(self.timeout_keep_alive)
        return True

    def _write(self, reply: Reply, *, keep_alive: bool) -> None:
        content = [STATUS_LINE[reply.status]]
        for name, value in (*self.server_state.default_headers, *reply.headers):
            content += (name, b": ", value, b"\r\n")
        if not keep_alive:
            content.append(b"connection: close\r\n")
        content += (b"content-length: %d\r\n\r\n" % len(reply.body), reply.body)
        self._joining.write_whole(b"".join(content))

    def _close_when_idle(self, after_s: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            after_s, self.timeout_keep_alive_handler
        )

    def timeout_keep_alive_handler(self) -> None:
        """No byte was parsed for so long; requests with known heads don't set the clock back one by one."""
        left_s = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if left_s > 0:
            self._close_when_idle(left_s)
        else:
            super().timeout_keep_alive_handler()

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
