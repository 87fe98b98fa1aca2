"""C-117, the proxy's form: answers that were cut, by whoever, are never stored and never served.

The direct store of such an answer is tested in test_c117_direct_store_of_unfinished_answers.py.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import httpx2
import pytest

from tests.service.proxy.rig import Rig, cache_status, chat, rigged


def leave_after_three_chunks(rig: Rig) -> None:
    """(a) The client disconnects."""
    body = chat("Q", stream=True)
    with (
        httpx2.Client(headers={"authorization": "Bearer k"}) as client,
        client.stream("POST", f"{rig.base}/openai/v1/chat/completions", json=body) as reply,
    ):
        chunks = reply.iter_raw()
        for _ in range(3):
            next(chunks)
    until = time.monotonic() + 5
    while not rig.calls()["aborted"] and time.monotonic() < until:
        time.sleep(0.02)


def cut_after_three_chunks(rig: Rig) -> None:
    """(b) The upstream drops the connection."""
    rig.fault(cut_after=3)
    with contextlib.suppress(httpx2.HTTPError):
        rig.chat("Q", stream=True)


def end_without_terminal_event(rig: Rig) -> None:
    """(b, politely) The upstream ends as if all were well, without a closing event."""
    rig.fault(no_terminal=True)
    rig.chat("Q", stream=True)


def stop_at_the_token_limit(rig: Rig) -> None:
    """(c) Complete, but cut at its length."""
    rig.fault(finish_reason="length")
    assert '"finish_reason":"length"' in rig.chat("Q", stream=True).text


def stop_at_the_token_limit_whole(rig: Rig) -> None:
    """(c) The same in one piece."""
    rig.fault(finish_reason="length")
    assert rig.chat("Q").json()["choices"][0]["finish_reason"] == "length"


CUTS = (
    leave_after_three_chunks,
    cut_after_three_chunks,
    end_without_terminal_event,
    stop_at_the_token_limit,
    stop_at_the_token_limit_whole,
)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
def test_c117_cut_answers_are_not_stored(
    sqlite_url: str, tmp_path: Path, cut: object, stream: bool
) -> None:
    """The second request is a miss that reaches the upstream and gets the whole answer."""
    with rigged(sqlite_url, tmp_path, fake={"chunk_s": 0.02}) as rig:
        cut(rig)  # type: ignore[operator]  # one of CUTS
        assert rig.count_entries() == 0
        before = rig.call_count
        second = rig.chat("Q", stream=stream)
        assert cache_status(second)["fwd"] == "miss"
        assert rig.call_count == before + 1
        assert "(Answer " in second.text or stream
        assert cache_status(rig.chat("Q", stream=stream))["detail"] == "exact"


def test_c117_line_that_stores_truncated_answers(sqlite_url: str, tmp_path: Path) -> None:
    """A setting of the line, off by default."""
    with rigged(sqlite_url, tmp_path) as rig:
        rig.line(store_truncated=True)
        rig.fault(finish_reason="length")
        rig.chat("Q")
        assert rig.chat("Q").json()["choices"][0]["finish_reason"] == "length"
        assert rig.call_count == 1
