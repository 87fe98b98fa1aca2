"""The fake upstream: what tests, demo and docs rely on."""

from __future__ import annotations

import json
import threading
import time

import anthropic
import httpx2
import jsonschema
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.fake.answers import Question, Tool, answer, vector
from service.fake.prompt_cache import PromptCache, Segment
from service.fake_upstream import create_app, running

CHAT = {"model": "fake-small", "messages": [{"role": "user", "content": "How do I pay?"}]}


@pytest.fixture
def place():
    with running(create_app(prompt_cache_least_tokens=16)) as url:
        yield url


@pytest.fixture
def http(place):
    with httpx2.Client(base_url=place, headers={"authorization": "Bearer sk-test"}) as client:
        yield client


@pytest.fixture
def chat(place):
    with openai.OpenAI(base_url=f"{place}/v1", api_key="sk-test", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(place):
    with anthropic.Anthropic(base_url=place, api_key="sk-test", max_retries=0) as client:
        yield client


# --- answers ---


def test_an_answer_depends_on_the_question_and_its_context():
    asked = Question(model="m", text="How do I pay?", context="")

    assert answer(asked) == answer(Question(model="m", text="How do I pay?", context=""))
    assert answer(asked) != answer(Question(model="m", text="How do I pay?", context="x"))
    assert answer(asked) != answer(Question(model="m2", text="How do I pay?", context=""))
    assert "How do I pay?" in answer(asked).text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_an_echo_is_exact(text):
    assert text == answer(Question(model="m", text=f"Echo: {text}")).text


@pytest.mark.parametrize(
    ("text", "forced", "names"),
    [
        ("use a tool", None, ["weather"]),
        ("what does traffic say", None, ["traffic"]),
        ("ask both tools", None, ["weather", "traffic"]),
        ("hello", None, []),
        ("hello", "*", ["weather"]),
        ("hello", "traffic", ["traffic"]),
        ("use a tool", "-", []),
    ],
)
def test_a_tool_is_called_if_the_text_asks_for_it(text, forced, names):
    tools = tuple(Tool(name, {"type": "object"}) for name in ("weather", "traffic"))

    found = answer(Question(model="m", text=text, tools=tools, forced_tool=forced))

    assert names == [call.name for call in found.calls]


def test_structured_output_is_an_instance_of_its_schema():
    schema = {
        "type": "object",
        "required": ["name", "tags", "kind", "size", "at", "next"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
            "kind": {"enum": ["a", "b"]},
            "size": {"type": "number", "minimum": 5, "maximum": 6},
            "at": {"type": "string", "format": "date"},
            "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        },
        "$defs": {"node": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}},
    }
    for text in ("a", "b", "c d e"):
        found = json.loads(answer(Question(model="m", text=text, schema=schema)).text)
        jsonschema.validate(found, schema)


def test_a_vector_is_of_length_one_and_of_the_size_asked_for():
    found = vector("a", 24)

    assert len(found) == 24
    assert pytest.approx(sum(x * x for x in found)) == 1
    assert found != vector("b", 24)


# --- prompt cache ---


def test_a_repeated_prefix_is_read_in_whole_blocks():
    now = [0.0]
    cache = PromptCache(lambda: now[0], least_tokens=8, block_tokens=4)
    words = " ".join("abcdefghijklmnop")

    counts = [cache.by_itself("m", [Segment(words + extra)]) for extra in ("", " q r", "")]

    assert [(c.total, c.read) for c in counts] == [(16, 0), (18, 16), (16, 16)]
    assert cache.by_itself("other", [Segment(words)]).read == 0
    assert cache.by_itself("m", [Segment("z " + words)]).read == 0
    now[0] = 301
    assert cache.by_itself("m", [Segment(words)]).read == 0


def test_below_the_least_length_nothing_is_read():
    cache = PromptCache(lambda: 0.0, least_tokens=100, block_tokens=4)

    assert [cache.by_itself("m", [Segment("a b c d e f g h")]).read for _ in range(2)] == [0, 0]


def test_marks_are_written_once_and_read_until_their_life_is_over():
    now = [0.0]
    cache = PromptCache(lambda: now[0], least_tokens=2)
    prompt = [Segment("a b c", 3600), Segment("d e", 300), Segment("f")]

    def counts(segments):
        c = cache.at_marks("m", segments)
        return c.total, c.read, c.written_5m, c.written_1h

    assert counts(prompt) == (6, 0, 2, 3)
    assert counts(prompt) == (6, 5, 0, 0)
    now[0] = 600
    assert counts(prompt) == (6, 3, 2, 0)
    assert counts([Segment("a b c"), Segment("x", 300)]) == (4, 3, 1, 0)
    assert counts([Segment("x b c"), *prompt[1:]]) == (6, 0, 5, 0)


# --- over HTTP ---


def test_equal_calls_have_equal_answers_streamed_or_not(chat):
    plain = chat.chat.completions.create(**CHAT).choices[0].message.content
    chunks = list(chat.chat.completions.create(**CHAT, stream=True))

    assert plain == "".join(c.choices[0].delta.content or "" for c in chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_cached_tokens_grow_on_a_repeated_prefix(chat, claude):
    long = "word " * 200
    found = [
        chat.chat.completions.create(
            model="m", messages=[{"role": "user", "content": long + str(n)}]
        ).usage.prompt_tokens_details.cached_tokens
        for n in range(2)
    ]
    system = [{"type": "text", "text": long, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    usages = [
        claude.messages.create(
            model="m", max_tokens=9, system=system, messages=[{"role": "user", "content": str(n)}]
        ).usage
        for n in range(2)
    ]

    assert found == [0, 128]
    written = usages[0].cache_creation.ephemeral_1h_input_tokens
    assert written >= 200
    assert [(0, written), (written, 0)] == [
        (u.cache_read_input_tokens, u.cache_creation_input_tokens) for u in usages
    ]


def test_a_tool_conversation_ends_in_text(chat, claude):
    tool = {"name": "weather", "parameters": {"type": "object", "properties": {}}}
    asked = [{"role": "user", "content": "Use the weather tool"}]
    tools = [{"type": "function", "function": tool}]
    call = chat.chat.completions.create(model="m", messages=asked, tools=tools).choices[0].message
    result = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "rain"}
    end = chat.chat.completions.create(
        model="m", messages=[*asked, call.model_dump(exclude_none=True), result], tools=tools
    )

    assert "rain" in end.choices[0].message.content
    assert end.choices[0].finish_reason == "stop"
    forced = claude.messages.create(
        model="m",
        max_tokens=9,
        messages=[{"role": "user", "content": "hello"}],
        tools=[{"name": "weather", "input_schema": tool["parameters"]}],
        tool_choice={"type": "any"},
    )
    assert (forced.stop_reason, forced.content[-1].name) == ("tool_use", "weather")


def test_calls_are_counted_and_forgotten(chat, http):
    for _ in range(2):
        chat.chat.completions.create(**CHAT)
    chat.embeddings.create(model="e", input="x")

    found = http.get("/__calls").json()
    assert found["total"] == 3
    assert found["by_path"] == {"/v1/chat/completions": 2, "/v1/embeddings": 1}
    assert found["by_text"] == {"How do I pay?": 2, "x": 1}
    assert found["calls"][0]["headers"]["authorization"] == "…test", "never the whole key"
    assert http.delete("/__calls").status_code == 204
    assert http.get("/__calls").json()["total"] == 0


def test_models_are_listed_for_both_clients(chat, claude):
    assert [m.id for m in chat.models.list()] == [m.id for m in claude.models.list()]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", {"model": "m"}, 400),
        ("/v1/messages", {"model": "m", "messages": [{"role": "user", "content": "a"}]}, 400),
        ("/v1/embeddings", {"model": "m", "input": []}, 400),
        ("/v1/nothing", {}, 404),
    ],
)
def test_wrong_calls_are_refused_with_a_reason(http, path, body, status):
    found = http.post(path, json=body)

    assert status == found.status_code
    assert found.json()["error"]["message"]


def test_a_bad_key_is_refused(place):
    client = anthropic.Anthropic(base_url=place, api_key="sk-bad", max_retries=0)
    with client, pytest.raises(anthropic.AuthenticationError):
        client.messages.create(**CHAT, max_tokens=9)


# --- faults ---


def _with(fault):
    return {**CHAT, "extra_headers": {"x-fake-fault": fault}}


def test_a_fault_is_used_up(chat, http):
    http.post("/__faults", json={"status": 429, "retry_after_s": 3, "times": 2, "match": "pay"})
    other = [{"role": "user", "content": "other"}]

    chat.chat.completions.create(model="m", messages=other)
    for _ in range(2):
        with pytest.raises(openai.RateLimitError) as raised:
            chat.chat.completions.create(**CHAT)
        assert raised.value.response.headers["retry-after"] == "3"
    assert chat.chat.completions.create(**CHAT).choices


def test_a_lasting_fault_stays_until_it_is_dropped(chat, http):
    http.post("/__faults", json=[{"status": 503, "times": None}])
    for _ in range(3):
        with pytest.raises(openai.InternalServerError):
            chat.chat.completions.create(**CHAT)
    http.delete("/__faults")

    assert http.get("/__faults").json() == []
    assert chat.chat.completions.create(**CHAT).choices


def test_an_unknown_fault_is_refused(http, chat):
    assert http.post("/__faults", json={"statsu": 429}).status_code == 422
    with pytest.raises(openai.BadRequestError):
        chat.chat.completions.create(**_with('{"statsu": 429}'))


def test_a_stream_is_cut_after_n_chunks(chat):
    received = []
    with pytest.raises(openai.APIConnectionError):
        received += chat.chat.completions.create(**_with('{"cut_after": 3}'), stream=True)

    assert len(received) == 3


def test_an_error_comes_in_the_middle_of_a_stream(chat, claude):
    with pytest.raises(openai.APIError, match="on demand"):
        list(chat.chat.completions.create(**_with('{"error_after": 3}'), stream=True))
    with pytest.raises(anthropic.APIStatusError, match="on demand"):
        list(claude.messages.create(**_with('{"error_after": 3}'), max_tokens=9, stream=True))


def test_a_stream_ends_without_its_terminal_event(http):
    raw = http.post(
        "/v1/chat/completions",
        json={**CHAT, "stream": True},
        headers={"x-fake-fault": '{"no_terminal": true}'},
    ).text

    assert "[DONE]" not in raw
    assert '"finish_reason":"stop"' in raw


def test_an_error_hides_in_a_good_status(http):
    found = http.post(
        "/v1/chat/completions", json=CHAT, headers={"x-fake-fault": '{"error_in_200": true}'}
    )

    assert (found.status_code, "error" in found.json()) == (200, True)


def test_an_answer_runs_into_the_token_limit(chat, claude):
    fault = '{"finish_reason": "length"}'
    whole = chat.chat.completions.create(**CHAT).choices[0].message.content

    cut = chat.chat.completions.create(**_with(fault)).choices[0]
    told = claude.messages.create(**_with(fault), max_tokens=9)
    answered = chat.responses.create(
        model="m", input="hello", extra_headers={"x-fake-fault": fault}
    )

    assert cut.finish_reason == "length"
    assert whole.startswith(cut.message.content)
    assert told.stop_reason == "max_tokens"
    assert (
        answered.status,
        answered.incomplete_details.reason,
    ) == ("incomplete", "max_output_tokens")


def test_the_first_byte_and_each_chunk_can_be_slow(chat):
    start = time.monotonic()
    list(chat.chat.completions.create(**_with('{"first_byte_s": 0.3}'), stream=True))
    slow_start = time.monotonic() - start
    count = len(list(chat.chat.completions.create(**_with('{"chunk_s": 0.01}'), stream=True)))
    slow_chunks = time.monotonic() - start - slow_start

    assert slow_start >= 0.3
    assert slow_chunks >= 0.01 * count


def test_a_client_that_leaves_is_noticed(place, http):
    """It leaves while the stream stalls; the upstream stops waiting and says so."""
    left = threading.Event()

    def leave():
        headers = {"authorization": "Bearer sk-test", "x-fake-fault": '{"stall_after": 2}'}
        with (
            httpx2.Client(base_url=place, headers=headers) as client,
            client.stream("POST", "/v1/chat/completions", json={**CHAT, "stream": True}) as reply,
        ):
            next(reply.iter_raw())
        left.set()

    thread = threading.Thread(target=leave)
    thread.start()
    assert left.wait(5)
    thread.join()

    end = time.monotonic() + 5
    while http.get("/__calls").json()["aborted"] == 0 and time.monotonic() < end:
        time.sleep(0.02)
    assert http.get("/__calls").json()["aborted"] == 1
