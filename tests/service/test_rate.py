"""The rate limit per key: bursts, then a steady rate; the wait it names is enough; other keys are untouched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import TooManyRequests
from service.rate import BURST_S, RateLimit
from tests.harness import running
from tests.service.proxy.rig import rigged
from tests.service.ways import problem


class Seconds:
    """A monotonic clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def allowed(limit: RateLimit, key: str = "k") -> bool:
    try:
        limit.check(key)
    except TooManyRequests:
        return False
    return True


@given(st.integers(1, 6000), st.lists(st.floats(0, 30), min_size=1, max_size=200))
def test_never_more_than_a_burst_and_the_rate(per_minute: int, pauses: list[float]) -> None:
    """In any window: at most ten seconds' worth (one at least), and the rate times its length."""
    clock = Seconds()
    limit = RateLimit(per_minute, clock=clock)
    passed: list[float] = []
    for pause in pauses:
        clock.now += pause
        if allowed(limit):
            passed.append(clock.now)
    burst = max(per_minute / 60 * BURST_S, 1)
    for first in range(len(passed)):
        window = passed[-1] - passed[first]
        assert len(passed) - first <= burst + window * per_minute / 60 + 1e-6


@given(st.integers(1, 6000))
def test_the_named_wait_is_enough(per_minute: int) -> None:
    clock = Seconds()
    limit = RateLimit(per_minute, clock=clock)
    while allowed(limit):
        pass
    with pytest.raises(TooManyRequests) as refused:
        limit.check("k")
    wait = refused.value.retry_after_s
    assert wait is not None
    assert wait <= 60
    clock.now += wait
    assert allowed(limit)
    assert allowed(limit, "another")


async def test_over_http(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, max_requests_per_minute=30) as client:
        one, two = await client.key("t1"), await client.key("t1", max_stores_per_hour=99)
        statuses = []
        for n in range(8):
            body = {"line": "faq", "prompt": f"question {n}"}
            reply = await client.call("POST", "/v1/lookup", body, headers=one)
            statuses.append(reply.status_code)
        assert statuses == [200] * 5 + [429] * 3
        assert 1 <= int(reply.headers["retry-after"]) <= 2
        problem(reply, 429)
        refused = await client.call("GET", "/v1/lines", headers=one)
        problem(refused, 429)
        assert "retry-after" in refused.headers
        assert (await client.call("GET", "/v1/lines", headers=two)).status_code == 200


def test_through_the_proxy(sqlite_url: str, tmp_path: Path) -> None:
    """In the provider's own shape, so that its clients wait and try again."""
    with rigged(sqlite_url, tmp_path, max_requests_per_minute=12) as rig:
        key = rig.key("t1")
        headers = {"x-surehit-key": key}
        replies = [rig.chat(f"question {n}", headers=headers) for n in range(4)]
        assert [r.status_code for r in replies] == [200, 200, 429, 429]
        assert replies[-1].json()["error"]["code"] == "too-many-requests"
        assert int(replies[-1].headers["retry-after"]) <= 10
