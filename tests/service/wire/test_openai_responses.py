"""Responses: what is keyed, what is stored, how it is replayed."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.key import canonicalize
from service.wire import openai_responses as api
from service.wire.sse import write
from tests.service.wire.streams import NEW_ID, NOW, assembled, cut_into, events, replayed, texts

BODY = {"model": "m", "input": "Hello"}
TEXT = {"type": "output_text", "text": "Hello there", "annotations": []}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [TEXT],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "f",
    "arguments": '{ "a":1}',
    "status": "completed",
}
REASONING = {"id": "rs_1", "type": "reasoning", "summary": []}


def response(*output, **fields):
    return {
        "id": "resp_stored",
        "object": "response",
        "created_at": 5.0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "m-2026",
        "output": list(output) or [MESSAGE],
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        **fields,
    }


_parts = st.fixed_dictionaries(
    {
        "type": st.just("output_text"),
        "text": texts(),
        "annotations": st.lists(st.just({"type": "file_path", "file_id": "f", "index": 0})),
    },
    optional={"logprobs": st.just([])},
) | st.fixed_dictionaries({"type": st.just("refusal"), "refusal": texts()})
_items = st.one_of(
    st.fixed_dictionaries(
        {
            "id": st.just("msg_1"),
            "type": st.just("message"),
            "role": st.just("assistant"),
            "status": st.just("completed"),
            "content": st.lists(_parts),
        }
    ),
    st.fixed_dictionaries(
        {
            "id": st.just("rs_1"),
            "type": st.just("reasoning"),
            "summary": st.lists(
                st.fixed_dictionaries({"type": st.just("summary_text"), "text": texts()})
            ),
        },
        optional={
            "encrypted_content": st.just("xyz"),
            "content": st.none()
            | st.lists(st.fixed_dictionaries({"type": st.just("reasoning_text"), "text": texts()})),
        },
    ),
    st.fixed_dictionaries({"type": st.just("function_call"), "arguments": texts()}),
    st.fixed_dictionaries({"type": st.just("custom_tool_call"), "input": texts()}),
    st.just({"id": "ws_1", "type": "web_search_call", "status": "completed"}),
)


@given(st.lists(_items), st.lists(st.integers(0, 10**6)))
def test_a_replayed_stream_assembles_to_the_stored_response(items, ends):
    stored = response(*items)
    before = copy.deepcopy(stored)
    raw = b"".join(replayed(api, stored, BODY))

    found = assembled(api, cut_into(raw, ends))

    assert before == stored
    assert (stored, None) == (found.complete, found.failure)


@given(st.lists(_items, min_size=1))
def test_the_deltas_of_a_replay_say_all_that_the_items_say(items):
    said: dict[int, str] = {}
    for _, data in events(replayed(api, response(*items), BODY)):
        if data["type"].endswith(".delta"):
            said[data["output_index"]] = said.get(data["output_index"], "") + data["delta"]

    for at, item in enumerate(items):
        parts = [*(item.get("summary") or []), *(item.get("content") or [])]
        whole = [part.get("text", part.get("refusal")) for part in parts]
        expected = "".join([*whole, item.get("arguments", ""), item.get("input", "")])
        assert expected == said.get(at, "")


@given(st.integers(0, 10**6))
def test_a_cut_stream_is_never_complete(end):
    raw = b"".join(replayed(api, response(REASONING, MESSAGE, CALL), BODY))
    raw = raw[: end % (len(raw) - len(b"\n\n"))]

    found = assembled(api, [raw])

    assert (found.complete, found.failure is not None) == (None, True)


def test_a_stream_replay_has_the_events_in_order():
    found = events(replayed(api, response(), BODY))

    assert [name for name, _ in found] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [name for name, _ in found] == [data["type"] for _, data in found]
    assert list(range(9)) == [data["sequence_number"] for _, data in found]


def test_items_and_parts_begin_empty():
    """A client that adds up deltas, as the official one does for its snapshots, counts once."""
    custom = {**CALL, "type": "custom_tool_call", "input": "run"}
    summary = {**REASONING, "summary": [{"type": "summary_text", "text": "Hm."}]}

    found = events(replayed(api, response(summary, MESSAGE, CALL, custom), BODY))

    items = [data["item"] for name, data in found if name == "response.output_item.added"]
    parts = [data["part"] for name, data in found if name.endswith("_part.added")]
    assert [
        items[0]["summary"],
        items[1]["content"],
        items[2]["arguments"],
        items[3]["input"],
    ] == [[], [], "", ""]
    assert [item["status"] for item in items[1:]] == ["in_progress"] * 3
    assert [part["text"] for part in parts] == ["", ""]


def test_a_hit_keeps_its_id_and_spent_nothing():
    stored = response(metadata={"who": "other"}, user="other", prompt_cache_diagnostics={"x": 1})
    body = {**BODY, "metadata": {"who": "me"}}

    found = json.loads(api.render_json(stored, body, now=NOW, new_id=NEW_ID))

    assert (found["id"], found["created_at"]) == ("resp_stored", 5.0)
    assert (found["metadata"], found["user"]) == ({"who": "me"}, None)
    assert "prompt_cache_diagnostics" not in found
    assert found["usage"] == {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }


def _event(kind, **fields):
    return write(json.dumps({"type": kind, **fields}).encode(), kind)


ITEM = _event("response.output_item.done", output_index=0, item=MESSAGE)


@pytest.mark.parametrize("output", [None, []])
def test_items_left_out_of_the_last_event_are_taken_from_theirs(output):
    last = _event("response.completed", response={**response(), "output": output})

    assert response() == assembled(api, [ITEM, last]).complete


@pytest.mark.parametrize(
    ("chunks", "failure"),
    [
        ([ITEM], "no_terminal_event"),
        ([ITEM, b"data: [DONE]\n\n"], "no_terminal_event"),
        ([ITEM, _event("error", message="x")], "error_event"),
        ([ITEM, _event("response.failed", response={})], "error_event"),
        ([_event("response.completed", response=[])], "malformed"),
        ([_event("response.output_item.done", output_index=-1, item={})], "malformed"),
    ],
)
def test_a_stream_that_is_not_right_gives_no_response(chunks, failure):
    found = assembled(api, chunks)

    assert (None, failure) == (found.complete, found.failure)


def test_an_incomplete_response_is_assembled_and_not_stored():
    cut = response(status="incomplete", incomplete_details={"reason": "max_output_tokens"})

    assert cut == assembled(api, [_event("response.incomplete", response=cut)]).complete
    assert api.storable(cut) == "truncated"
    assert api.storable(cut, allow_truncated=True) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"store": False, "background": False, "previous_response_id": None}, None),
        ({"previous_response_id": "resp_1"}, "stateful"),
        ({"conversation": "conv_1"}, "stateful"),
        ({"prompt": {"id": "p"}}, "stateful"),
        ({"prompt": {"id": "p", "version": "3"}}, None),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "stateful"),
        ({"input": [{"id": "msg_1"}]}, "stateful"),
        ({"input": [REASONING]}, "stateful"),
        ({"input": [{**REASONING, "encrypted_content": "x"}]}, None),
        ({"background": True}, "background"),
        ({"top_logprobs": 3}, "logprobs"),
        ({"include": ["message.output_text.logprobs"]}, "logprobs"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "audio"),
        ({"tools": [{"type": "function", "name": "f"}]}, None),
        ({"tools": [{"type": "web_search"}]}, "hosted_tool"),
        ({"tools": [{"type": "mcp"}]}, "hosted_tool"),
        ({"model": "o3-deep-research"}, "web_search"),
        ({"prompt_cache_options": {"prewarm": True}}, "prewarm"),
        ({"input": []}, "malformed"),
        ({"input": None}, "malformed"),
        ({"$wire": 1}, "reserved_field"),
    ],
)
def test_bypass(fields, reason):
    assert reason == api.bypass_reason({**BODY, **fields})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (response(), None),
        (response(REASONING, CALL), None),
        (response({**CALL, "arguments": "{"}), "tool_arguments_not_json"),
        (response({"type": "web_search_call"}, MESSAGE), "hosted_tool"),
        (response(REASONING), "empty"),
        (response({**MESSAGE, "content": [{"type": "refusal", "refusal": "No"}]}), "refusal"),
        (response(status="failed"), "error_in_200"),
        (response(error={"code": "x"}), "error_in_200"),
        (response(status="in_progress"), "not_finished"),
        (response(status=None), "no_finish_reason"),
        (response(status="incomplete"), "not_finished"),
        (
            response(status="incomplete", incomplete_details={"reason": "content_filter"}),
            "content_filter",
        ),
        ({"object": "response"}, "malformed"),
    ],
)
def test_storable(answer, reason):
    assert reason == api.storable(answer)


def _key(body):
    return canonicalize(api.as_request(body, {})).body


@pytest.mark.parametrize("field", sorted(api.INERT_FIELDS))
def test_inert_fields_do_not_change_the_key(field):
    assert _key(BODY) == _key({**BODY, field: "anything"})


def test_an_answer_that_cannot_be_continued_is_kept_apart():
    assert _key(BODY) == _key({**BODY, "store": True})
    assert _key(BODY) != _key({**BODY, "store": False})


def test_ids_of_messages_do_not_change_the_key():
    one, two = ({**BODY, "input": [{**MESSAGE, "id": id}]} for id in "ab")

    assert _key(one) == _key(two)


@pytest.mark.parametrize(
    ("given_input", "path"),
    [
        ("Hello", ("input",)),
        (" \u200b", None),
        ([{"role": "user", "content": "Hello"}], ("input", 0, "content")),
        (
            [
                {"role": "user", "content": "a"},
                {
                    "role": "user",
                    "content": [{"type": "input_text", "text": "b"}, {"type": "input_image"}],
                },
            ],
            ("input", 1, "content", 0, "text"),
        ),
        ([{"role": "user", "content": "a"}, CALL], None),
    ],
)
def test_the_query_is_where_the_key_module_finds_it(given_input, path):
    request = api.as_request({**BODY, "input": given_input}, {})

    assert path == api.query_text_location(request)
    assert (path is None) == (canonicalize(request).query is None)


def test_usage_is_normalised():
    counted = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 4},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
    }

    found = api.usage({"usage": counted})

    assert found is not None
    assert (
        found.input_tokens,
        found.cached_read,
        found.cache_write_other,
        found.output_tokens,
        found.reasoning,
    ) == (20, 8, 4, 5, 2)
