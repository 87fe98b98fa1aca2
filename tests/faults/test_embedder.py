"""A model that hangs or dies, and an embedding server that stops answering."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faults.parts import LIMITS, Clients, Row, make_line
from tests.workers import Worker, steer, worker

pytestmark = pytest.mark.timeout(300)


async def _asked(http: httpx2.AsyncClient, prompt: str) -> tuple[str, float]:
    """Tier or reason of a lookup, and the seconds that it took."""
    began = time.monotonic()
    reply = await http.post("/v1/lookup", json={"line": "faults", "prompt": prompt})
    assert reply.status_code == 200, reply.text
    found = reply.json()
    return found.get("tier") or found["reason"], time.monotonic() - began


async def _semantic_again(http: httpx2.AsyncClient, prompt: str) -> float:
    """Seconds until a rewording hits."""
    began = time.monotonic()
    while time.monotonic() - began < 60:
        if (await _asked(http, prompt))[0] == "semantic":
            return time.monotonic() - began
        await asyncio.sleep(0.1)
    raise AssertionError("no semantic hit within a minute")


@pytest.mark.slow
async def test_the_model_hangs_or_dies(tmp_path: Path, sqlite_url: str, row: Row) -> None:
    """A call of the model that blocks, then one that raises."""
    model = tmp_path / "model"
    model.write_text("hash")
    budget = {"SUREHIT_EMBED_BUDGET_MS": "500"}
    async with worker(tmp_path, sqlite_url, knobs=LIMITS, FAULT_MODEL=str(model), **budget) as one:
        await make_line(one.url, mode="serve", threshold=0.9)
        for state in ("stuck", "broken"):
            clients = Clients(prefix=state)
            async with httpx2.AsyncClient(base_url=one.url, timeout=30) as http:
                await clients.store(http)
                assert (await _asked(http, f"{state} 1?"))[0] == "semantic"
                steer(model, state)
                slowest = 0.0
                for n in range(4):
                    how, took = await _asked(http, f"other words {state} {n}")
                    assert how == "degraded"
                    slowest = max(slowest, took)
                    assert (await _asked(http, f"{state} 1"))[0] == "exact"
                    await clients.store(http)
                assert (await http.get("/readyz")).json()["semantic"] == "degraded"
                steer(model, "hash")
                recovery = await _semantic_again(http, f"{state} 1??")
                # what was stored without a vector gets one in the background
                late = await _semantic_again(http, f"{state} 4?")
            lost = await clients.lost(one.url)
            assert set(clients.seen) == {"store 201"}, clients.seen
            assert slowest < 3
            row(f"the embedding model is {state}",
                saw=f"misses (degraded) within {slowest:.1f} s; exact hits and stores go on; stored meanwhile: found "
                f"by meaning {recovery + late:.1f} s after",
                lost=len(lost), of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip


@pytest.mark.slow
async def test_the_embedding_server(
    tmp_path: Path, sqlite_url: str, models_dir: Path, row: Row
) -> None:
    """`surehit embed-server`, held by SIGSTOP for a while; then killed, and started again on its port."""
    (tmp_path / "models").symlink_to(models_dir)
    server = await _embed_server(tmp_path)
    try:
        async with worker(tmp_path, sqlite_url, SUREHIT_EMBED_URL=server.url) as one:
            await make_line(one.url, mode="serve", threshold=0.9)
            for how in ("stops answering", "dies"):
                clients = Clients(prefix=how)
                async with httpx2.AsyncClient(base_url=one.url, timeout=30) as http:
                    body = {"line": "faults", "prompt": "How do I reset my password?"}
                    assert (await http.post("/v1/store", json=body | {"response": "so"})).is_success
                    await _semantic_again(http, "How can I reset my password?")
                    server.send_signal(signal.SIGKILL if how == "dies" else signal.SIGSTOP)
                    slowest = 0.0
                    for n in range(3):
                        reason, took = await _asked(http, f"How shall I {how} password {n}?")
                        assert reason == "degraded"
                        slowest = max(slowest, took)
                        assert (await _asked(http, body["prompt"]))[0] == "exact"
                        await clients.store(http)
                    if how == "dies":
                        server = await _embed_server(tmp_path, port=server.port)
                    else:
                        server.send_signal(signal.SIGCONT)
                    words = {"stops answering": "could", "dies": "should"}[how]
                    recovery = await _semantic_again(http, f"How {words} I reset my password?")
                lost = await clients.lost(one.url)
                assert set(clients.seen) == {"store 201"}, clients.seen
                assert slowest < 5
                row(f"the embedding server {how}",
                    saw=f"misses (degraded) within {slowest:.1f} s; exact hits and stores go on",
                    lost=len(lost), of=len(clients.acknowledged), recovery_s=recovery)  # fmt: skip
    finally:
        server.kill()


async def _embed_server(data_dir: Path, **settings: Any) -> Worker:
    started = Worker(data_dir, command="embed-server", **settings)
    await started.ready()
    async with httpx2.AsyncClient(base_url=started.url, timeout=5) as http:
        while "ready" not in (await http.get("/healthz")).json()["embedders"].values():
            assert time.monotonic() - started.began < 100
            await asyncio.sleep(0.05)
    return started
