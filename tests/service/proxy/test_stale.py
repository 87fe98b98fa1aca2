"""Ended entries, served where a line allows it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Clock
from tests.service.proxy.rig import Rig, cache_status, rigged


@pytest.fixture
def aged(sqlite_url: str, tmp_path: Path, clock: Clock) -> Iterator[Rig]:
    """A service whose line keeps answers for 10 s."""
    with rigged(sqlite_url, tmp_path, clock=clock) as rig:
        yield rig


def wait_for_calls(rig: Rig, n: int) -> None:
    """Until the upstream has had so many calls and none is in the air."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if rig.call_count >= n and not rig.run(_in_the_air(rig)):
            return
        time.sleep(0.02)
    raise AssertionError(f"{rig.call_count} calls, expected {n}")


async def _in_the_air(rig: Rig) -> bool:
    import asyncio

    return any("Filler._fly" in str(task.get_coro()) for task in asyncio.all_tasks())


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 500}])
def test_outage_serves_stale_within_the_window(
    aged: Rig, clock: Clock, fault: dict[str, int]
) -> None:
    """`stale_if_error_s`: an ended answer stands in, with an age and a negative ttl; beyond it, the error."""
    aged.line(ttl_s=10, stale_if_error_s=60)
    fresh = aged.chat("What is it?").json()
    clock.turn(30)
    aged.fault(**fault, times=None)
    stale = aged.chat("What is it?")
    assert stale.status_code == 200
    assert stale.json()["choices"] == fresh["choices"]
    assert stale.headers["age"] == "30"
    assert cache_status(stale) == {"hit": True, "ttl": -20, "detail": "stale-if-error"}
    clock.turn(40)
    assert aged.chat("What is it?").status_code == fault["status"]
    aged.heal()
    assert cache_status(aged.chat("What is it?"))["fwd"] == "miss"


def test_unreachable_upstream_serves_stale_as_a_stream(
    sqlite_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Whatever form was stored."""
    with rigged(sqlite_url, tmp_path / "a", clock=clock) as rig:
        rig.line(ttl_s=10, stale_if_error_s=60)
        rig.chat("Form?")
    clock.turn(15)
    gone = "http://127.0.0.1:9/v1"
    with rigged(sqlite_url, tmp_path / "b", clock=clock, openai_base_url=gone) as rig:
        reply = rig.chat("Form?", stream=True)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.text.endswith("data: [DONE]\n\n")


def test_error_is_passed_on_where_the_line_does_not_allow_stale(aged: Rig, clock: Clock) -> None:
    """The default."""
    aged.line(ttl_s=10)
    aged.chat("Default?")
    clock.turn(30)
    aged.fault(status=503)
    assert aged.chat("Default?").status_code == 503


def test_client_errors_never_serve_stale(aged: Rig, clock: Clock) -> None:
    """A 400 says something about the request; RFC 5861 is about outages."""
    aged.line(ttl_s=10, stale_if_error_s=60)
    aged.chat("Bad request?")
    clock.turn(30)
    aged.fault(status=400)
    assert aged.chat("Bad request?").status_code == 400


def test_invalidated_answers_are_never_served_stale(aged: Rig, clock: Clock) -> None:
    """Invalidation ends an entry for good."""
    aged.line(ttl_s=10, stale_if_error_s=60)
    aged.chat("Gone?")
    clock.turn(30)
    aged.http.post(f"{aged.base}/v1/invalidate", json={"line": "default"})
    aged.fault(status=503)
    assert aged.chat("Gone?").status_code == 503


def test_revalidation_serves_at_once_and_fetches_behind(aged: Rig, clock: Clock) -> None:
    """`stale_while_revalidate_s`: the caller does not wait for the upstream, the next one finds the new answer."""
    aged.line(ttl_s=10, stale_while_revalidate_s=60)
    aged.chat("Refresh me")
    clock.turn(30)
    aged.fault(first_byte_s=4.0)
    began = time.monotonic()
    stale = aged.chat("Refresh me")
    assert time.monotonic() - began < 3.5
    assert cache_status(stale) == {"hit": True, "ttl": -20, "detail": "stale-while-revalidate"}
    wait_for_calls(aged, 2)
    fresh = aged.chat("Refresh me")
    assert cache_status(fresh)["detail"] == "exact"
    assert aged.call_count == 2


def test_many_stale_requests_refresh_once(aged: Rig, clock: Clock) -> None:
    """One refresh is in the air at a time."""
    aged.line(ttl_s=10, stale_while_revalidate_s=60)
    aged.chat("Refresh once")
    clock.turn(30)
    aged.fault(first_byte_s=1.0)
    found = [cache_status(aged.chat("Refresh once"))["detail"] for _ in range(5)]
    assert found == ["stale-while-revalidate"] * 5
    wait_for_calls(aged, 2)
    assert aged.call_count == 2
