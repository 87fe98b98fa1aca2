"""The official clients: the same results from the upstream, on the miss, and from both replays.

Every case is asked directly, then four times through the recorder: the first of these calls is the
only one that reaches the upstream, once as a stream and once plain.
"""

from __future__ import annotations

import contextlib
import itertools

import anthropic
import httpx2
import openai
import pytest
from pydantic import BaseModel

_fresh = itertools.count()

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
    for name in ("weather", "traffic")
]
RESPONSES_TOOLS = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
ANTHROPIC_TOOLS = [
    {"name": t["function"]["name"], "input_schema": t["function"]["parameters"]} for t in TOOLS
]
UNICODE = "def f():\n    return 1\n\n第二段：👩‍👩‍👧 ok " + "e\u0301 🇩🇪 नि " * 40


class Colour(BaseModel):
    """A schema for structured output."""

    colour: str
    shades: list[int]


def _ask(text):
    """A text that no other test has asked."""
    return f"{text} #{next(_fresh)}"


CHAT_CASES = {
    "plain": {"content": "How do I pay?"},
    "unicode": {"content": f"Echo: {UNICODE}"},
    "two tool calls with reasoning": {
        "content": "Ask both tools, weather and traffic",
        "tools": TOOLS,
        "reasoning_effort": "high",
    },
    "schema": {
        "content": "Which colour?",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "colour", "schema": Colour.model_json_schema()},
        },
    },
}


def _chat(place, stream, content, **fields):
    """What a client sees of a chat completion, plain or through its own stream helper."""
    asked = {"model": "fake-small", "messages": [{"role": "user", "content": content}], **fields}
    with place.openai() as client:
        if stream:
            chunks = list(client.chat.completions.create(**asked, stream=True))
            assert len(chunks) > 2
            with client.chat.completions.stream(**asked) as helper:
                found = helper.get_final_completion()
        else:
            found = client.chat.completions.create(**asked)
    message = found.choices[0].message
    calls = message.tool_calls or []
    return {
        "content": message.content,
        "reasoning": getattr(message, "reasoning_content", None),
        "refusal": message.refusal,
        "calls": [(c.id, c.function.name, c.function.arguments) for c in calls],
        "finish_reason": found.choices[0].finish_reason,
        "model": found.model,
    }


@pytest.mark.parametrize("first", ["stream", "plain"])
@pytest.mark.parametrize("case", CHAT_CASES)
def test_chat_completions(case, first, direct, cached, upstream_calls):
    asked = {**CHAT_CASES[case], "content": _ask(CHAT_CASES[case]["content"])}

    expected = _chat(direct, first == "stream", **asked)
    before = upstream_calls()
    found = [
        _chat(cached, stream, **asked)
        for stream in (first == "stream", False, True, first != "stream")
    ]

    assert [expected] * 4 == found
    assert upstream_calls() - before == 1


RESPONSES_CASES = {
    "plain": {"input": "How do I pay?"},
    "unicode": {"input": f"Echo: {UNICODE}"},
    "two tool calls with reasoning": {
        "input": "Ask both tools, weather and traffic",
        "tools": RESPONSES_TOOLS,
        "reasoning": {"effort": "high"},
    },
    "schema": {
        "input": "Which colour?",
        "text": {
            "format": {
                "type": "json_schema",
                "name": "colour",
                "schema": Colour.model_json_schema(),
            }
        },
    },
}


def _respond(place, stream, **fields):
    asked = {"model": "fake-small", **fields}
    with place.openai() as client:
        if stream:
            raw = list(client.responses.create(**asked, stream=True))
            assert raw[-1].type == "response.completed"
            with client.responses.stream(**asked) as helper:
                assert [event.type for event in helper][-1] == "response.completed"
                found = helper.get_final_response()
        else:
            found = client.responses.create(**asked)
    items = [
        item.model_dump(exclude={"id", "parsed", "parsed_arguments"}, exclude_none=True)
        for item in found.output
    ]
    for item in items:
        for part in item.get("content", []):
            part.pop("parsed", None)
    return {"items": items, "text": found.output_text, "status": found.status}


@pytest.mark.parametrize("first", ["stream", "plain"])
@pytest.mark.parametrize("case", RESPONSES_CASES)
def test_responses(case, first, direct, cached, upstream_calls):
    asked = {**RESPONSES_CASES[case], "input": _ask(RESPONSES_CASES[case]["input"])}

    expected = _respond(direct, first == "stream", **asked)
    before = upstream_calls()
    found = [
        _respond(cached, stream, **asked)
        for stream in (first == "stream", False, True, first != "stream")
    ]

    assert [expected] * 4 == found
    assert upstream_calls() - before == 1


