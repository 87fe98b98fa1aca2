"""Everything below the prefixes that is not a cached route passes through unchanged, in both directions."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from service import fake_upstream
from tests.service.proxy.rig import Rig, cache_status, chat, rigged

PACKED = gzip.compress(b'{"packed": true}' * 50)


async def echo(request: Request) -> Response:
    """What came, as it came."""
    body = await request.body()
    return JSONResponse(
        {
            "method": request.method,
            "path": request.scope["raw_path"].decode(),
            "query": request.scope["query_string"].decode(),
            "length": len(body),
            "headers": dict(request.headers),
        },
        status_code=418 if request.method == "DELETE" else 200,
        headers={"x-custom": "kept", "cache-control": "max-age=60", "retry-after": "9"},
    )


async def packed(_: Request) -> Response:
    """A compressed reply."""
    return Response(PACKED, headers={"content-encoding": "gzip", "content-type": "text/plain"})


async def moved(_: Request) -> Response:
    """A redirect, which is the client's to follow."""
    return Response(status_code=307, headers={"location": "https://elsewhere.invalid/x"})


async def endless(_: Request) -> Response:
    """A file of 8 MB in pieces."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(128):
            yield b"x" * 65_536

    return StreamingResponse(pieces(), media_type="application/octet-stream")


@pytest.fixture
def echoing(sqlite_url: str, tmp_path: Path) -> Iterator[Rig]:
    """A service in front of an upstream that shows what it was sent."""
    routes = [
        Route("/v1/packed", packed),
        Route("/v1/moved", moved),
        Route("/v1/endless", endless),
        Route("/v1/{rest:path}", echo, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    ]
    with (
        fake_upstream.running(Starlette(routes=routes)) as upstream,
        rigged(sqlite_url, tmp_path, openai_base_url=f"{upstream}/v1", max_body_mb=1) as rig,
    ):
        yield rig


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_method_path_query_and_status_are_kept(echoing: Rig, method: str) -> None:
    """Also percent-encoding, a status of the upstream's own, and headers that we write elsewhere."""
    reply = echoing.http.request(
        method, f"{echoing.base}/openai/v1/files/a%2Fb%20c?limit=3&x=%C3%A9", headers={"x-own": "1"}
    )
    found = reply.json()
    assert reply.status_code == (418 if method == "DELETE" else 200)
    assert found["method"] == method
    assert found["path"] == "/v1/files/a%2Fb%20c"
    assert found["query"] == "limit=3&x=%C3%A9"
    assert found["headers"]["x-own"] == "1"
    assert reply.headers["x-custom"] == "kept"
    assert reply.headers["cache-control"] == "max-age=60"
    assert reply.headers["retry-after"] == "9"
    assert "cache-status" not in reply.headers


def test_compressed_reply_passes_as_it_is(echoing: Rig) -> None:
    """The bytes are not unpacked on the way."""
    with echoing.http.stream(
        "GET", f"{echoing.base}/openai/v1/packed", headers={"accept-encoding": "gzip"}
    ) as reply:
        assert b"".join(reply.iter_raw()) == PACKED


def test_redirect_is_the_clients_to_follow(echoing: Rig) -> None:
    """We follow none: a key must not travel to another host."""
    reply = echoing.http.get(f"{echoing.base}/openai/v1/moved")
    assert (reply.status_code, reply.headers["location"]) == (307, "https://elsewhere.invalid/x")


def test_long_bodies_cross_in_both_directions(echoing: Rig) -> None:
    """Files are larger than the body limit, which is for what we read ourselves."""
    sent = echoing.http.post(f"{echoing.base}/openai/v1/files", content=b"y" * (3 << 20))
    assert sent.json()["length"] == 3 << 20
    received = echoing.http.get(f"{echoing.base}/openai/v1/endless")
    assert len(received.content) == 8 << 20


