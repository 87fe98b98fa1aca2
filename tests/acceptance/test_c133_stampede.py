"""C-133: fifty identical requests at once are one call, whatever happens to the one that began it.

They go to two workers in turns; one worker alone: `tests/service/proxy/test_single_flight.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.service.proxy.rig import chat
from tests.service.proxy.test_single_flight import together, until_called
from tests.two_workers import PairRig, two_rigged


@pytest.fixture
def slow(database_url: str, tmp_path: Path) -> Iterator[PairRig]:
    """An upstream that takes 2 s."""
    with two_rigged(database_url, tmp_path, fake={"latency_s": 2.0}) as rig:
        yield rig


def good(replies: list[httpx2.Response]) -> bool:
    """Whether all are whole answers."""
    return all(
        r.status_code == 200 and r.json()["choices"][0]["message"]["content"] for r in replies
    )


def test_c133_fifty_at_once_are_one_call(slow: PairRig) -> None:
    """Fifty good answers."""
    assert good(asyncio.run(together(slow, [chat("P")] * 50)))
    assert slow.call_count == 1


def test_c133_first_caller_leaves(slow: PairRig) -> None:
    """The other 49 are answered, by at most two calls."""

    async def scene() -> list[httpx2.Response]:
        async with httpx2.AsyncClient(headers={"authorization": "Bearer k"}) as http:
            url = f"{slow.base}/openai/v1/chat/completions"
            first = asyncio.create_task(http.post(url, json=chat("P"), timeout=30))
            await until_called(slow)
            others = asyncio.create_task(together(slow, [chat("P")] * 49))
            await asyncio.sleep(0.3)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
        return await others

    assert good(asyncio.run(scene()))
    assert slow.call_count <= 2


@pytest.mark.parametrize("fault", [{"status": 500}, {"cut_after": 0}])
def test_c133_call_fails_once(slow: PairRig, fault: dict[str, Any]) -> None:
    """No follower hangs: each gets the error or an answer, and nothing of the failure is stored."""
    slow.fault(**fault)
    body = chat("P", stream="cut_after" in fault)

    async def scene() -> list[httpx2.Response]:
        async with asyncio.timeout(20):
            return await together(slow, [body] * 50)

    replies = asyncio.run(scene())
    assert len(replies) == 50
    assert {r.status_code for r in replies} <= {200, 500, 502}
    # followers of the other worker may have tried again; what they got is stored, and nothing of the failure
    assert slow.count_entries() <= (200 in {r.status_code for r in replies})
    assert good(asyncio.run(together(slow, [chat("P")])))


def test_c133_tenants_are_never_merged(slow: PairRig) -> None:
    """Fifty tenants, fifty calls."""
    keys = slow.new_keys(*(f"tenant-{n}" for n in range(50)))

    async def scene() -> list[Any]:
        return await asyncio.gather(
            *(together(slow, [chat("P")], headers={"x-surehit-key": key}) for key in keys)
        )

    assert good([replies[0] for replies in asyncio.run(scene())])
    assert slow.call_count == 50
