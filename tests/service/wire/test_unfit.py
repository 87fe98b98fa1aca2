"""Answers that are whole and good, and not what was asked for: they are passed on and never stored."""

from __future__ import annotations

from typing import Any

import pytest

from service.errors import NotStorable
from service.wire import (
    anthropic_messages,
    openai_chat,
    openai_embeddings,
    openai_responses,
    storing,
)
from service.wire.api import WireApi

SCHEMA = {"type": "json_schema", "name": "s", "schema": {"type": "object"}}


def chat_answer(text: str | None) -> dict[str, Any]:
    """A chat completion with this text."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": text} | ({} if text else {"tool_calls": [call]})
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def response_answer(*texts: str) -> dict[str, Any]:
    """A response with these texts."""
    parts = [{"type": "output_text", "text": text} for text in texts]
    item = {"type": "message", "content": parts}
    return {"object": "response", "status": "completed", "output": [item]}


def message_answer(text: str) -> dict[str, Any]:
    """A message with this text, after a thought that is no JSON."""
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn"}


def vectors(n: int) -> dict[str, Any]:
    """So many embeddings."""
    data = [{"object": "embedding", "index": at, "embedding": [0.5]} for at in range(n)]
    return {"object": "list", "data": data}


CHAT_FORMS = ({"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "s"}})
CASES: list[tuple[WireApi, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    *(
        (openai_chat, {"response_format": form}, chat_answer('{"a": 1}'), chat_answer('{"a": '))
        for form in CHAT_FORMS
    ),
    (openai_chat, {"response_format": CHAT_FORMS[0]}, chat_answer(None), chat_answer("Sure! {}")),
    (
        openai_responses,
        {"text": {"format": SCHEMA}},
        response_answer('{"a"', ": 1}"),
        response_answer("Here: {}"),
    ),
    (
        anthropic_messages,
        {"output_config": {"format": SCHEMA}},
        message_answer("[1]"),
        message_answer("[1"),
    ),
    (anthropic_messages, {"output_format": SCHEMA}, message_answer("{}"), message_answer("{}}")),
    (openai_embeddings, {"input": ["a", "b"]}, vectors(2), vectors(1)),
    (openai_embeddings, {"input": [["a"], ["b"], ["c"]]}, vectors(3), vectors(4)),
    (openai_embeddings, {"input": "a"}, vectors(1), vectors(2)),
    (openai_embeddings, {"input": [1, 2, 3]}, vectors(1), vectors(3)),
]


@pytest.mark.parametrize(("api", "request_body", "good", "bad"), CASES)
def test_answer_that_is_not_as_asked(
    api: WireApi, request_body: dict[str, Any], good: dict[str, Any], bad: dict[str, Any]
) -> None:
    """Both are storable as such; only the one fits, and to a request that asked for nothing both do."""
    assert api.storable(good) is api.storable(bad) is None
    assert api.unfit(good, request_body) is None
    assert api.unfit(bad, request_body) == "not_as_asked"
    if api is not openai_embeddings:
        for plain in (
            {},
            {"response_format": {"type": "text"}, "text": {"format": {"type": "text"}}},
        ):
            assert api.unfit(bad, plain) is None
        storing.check(good, request_body)
        storing.check(bad)
        with pytest.raises(NotStorable, match="JSON"):
            storing.check(bad, request_body)
