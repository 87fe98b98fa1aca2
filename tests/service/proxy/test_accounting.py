"""Where tokens are booked when things do not go as usual: each request in one row, each call that may cost in one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Clock
from tests.service.proxy.rig import Rig, chat, rigged
from tests.service.proxy.test_single_flight import begin_and_leave, together
from tests.service.proxy.test_stale import wait_for_calls


def rows(rig: Rig, line: str = "default") -> dict[str, Any]:
    """The ledger's rows of a line by layer; the collapsed requests beside them."""
    found = rig.http.get(f"{rig.base}/v1/ledger").json()["lines"].get(line, [])
    layers = {row["layer"]: row for row in found}
    return layers | {"collapsed": layers["exact"]["collapsed"]} if layers else {}


def test_stale_answers_are_the_exact_tiers(sqlite_url: str, tmp_path: Path, clock: Clock) -> None:
    """Served past its end for an outage or while it is fetched anew: no call answered that request."""
    with rigged(sqlite_url, tmp_path, clock=clock) as rig:
        rig.line(ttl_s=10, stale_if_error_s=600)
        usage = rig.chat("Old?").json()["usage"]
        clock.turn(20)
        rig.fault(status=503)
        assert rig.chat("Old?").status_code == 200
        rig.line(ttl_s=10, stale_while_revalidate_s=600)
        assert rig.chat("Old?").status_code == 200
        wait_for_calls(rig, 3)
        found = rows(rig)
        assert found["exact"]["requests"] == 2
        assert found["exact"]["input_tokens"] == 2 * usage["prompt_tokens"]
        assert found["provider_prompt_cache"]["requests"] == 2  # the first, and the refresh
        assert found["collapsed"]["requests"] == 0


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        ({"cut_after": 2}, 1),
        ({"error_after": 2}, 1),
        ({"no_terminal": True}, 1),
        ({"error_in_200": True}, 1),
        ({"status": 500}, 0),
        ({"status": 429}, 0),
    ],
    ids=str,
)
def test_call_that_began_well_is_booked_with_unknown_usage(
    rig: Rig, fault: dict[str, Any], calls: int
) -> None:
    """A stream that breaks off costs what nobody reported; an error costs nothing. Neither saves anything."""
    rig.fault(**fault)
    rig.chat("Broken", stream=True)
    found = rows(rig)
    if not calls:
        assert found == {}
        return
    provider = found["provider_prompt_cache"]
    assert (provider["requests"], provider["without_usage"]) == (1, 1)
    assert (provider["cost"], provider["saved"]) == (0, 0)
    assert found["exact"]["requests"] == found["collapsed"]["requests"] == 0


def test_stream_that_its_only_reader_leaves_is_booked(sqlite_url: str, tmp_path: Path) -> None:
    """What was generated until then is on the bill."""
    with rigged(sqlite_url, tmp_path, fake={"chunk_s": 0.05}) as rig:
        asyncio.run(begin_and_leave(rig, chat("Left", stream=True), 300))
        wait_for_calls(rig, 1)
        provider = rows(rig)["provider_prompt_cache"]
        assert (provider["requests"], provider["without_usage"]) == (1, 1)


def test_each_request_of_a_crowd_is_in_one_row(sqlite_url: str, tmp_path: Path) -> None:
    """One call, the others collapsed into it or hits; together as many as were asked."""
    with rigged(sqlite_url, tmp_path, fake={"latency_s": 0.3}) as rig:
        asyncio.run(together(rig, [chat("Crowd", stream=n % 2 == 0) for n in range(20)]))
        rig.chat("Crowd")
        rig.chat("Crowd", n=2)
        found = rows(rig)
        provider = found["provider_prompt_cache"]
        assert provider["requests"] == 2  # the call of the crowd, and the one that passes by
        counted = [found[name]["requests"] for name in ("exact", "semantic", "collapsed")]
        assert provider["requests"] + sum(counted) == 22
        assert rig.call_count == 2
