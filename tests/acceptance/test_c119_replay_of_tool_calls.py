"""C-119: reasoning and parallel tool calls are replayed whole, argument strings byte for byte.

Answers that call tools are reused by the exact tier alone; a line may switch that off (`reuse_tool_calls`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.testing import RiggedEmbedder
from tests.service.proxy.rig import Rig, cache_status, rigged

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
    for name in ("get_weather", "get_time")
]
FIELDS: dict[str, Any] = {"tools": TOOLS, "reasoning_effort": "high"}
QUESTION = "Use both tools for Oslo"


def whole(rig: Rig) -> tuple[Any, dict[str, Any]]:
    """(status, what the answer holds) of a plain reply."""
    reply = rig.chat(QUESTION, **FIELDS)
    choice = reply.json()["choices"][0]
    message = choice["message"]
    calls = [
        (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in message["tool_calls"]
    ]
    return cache_status(reply), {
        "reasoning": message["reasoning_content"],
        "calls": calls,
        "finish": choice["finish_reason"],
    }


def streamed(rig: Rig) -> tuple[Any, dict[str, Any]]:
    """The same, put together from a stream by the official client."""
    raw = rig.openai().chat.completions.with_raw_response.create(
        model="fake-small",
        temperature=0,
        messages=[{"role": "user", "content": QUESTION}],
        stream=True,
        extra_body=FIELDS,
    )
    reasoning, finish = "", None
    calls: dict[int, list[str]] = {}
    with raw.parse() as stream:
        for chunk in stream:
            for choice in chunk.choices:
                reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                finish = choice.finish_reason or finish
                for call in choice.delta.tool_calls or []:
                    of_call = calls.setdefault(call.index, ["", "", ""])
                    of_call[0] = call.id or of_call[0]
                    of_call[1] += (call.function.name if call.function else None) or ""
                    of_call[2] += (call.function.arguments if call.function else None) or ""
    found = {"reasoning": reasoning, "calls": [tuple(c) for c in calls.values()], "finish": finish}
    return cache_status(raw), found


@pytest.mark.parametrize("first", [whole, streamed])
def test_c119_nothing_is_stripped(database_url: str, tmp_path: Path, first: Any) -> None:
    """Stored from either form, both replays hold the same."""
    with rigged(database_url, tmp_path) as rig:
        _, original = first(rig)
        assert len(original["calls"]) == 2
        assert original["finish"] == "tool_calls"
        assert original["reasoning"]
        for replay in (whole, streamed):
            status, found = replay(rig)
            assert status["detail"] == "exact"
            assert found == original
        assert rig.call_count == 1


def test_c119_tool_calls_are_never_found_by_meaning(sqlite_url: str, tmp_path: Path) -> None:
    """They act on this conversation: another wording asks the model."""
    reworded = "Use both tools for Oslo, please"
    rigged_model = RiggedEmbedder({(QUESTION, reworded): 0.99})
    with rigged(sqlite_url, tmp_path, embedder=rigged_model) as rig:
        rig.line()
        rig.chat(QUESTION, **FIELDS)
        assert cache_status(rig.chat(reworded, **FIELDS))["fwd"] == "miss"
        assert rig.call_count == 2


def test_c119_line_that_does_not_reuse_tool_calls(sqlite_url: str, tmp_path: Path) -> None:
    """Both replays are misses then."""
    with rigged(sqlite_url, tmp_path) as rig:
        rig.line(reuse_tool_calls=False)
        for ask in (whole, streamed, whole):
            status, _ = ask(rig)
            assert status["fwd"] == "miss"
        assert rig.call_count == 3