def test_body_over_our_limit_is_for_the_provider_to_judge(echoing: Rig) -> None:
    """A cached route with a long body passes by instead of failing."""
    reply = echoing.chat("z" * (2 << 20))
    assert reply.status_code == 200
    assert reply.json()["length"] > 2 << 20
    assert cache_status(reply) == {"fwd": "bypass", "detail": "too-large"}


@pytest.mark.parametrize("path", ["%2e%2e/admin", "x/%2E%2e", "%2e"])
def test_path_cannot_climb_out_of_the_base_url(echoing: Rig, path: str) -> None:
    """What lies beside the base URL is not the provider's API."""
    assert echoing.http.get(f"{echoing.base}/openai/v1/{path}").status_code == 400


def test_unreachable_upstream_is_502_in_the_providers_shape(
    sqlite_url: str, tmp_path: Path
) -> None:
    """The address is not told."""
    with rigged(sqlite_url, tmp_path, anthropic_base_url="http://127.0.0.1:9/v1") as rig:
        reply = rig.http.get(f"{rig.base}/anthropic/v1/models")
        assert reply.status_code == 502
        assert reply.json()["type"] == "error"
        assert "127.0.0.1" not in reply.text


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"n": 2}, "several-answers"),
        ({"logprobs": True}, "logprobs"),
        ({"tools": [{"type": "web_search"}]}, "hosted-tool"),
        ({"messages": []}, "malformed"),
    ],
)
def test_requests_that_the_cache_must_not_touch(
    rig: Rig, fields: dict[str, Any], reason: str
) -> None:
    """Twice the same request, twice the upstream, and the header says why."""
    for _ in range(2):
        reply = rig.post("/openai/v1/chat/completions", chat("Bypass") | fields)
        assert cache_status(reply) == {"fwd": "bypass", "detail": reason}
        assert reply.headers["cache-control"] == "private, no-store"
    assert rig.metric("surehit_lookups_total", outcome="bypass") == 2


def test_body_that_is_no_json_gets_the_providers_own_error(rig: Rig) -> None:
    """Unchanged bytes go up, and its refusal comes back."""
    reply = rig.http.post(
        f"{rig.base}/openai/v1/chat/completions",
        content=b"{nonsense",
        headers={"authorization": "Bearer k"},
    )
    direct = rig.http.post(
        f"{rig.upstream}/v1/chat/completions",
        content=b"{nonsense",
        headers={"authorization": "Bearer k"},
    )
    assert (reply.status_code, reply.json()) == (direct.status_code, direct.json())


def test_line_that_is_off_passes_by(rig: Rig) -> None:
    """Nothing is looked up and nothing is stored."""
    rig.line(mode="off")
    for _ in range(2):
        assert cache_status(rig.chat("Off"))["fwd"] == "bypass"
    assert rig.count_entries() == 0


def test_line_with_an_upstream_of_its_own(sqlite_url: str, tmp_path: Path) -> None:
    """Its calls go there with that upstream's key, and its answers are kept apart from the default's."""
    with fake_upstream.running(fake_upstream.create_app()) as other:
        named = {"vllm": {"url": f"{other}/v1", "api_key": "sk-vllm-4321"}}
        with rigged(sqlite_url, tmp_path, upstreams=named, openai_api_key="sk-house") as rig:
            rig.chat("Where to?")
            rig.line(upstream="vllm")
            assert cache_status(rig.chat("Where to?"))["fwd"] == "miss"
            assert cache_status(rig.chat("Where to?"))["hit"] is True
            assert rig.call_count == 1
            calls = rig.http.get(f"{other}/__calls").json()["calls"]
            assert [c["headers"]["authorization"] for c in calls] == ["…4321"]
            rig.line(upstream="gone")
            gone = rig.chat("Another")
            assert gone.status_code == 503  # for the operator to mend; the program is sound
            assert gone.json()["error"]["code"] == "unknown-upstream"


