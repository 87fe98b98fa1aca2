"""Chat completions: what is keyed, what is stored, how it is replayed."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.key import canonicalize
from service.wire import openai_chat as api
from service.wire.sse import DONE
from tests.service.wire.streams import (
    NEW_ID,
    NOW,
    assembled,
    cut_into,
    events,
    replayed,
    texts,
)

BODY = {"model": "m", "messages": [{"role": "user", "content": "List the moons of Mars."}]}
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{ "city" : "Ulm"}'}},
    {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
]


def response(message=None, **fields):
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "Phobos", "refusal": None, **(message or {})},
        "logprobs": None,
        "finish_reason": "stop",
    }
    return {
        "id": f"chatcmpl-{NEW_ID}",
        "object": "chat.completion",
        "created": int(NOW),
        "model": "m-2026",
        "choices": [{**choice, **fields}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }


_calls = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.from_regex(r"call_[a-z]{4}", fullmatch=True),
            "type": st.just("function"),
            "function": st.fixed_dictionaries(
                {"name": st.from_regex(r"[a-z]{1,9}", fullmatch=True), "arguments": texts()}
            ),
        }
    )
    | st.fixed_dictionaries(
        {
            "id": st.from_regex(r"call_[a-z]{4}", fullmatch=True),
            "type": st.just("custom"),
            "custom": st.fixed_dictionaries({"name": st.just("run"), "input": texts()}),
        }
    ),
    max_size=3,
)
_messages = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | texts()},
    optional={
        "refusal": st.none() | texts(),
        "annotations": st.lists(st.fixed_dictionaries({"type": st.just("url_citation")})),
        "reasoning_content": st.none() | texts(),
        "vendor_list": st.lists(st.integers()),
        "vendor_flag": st.booleans(),
        "vendor_object": st.dictionaries(st.text("ab"), texts()),
        "tool_calls": st.none() | _calls,
        "function_call": st.none()
        | st.fixed_dictionaries({"name": st.just("f"), "arguments": texts()}),
    },
)


@given(_messages, st.lists(st.integers(0, 10**6)))
def test_a_replayed_stream_assembles_to_the_stored_response(message, ends):
    stored = response(native_finish_reason="STOP")
    stored["choices"][0]["message"] = message
    stored["vendor_top"] = ["a", {"b": 1}]
    stored["moderation"] = {"input": {"type": "error"}}
    before = copy.deepcopy(stored)
    raw = b"".join(replayed(api, stored, {**BODY, "stream_options": {"include_usage": True}}))

    found = assembled(api, cut_into(raw, ends))

    assert before == stored, "rendering must not change the stored form"
    assert stored == found.complete
    assert found.failure is None


@given(texts(min_size=1))
def test_the_text_of_a_replay_is_byte_identical(text):
    stored = response({"content": text})

    said = [
        data["choices"][0]["delta"].get("content") or ""
        for _, data in events(replayed(api, stored, BODY))
        if data != "[DONE]"
    ]

    assert text.encode() == "".join(said).encode()


@given(st.integers(0, 10**6))
def test_a_cut_stream_is_never_complete(end):
    raw = b"".join(replayed(api, response({"tool_calls": CALLS}, finish_reason="tool_calls"), BODY))
    raw = raw[: end % (len(raw) - len(b"\n\n"))]

    found = assembled(api, [raw])

    assert found.complete is None
    assert found.failure is not None


def test_a_stream_replay_has_the_events_in_order():
    stored = response({"content": "Phobos"})

    found = events(replayed(api, stored, {**BODY, "stream_options": {"include_usage": True}}))

    *chunks, last = [data for _, data in found]
    assert last == "[DONE]"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert [c["choices"][0]["delta"]["content"] for c in chunks[1:-2]] == ["Phobos"]
    assert [c["choices"][0]["finish_reason"] for c in chunks[-2:-1]] == ["stop"]
    assert ([], stored["usage"]) == (chunks[-1]["choices"], chunks[-1]["usage"])
    assert all(c["usage"] is None for c in chunks[:-1])
    assert {"chat.completion.chunk"} == {c["object"] for c in chunks}


def test_usage_is_not_streamed_to_a_client_that_did_not_ask():
    found = events(replayed(api, response(), BODY))

    assert not any("usage" in data for _, data in found if data != "[DONE]")


def test_a_hit_has_a_fresh_id_and_time_and_spent_nothing():
    stored = {**response(), "id": "chatcmpl-old", "created": 5, "metadata": {"who": "other"}}
    body = {**BODY, "metadata": {"who": "me"}}

    found = json.loads(api.render_json(stored, body, now=NOW, new_id="x"))

    assert ("chatcmpl-x", int(NOW)) == (found["id"], found["created"])
    assert found["metadata"] == {"who": "me"}
    assert 0 == found["usage"]["total_tokens"] == found["usage"]["prompt_tokens"]
    assert found["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0
    assert stored["choices"] == found["choices"]


def test_original_usage_is_a_setting():
    found = json.loads(api.render_json(response(), BODY, now=NOW, new_id="x", usage="original"))

    assert response()["usage"] == found["usage"]


def _chunk(choice=None, **fields):
    choices = [] if choice is None else [{"index": 0, "delta": {}, "finish_reason": None, **choice}]
    body = {"id": "x", "object": "chat.completion.chunk", "choices": choices, **fields}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


SAID = _chunk({"delta": {"content": "a"}})
STOP = _chunk({"finish_reason": "stop"})


@pytest.mark.parametrize(
    ("chunks", "failure"),
    [
        ([], "no_terminal_event"),
        ([SAID, STOP], "no_terminal_event"),
        ([SAID, DONE], "no_finish_reason"),
        ([DONE], "no_finish_reason"),
        ([SAID, b'data: {"error": {"message": "x"}}\n\n', STOP, DONE], "error_event"),
        ([SAID, b'event: error\ndata: {"message": "x"}\n\n', STOP, DONE], "error_event"),
        ([SAID, b"data: {\n\n", STOP, DONE], "not_json"),
        ([SAID, b'data: "\xff"\n\n', STOP, DONE], "not_json"),
        ([SAID, b"data: []\n\n", STOP, DONE], "malformed"),
        ([_chunk({"delta": {"tool_calls": [{"id": "a"}]}}), STOP, DONE], "malformed"),
        (
            [_chunk({"delta": {"tool_calls": [{"index": 0, "id": i}]}}) for i in "ab"]
            + [STOP, DONE],
            "malformed",
        ),
        ([_chunk({"delta": {"x": 1}}), _chunk({"delta": {"x": "a"}}), STOP, DONE], "malformed"),
        ([_chunk({"delta": {"content": ["a"]}}), SAID, STOP, DONE], "malformed"),
    ],
)
def test_a_stream_that_is_not_right_gives_no_response(chunks, failure):
    found = assembled(api, chunks)

    assert (None, failure) == (found.complete, found.failure)


def test_usage_that_was_only_announced_is_no_usage():
    found = assembled(api, [_chunk({"delta": {"content": "a"}}, usage=None), STOP, DONE])

    assert found.complete is not None
    assert "usage" not in found.complete


def test_an_error_behind_the_last_event_is_too_late_to_matter():
    found = assembled(api, [SAID, STOP, DONE, b'data: {"error": {"message": "x"}}\n\n'])

    assert found.complete is not None


def test_the_response_is_there_as_soon_as_the_last_event_has_been_seen():
    assembler = api.assembler()
    for chunk in (SAID, STOP, DONE):
        assert not assembler.is_over
        assembler.feed(chunk)

    assert assembler.is_over
    assert assembler.complete is not None


def test_a_stream_over_its_limit_is_let_go():
    assembler = api.assembler(max_bytes=2 * len(SAID))
    for _ in range(3):
        assembler.feed(SAID)

    assert assembler.failure == "too_large"


def test_every_choice_has_to_end():
    two = _chunk(choices=[{"index": 1, "delta": {"content": "b"}, "finish_reason": None}])

    assert assembled(api, [SAID, two, STOP, DONE]).failure == "no_finish_reason"


def test_several_choices_are_assembled_and_not_stored():
    two = _chunk(choices=[{"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}])

    found = assembled(api, [SAID, two, STOP, DONE]).complete

    assert found is not None
    assert [c["message"]["content"] for c in found["choices"]] == ["a", "b"]
    assert api.storable(found) == "several_answers"


def test_a_name_that_is_sent_with_every_piece_is_one_name():
    deltas = [
        {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": part}}
        for part in ('{"x"', ":1}")
    ]

    found = assembled(api, [*(_chunk({"delta": {"tool_calls": [d]}}) for d in deltas), STOP, DONE])

    assert found.complete is not None
    call = found.complete["choices"][0]["message"]["tool_calls"][0]
    assert call["function"] == {"name": "f", "arguments": '{"x":1}'}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"n": 1, "logprobs": False, "tools": None, "store": True}, None),
        ({"n": 2}, "several_answers"),
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 5}, "logprobs"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"modalities": ["text", "audio"]}, "audio"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "audio"),
        ({"web_search_options": {}}, "web_search"),
        ({"model": "gpt-4o-search-preview"}, "web_search"),
        ({"tools": [{"type": "function"}, {"type": "custom"}]}, None),
        ({"tools": [{"type": "something_new"}]}, "hosted_tool"),
        ({"messages": []}, "malformed"),
        ({"messages": "hello"}, "malformed"),
        ({"model": None}, "malformed"),
        ({"$wire": 1}, "reserved_field"),
    ],
)
def test_bypass(fields, reason):
    assert reason == api.bypass_reason({**BODY, **fields})


@pytest.mark.parametrize(
    ("message", "fields", "reason"),
    [
        ({}, {}, None),
        ({"content": None, "tool_calls": CALLS}, {"finish_reason": "tool_calls"}, None),
        ({}, {"finish_reason": None}, "no_finish_reason"),
        ({}, {"finish_reason": "length"}, "truncated"),
        ({}, {"finish_reason": "content_filter"}, "content_filter"),
        ({}, {"finish_reason": "insufficient_system_resource"}, "unknown_finish_reason"),
        ({"content": None}, {}, "empty"),
        ({"content": " \n"}, {}, "empty"),
        ({"content": None, "tool_calls": []}, {"finish_reason": "tool_calls"}, "empty"),
        ({"refusal": "No."}, {}, "refusal"),
        (
            {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"a'}}]},
            {},
            "tool_arguments_not_json",
        ),
    ],
)
def test_storable(message, fields, reason):
    assert reason == api.storable(response(message, **fields))


def test_an_error_in_a_good_status_is_not_stored():
    assert api.storable({"error": {"message": "x"}}) == "error_in_200"
    assert api.storable({"detail": "x"}) == "malformed"


def test_what_is_stored_is_a_setting():
    cut, filtered = response(finish_reason="length"), response(finish_reason="content_filter")
    called = response({"tool_calls": CALLS}, finish_reason="tool_calls")

    assert api.storable(cut, allow_truncated=True) is None
    assert api.storable(filtered, allow_filtered=True) is None
    assert api.storable(called, allow_tool_calls=False) == "tool_calls"


def _key(body, headers=()):
    return canonicalize(api.as_request(body, dict(headers))).body


@pytest.mark.parametrize("field", sorted(api.INERT_FIELDS))
def test_inert_fields_do_not_change_the_key(field):
    assert _key(BODY) == _key({**BODY, field: "anything"})


@pytest.mark.parametrize(
    "change",
    [
        {"model": "m2"},
        {"temperature": 0},
        {"temperature": 0.7},
        {"top_p": 0.2},
        {"max_tokens": 400},
        {"stop": ["\n"]},
        {"seed": 7},
        {"logit_bias": {"50256": -100}},
        {"presence_penalty": 1},
        {"reasoning_effort": "high"},
        {"num_ctx": 8192},
        {"response_format": {"type": "json_object"}},
    ],
)
def test_every_other_field_changes_key_and_context(change):
    """C-106, C-107: unknown fields included."""
    one = canonicalize(api.as_request(BODY, {}))
    two = canonicalize(api.as_request({**BODY, **change}, {}))

    assert one.body != two.body
    assert one.context != two.context


def test_ids_of_messages_do_not_change_the_key():
    """C-104; the order of messages does."""
    messages = [{"role": r, "content": r, "id": f"{r}1"} for r in ("user", "assistant", "user")]
    other = [{**m, "id": "x"} for m in messages]

    assert _key({**BODY, "messages": messages}) == _key({**BODY, "messages": other})
    assert _key({**BODY, "messages": messages}) != _key({**BODY, "messages": messages[::-1][1:]})
    assert messages[0]["id"] == "user1", "the body itself goes upstream and must not change"


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "assistant", "tool"]),
                "content": st.none()
                | texts()
                | st.lists(
                    st.fixed_dictionaries({"type": st.just("text"), "text": texts()})
                    | st.just({"type": "image_url", "image_url": {"url": "x"}})
                ),
            }
        ),
        min_size=1,
    )
)
def test_the_query_is_where_the_key_module_finds_it(messages):
    request = api.as_request({**BODY, "messages": messages}, {})

    path = api.query_text_location(request)
    query = canonicalize(request).query

    assert (path is None) == (query is None)
    if path is not None:
        found = request
        for step in path:
            found = found[step]
        assert query == canonicalize(found).query


def test_usage_is_normalised():
    counted = {
        "prompt_tokens": 2006,
        "completion_tokens": 300,
        "prompt_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 100},
    }

    found = api.usage({"usage": counted})

    assert found is not None
    assert (
        found.input_tokens,
        found.output_tokens,
        found.cached_read,
        found.cache_write,
        found.reasoning,
    ) == (2006, 300, 1920, 64, 100)
    assert api.usage({}) is None
