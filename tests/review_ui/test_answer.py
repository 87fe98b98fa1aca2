"""Which text of a stored answer is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from review_ui.answer import readable


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("plain", "plain"),
        ({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}}]}, "hi"),
        (
            {
                "type": "message",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
            "ab",
        ),
        ({"output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}]}, "x"),
    ],
)
def test_text_is_taken_out_of_its_wrapping(response: Any, text: str) -> None:
    assert readable(response)[0] == text


@pytest.mark.parametrize(
    "response",
    [
        {"choices": [{"message": {"content": "hi", "tool_calls": [{"id": "1"}]}}]},
        {"choices": [{"message": {"content": "hi"}}, {"message": {"content": "ho"}}]},
        {"choices": [{"message": {"content": "no", "refusal": "no"}}]},
        {"content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "1"}]},
        {"output": [{"type": "reasoning"}, {"type": "message", "content": []}]},
        {"content": []},
        [1, "一"],
        7,
    ],
)
def test_an_answer_that_is_more_than_text_is_shown_whole(response: Any) -> None:
    text, what = readable(response)
    assert what == "JSON"
    assert json.loads(text) == response


def test_no_answer_is_empty() -> None:
    assert readable(None) == ("", "")
