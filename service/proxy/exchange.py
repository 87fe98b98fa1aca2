"""One proxied request and its reply, as ASGI hands them over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec

from service.errors import MalformedBody
from service.proxy.controls import Controls
from service.proxy.headers import HeaderList
from service.wire.api import JsonObject, Provider, WireApi

T = TypeVar("T")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ClientGone(Exception):
    """Nobody reads the reply any more."""


class Out:
    """The reply, written once."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_begun = False

    async def head(self, status: int, headers: HeaderList) -> None:
        """Begin the reply."""
        self.is_begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def body(self, chunk: bytes) -> None:
        """More of the body."""
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self, chunk: bytes = b"") -> None:
        """The last of the body. A reply that is never ended is cut off: that is how a cut is passed on."""
        await self._send({"type": "http.response.body", "body": chunk})

    async def whole(self, status: int, headers: HeaderList, body: bytes) -> None:
        """A reply in one piece."""
        length = (b"content-length", str(len(body)).encode())
        await self.head(status, [*(h for h in headers if h[0] != length[0]), length])
        await self.end(body)


class Incoming:
    """The request's body, read once, and the news that its client left."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()

    async def read(self, limit: int) -> tuple[bytes, bool]:
        """The body, or as much as was read when it passed the limit (then `rest` has what follows)."""
        parts: list[bytes] = []
        size = 0
        async for part in self.rest():
            parts.append(part)
            size += len(part)
            if size > limit:
                return b"".join(parts), False
        return b"".join(parts), True

    async def rest(self) -> AsyncIterator[bytes]:
        """What was not read yet. Raises ClientGone."""
        while not self._is_read.is_set():
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            if not message.get("more_body"):
                self._is_read.set()
            if message.get("body"):
                yield message["body"]

    async def gone(self) -> None:
        """Return when the client has left."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def while_connected(incoming: Incoming, work: Coroutine[Any, Any, T]) -> T:
    """Do the work as long as somebody waits for it; raises ClientGone when the client leaves first."""
    task = asyncio.create_task(work)
    gone = asyncio.create_task(incoming.gone())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


@dataclass(slots=True)
class Exchange:
    """A request on a cached route."""

    api: WireApi
    provider: Provider
    path: str
    query: bytes
    headers: HeaderList
    incoming: Incoming
    out: Out
    controls: Controls = field(default_factory=Controls)
    raw: bytes = b""
    body: JsonObject | None = None
    """None when it is no JSON object."""
    looked: HeaderList = field(default_factory=list)
    """What the cache has to say about this request, for replies that are errors of ours."""

    @property
    def model(self) -> str:
        """The model that was asked for."""
        model = self.body.get("model") if self.body else None
        return model if isinstance(model, str) else ""

    @property
    def is_streaming(self) -> bool:
        """Whether the caller asked for a stream."""
        return self.body is not None and self.api.is_streaming(self.body)

    @property
    def form(self) -> bytes:
        """What of the request decides how an equal answer is spelled."""
        if self.body is None:
            return self.raw
        names = _FORM_FIELDS.get(self.api.NAME, self.api.INERT_FIELDS)
        spelled = {name: self.body[name] for name in names if name in self.body}
        return msgspec.json.encode(spelled, order="sorted")


# `responses` is not here: it repeats nearly every field of its request
_FORM_FIELDS = {
    "openai.chat": frozenset({"stream", "stream_options", "metadata"}),
    "openai.embeddings": frozenset({"encoding_format"}),
    "anthropic.messages": frozenset({"stream"}),
}


def upstream_path(raw_path: bytes) -> tuple[str, str]:
    """(provider, the path behind its base URL) of `/provider/v1/path`, percent-encoding as it came.

    Raises MalformedBody for a path that would climb out of the upstream's base URL, also by way of an encoded slash,
    which some servers take for one.
    """
    text = raw_path.decode("latin-1")
    _, provider, *rest = text.split("/")
    if rest[:1] == ["v1"]:
        rest = rest[1:]
    steps = unquote("/".join(rest)).replace("\\", "/").split("/")
    if any(step in (".", "..") for step in steps):
        raise MalformedBody("path: must not hold `.` or `..`")
    return provider, "/".join(rest)
