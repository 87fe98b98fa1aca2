"""C-118: one stored answer replays as stream and whole, byte for byte, with no character cut in two."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from tests.service.proxy.rig import cache_status, rigged

ANSWER = "def f():\n    return 1\n\n第二段：👩‍👩‍👧 ok"


def deltas(reply: httpx2.Response) -> list[dict[str, object]]:
    """The choices of a stream of chat completions; it must end in [DONE]."""
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [line[6:] for line in reply.text.split("\n") if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    return [choice for e in events[:-1] for choice in json.loads(e)["choices"]]


@pytest.mark.parametrize("first_streams", [True, False])
def test_c118_text_survives_both_forms(
    database_url: str, tmp_path: Path, first_streams: bool
) -> None:
    """Stored from either form, replayed in either form."""
    with rigged(database_url, tmp_path) as rig:
        question = f"Echo: {ANSWER}"
        rig.chat(question, stream=first_streams)
        whole = rig.chat(question)
        assert cache_status(whole)["hit"] is True
        assert whole.headers["content-type"] == "application/json"
        assert whole.json()["choices"][0]["message"]["content"] == ANSWER
        streamed = rig.chat(question, stream=True)
        assert cache_status(streamed)["hit"] is True
        found = deltas(streamed)
        pieces = [c["delta"].get("content") or "" for c in found]  # type: ignore[attr-defined]
        assert "".join(pieces) == ANSWER
        assert sum(map(bool, pieces)) >= 1
        assert not any(piece.startswith(("\u200d", "\ufe0f")) for piece in pieces)
        assert found[-1]["finish_reason"] == "stop"
        assert rig.call_count == 1
