"""Head and body of a short reply leave in one write, and nothing is held back that a client waits for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from service.api.hot import REMEMBERED, REMEMBERED_BYTES, HotPath
from service.http_protocol import JOINED_BYTES, Protocol, _heads
from service.lookup import Asked
from service.request_heads import RequestHeads
from service.serving import uvicorn_options
from service.settings import Settings
from tests.harness import Client, running


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


# ---------------------------------------------------------------- hot routes, answered in the step that read them


def connected(app: Any) -> tuple[Protocol, Recorder]:
    """A connection to an application, with the settings of the service."""
    config = uvicorn.Config(app, lifespan="off", **uvicorn_options(Settings()))
    config.load()
    protocol = Protocol(config, ServerState(), {}, asyncio.get_running_loop())
    transport = Recorder()
    protocol.connection_made(transport)
    return protocol, transport


def wire(prompt: str, *, more: str = "", version: str = "1.1", path: str = "lookup") -> bytes:
    """A request to a hot route as it goes over the wire."""
    body = json.dumps({"line": "faq", "prompt": prompt}).encode()
    head = f"POST /v1/{path} HTTP/{version}\r\nhost: x\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def replies(written: bytes) -> list[tuple[int, dict[str, str], Any]]:
    """(status, headers, body) of each reply in a stream of them."""
    found = []
    while written:
        head, _, rest = written.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        length = int(headers["content-length"])
        found.append((int(first.split()[1]), headers, json.loads(rest[:length])))
        written = rest[length:]
    return found


async def until(transport: Recorder, n: int) -> list[tuple[int, dict[str, str], Any]]:
    """The replies, once there are so many."""
    for _ in range(500):
        found = replies(b"".join(transport.writes))
        if len(found) >= n:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"{len(transport.writes)} writes in 5 s")


async def warmed(client: Client) -> None:
    """A line with one answer, and nobody's key to be looked for."""
    await client.line()
    await client.store("Where is the manual", {"n": 1})
    assert (await client.lookup("Where is the manual"))["outcome"] == "hit"


