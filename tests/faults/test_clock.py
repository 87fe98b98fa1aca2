"""A clock that jumps, forward and back, under a running worker."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx2
import pytest

from tests.faults.parts import Clients, Row, make_line
from tests.workers import steer, worker

HOUR_S = 3600

pytestmark = pytest.mark.timeout(300)


@pytest.mark.slow
async def test_the_clock_jumps(tmp_path: Path, sqlite_url: str, row: Row) -> None:
    """Back by an hour and forward by two, while requests run and one waits for another's answer."""
    ahead = tmp_path / "ahead"
    ahead.write_text("0")
    async with worker(tmp_path, sqlite_url, FAULT_CLOCK=str(ahead)) as one:
        for name, to_s in (("back", -HOUR_S), ("forward", HOUR_S)):
            line = f"jump-{name}"
            await make_line(one.url, name=line)
            clients = Clients(line=line)
            async with httpx2.AsyncClient(base_url=one.url, timeout=30) as http:
                waited, lost = await _jump(http, one.url, clients, ahead, to_s)
                short = await http.post("/v1/lookup", json={"line": line, "prompt": "for a minute"})
                old = await http.post("/v1/lookup", json={"line": line, "prompt": "q 1"})
                assert int(old.headers["age"]) >= 0
                assert old.json()["age_s"] >= 0
                dropped = await http.post("/v1/invalidate", json={"line": line})
                assert dropped.json()["invalidated"] >= len(clients.acknowledged)
                for prompt in clients.acknowledged:
                    missed = await http.post("/v1/lookup", json={"line": line, "prompt": prompt})
                    assert missed.json()["outcome"] == "miss"
            assert set(clients.seen) == {"store 201", "hit"}, clients.seen
            assert not clients.wrong
            assert waited < 8  # a second and a half by the watch, not an hour
            lives = name == "back"
            assert short.json()["outcome"] == ("hit" if lives else "miss")
            row(f"the clock jumps {name}", lost=len(lost), of=len(clients.acknowledged), recovery_s=None,
                saw=f"no error; what had a minute to live {'lives on' if lives else 'is gone'}")  # fmt: skip


async def _jump(
    http: httpx2.AsyncClient, url: str, clients: Clients, ahead: Path, to_s: int
) -> tuple[float, list[str]]:
    """Set the clock under load: how long a caller waited for another's answer, and what was lost."""
    body = {"line": clients.line, "prompt": "for a minute", "response": "x", "ttl_s": 60}
    assert (await http.post("/v1/store", json=body)).status_code == 201
    asked = {"line": clients.line, "prompt": "waited for"}
    assert (await http.post("/v1/lookup", json=asked)).json()["fill"]
    async with clients.working(url):
        await clients.told(5)
        began = time.monotonic()
        waiting = asyncio.create_task(http.post("/v1/lookup", json=asked | {"wait_ms": 1500}))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(steer, ahead, str(to_s))
        assert (await waiting).status_code == 200
        waited = time.monotonic() - began
        await clients.told(5)
    return waited, await clients.lost(url)
