"""C-122, the proxy's form: an answer that was under way when a purge answered must not be stored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from service import fake_upstream
from tests.acceptance.test_c122_slow_fill_after_a_purge import PURGES
from tests.service.proxy.rig import Rig, cache_status, chat, rigged

TAGGED = {"x-surehit-tags": "price-list", "authorization": "Bearer k"}


@contextmanager
def versioned() -> Iterator[tuple[str, threading.Event]]:
    """An upstream that says how often it was asked; its first answer waits for the event."""
    asked = 0
    release = threading.Event()

    async def answer(_: Request) -> Response:
        nonlocal asked
        asked += 1
        number = asked
        if number == 1:
            await asyncio.to_thread(release.wait, 30)
        message = {"role": "assistant", "content": f"answer {number}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        return JSONResponse(body | {"choices": [choice]})

    route = Route("/v1/chat/completions", answer, methods=["POST"])
    with fake_upstream.running(Starlette(routes=[route])) as address:
        yield f"{address}/v1", release


async def until_looked_up(rig: Rig, n: int) -> None:
    """Wait until so many requests have missed."""
    async with asyncio.timeout(20):
        while await asyncio.to_thread(rig.metric, "surehit_lookups_total") < n:  # noqa: ASYNC110 - another thread's count
            await asyncio.sleep(0.01)


def said(reply: httpx2.Response) -> str:
    """The text of the answer."""
    text: str = reply.json()["choices"][0]["message"]["content"]
    return text


@pytest.mark.parametrize("followers", [0, 10])
def test_c122_old_answer_reaches_its_callers_and_nobody_else(
    database_url: str, tmp_path: Path, followers: int
) -> None:
    """Who asked before the purge gets the old answer; who asks after it gets the new one, even while the old call is
    still in the air, and finds it stored.
    """
    with (
        versioned() as (upstream, release),
        rigged(database_url, tmp_path, openai_base_url=upstream) as rig,
    ):
        url = f"{rig.base}/openai/v1/chat/completions"

        async def scene() -> tuple[list[httpx2.Response], httpx2.Response]:
            async with httpx2.AsyncClient(timeout=30, headers=TAGGED) as http:
                before = [
                    asyncio.create_task(http.post(url, json=chat("R")))
                    for _ in range(1 + followers)
                ]
                await until_looked_up(rig, 1 + followers)
                purged = await http.post(f"{rig.base}/v1/invalidate", json={"tag": "price-list"})
                assert purged.status_code == 200
                during = await http.post(url, json=chat("R"))
                release.set()
                return await asyncio.gather(*before), during

        before, during = asyncio.run(scene())
        assert {said(reply) for reply in before} == {"answer 1"}
        assert said(during) == "answer 2"
        third = rig.chat("R", headers=TAGGED)
        assert (said(third), cache_status(third)["detail"]) == ("answer 2", "exact")
        assert rig.count_entries() == 1


def test_c122_second_request_after_the_old_answer_came(database_url: str, tmp_path: Path) -> None:
    """The case in its own order: release, then ask twice."""
    with (
        versioned() as (upstream, release),
        rigged(database_url, tmp_path, openai_base_url=upstream) as rig,
    ):
        url = f"{rig.base}/openai/v1/chat/completions"

        async def scene() -> httpx2.Response:
            async with httpx2.AsyncClient(timeout=30, headers=TAGGED) as http:
                first = asyncio.create_task(http.post(url, json=chat("R")))
                await until_looked_up(rig, 1)
                await http.post(f"{rig.base}/v1/invalidate", json={"tag": "price-list"})
                release.set()
                return await first

        assert said(asyncio.run(scene())) == "answer 1"
        second = rig.chat("R", headers=TAGGED)
        assert (said(second), cache_status(second)["fwd"]) == ("answer 2", "miss")
        third = rig.chat("R", headers=TAGGED)
        assert (said(third), cache_status(third)["detail"]) == ("answer 2", "exact")


@pytest.mark.parametrize("purge", [*PURGES, "something_else"])
def test_c122_every_kind_of_purge_holds_off_the_old_answer(
    sqlite_url: str, tmp_path: Path, purge: str
) -> None:
    """By tag, scope, line, model and both; one that covers something else lets the answer be stored."""
    body = PURGES.get(purge, {"tag": "another"})
    body = {name: {"faq": "default", "m1": "fake-small"}.get(v, v) for name, v in body.items()}
    headers = TAGGED | {"x-surehit-scope": "shop"}
    with (
        versioned() as (upstream, release),
        rigged(sqlite_url, tmp_path, openai_base_url=upstream) as rig,
    ):

        async def scene() -> httpx2.Response:
            async with httpx2.AsyncClient(timeout=30, headers=headers) as http:
                url = f"{rig.base}/openai/v1/chat/completions"
                first = asyncio.create_task(http.post(url, json=chat("R")))
                await until_looked_up(rig, 1)
                purged = await http.post(f"{rig.base}/v1/invalidate", json=body)
                assert purged.json() == {"invalidated": 0}
                release.set()
                return await first

        first = asyncio.run(scene())
        assert said(first) == "answer 1"
        is_covered = purge in PURGES
        assert cache_status(first).get("stored", False) is not is_covered
        second = rig.chat("R", headers=headers)
        assert said(second) == ("answer 2" if is_covered else "answer 1")