async def test_an_exact_hit_is_answered_before_anything_else_runs(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        protocol, transport = connected(client.app)
        protocol.data_received(wire("Where is the manual"))
        assert len(transport.writes) == 1  # no task has had its turn yet
        ((status, headers, body),) = replies(transport.writes[0])
        over_asgi = await client.http.post(
            "/v1/lookup", json={"line": "faq", "prompt": "Where is the manual"}
        )
        own = {"x-surehit-lookup-id", "date", "content-length"}
        assert status == over_asgi.status_code == 200
        assert {k: v for k, v in headers.items() if k not in own} == {
            k: v for k, v in over_asgi.headers.items() if k not in own
        }
        assert body | {"lookup_id": ""} == over_asgi.json() | {"lookup_id": ""}
        assert not transport.closed
        protocol._unset_keepalive_if_required()


@pytest.mark.parametrize("step", [1, 7, 10_000])
async def test_hot_requests_come_in_pieces_and_one_behind_another(
    sqlite_url: str, tmp_path: Path, step: int
) -> None:
    """Hits, a miss that waits for a model, and a refusal: each is answered once, in the order of asking."""
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        protocol, transport = connected(client.app)
        asked = [
            wire("Where is the manual"),
            wire("Where is the cat"),
            wire("Where is the manual"),
            wire("", more="x-empty: 1\r\n", path="store"),
            wire("Where is the manual", more="connection: close\r\n"),
        ]
        sent = b"".join(asked)
        for at in range(0, len(sent), step):
            protocol.data_received(sent[at : at + step])
            if step < 100 and at % 50 == 0:
                await asyncio.sleep(0)
        found = await until(transport, len(asked))
        assert [status for status, _, _ in found] == [200, 200, 200, 422, 200]
        assert [body.get("outcome") for _, _, body in found] == ["hit", "miss", "hit", None, "hit"]
        assert found[-1][1]["connection"] == "close"
        assert transport.closed


async def test_a_hot_request_of_an_old_client_ends_its_connection(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        protocol, transport = connected(client.app)
        protocol.data_received(wire("Where is the manual", version="1.0"))
        ((status, _, body),) = replies(b"".join(transport.writes))
        assert (status, body["outcome"], transport.closed) == (200, "hit", True)


async def test_who_asks_first_whether_to_send_its_body_is_told(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        protocol, transport = connected(client.app)
        asked = wire("Where is the manual", more="expect: 100-continue\r\n")
        head, body = asked.split(b"\r\n\r\n")
        protocol.data_received(head + b"\r\n\r\n")
        for _ in range(20):
            await asyncio.sleep(0)
        assert transport.writes == [b"HTTP/1.1 100 Continue\r\n\r\n"]
        transport.writes.clear()
        protocol.data_received(body)
        ((status, _, found),) = await until(transport, 1)
        assert (status, found["outcome"]) == (200, "hit")
        protocol._unset_keepalive_if_required()


# ---------------------------------------------------------------------------------- heads that were read before


async def test_a_known_head_is_not_parsed_again(sqlite_url: str, tmp_path: Path) -> None:
    """Also as the first request of a connection; what it is answered with is the same."""
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        own = f"x-test: {tmp_path}\r\n"
        protocol, transport = connected(client.app)
        protocol.data_received(wire("Where is the manual", more=own))
        another, other = connected(client.app)
        for one in (protocol, another):
            one.parser = None  # type: ignore[assignment]
            one.data_received(wire("Where is the manual", more=own))
        first, second, third = replies(b"".join(transport.writes + other.writes))
        for status, headers, body in (second, third):
            assert status == 200
            assert headers.keys() == first[1].keys()
            assert body | {"lookup_id": ""} == first[2] | {"lookup_id": ""}
        assert len({body["lookup_id"] for _, _, body in (first, second, third)}) == 3
        assert protocol.server_state.total_requests == 2
        protocol._unset_keepalive_if_required()
        another._unset_keepalive_if_required()


async def test_what_a_known_head_begins_may_have_to_wait(sqlite_url: str, tmp_path: Path) -> None:
    """A miss, a store, another body of the same length, a refusal: each is answered once, the parser in step."""
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        limited = 0
        keys = client.app._keys()
        remembered = keys.remembered

        def counted(authorization: str | None) -> Any:
            nonlocal limited
            limited += 1
            return remembered(authorization)

        keys.remembered = counted  # type: ignore[method-assign]
        protocol, transport = connected(client.app)
        asked = ["Where is the manual", "Where is the beaver", "Where is the manual"]
        for n, prompt in enumerate(asked * 2, 1):
            protocol.data_received(wire(prompt))
            await until(transport, n)
        assert limited == 6  # a rate limit counts each of them once
        for n, bad in enumerate((b"{", b"[]"), 7):
            for _ in range(2):
                head = b"POST /v1/lookup HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(
                    bad
                )
                protocol.data_received(head + bad)
            await until(transport, 2 * n - 6)
        found = await until(transport, 10)
        assert [body.get("outcome") for _, _, body in found[:6]] == ["hit", "miss", "hit"] * 2
        assert [status for status, _, _ in found[6:]] == [400, 400, 422, 422]
        protocol._unset_keepalive_if_required()


@pytest.mark.parametrize(
    "more",
    [
        "transfer-encoding: chunked\r\n",
        "connection: close\r\n",
    ],
)
async def test_heads_that_mean_more_are_parsed_each_time(
    sqlite_url: str, tmp_path: Path, more: str
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        before = len(_heads)
        asked = wire("Where is the manual", more=f"x-test: {tmp_path}\r\n{more}")
        if "chunked" in more:
            head, body = asked.split(b"\r\n\r\n")
            head = b"\r\n".join(
                line for line in head.split(b"\r\n") if b"content-length" not in line
            )
            asked = head + b"\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        for _ in range(2):
            protocol, transport = connected(client.app)
            protocol.data_received(asked)
            ((status, _, _),) = await until(transport, 1)
            assert status == 200
            protocol._unset_keepalive_if_required()
        assert len(_heads) == before


@pytest.mark.parametrize("path", ["lookup", "store"])
async def test_an_offer_to_upgrade_is_ignored_and_the_body_is_read(
    sqlite_url: str, tmp_path: Path, path: str
) -> None:
    """Java's HTTP client makes that offer with its first request of a connection, POST or not."""
    offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        for _ in range(2):
            protocol, transport = connected(client.app)
            asked = wire("Where is the manual", more=offer, path=path)
            protocol.data_received(asked)
            protocol.data_received(wire("Where is the manual"))
            first, second = await until(transport, 2)
            assert first[0] == (200 if path == "lookup" else 422)
            assert "response" in str(first[2])
            assert (second[0], second[2]["outcome"]) == (200, "hit")
            protocol._unset_keepalive_if_required()


@pytest.mark.parametrize("path", ["lookup", "store"])
async def test_an_offer_to_upgrade_is_ignored_wherever_its_head_was_cut(
    sqlite_url: str, tmp_path: Path, path: str
) -> None:
    """A head with a long token comes in several pieces of a network; and one request may come behind another."""
    offer = "Connection: Upgrade, HTTP2-Settings\r\nUPGRADE:\th2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        asked = wire("Where is the manual", more=offer, path=path)
        protocol, transport = connected(client.app)
        cuts = [*range(0, len(asked), 7), len(asked) - 1]
        for cut in cuts:
            protocol.data_received(asked[:cut])
            protocol.data_received(asked[cut:])
        for piece in (asked[at : at + 1] for at in range(len(asked))):
            protocol.data_received(piece)
        protocol.data_received(asked + asked)
        replies = await until(transport, len(cuts) + 3)
        for status, _, body in replies:
            assert status == (200 if path == "lookup" else 422)
            assert "response" in str(body)
        protocol._unset_keepalive_if_required()


async def test_a_tunnel_is_refused() -> None:
    transport = await ask(replying(b"never"), "CONNECT")
    assert transport.writes[0].startswith(b"HTTP/1.1 400")
    assert transport.closed


async def test_a_connection_with_known_heads_is_closed_when_it_is_idle_and_not_before(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        protocol, transport = connected(client.app)
        protocol.timeout_keep_alive = 0.2  # type: ignore[assignment]
        for n in range(8):
            protocol.data_received(wire("Where is the manual"))
            assert len(transport.writes) == n + 1
            await asyncio.sleep(0.05)
        assert not transport.closed
        assert protocol._arrival is None
        await asyncio.sleep(0.4)
        assert transport.closed


async def test_a_silent_start_is_no_longer_timed_once_a_known_head_came(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await warmed(client)
        first, _ = connected(client.app)
        first.data_received(wire("Where is the manual"))
        second, _ = connected(client.app)
        timed = [second._arrival is not None]
        second.data_received(wire("Where is the manual"))
        timed += [second._arrival is not None, second.timeout_keep_alive_task is not None]
        assert timed == [True, False, True]
        for one in (first, second):
            one._unset_keepalive_if_required()


def test_few_heads_are_kept_and_no_long_ones() -> None:
    heads = RequestHeads(most=3, longest=40)
    scope = {"type": "http", "method": "POST", "path": "/v1/lookup", "headers": [], "client": "x"}
    asked = [b"POST /v1/lookup HTTP/1.1\r\nx: %d\r\n\r\n{}" % n for n in range(5)]
    for request in asked:
        heads.keep(request, scope, b"{}")
    assert [heads.find(request) is not None for request in asked] == [
        False,
        False,
        True,
        True,
        True,
    ]
    found = heads.find(asked[-1])
    assert found == ({name: scope[name] for name in ("type", "method", "path", "headers")}, b"{}")
    for cut in (asked[-1][:-1], asked[-1] + b"{", asked[-1][:-2], asked[-1][:20], b"", b"{}"):
        assert heads.find(cut) is None
    long = b"POST /v1/lookup HTTP/1.1\r\nx: %s\r\n\r\n{}" % (b"y" * 40)
    heads.keep(long, scope, b"{}")
    heads.keep(b"no end {}", scope, b"{}")
    assert len(heads) == 3
    assert heads.find(long) is None


async def test_a_request_sent_again_is_looked_up_again(sqlite_url: str, tmp_path: Path) -> None:
    """What is kept of the same bytes is how they read, not what they found: line, answer and key may have changed."""
    async with running(sqlite_url, tmp_path) as client:
        mine = await client.key("t1")
        await client.line(headers=mine, policy_version="1")
        asked = {"line": "faq", "prompt": "Where is the manual"}

        async def found(headers: dict[str, str] = mine) -> Any:
            return (await client.http.post("/v1/lookup", json=asked, headers=headers)).json()

        for answer in ("first", "second"):
            await client.store("Where is the manual", answer, headers=mine)
            assert [(await found())["response"] for _ in range(3)] == [answer] * 3
        other = await client.key("t2")
        assert (await found(other))["outcome"] == "miss"
        await client.line(headers=mine, policy_version="2")
        assert (await found())["outcome"] == "miss"
        await client.line(headers=mine, policy_version="1")
        assert (await found())["response"] == "second"
        await client.call("POST", "/v1/invalidate", {"line": "faq"}, headers=mine)
        assert (await found())["outcome"] == "miss"


def test_few_requests_are_remembered_and_no_long_ones() -> None:
    hot_path = HotPath(lambda *_: None, cache=Any, keys=Any, metrics=Any, max_body=1)  # type: ignore[arg-type]
    for n in range(REMEMBERED + 5):
        hot_path._remember((None, None, b"%d" % n), Asked(None, None))  # type: ignore[arg-type]
    hot_path._remember((None, None, b"x" * (REMEMBERED_BYTES + 1)), Asked(None, None))  # type: ignore[arg-type]
    kept = [body for _, _, body in hot_path._recent]
    assert (len(kept), kept[0]) == (REMEMBERED, b"5")
