"""HTTP/1.1 as uvicorn speaks it, with head and body of a short reply in one write.

uvicorn writes the two apart, and each write is a system call that wakes the reader: a quarter of an exact hit's time.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

JOINED_BYTES = 65_536
"""Longer bodies are written by themselves: copying them would cost more than a second write."""

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

    def on_response_complete(self) -> None:
        """A reply has ended."""
        self._joining.flush()
        super().on_response_complete()
