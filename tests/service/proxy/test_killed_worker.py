"""A worker that is killed while it leads a call that clients of another worker wait for."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from service import fake_upstream
from tests.service.proxy.rig import cache_status, chat
from tests.service.proxy.test_single_flight import text_of
from tests.workers import Worker

pytestmark = pytest.mark.slow

AUTHORIZED = {"authorization": "Bearer sk-caller"}


@contextmanager
def two_workers(url: str, data_dir: Path, upstream: str) -> Iterator[tuple[Worker, Worker]]:
    """Two workers on one database, started at the same time."""
    upstreams = {"SUREHIT_OPENAI_BASE_URL": f"{upstream}/v1"}
    workers = [Worker(data_dir / name, url, **upstreams) for name in ("a", "b")]
    try:
        for worker in workers:
            asyncio.run(worker.ready())
        yield workers[0], workers[1]
    finally:
        for worker in workers:
            worker.kill()


def completions(worker: Worker) -> str:
    """The address of its chat completions."""
    return f"{worker.url}/openai/v1/chat/completions"


def calls(upstream: str) -> int:
    """How many calls the provider got."""
    return int(httpx2.get(f"{upstream}/__calls", trust_env=False).json()["total"])


@pytest.mark.parametrize(("database", "streams"), [("postgresql", True), ("sqlite", False)])
def test_killed_leader_frees_the_other_workers_clients(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, streams: bool
) -> None:
    """Each of them gets the whole answer, from one new call; it is stored, and nobody waits for the dead any more."""
    with (
        fake_upstream.running(
            fake_upstream.create_app(latency_s=0.5, chunk_s=0.15 if streams else 0.0)
        ) as upstream,
        two_workers(request.getfixturevalue(f"{database}_url"), tmp_path, upstream) as (one, two),
    ):
        line = {"mode": "exact"}
        httpx2.put(f"{one.url}/v1/lines/default", json=line, trust_env=False).raise_for_status()
        if not streams:  # the call must still be in the air when its worker dies
            fault = {"first_byte_s": 60}
            httpx2.post(f"{upstream}/__faults", json=fault, trust_env=False).raise_for_status()
        body = chat("Who is left?", stream=streams)

        async def scene() -> tuple[list[Any], list[Any], float]:
            async with httpx2.AsyncClient(timeout=60, headers=AUTHORIZED, trust_env=False) as http:
                led = [
                    asyncio.create_task(http.post(completions(one), json=body)) for _ in range(3)
                ]
                while await asyncio.to_thread(calls, upstream) < 1:  # noqa: ASYNC110 - another thread's count
                    await asyncio.sleep(0.02)
                followers = [
                    asyncio.create_task(http.post(completions(two), json=body)) for _ in range(5)
                ]
                await asyncio.sleep(1.0)
                assert await asyncio.to_thread(calls, upstream) == 1
                one.send_signal(signal.SIGKILL)
                began = time.monotonic()
                dead = await asyncio.gather(*led, return_exceptions=True)
                return dead, await asyncio.gather(*followers), time.monotonic() - began

        dead, followers, took_s = asyncio.run(scene())
        assert all(isinstance(reply, httpx2.HTTPError) for reply in dead)
        assert {reply.status_code for reply in followers} == {200}
        texts = {
            text_of(r) if streams else r.json()["choices"][0]["message"]["content"]
            for r in followers
        }
        assert len(texts) == 1
        assert all(texts)
        assert calls(upstream) == 2
        assert took_s < 30
        began = time.monotonic()
        again = httpx2.post(completions(two), json=body, headers=AUTHORIZED, trust_env=False)
        assert cache_status(again)["hit"] is True
        assert time.monotonic() - began < 2
