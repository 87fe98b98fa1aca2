"""Clients that send too much, too slowly, or nonsense, and very many that send nothing."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from tests.faults.parts import LINE, Clients, Row, make_line
from tests.workers import Limits, Worker, worker

REQUEST_S = 1.5
IDLE = 10_000

pytestmark = pytest.mark.timeout(300)

POSTS = (
    "/v1/lookup", "/v1/store", "/v1/explain", "/v1/feedback", "/v1/invalidate", "/v1/erase",
    "/v1/review/next", f"/v1/lines/{LINE}/tune",
    "/openai/v1/chat/completions", "/openai/v1/responses", "/openai/v1/embeddings", "/anthropic/v1/messages",
)  # fmt: skip

NONSENSE = {
    "invalid UTF-8": b'{"line":"faults","prompt":"\xff\xfe\xc3("}',
    "JSON 100,000 deep": b'{"line":"faults","request":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "objects 100,000 deep": b'{"line":"faults","request":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    "NaN": b'{"line":"faults","prompt":NaN,"ttl_s":NaN,"temperature":NaN}',
    "no JSON": b"\x00\x01\x02",
    "nothing": b"",
    "half a surrogate": b'{"line":"faults","prompt":"\\ud800"}',
    "a number beyond all": b'{"line":"faults","prompt":1e999999}',
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worker]:
    """A worker that waits only 1.5 s for a request."""
    folder = tmp_path_factory.mktemp("clients")
    knobs = {"service.http_protocol.REQUEST_S": REQUEST_S}
    # an upstream that refuses at once: what the proxy passes on ends there
    dead = {f"SUREHIT_{name}_BASE_URL": "http://127.0.0.1:9/v1" for name in ("OPENAI", "ANTHROPIC")}
    async with worker(folder, knobs=knobs, **dead) as started:
        await make_line(started.url)
        yield started


@asynccontextmanager
async def unharmed(one: Worker, clients: Clients) -> AsyncIterator[httpx2.AsyncClient]:
    """Others store and look up meanwhile, and see nothing of it."""
    async with httpx2.AsyncClient(base_url=one.url, timeout=60) as http, clients.working(one.url):
        yield http
        await clients.told(3)
    assert set(clients.seen) == {"store 201", "hit"}, clients.seen
    assert not clients.wrong
    assert await clients.lost(one.url) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_ten_megabytes(one: Worker, row: Row) -> None:
    clients = Clients(prefix="10MB")
    statuses = {}
    async with unharmed(one, clients) as http:
        for path in POSTS:
            body = b'{"line":"faults","prompt":"' + b"x" * 10_000_000 + b'"}'
            statuses[path] = (await http.post(path, content=body)).status_code
    # the proxy passes on what is too large for the cache; here its upstream refuses
    assert {status for path, status in statuses.items() if path.startswith("/v1/")} == {413}
    assert set(statuses.values()) <= {413, 502}, statuses
    row("a client sends 10 MB (8 are allowed)", saw="that client: 413, the proxy passes it on; others: nothing",
        lost=0, of=len(clients.acknowledged), recovery_s=None)  # fmt: skip


@pytest.mark.parametrize("name", NONSENSE)
@pytest.mark.asyncio(loop_scope="module")
async def test_nonsense(one: Worker, row: Row, name: str) -> None:
    clients = Clients(prefix=name)
    statuses = {}
    headers = {"content-type": "application/json"}
    async with unharmed(one, clients) as http:
        for path in POSTS:
            reply = await http.post(path, content=NONSENSE[name], headers=headers)
            statuses[path] = reply.status_code
    # bodies that the proxy can't read go upstream as they are, and there is none (502)
    allowed = {400, 404, 413, 422, 502}
    assert set(statuses.values()) <= allowed, statuses
    told = ", ".join(str(status) for status in sorted(set(statuses.values())))
    row(f"a client sends {name}", saw=f"that client: {told}; others: nothing",
        lost=0, of=len(clients.acknowledged), recovery_s=None)  # fmt: skip


SLOW: dict[str, tuple[bytes, bytes]] = {
    "a head that never ends": (b"POST /v1/lookup HTTP/1.1\r\nhost: x\r\n", b"x-a: b\r\n"),
    "a body that never ends": (
        b"POST /v1/lookup HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n",
        b"{",
    ),
    "a chunked body that never ends": (
        b"POST /v1/store HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
        b"1\r\n{\r\n",
    ),
    "a body of the proxy that never ends": (
        b"POST /openai/v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n",
        b"{",
    ),
    "nothing at all": (b"", b""),
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.asyncio(loop_scope="module")
async def test_slow_bytes(one: Worker, row: Row, name: str) -> None:
    """A byte now and then (slowloris): the connection ends after the time limit, however it drips."""
    start, drip = SLOW[name]
    clients = Clients(prefix=name)
    async with unharmed(one, clients):
        began = time.monotonic()
        slow = [asyncio.create_task(_drip(one.port, start, drip)) for _ in range(20)]
        told = await asyncio.gather(*slow)
        took = time.monotonic() - began
    assert REQUEST_S * 0.9 < took < REQUEST_S + 5
    expected = b"" if name == "nothing at all" else b"HTTP/1.1 408 Request Timeout"
    seen = {answer.split(b"\r\n")[0] for answer in told}
    # a byte that was on its way when the connection ended resets it, and with it the answer that waits to be read
    assert expected in seen <= {expected, b""}
    row(f"a client sends {name}, 20 of them",
        saw=f"those clients: {expected.decode()[9:] or 'the connection ends'} after {REQUEST_S} s (30 s in earnest); "
        "others: nothing",
        lost=0, of=len(clients.acknowledged), recovery_s=took)  # fmt: skip


async def _drip(port: int, start: bytes, drip: bytes) -> bytes:
    """Send slowly until the other side ends it; what it said."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = asyncio.create_task(reader.read())
    try:
        writer.write(start)
        while not answer.done():
            writer.write(drip)
            await asyncio.wait([answer], timeout=0.1)
        with contextlib.suppress(ConnectionError):
            return await answer
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_request_in_time_is_not_cut(one: Worker) -> None:
    """Slow, but within the limit; and the connection may rest between two requests for longer than that."""
    reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
    for _ in range(2):
        body = b'{"line":"faults","prompt":"slow but sure"}'
        head = f"POST /v1/lookup HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        for part in (head.encode(), body[:10], body[10:]):
            writer.write(part)
            await asyncio.sleep(REQUEST_S / 5)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await reader.readuntil(b"}")
        await asyncio.sleep(REQUEST_S * 1.3)
    writer.close()
    await writer.wait_closed()


