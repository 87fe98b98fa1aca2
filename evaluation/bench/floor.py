"""What the machine can do at best: a bare ASGI route that hashes the body and sends stored bytes, nothing else."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

BODY = b'{"response":"' + b"x" * 1900 + b'"}'
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Any request: read the body, hash it, answer."""
    if scope["type"] != "http":
        return
    message = await receive()
    hashlib.sha256(message["body"]).digest()
    await send_stored(send)


async def send_stored(send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    """Send the stored bytes."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="error",
        access_log=False,
        lifespan="off",
    )
