"""Identical requests in flight share one upstream call, whatever becomes of whoever began it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from service.proxy import filling
from tests.harness import Clock
from tests.service.proxy.rig import Rig, cache_status, chat, rigged


async def together(
    rig: Rig, bodies: list[Any], *, headers: Any = None, path: str = "/openai/v1/chat/completions"
) -> list[httpx2.Response]:
    """All at once, over connections of their own."""
    limits = httpx2.Limits(max_connections=None)
    sent = {"authorization": "Bearer sk-caller"} | (headers or {})
    async with httpx2.AsyncClient(timeout=60, limits=limits, headers=sent) as http:
        return await asyncio.gather(*(http.post(rig.base + path, json=body) for body in bodies))


async def until_called(rig: Rig, n: int = 1) -> None:
    """Wait until so many calls have reached the upstream."""
    async with asyncio.timeout(20):
        while await asyncio.to_thread(lambda: rig.call_count) < n:  # noqa: ASYNC110 - another process's count
            await asyncio.sleep(0.01)


async def begin_and_leave(rig: Rig, body: Any, after_bytes: int) -> None:
    """A client that goes away in the middle of its stream."""
    headers = {"authorization": "Bearer sk-caller"}
    async with (
        httpx2.AsyncClient(timeout=60, headers=headers) as http,
        http.stream("POST", f"{rig.base}/openai/v1/chat/completions", json=body) as reply,
    ):
        read = 0
        async for chunk in reply.aiter_bytes():
            read += len(chunk)
            if read >= after_bytes:
                return


def text_of(reply: httpx2.Response) -> str:
    """The text of a chat completion that came as a stream; it must be complete."""
    import json

    assert reply.text.rstrip().endswith("data: [DONE]")
    found = ""
    for line in reply.text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                found += choice["delta"].get("content") or ""
    return found


def test_200_identical_streams_make_one_call(sqlite_url: str, tmp_path: Path) -> None:
    """Every client gets the whole stream; one led, the others were collapsed into it."""
    with rigged(sqlite_url, tmp_path, fake={"chunk_s": 0.02}) as rig:
        body = chat("Tell me about rivers", stream=True)
        replies = asyncio.run(together(rig, [body] * 200))
        assert {r.status_code for r in replies} == {200}
        assert len({text_of(r) for r in replies}) == 1
        assert rig.call_count == 1
        collapsed = [r for r in replies if cache_status(r).get("collapsed")]
        hits = [r for r in replies if cache_status(r).get("hit")]
        assert len(collapsed) + len(hits) == 199
        assert rig.metric("surehit_lookups_total") == 200


def test_fast_answers_leave_no_gap_between_flight_and_cache(rig: Rig) -> None:
    """Requests that overlap with the storing of an answer find it in the air or in the cache."""
    for n in range(5):
        replies = asyncio.run(together(rig, [chat(f"Question {n}")] * 40))
        assert {r.status_code for r in replies} == {200}
        assert rig.call_count == n + 1


def test_leader_that_leaves_half_way_does_not_end_the_others(
    sqlite_url: str, tmp_path: Path
) -> None:
    """The call goes on while anybody reads; its answer is stored."""
    with rigged(sqlite_url, tmp_path, fake={"chunk_s": 0.05}) as rig:
        body = chat("A long story", stream=True)

        async def scene() -> list[httpx2.Response]:
            leader = asyncio.create_task(begin_and_leave(rig, body, 1500))
            await until_called(rig)
            others = await together(rig, [body] * 20)
            await leader
            return others

        others = asyncio.run(scene())
        assert len({text_of(r) for r in others}) == 1
        assert rig.call_count == 1
        assert rig.calls()["aborted"] == 0
        assert cache_status(rig.chat("A long story"))["hit"] is True


def test_call_ends_when_its_last_reader_leaves(sqlite_url: str, tmp_path: Path) -> None:
    """Nobody pays for an answer that nobody reads; nothing of it is stored, and nobody waits for it."""
    with rigged(sqlite_url, tmp_path, fake={"chunk_s": 0.05}) as rig:
        asyncio.run(begin_and_leave(rig, chat("Never read", stream=True), 100))
        until = time.monotonic() + 5
        while not rig.calls()["aborted"] and time.monotonic() < until:
            time.sleep(0.02)
        assert rig.calls()["aborted"] == 1
        began = time.monotonic()
        assert cache_status(rig.chat("Never read"))["fwd"] == "miss"
        assert time.monotonic() - began < 5  # far less than the lease or the patience of followers


def test_plain_and_streaming_requests_share_a_call(sqlite_url: str, tmp_path: Path) -> None:
    """Each gets its own form of the one answer."""
    with rigged(sqlite_url, tmp_path, fake={"latency_s": 0.3}) as rig:
        question = "One answer in two forms"
        bodies = [chat(question, stream=n % 2 == 0) for n in range(10)]
        replies = asyncio.run(together(rig, bodies))
        streamed = {text_of(r) for r in replies[::2]}
        whole = {r.json()["choices"][0]["message"]["content"] for r in replies[1::2]}
        assert streamed == whole
        assert len(whole) == 1
        assert rig.call_count == 1


def test_hanging_call_is_left_for_one_that_is_shared(sqlite_url: str, tmp_path: Path) -> None:
    """Followers lose patience; the first calls anew and the others join it: two calls for twenty requests."""
    with rigged(sqlite_url, tmp_path, collapse_wait_s=0.4) as rig:
        rig.fault(first_byte_s=5.0)

        async def scene() -> tuple[float, list[httpx2.Response]]:
            leader = asyncio.create_task(together(rig, [chat("Slow")]))
            await until_called(rig)
            began = time.monotonic()
            others = await together(rig, [chat("Slow")] * 20)
            took = time.monotonic() - began
            return took, [*others, *(await leader)]

        took, replies = asyncio.run(scene())
        assert {r.status_code for r in replies} == {200}
        assert took < 4.5
        assert rig.call_count == 2


def test_upstream_that_cannot_be_reached_answers_everybody(sqlite_url: str, tmp_path: Path) -> None:
    """A failing leader frees its followers at once, with the same error in the provider's shape."""
    with rigged(sqlite_url, tmp_path, openai_base_url="http://127.0.0.1:9/v1") as rig:
        replies = asyncio.run(together(rig, [chat("Nobody there")] * 10))
        assert {r.status_code for r in replies} == {502}
        assert {r.json()["error"]["code"] for r in replies} == {"upstream-failed"}
        assert "x-should-retry" not in replies[0].headers  # another try may well succeed


