"""Head and body of a short reply leave in one write, and nothing is held back that a client waits for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from service.http_protocol import JOINED_BYTES, Protocol
from service.serving import uvicorn_options
from service.settings import Settings


class Recorder(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        assert not self.closed
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def ask(app: Any, method: str = "GET", *, more: bytes = b"", ticks: int = 20) -> Recorder:
    """What the protocol writes for one request, after some rounds of the event loop."""
    config = uvicorn.Config(app, http=Protocol, lifespan="off", log_level="critical")
    config.load()
    protocol = Protocol(config, ServerState(), {}, asyncio.get_running_loop())
    transport = Recorder()
    protocol.connection_made(transport)
    protocol.data_received(method.encode() + b" / HTTP/1.1\r\nhost: x\r\n" + more + b"\r\n")
    for _ in range(ticks):
        await asyncio.sleep(0)
    protocol._unset_keepalive_if_required()
    return transport


def replying(body: bytes, *, length: int | None = None, parts: int = 1) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"%d" % (len(body) if length is None else length))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for n in range(parts):
            part = body[len(body) * n // parts : len(body) * (n + 1) // parts]
            await send({"type": "http.response.body", "body": part, "more_body": n + 1 < parts})

    return app


@pytest.mark.parametrize("body", [b"", b"x", b"x" * JOINED_BYTES])
async def test_a_short_reply_is_one_write(body: bytes) -> None:
    (written,) = (await ask(replying(body))).writes
    head, _, rest = written.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert rest == body


async def test_a_long_body_is_not_copied() -> None:
    body = b"x" * (JOINED_BYTES + 1)
    assert (await ask(replying(body))).writes[1] == body


async def test_a_body_in_parts_is_whole() -> None:
    body = b"HTTP/1.1 \r\ncontent-length: 7" * 3  # a body that looks like a head is no head
    written = b"".join((await ask(replying(body, parts=3))).writes)
    assert written.partition(b"\r\n\r\n")[2] == body


async def test_a_reply_to_head_is_not_held() -> None:
    assert (await ask(replying(b"", length=5), "HEAD")).writes[0].endswith(b"\r\n\r\n")


async def test_the_head_of_a_stream_goes_out_before_its_first_part() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()

    (head,) = (await ask(app)).writes
    assert b"transfer-encoding: chunked" in head


async def test_a_reply_that_breaks_off_is_sent_as_far_as_it_came() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"9")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        raise RuntimeError("broken")

    transport = await ask(app)
    assert transport.writes[0].startswith(b"HTTP/1.1 200")
    assert transport.closed


async def test_the_last_reply_of_a_connection_is_sent_before_it_closes() -> None:
    transport = await ask(replying(b"bye"), more=b"connection: close\r\n")
    assert transport.writes[0].endswith(b"bye")
    assert transport.closed


def test_the_service_speaks_it() -> None:
    assert uvicorn_options(Settings())["http"] is Protocol
