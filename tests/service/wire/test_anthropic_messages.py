"""Messages: what is keyed, what is stored, how it is replayed."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.key import canonicalize
from service.wire import anthropic_messages as api
from service.wire.sse import write
from tests.service.wire.streams import NEW_ID, NOW, assembled, cut_into, events, replayed, texts

BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
TEXT = {"type": "text", "text": "Hello there"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"city": "Ulm", "n": 10**30}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def message(*content, **fields):
    return {
        "id": f"msg_{NEW_ID}",
        "type": "message",
        "role": "assistant",
        "model": "m-2026",
        "content": list(content) or [TEXT],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 2,
            "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 40,
        },
        **fields,
    }


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | texts(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts(), below, max_size=3),
    max_leaves=8,
)
_blocks = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("text"), "text": texts()},
        optional={
            "citations": st.none()
            | st.lists(st.fixed_dictionaries({"type": st.just("char_location"), "x": texts()}))
        },
    ),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": texts(), "signature": texts()}),
    st.just({"type": "redacted_thinking", "data": "xyz"}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_use"),
            "id": st.just("toolu_1"),
            "name": st.just("f"),
            "input": st.dictionaries(texts(), _json, max_size=3),
        },
        optional={"caller": st.just({"type": "direct"})},
    ),
)


@given(
    st.lists(_blocks),
    st.fixed_dictionaries(
        {},
        optional={
            "stop_details": st.none() | st.just({"type": "refusal"}),
            "container": st.none() | st.just({"id": "c"}),
        },
    ),
    st.lists(st.integers(0, 10**6)),
)
def test_a_replayed_stream_assembles_to_the_stored_response(blocks, fields, ends):
    stored = message(*blocks, **fields)
    before = copy.deepcopy(stored)
    raw = b"".join(replayed(api, stored, BODY))

    found = assembled(api, cut_into(raw, ends))

    assert before == stored
    assert (stored, None) == (found.complete, found.failure)


@given(st.integers(0, 10**6))
def test_a_cut_stream_is_never_complete(end):
    raw = b"".join(replayed(api, message(THOUGHT, TEXT, CALL, stop_reason="tool_use"), BODY))
    raw = raw[: end % (len(raw) - len(b"\n\n"))]

    found = assembled(api, [raw])

    assert (found.complete, found.failure is not None) == (None, True)


def _event(kind, **fields):
    return write(json.dumps({"type": kind, **fields}).encode(), kind)


def _start(at=0, **block):
    return _event(
        "content_block_start", index=at, content_block=block or {"type": "text", "text": ""}
    )


def _delta(at=0, **delta):
    return _event("content_block_delta", index=at, delta=delta)


BEGIN = _event("message_start", message={**message(), "content": [], "stop_reason": None})
SAY = [_start(), _delta(type="text_delta", text="a"), _event("content_block_stop", index=0)]
ENDING = {"stop_reason": "end_turn", "stop_sequence": None}
END = _event("message_delta", delta=ENDING, usage={"output_tokens": 7, "input_tokens": None})
STOP = _event("message_stop")
PING = _event("ping")


@given(
    st.dictionaries(st.text("abc", min_size=1), st.integers(), min_size=1),
    st.integers(0, 9),
    st.integers(1, 9),
)
def test_the_spelling_of_a_streamed_call_is_replayed_byte_for_byte(value, blanks, step):
    """C-119: also where it differs from how we would write it; and it never shows in a body."""
    spelling = " " * blanks + json.dumps(value, separators=(" ,", ":"))
    parts = [spelling[at : at + step] for at in range(0, len(spelling), step)]
    deltas = [_delta(type="input_json_delta", partial_json=part) for part in parts]
    head = _start(type="tool_use", id="t", name="f", input={})
    stored = assembled(
        api, [BEGIN, head, *deltas, _event("content_block_stop", index=0), END, STOP]
    ).complete
    assert stored is not None

    again = events(replayed(api, stored, BODY))
    whole = json.loads(api.render_json(stored, BODY, now=NOW, new_id=NEW_ID))

    pieces = [data["delta"]["partial_json"] for _, data in again if "partial_json" in str(data)]
    assert spelling == "".join(pieces)
    assert value == whole["content"][0]["input"]
    assert "$surehit" not in json.dumps([whole, again])


def test_a_stream_replay_has_the_events_in_order():
    found = events(replayed(api, message(THOUGHT, TEXT), BODY))

    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [
        "message_start",
        *(block[0], block[1], block[1], block[2]),  # thought, then its signature
        *block,
        "message_delta",
        "message_stop",
    ] == [name for name, _ in found]
    begun, ending = found[0][1]["message"], found[-2][1]
    assert (
        begun["content"],
        begun["stop_reason"],
        begun["usage"]["output_tokens"],
    ) == ([], None, 1)
    assert ending["delta"] == ENDING
    assert ending["usage"]["output_tokens"] == 40


def test_pings_and_events_to_come_say_nothing():
    chunks = [BEGIN, PING, SAY[0], PING, *SAY[1:], _event("new_event"), END, STOP]

    found = assembled(api, chunks).complete

    assert found is not None
    assert found["content"] == [{"type": "text", "text": "a"}]
    assert {**message()["usage"], "output_tokens": 7} == found["usage"]


@pytest.mark.parametrize(
    ("chunks", "failure"),
    [
        ([BEGIN, *SAY, END], "no_terminal_event"),
        ([BEGIN, *SAY, STOP], "no_finish_reason"),
        ([BEGIN, *SAY, _event("error", error={}), END, STOP], "error_event"),
        ([*SAY, END, STOP], "malformed"),
        ([BEGIN, *SAY[:-1], END, STOP], "malformed"),
        ([BEGIN, _start(1), END, STOP], "malformed"),
        ([BEGIN, SAY[0], SAY[0]], "malformed"),
        ([BEGIN, _delta(type="text_delta", text="a")], "malformed"),
        ([BEGIN, SAY[0], _delta(type="text_delta", text=3)], "malformed"),
        ([BEGIN, SAY[0], _delta(type="new_delta", x="a")], "unknown_delta"),
        (
            [
                BEGIN,
                _start(type="tool_use", input={}),
                _delta(type="input_json_delta", partial_json='{"a'),
                SAY[2],
                END,
                STOP,
            ],
            "not_json",
        ),
    ],
)
def test_a_stream_that_is_not_right_gives_no_response(chunks, failure):
    found = assembled(api, chunks)

    assert (None, failure) == (found.complete, found.failure)


def test_a_hit_has_a_fresh_id_and_spent_nothing():
    stored = message(diagnostics={"x": 1})

    found = json.loads(api.render_json(stored, BODY, now=NOW, new_id="x"))

    assert (found["id"], found["diagnostics"]) == ("msg_x", None)
    assert found["usage"] == {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 0,
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"tools": [{"name": "f"}, {"type": "custom"}, {"type": "bash_20250124"}]}, None),
        ({"tools": [{"type": "web_search_20260318", "name": "w"}]}, "hosted_tool"),
        ({"tools": [{"type": "code_execution_20260521"}]}, "hosted_tool"),
        ({"mcp_servers": [{"url": "x"}]}, "hosted_tool"),
        ({"container": "c"}, "stateful"),
        ({"max_tokens": 0}, "prewarm"),
        ({"messages": []}, "malformed"),
        ({"$wire": 1}, "reserved_field"),
    ],
)
def test_bypass(fields, reason):
    assert reason == api.bypass_reason({**BODY, **fields})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (message(), None),
        (message(stop_reason="stop_sequence"), None),
        (message(THOUGHT, CALL, stop_reason="tool_use"), None),
        (message(stop_reason="max_tokens"), "truncated"),
        (message(stop_reason="model_context_window_exceeded"), "truncated"),
        (message(stop_reason="refusal"), "refusal"),
        (message(stop_reason="pause_turn"), "not_finished"),
        (message(stop_reason="new"), "unknown_finish_reason"),
        (message(stop_reason=None), "no_finish_reason"),
        (message(THOUGHT), "empty"),
        (message({"type": "text", "text": "\n"}), "empty"),
        (message({"type": "server_tool_use"}, TEXT), "hosted_tool"),
        ({"type": "error", "error": {}}, "error_in_200"),
        ({"type": "message"}, "malformed"),
    ],
)
def test_storable(answer, reason):
    assert reason == api.storable(answer)


def test_what_is_stored_is_a_setting():
    assert api.storable(message(stop_reason="max_tokens"), allow_truncated=True) is None
    assert api.storable(message(CALL), allow_tool_calls=False) == "tool_calls"


def _key(body, headers=()):
    return canonicalize(api.as_request(body, dict(headers))).body


@pytest.mark.parametrize("field", sorted(api.INERT_FIELDS))
def test_inert_fields_do_not_change_the_key(field):
    assert _key(BODY) == _key({**BODY, field: "anything"})


def test_marks_for_the_prompt_cache_do_not_change_the_key():
    mark = {"cache_control": {"type": "ephemeral"}}

    def marked(**mark):
        inner = [{"type": "text", "text": "r", **mark}]
        return {
            **BODY,
            "system": [{"type": "text", "text": "s", **mark}],
            "tools": [{"name": "f", "input_schema": {}, **mark}],
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a", **mark}],
                    **mark_id(mark),
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t", "content": inner, **mark},
                        {"type": "document", "source": {"type": "content", "content": inner}},
                    ],
                },
            ],
        }

    def mark_id(mark):
        return {"id": "m1"} if mark else {}

    body = marked(**mark)
    before = copy.deepcopy(body)

    assert _key(marked()) == _key(body)
    assert before == body, "the body itself goes upstream, marks and all"


def test_a_field_of_the_caller_that_is_called_cache_control_stays_in_the_key():
    def with_schema(properties):
        return {**BODY, "tools": [{"name": "f", "input_schema": {"properties": properties}}]}

    assert _key(with_schema({"cache_control": {"type": "string"}})) != _key(with_schema({}))


def test_version_and_beta_headers_are_in_the_key():
    versions = [{"Anthropic-Version": v} for v in ("2023-06-01", "2026-06-01")]
    betas = [{"anthropic-beta": v} for v in ("a, b", "b,a", "a", "b")]

    assert _key(BODY, versions[0]) != _key(BODY, versions[1])
    assert _key(BODY, betas[0]) == _key(BODY, betas[1])
    assert len({_key(BODY, beta) for beta in betas}) == 3
    assert _key(BODY) == _key(BODY, {"X-Request-Id": "1", "User-Agent": "u"})


def test_the_same_body_for_two_apis_has_two_keys():
    from service.wire import openai_chat

    assert _key(BODY) != canonicalize(openai_chat.as_request(BODY, {})).body


def test_the_query_is_where_the_key_module_finds_it():
    request = api.as_request(BODY, {})

    assert api.query_text_location(request) == ("messages", 0, "content")
    assert canonicalize(request).query == "Hello"


def test_usage_includes_what_anthropic_leaves_out():
    counted = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
        "output_tokens": 7,
    }

    split, whole = (
        api.usage({"usage": counted}),
        api.usage({"usage": {**counted, "cache_creation": None}}),
    )

    assert split is not None
    assert whole is not None
    assert (
        split.input_tokens,
        split.cached_read,
        split.cache_write_5m,
        split.cache_write_1h,
    ) == (160, 100, 20, 30)
    assert (whole.input_tokens, whole.cache_write_5m, whole.cache_write_1h) == (160, 50, 0)