@pytest.mark.parametrize("status", [401, 429])
def test_refusal_is_shared_within_one_account_alone(rig: Rig, status: int) -> None:
    """Provider keys of one tenant: whose key is refused or used up is told so, the others call with theirs."""
    rig.fault(status=status, first_byte_s=2.0)

    async def scene() -> tuple[list[httpx2.Response], list[httpx2.Response]]:
        refused = asyncio.create_task(
            together(rig, [chat("Mine")] * 3, headers={"authorization": "Bearer sk-used-up"})
        )
        await until_called(rig)
        fine = await together(rig, [chat("Mine")] * 5, headers={"authorization": "Bearer sk-good"})
        return await refused, fine

    refused, fine = asyncio.run(scene())
    assert {r.status_code for r in refused} == {status}
    assert {r.status_code for r in fine} == {200}
    assert rig.call_count == 2


def test_shared_answer_ends_with_everybodys_tags_and_life_time(
    sqlite_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Who shares a call has asked for the answer as well: its tag must find it, its life time must hold."""
    with rigged(sqlite_url, tmp_path, clock=clock, fake={"latency_s": 0.5}) as rig:

        async def scene(question: str, *wishes: dict[str, str]) -> None:
            first = asyncio.create_task(together(rig, [chat(question)]))
            await until_called(rig, rig.call_count + 1)
            await asyncio.gather(*(together(rig, [chat(question)], headers=w) for w in wishes))
            await first

        asyncio.run(scene("Tagged", {"x-surehit-tags": "doc:1"}, {"x-surehit-tags": "doc:2"}))
        purge = rig.http.post(f"{rig.base}/v1/invalidate", json={"tag": "doc:2"})
        assert purge.json() == {"invalidated": 1}
        asyncio.run(scene("Short", {"x-surehit-ttl": "60"}, {"x-surehit-ttl": "90"}))
        assert cache_status(rig.chat("Short"))["ttl"] == 60


def test_tenants_never_share_a_call(sqlite_url: str, tmp_path: Path) -> None:
    """Equal requests of two tenants are two calls."""
    with rigged(sqlite_url, tmp_path, fake={"latency_s": 0.2}) as rig:
        keys = [rig.key("acme"), rig.key("globex")]

        async def scene() -> list[httpx2.Response]:
            found = await asyncio.gather(
                *(
                    together(rig, [chat("Shared?")] * 3, headers={"x-surehit-key": key})
                    for key in keys
                )
            )
            return [reply for replies in found for reply in replies]

        assert {r.status_code for r in asyncio.run(scene())} == {200}
        assert rig.call_count == 2


def test_other_worker_waits_for_the_lease(database_url: str, tmp_path: Path) -> None:
    """Two workers, one database: the second waits for what the first stores, and calls nobody."""
    with (
        rigged(database_url, tmp_path / "a", fake={"latency_s": 0.5}) as one,
        rigged(database_url, tmp_path / "b", openai_base_url=f"{one.upstream}/v1") as two,
    ):

        async def scene() -> list[httpx2.Response]:
            first = asyncio.create_task(together(one, [chat("Across workers")]))
            await until_called(one)
            second = await together(two, [chat("Across workers")] * 3)
            return [*(await first), *second]

        replies = asyncio.run(scene())
        assert len({r.json()["choices"][0]["message"]["content"] for r in replies}) == 1
        assert one.call_count == 1
        assert sum(cache_status(r).get("collapsed", False) for r in replies) == 3


@pytest.mark.parametrize(("renew_s", "calls"), [(0.1, 1), (30.0, 2)])
def test_lease_lasts_as_long_as_its_call(
    sqlite_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    renew_s: float,
    calls: int,
) -> None:
    """A call in the air renews its lease, so that the other worker waits; without that, it would call as well."""
    monkeypatch.setattr(filling, "LEASE_S", 0.5)
    monkeypatch.setattr(filling, "RENEW_S", renew_s)
    with (
        rigged(sqlite_url, tmp_path / "a", fake={"latency_s": 2.0}) as one,
        rigged(sqlite_url, tmp_path / "b", openai_base_url=f"{one.upstream}/v1") as two,
    ):

        async def scene() -> list[httpx2.Response]:
            first = asyncio.create_task(together(one, [chat("Long")]))
            await until_called(one)
            second = await together(two, [chat("Long")] * 2)
            return [*(await first), *second]

        assert {r.status_code for r in asyncio.run(scene())} == {200}
        assert one.call_count == calls


@pytest.mark.parametrize("stream", [False, True])
def test_no_cache_asks_anew_and_replaces_what_is_stored(rig: Rig, stream: bool) -> None:
    """RFC 9111: `no-cache` must not be served from the cache, its answer may be stored."""
    rig.chat("Fresh please", stream=stream)
    again = rig.chat("Fresh please", stream=stream, headers={"cache-control": "no-cache"})
    assert cache_status(again)["fwd"] == "request"
    assert rig.call_count == 2
    assert cache_status(rig.chat("Fresh please"))["hit"] is True