def test_no_store_keeps_nothing_of_the_request(rig: Rig) -> None:
    """Neither answer, nor log, nor fill; an answer that is there may be served."""
    rig.line()
    kept_out = {"cache-control": "no-store"}
    assert cache_status(rig.chat("Do not keep this", headers=kept_out))["fwd"] == "miss"
    assert rig.count_entries() == 0
    rig.run(rig.cache.journal.flush())

    async def rows(table: str) -> int:
        found = await rig.cache.db.write(lambda tx: tx.text(f"SELECT count(*) FROM {table}"))
        return int(found[0][0])

    assert rig.run(rows("fills")) == 0
    assert rig.run(rows("lookups")) == 0
    rig.chat("Do not keep this")
    assert cache_status(rig.chat("Do not keep this", headers=kept_out))["hit"] is True


def test_only_if_cached_never_calls(rig: Rig) -> None:
    """504 on a miss, and the next caller need not wait for anybody."""
    asked = {"cache-control": "only-if-cached"}
    missed = rig.chat("Only if", headers=asked)
    assert missed.status_code == 504
    assert missed.headers["x-should-retry"] == "false"
    assert rig.call_count == 0
    rig.chat("Only if")
    assert rig.chat("Only if", headers=asked).status_code == 200
    assert rig.chat("Only if", headers=asked, n=2).status_code == 504


def test_max_age_refuses_what_is_older(sqlite_url: str, tmp_path: Path, clock: Any) -> None:
    """RFC 9111 §5.2.1.1, by the clock of the store."""
    with rigged(sqlite_url, tmp_path, clock=clock) as rig:
        rig.chat("Old?")
        clock.turn(60)
        assert rig.chat("Old?", headers={"cache-control": "max-age=61"}).headers["age"] == "60"
        assert (
            cache_status(rig.chat("Old?", headers={"cache-control": "max-age=60"}))["fwd"] == "miss"
        )
        assert rig.call_count == 2


def test_min_fresh_refuses_what_ends_too_soon(sqlite_url: str, tmp_path: Path, clock: Any) -> None:
    """RFC 9111 §5.2.1.3; `max-stale` (§5.2.1.2) brings nothing back that has ended."""
    with rigged(sqlite_url, tmp_path, clock=clock) as rig:
        rig.chat("Fresh?", headers={"x-surehit-ttl": "60"})
        clock.turn(10)

        def is_served(directive: str) -> bool:
            asked = {"cache-control": f"{directive}, only-if-cached"}
            return rig.chat("Fresh?", headers=asked).status_code == 200

        assert is_served("min-fresh=50") is True
        assert is_served("min-fresh=51") is False
        assert is_served("max-stale") is True
        clock.turn(60)
        assert is_served("max-stale") is False
        assert rig.call_count == 1
        rig.chat("For ever")
        asked = {"cache-control": "min-fresh=99999999"}
        assert cache_status(rig.chat("For ever", headers=asked))["hit"] is True


def test_life_time_and_tags_of_the_stored_answer(
    sqlite_url: str, tmp_path: Path, clock: Any
) -> None:
    """`X-Surehit-TTL` ends it, `X-Surehit-Tags` invalidates it, `X-Surehit-Scope` keeps it apart."""
    with rigged(sqlite_url, tmp_path, clock=clock) as rig:
        rig.chat("Short", headers={"x-surehit-ttl": "30", "x-surehit-tags": "doc:1, doc:2"})
        assert cache_status(rig.chat("Short"))["ttl"] == 30
        assert cache_status(rig.chat("Short", headers={"x-surehit-scope": "u7"}))["fwd"] == "miss"
        clock.turn(30)
        assert cache_status(rig.chat("Short"))["fwd"] == "miss"
        tagged = {"x-surehit-tags": "doc:9"}
        rig.chat("Tagged", headers=tagged)
        rig.http.post(f"{rig.base}/v1/invalidate", json={"tag": "doc:9"})
        assert cache_status(rig.chat("Tagged"))["fwd"] == "miss"
