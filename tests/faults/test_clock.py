"""A clock that jumps, forward and back, under a running worker."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx2
import pytest

from tests.faults.conftest import Row
from tests.faults.parts import Clients, make_line, worker

HOUR_S = 3600

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S], ids=["forward", "back"])
async def test_the_clock_jumps(jump_s: int, tmp_path: Path, sqlite_url: str, row: Row) -> None:
    """An hour at once, while requests run and one waits for another's answer."""
    ahead = tmp_path / "ahead"
    ahead.write_text("0")
    clients = Clients()
    async with worker(tmp_path, sqlite_url, knobs={}, FAULT_CLOCK=str(ahead)) as one:
        await make_line(one.url)
        async with httpx2.AsyncClient(base_url=one.url, timeout=30) as http:
            body = {"line": clients.line, "prompt": "for a minute", "response": "x", "ttl_s": 60}
            assert (await http.post("/v1/store", json=body)).status_code == 201
            asked = {"line": clients.line, "prompt": "waited for"}
            assert (await http.post("/v1/lookup", json=asked)).json()["fill"]
            async with clients.working(one.url):
                await clients.told(5)
                began = time.monotonic()
                waiting = asyncio.create_task(
                    http.post("/v1/lookup", json=asked | {"wait_ms": 1500})
                )
                await asyncio.sleep(0.3)
                ahead.write_text(str(jump_s))
                reply = await waiting
                waited = time.monotonic() - began
                await clients.told(5)
            lost = await clients.lost(one.url)
            short = {"line": clients.line, "prompt": "for a minute"}
            found = (await http.post("/v1/lookup", json=short)).json()
            old = await http.post("/v1/lookup", json={"line": clients.line, "prompt": "q 1"})
            erased = await http.post("/v1/invalidate", json={"line": clients.line})
            assert erased.json()["invalidated"] >= len(clients.acknowledged)
            for prompt in clients.acknowledged:
                missed = await http.post(
                    "/v1/lookup", json={"line": clients.line, "prompt": prompt}
                )
                assert missed.json()["outcome"] == "miss"
    assert set(clients.seen) == {"store 201", "hit"}, clients.seen
    assert not clients.wrong
    assert reply.status_code == 200
    # forward, the hour is over for whoever waits by the clock; back, it must not wait for an hour
    assert waited < 8
    assert found["outcome"] == ("miss" if jump_s > 0 else "hit")
    assert int(old.headers["age"]) >= 0
    assert old.json()["age_s"] >= 0
    kept = (
        "what had a minute to live is gone" if jump_s > 0 else "what had a minute to live lives on"
    )
    row(f"the clock jumps an hour {'forward' if jump_s > 0 else 'back'}", saw=f"no error; {kept}",
        lost=len(lost), of=len(clients.acknowledged), recovery_s=None)  # fmt: skip
