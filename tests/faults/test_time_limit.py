"""The time limit of a request is on its client: our own slowness does not count."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from service import http_protocol
from service.http_protocol import Protocol
from tests.service.test_http_protocol import Recorder

WHOLE = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
HALF = b"GET /next HTTP/1.1\r\nhost:"


async def _connected(app: Any) -> tuple[Protocol, Recorder]:
    config = uvicorn.Config(app, http=Protocol, lifespan="off", log_level="critical")
    config.load()
    protocol = Protocol(config, ServerState(), {}, asyncio.get_running_loop())
    transport = Recorder()
    protocol.connection_made(transport)
    return protocol, transport


def _slow(seconds: float) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(seconds)
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})

    return app


async def test_a_slow_answer_is_not_cut_by_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half of the next request has arrived while the first one is still being answered."""
    monkeypatch.setattr(http_protocol, "REQUEST_S", 0.05)
    protocol, transport = await _connected(_slow(0.3))
    protocol.data_received(WHOLE + HALF)
    await asyncio.sleep(0.2)
    assert transport.writes == []
    assert not transport.closed
    await asyncio.sleep(0.3)
    assert transport.writes[0].startswith(b"HTTP/1.1 200")
    assert transport.writes[1].startswith(b"HTTP/1.1 408")  # the half one had its time, too
    assert transport.closed
    protocol._unset_keepalive_if_required()


async def test_a_whole_request_has_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "REQUEST_S", 0.05)
    protocol, transport = await _connected(_slow(0.2))
    protocol.data_received(WHOLE)
    await asyncio.sleep(0.3)
    assert [written[:15] for written in transport.writes] == [b"HTTP/1.1 200 OK"]
    assert not transport.closed
    protocol._unset_keepalive_if_required()


async def test_connections_beyond_the_files_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(http_protocol, "most_connections", lambda: 2)
    monkeypatch.setattr(Recorder, "abort", lambda self: closed.append(True))
    config = uvicorn.Config(_slow(0), http=Protocol, lifespan="off", log_level="critical")
    config.load()
    state = ServerState()
    for expected in (0, 0, 1):
        protocol = Protocol(config, state, {}, asyncio.get_running_loop())
        protocol.connection_made(Recorder())
        assert len(closed) == expected
    for protocol in list(state.connections):
        protocol.connection_lost(None)
