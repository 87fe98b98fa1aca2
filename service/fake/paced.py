"""Sending with pauses, stalls and cuts, and noticing when the client leaves."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.fake.state import Call, Fault


class PacedStream(Response):
    """A stream of prepared chunks, with the fault that it was asked for."""

    def __init__(
        self,
        request: Request,
        call: Call,
        chunks: list[bytes],
        *,
        fault: Fault,
        chunk_s: float,
        error_chunk: bytes,
        headers: dict[str, str],
    ) -> None:
        super().__init__(media_type="text/event-stream", headers=headers)
        del self.headers["content-length"]
        self._request, self._call, self._chunks = request, call, chunks
        self._fault, self._chunk_s, self._error_chunk = fault, chunk_s, error_chunk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        fault = self._fault
        for at, chunk in enumerate(self._chunks):
            if at == fault.cut_after:
                return  # without an end: the server drops the connection
            if at == fault.error_after:
                await send({"type": "http.response.body", "body": self._error_chunk})
                return
            wait_s = self._chunk_s + (fault.stall_s if at == fault.stall_after else 0.0)
            if not await waited(self._request, wait_s):
                self._call.is_aborted = True
                return
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def waited(request: Request, seconds: float) -> bool:
    """Wait; false as soon as the client has left."""
    end = time.monotonic() + seconds
    while True:
        if await request.is_disconnected():
            return False
        left = end - time.monotonic()
        if left <= 0:
            return True
        await asyncio.sleep(min(0.05, left))
