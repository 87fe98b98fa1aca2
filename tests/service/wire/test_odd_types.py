"""Bodies in which something has another type than it should: judged, keyed or refused, and never a failure."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import key
from service.errors import InvalidRequest, NotStorable
from service.wire import registry, storing

_TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
_CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_PART = {"type": "text", "text": "How do tides work?", "cache_control": {"type": "ephemeral"}}

_EXCHANGES: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {
    ("openai", "chat/completions"): (
        {
            "model": "m",
            "messages": [
                {"role": "assistant", "content": None, "tool_calls": [_CALL]},
                {"role": "user", "content": [_PART, {"type": "image_url", "image_url": {}}]},
            ],
            "tools": _TOOLS,
            "response_format": {"type": "json_object"},
            "modalities": ["text"],
        },
        {
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "{}", "tool_calls": [_CALL]},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
        },
    ),
    ("openai", "responses"): (
        {
            "model": "m",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "How?"}]}],
            "tools": [{"type": "function", "name": "f"}],
            "text": {"format": {"type": "json_schema", "schema": {}}},
            "include": ["x"],
            "prompt_cache_options": {"prewarm": False},
        },
        {
            "object": "response",
            "status": "completed",
            "incomplete_details": {"reason": None},
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "content": [{"type": "output_text", "text": "{}"}]},
                {"type": "function_call", "name": "f", "arguments": "{}"},
            ],
            "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}},
        },
    ),
    ("openai", "embeddings"): (
        {"model": "e", "input": ["a", [1, 2]], "encoding_format": "float"},
        {
            "object": "list",
            "data": [{"index": 0, "embedding": [0.5]}, {"index": 1, "embedding": "AAAAAA=="}],
            "usage": {"prompt_tokens": 1},
        },
    ),
    ("anthropic", "messages"): (
        {
            "model": "m",
            "max_tokens": 9,
            "system": [_PART],
            "messages": [{"role": "user", "content": [_PART]}],
            "tools": [{"type": "custom", "name": "f", "input_schema": {}}],
            "output_config": {"format": {"type": "json_schema", "schema": {}}},
        },
        {
            "type": "message",
            "content": [_PART, {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 1}},
        },
    ),
}

_ODD = st.sampled_from(
    [None, True, -1, 1.5, 10**30, "", "x", [], {}, [None], [[]], {"type": ["x"]}, ["text"]]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything inside a JSON value."""
    inside = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    return [found for at, item in inside for found in ((*path, at), *_places(item, (*path, at)))]


@st.composite
def _spoiled(draw: st.DrawFn, body: dict[str, Any]) -> dict[str, Any]:
    """The body with something else in one or two places."""
    spoiled = copy.deepcopy(body)
    for _ in range(draw(st.integers(1, 2))):
        *parents, last = draw(st.sampled_from(_places(spoiled)))
        holder: Any = spoiled
        for at in parents:
            holder = holder[at]
        holder[last] = copy.deepcopy(draw(_ODD))
    return spoiled


@pytest.mark.parametrize("route", _EXCHANGES, ids="/".join)
@given(data=st.data())
def test_an_odd_request_is_keyed_or_refused(route: Any, data: st.DataObject) -> None:
    api = registry.api_for(*route)
    assert api is not None
    body = data.draw(_spoiled(_EXCHANGES[route][0]))
    with contextlib.suppress(InvalidRequest):
        key.canonicalize(body)
    try:
        reason = api.bypass_reason(body)
    except (AttributeError, TypeError, ValueError):  # which the proxy takes for `malformed`
        return
    if reason is None:
        request = api.as_request(body, {})
        api.query_text_location(request)
        with contextlib.suppress(InvalidRequest):
            _ = key.canonicalize(request).context


@pytest.mark.parametrize("route", _EXCHANGES, ids="/".join)
@given(data=st.data())
def test_an_odd_answer_is_judged(route: Any, data: st.DataObject) -> None:
    """By its API's rule, by the rule for any JSON, and as to what it cost."""
    api = registry.api_for(*route)
    assert api is not None
    request, answer = _EXCHANGES[route]
    spoiled = data.draw(_spoiled(answer))
    storing.why_not(api, spoiled, request)
    with contextlib.suppress(NotStorable):
        storing.check(spoiled, request)
    found = api.usage(spoiled)
    assert found is None or 0 <= found.input_tokens <= 10**13