@pytest.mark.slow
async def test_ten_thousand_connections(tmp_path: Path, row: Row) -> None:
    """Idle ones, while others store and look up; the service raises its own limit of open files to what it may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(IDLE, hard - 2_000)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    clients = Clients()
    writers: list[asyncio.StreamWriter] = []
    try:
        async with worker(tmp_path, limits=_few_files(hard)) as one:
            await make_line(one.url)
            async with clients.working(one.url):
                for _ in range(wanted // 250):
                    opened = [asyncio.open_connection("127.0.0.1", one.port) for _ in range(250)]
                    writers += [writer for _, writer in await asyncio.gather(*opened)]
                for writer in writers[::2]:  # every other one has begun a request
                    writer.write(b"POST /v1/lookup HTTP/1.1\r\n")
                clients.slowest_s = 0.0
                await clients.told(20)
            assert len(writers) == wanted // 250 * 250
            lost = await clients.lost(one.url)
            for writer in writers:
                writer.transport.abort()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert set(clients.seen) == {"store 201", "hit"}, clients.seen
    assert clients.slowest_s < 8  # the machine may be busy with other tests
    row(f"{len(writers):,} connections that send nothing or half a request", saw=f"others: {clients.summary()}",
        lost=len(lost), of=len(clients.acknowledged), recovery_s=None)  # fmt: skip


def _few_files(hard: int) -> Limits:
    """A soft limit as most systems set it."""
    return {resource.RLIMIT_NOFILE: (1024, hard)}


@pytest.mark.slow
async def test_more_connections_than_files(tmp_path: Path, row: Row) -> None:
    """Without a file for another connection, those that are there are served; afterwards all are."""
    clients = Clients()
    async with worker(tmp_path, limits={resource.RLIMIT_NOFILE: (200, 200)}) as one:
        await make_line(one.url)
        async with httpx2.AsyncClient(base_url=one.url, timeout=10) as http:
            await clients.store(http)
            opened = await asyncio.gather(
                *(asyncio.open_connection("127.0.0.1", one.port) for _ in range(300)),
                return_exceptions=True,
            )
            for _ in range(10):
                await clients.store(http)
                await clients.lookup(http, "q 1")
            for found in opened:
                if not isinstance(found, BaseException):
                    found[1].transport.abort()
        began = time.monotonic()
        lost = await clients.lost(one.url)
        recovery = time.monotonic() - began
    assert set(clients.seen) == {"store 201", "hit"}, clients.seen
    row("300 connections to a worker that may open 200 files", saw="those that are connected: nothing",
        lost=len(lost), of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip
