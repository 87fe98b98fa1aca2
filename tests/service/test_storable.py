"""Which answers may be stored."""

from typing import Any

import pytest

from service import storable
from service.errors import NotStorable
from service.wire import storing
from service.wire.registry import recognise


def choice(message: Any, reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": reason}]}


SAID = {"role": "assistant", "content": "Hello"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}

REFUSED = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}


@pytest.mark.parametrize(
    "answer",
    [
        "text",
        0,
        False,
        [1],
        {"text": "x"},
        {"done": False, "next": "ask for the number"},
        {"status": 404, "title": "A film"},
        {"errors": [{"line": 3}], "count": 1},
        {"is_spam": False, "why": ""},
        {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]},
        {"model": "m", "message": {"content": "x"}, "done": True, "done_reason": "stop"},
        '{"error" is how such a body begins',
        "…",
        "👍🏽",
        choice(SAID),
        choice(CALLS, "tool_calls"),
        {"type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"},
        {"object": "response", "status": "completed", "output": [{"type": "message"}]},
        {"error": None, "text": "x"},
        {"choices": [{"text": "legacy", "finish_reason": "stop"}]},
        {"choices": [{"message": SAID}, {"message": SAID}]},
        choice(SAID, "eos"),
        choice({"role": "assistant", "content": [{"type": "text", "text": "x"}]}),
        # of an API's shape, with fields of other types than theirs: JSON like any other
        choice(SAID, ["stop"]),
        choice({**SAID, "tool_calls": 5}),
        {"type": "message", "content": [{"type": ["text"], "text": "x"}], "stop_reason": {}},
        {"object": "response", "status": "completed", "output": [{"type": {}, "content": "x"}]},
    ],
    ids=repr,
)
def test_complete_answers_pass(answer: Any) -> None:
    storing.check(answer)


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
        (choice({"role": "assistant", "content": " \n"}), "empty"),
        ({"choices": [{"text": " ", "finish_reason": "stop"}]}, "empty"),
        ({"type": "message", "content": [{"type": "text", "text": ""}]}, "empty"),
        (choice({"role": "assistant", "content": None, "refusal": "I won't"}), "empty"),
        (choice(SAID | {"refusal": "I won't"}), "refusal"),
        (choice({"tool_calls": [{"function": {"name": "f", "arguments": '{"a"'}}]}), "no JSON"),
        ({"object": "response", "status": "completed", "output": [REFUSED]}, "refusal"),
        ({"role": "assistant", "content": []}, "empty"),
        ({"error": {"message": "x"}}, "error"),
        ({"type": "error"}, "error"),
        ([{"error": {"code": 500}}], "error"),
        ('{"error": {"message": "x"}}', "error"),
        ({"type": "about:blank", "title": "Bad gateway", "status": 502}, "error"),
        ("\u200b\ufeff", "empty"),
        ("\x00", "empty"),
        ("\u3164\u2800", "empty"),
        ({"text": ""}, "empty"),
        ({"answer": " \n", "sources": []}, "empty"),
        (choice({"role": "assistant", "content": " \n\u200b"}), "empty"),
        ({"type": "message", "content": [{"type": "thinking", "thinking": "hm"}]}, "empty"),
        ({"object": "response", "status": "completed", "output": []}, "empty"),
        (
            {
                "object": "response",
                "status": "completed",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": ""}]}],
            },
            "empty",
        ),
        ({"candidates": []}, "empty"),
        ({"candidates": [{"content": {"parts": [{"text": ""}]}}]}, "empty"),
        (
            {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "MAX_TOKENS"}]},
            "max_tokens",
        ),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "safety"),
        ({"model": "m", "message": {"content": "x"}, "done": False}, "not finished"),
        ({"model": "m", "message": {"content": "x"}, "done_reason": "length"}, "length"),
        ({"output": {"message": {"content": [{"text": "x"}]}}, "stopReason": "max_tokens"}, "max"),
        (choice(SAID) | {"choices": [{"message": SAID, "finish_reason": None}]}, "not finished"),
        (
            {"type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": None},
            "not finished",
        ),
        (choice(SAID, "insufficient_system_resource"), "insufficient"),
        (choice(SAID, "ABORT"), "abort"),
        (choice(SAID, "error"), "error"),
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
        storing.check(answer)


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


@pytest.mark.parametrize(
    ("answer", "permission"),
    [
        (choice(SAID, "length"), "allow_truncated"),
        (
            {
                "type": "message",
                "content": [{"type": "text", "text": "x"}],
                "stop_reason": "max_tokens",
            },
            "allow_truncated",
        ),
        (
            {
                "object": "response",
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}],
            },
            "allow_truncated",
        ),
        (choice(SAID, "content_filter"), "allow_filtered"),
    ],
    ids=repr,
)
def test_line_may_allow_what_is_cut_off(answer: Any, permission: str) -> None:
    """The permission of that kind and no other; the proxy's rule for the same answer agrees."""
    other = ({"allow_truncated", "allow_filtered"} - {permission}).pop()
    api = recognise(answer)
    assert api is not None
    for given, passes in (({permission: True}, True), ({other: True}, False), ({}, False)):
        assert (api.storable(answer, **given) is None) is passes
        if passes:
            storing.check(answer, **given)
        else:
            with pytest.raises(NotStorable):
                storing.check(answer, **given)


def test_line_that_does_not_reuse_tool_calls_takes_none() -> None:
    """In a provider's shape and in any other."""
    for answer in (choice(CALLS, "tool_calls"), {"tool_calls": [CALL]}):
        storing.check(answer)
        with pytest.raises(NotStorable, match="tools"):
            storing.check(answer, allow_tool_calls=False)