MESSAGES_CASES = {
    "plain": {"content": "How do I pay?"},
    "unicode": {"content": f"Echo: {UNICODE}"},
    "two tool calls with thinking": {
        "content": "Ask both tools, weather and traffic",
        "tools": ANTHROPIC_TOOLS,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
    "schema": {
        "content": "Which colour?",
        "output_config": {"format": {"type": "json_schema", "schema": Colour.model_json_schema()}},
    },
}


def _message(place, stream, content, **fields):
    asked = {
        "model": "fake-small",
        "max_tokens": 2048,
        "messages": [{"role": "user", "content": content}],
        **fields,
    }
    with place.anthropic() as client:
        if stream:
            with client.messages.stream(**asked) as helper:
                list(helper)
                found = helper.get_final_message()
        else:
            found = client.messages.create(**asked)
    blocks = [
        block.model_dump(exclude={"parsed_output"}, exclude_none=True) for block in found.content
    ]
    return {"blocks": blocks, "stop_reason": found.stop_reason, "model": found.model}


@pytest.mark.parametrize("first", ["stream", "plain"])
@pytest.mark.parametrize("case", MESSAGES_CASES)
def test_messages(case, first, direct, cached, upstream_calls):
    asked = {**MESSAGES_CASES[case], "content": _ask(MESSAGES_CASES[case]["content"])}

    expected = _message(direct, first == "stream", **asked)
    before = upstream_calls()
    found = [
        _message(cached, stream, **asked)
        for stream in (first == "stream", False, True, first != "stream")
    ]

    assert [expected] * 4 == found
    assert upstream_calls() - before == 1


def test_structured_output_is_parsed_from_a_replay(cached):
    asked = _ask("Which colour?")
    with cached.openai() as client:
        both = [
            client.chat.completions.parse(
                model="fake-small",
                messages=[{"role": "user", "content": asked}],
                response_format=Colour,
            )
            for _ in range(2)
        ]
        third = client.responses.parse(model="fake-small", input=asked, text_format=Colour)
        fourth = client.responses.parse(model="fake-small", input=asked, text_format=Colour)

    assert both[1].id == "chatcmpl-replayed"
    assert isinstance(both[0].choices[0].message.parsed, Colour)
    assert both[0].choices[0].message.parsed == both[1].choices[0].message.parsed
    assert third.output_parsed == fourth.output_parsed is not None
    assert third.id == fourth.id, "clients pass the id of a response back"


async def test_async_clients_read_replays(cached):
    chat = {"model": "fake-small", "messages": [{"role": "user", "content": _ask("Hello")}]}
    async with cached.async_openai() as client:
        plain = await client.chat.completions.create(**chat)
        stream = await client.chat.completions.create(
            **chat, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    async with cached.async_anthropic() as claude:
        told = await claude.messages.create(**chat, max_tokens=9)
        async with claude.messages.stream(**chat, max_tokens=9) as helper:
            said = "".join([text async for text in helper.text_stream])

    assert plain.choices[0].message.content == "".join(
        chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices
    )
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 0
    assert told.content[0].text == said


@pytest.mark.parametrize("order", [("float", "base64", None), (None, "float", "base64")])
def test_embeddings_in_both_encodings_from_one_entry(order, direct, cached, upstream_calls):
    asked = {"model": "fake-embedding", "input": [_ask("a"), _ask("b")], "dimensions": 24}
    with direct.openai() as client:
        expected = client.embeddings.create(**asked)
    before = upstream_calls()
    with cached.openai() as client:
        found = [
            client.embeddings.create(**asked, **({"encoding_format": e} if e else {}))
            for e in order
        ]

    for encoding, answer in zip(order, found, strict=True):
        vectors = [item.embedding for item in answer.data]
        if encoding == "base64":
            assert all(isinstance(vector, str) for vector in vectors)
        else:
            assert [item.embedding for item in expected.data] == vectors
    assert upstream_calls() - before == 1


def test_a_hit_has_a_fresh_id_and_zero_usage(cached):
    asked = {"model": "fake-small", "messages": [{"role": "user", "content": _ask("Hello")}]}
    with cached.openai() as client:
        miss = client.chat.completions.create(**asked)
        hit = client.chat.completions.with_raw_response.create(**asked)

    assert hit.headers["x-recorder"] == "hit"
    assert miss.id != hit.parse().id
    assert miss.usage is not None
    assert miss.usage.total_tokens > 0 == hit.parse().usage.total_tokens


@pytest.mark.parametrize(
    "fault",
    [
        '{"cut_after": 3}',
        '{"error_after": 3}',
        '{"no_terminal": true}',
        '{"finish_reason": "length"}',
        '{"error_in_200": true}',
        '{"empty": true}',
        '{"status": 503, "retry_after_s": 1}',
    ],
)
@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_a_bad_answer_is_not_replayed(fault, api, cached, upstream_calls):
    """C-116, C-117: the second request reaches the upstream, and the third is its replay."""
    text = _ask("Hello")
    headers = {"x-fake-fault": fault}
    asked = {"model": "fake-small", "stream": True}
    with cached.openai() as client, cached.anthropic() as claude:

        def ask(extra_headers=None):
            if api == "responses":
                create, given = client.responses.create, {"input": text}
            else:
                create, given = (
                    client.chat.completions.create,
                    {"messages": [{"role": "user", "content": text}]},
                )
            if api == "messages":
                create, given = claude.messages.create, {**given, "max_tokens": 99}
            return list(create(**asked, **given, extra_headers=extra_headers))

        # the anthropic client lets the error of its HTTP client through when a stream is cut
        with contextlib.suppress(openai.APIError, anthropic.APIError, httpx2.HTTPError):
            ask(headers)
        assert upstream_calls() == 1
        good, again = ask(), ask()

    assert upstream_calls() == 2
    assert len(good) > 3
    assert len(again) > 2


def test_errors_keep_the_class_they_have_with_the_official_clients(cached):
    headers = {"x-fake-fault": '{"status": 429, "retry_after_s": 7}'}
    ask = {"messages": [{"role": "user", "content": _ask("Hello")}], "extra_headers": headers}
    with cached.openai() as client, pytest.raises(openai.RateLimitError) as chat:
        client.chat.completions.create(model="m", **ask)
    with cached.anthropic() as client, pytest.raises(anthropic.RateLimitError):
        client.messages.create(model="m", max_tokens=9, **ask)

    assert chat.value.response.headers["retry-after"] == "7"
