"""Which answers may be stored."""

from typing import Any

import pytest

from service import storable
from service.errors import NotStorable


def choice(message: Any, reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": reason}]}


SAID = {"role": "assistant", "content": "Hello"}
CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {}}]}


@pytest.mark.parametrize(
    "answer",
    [
        "text",
        0,
        False,
        [1],
        {"text": "x"},
        choice(SAID),
        choice(CALLS, "tool_calls"),
        {"type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"},
        {"object": "response", "status": "completed", "output": [{"type": "message"}]},
        {"error": None, "text": "x"},
    ],
    ids=repr,
)
def test_complete_answers_pass(answer: Any) -> None:
    storable.check(answer)


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n", "empty"),
        ({}, "empty"),
        ([], "empty"),
        (choice({"role": "assistant", "content": ""}), "empty"),
        ({"choices": []}, "empty"),
        ({"role": "assistant", "content": []}, "empty"),
        ({"error": {"message": "x"}}, "error"),
        ({"type": "error"}, "error"),
        (choice(SAID, "length"), "length"),
        (choice(SAID, "content_filter"), "content_filter"),
        ({"choices": [choice(SAID)["choices"][0], choice(SAID, "length")["choices"][0]]}, "length"),
        ({"stop_reason": "pause_turn", "content": "x"}, "pause_turn"),
        ({"object": "response", "status": "in_progress"}, "in_progress"),
        ({"text": "x", "incomplete_details": {"reason": "max_output_tokens"}}, "max_output"),
    ],
    ids=repr,
)
def test_empty_failed_and_cut_answers_are_refused_with_their_reason(answer: Any, word: str) -> None:
    with pytest.raises(NotStorable, match=word):
        storable.check(answer)


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        (choice(SAID), False),
        (choice(CALLS), True),
        ({"content": [{"type": "tool_use"}]}, True),
        ({"output": [{"type": "function_call"}]}, True),
        ({"content": "tool_use"}, False),
        ("x", False),
    ],
    ids=repr,
)
def test_tool_calls_are_seen_in_every_providers_shape(answer: Any, calls: bool) -> None:
    assert calls == storable.has_tool_calls(answer)
