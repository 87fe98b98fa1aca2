"""The official OpenAI client: same results through the proxy as directly, first upstream, then from the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import openai
import pydantic
import pytest

from tests.service.proxy.rig import Rig, cache_status

MODEL = "fake-small"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
        },
    },
}
TIME = {
    "type": "function",
    "function": {
        "name": "get_time",
        "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}},
    },
}


class Trip(pydantic.BaseModel):
    """What the structured-output test asks for."""

    city: str
    days: int
    tags: list[str]


def user(text: str) -> Any:
    """One user message."""
    return [{"role": "user", "content": text}]


def plain(value: Any) -> Any:
    """A result as data, without what is new in each reply and what a hit does not spend."""
    data = value.model_dump(warnings=False) if isinstance(value, pydantic.BaseModel) else value
    if isinstance(data, dict):
        skipped = ("id", "created", "created_at", "usage", "item_id", "completed_at")
        return {k: plain(v) for k, v in data.items() if k not in skipped}
    return [plain(item) for item in data] if isinstance(data, list) else data


def same_three_times(rig: Rig, ask: Callable[[Any], Any]) -> Any:
    """Ask the upstream directly, then twice through the proxy: three equal results, one call for the last two."""
    direct = ask(rig.openai(direct=True))
    before = rig.call_count
    first = ask(rig.openai())
    assert rig.call_count == before + 1
    second = ask(rig.openai())
    assert rig.call_count == before + 1
    assert direct == first
    assert first == second
    return second


def test_chat_completion(rig: Rig) -> None:
    """A plain answer."""
    found = same_three_times(
        rig,
        lambda c: plain(c.chat.completions.create(model=MODEL, messages=user("What is a cache?"))),
    )
    assert found["choices"][0]["message"]["content"]


def test_asynchronous_client(rig: Rig) -> None:
    """The same with the asynchronous client."""

    async def ask(direct: bool) -> Any:
        async with rig.async_openai(direct=direct) as client:
            found = await client.chat.completions.create(model=MODEL, messages=user("Async?"))
            return plain(found)

    direct, first, second = (asyncio.run(ask(d)) for d in (True, False, False))
    assert direct == first
    assert first == second
    assert rig.call_count == 2


def streamed(client: Any, **options: Any) -> dict[str, Any]:
    """The text, the finish reason and whether usage came, of a stream."""
    text, finish, usage = "", None, False
    with client.chat.completions.create(model=MODEL, stream=True, **options) as stream:
        for chunk in stream:
            usage = usage or chunk.usage is not None
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
    return {"text": text, "finish": finish, "usage": usage}


def test_stream(rig: Rig) -> None:
    """Text and finish reason of a stream."""
    found = same_three_times(rig, lambda c: streamed(c, messages=user("Stream this, please.")))
    assert found["finish"] == "stop"
    assert found["text"]


def test_stream_with_usage(rig: Rig) -> None:
    """The chunk of usage comes when it was asked for, from the cache as well."""
    options = {"messages": user("And usage"), "stream_options": {"include_usage": True}}
    assert same_three_times(rig, lambda c: streamed(c, **options))["usage"] is True


def test_asynchronous_stream(rig: Rig) -> None:
    """The same with the asynchronous client."""

    async def ask(direct: bool) -> str:
        async with rig.async_openai(direct=direct) as client:
            stream = await client.chat.completions.create(
                model=MODEL, messages=user("Async stream"), stream=True
            )
            return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])

    direct, first, second = (asyncio.run(ask(d)) for d in (True, False, False))
    assert direct
    assert direct == first
    assert first == second
    assert rig.call_count == 2


def test_stream_helper_of_the_client(rig: Rig) -> None:
    """The client's own accumulator reads both kinds of stream."""

    def ask(client: Any) -> Any:
        with client.chat.completions.stream(model=MODEL, messages=user("Accumulate")) as stream:
            return plain(stream.get_final_completion())

    assert same_three_times(rig, ask)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("question", ["Use get_weather for Oslo", "Use both tools: weather, time"])
def test_tool_calls(rig: Rig, question: str) -> None:
    """Ids, names and argument strings of one call and of two parallel ones."""
    found = same_three_times(
        rig,
        lambda c: plain(
            c.chat.completions.create(model=MODEL, messages=user(question), tools=[WEATHER, TIME])
        ),
    )
    assert found["choices"][0]["finish_reason"] == "tool_calls"


def test_tool_calls_in_a_stream(rig: Rig) -> None:
    """Argument strings put together from a stream are the same bytes."""

    def ask(client: Any) -> Any:
        calls: dict[int, list[Any]] = {}
        with client.chat.completions.create(
            model=MODEL, messages=user("Use both tools"), tools=[WEATHER, TIME], stream=True
        ) as stream:
            for chunk in stream:
                for call in chunk.choices[0].delta.tool_calls or [] if chunk.choices else []:
                    of_call = calls.setdefault(call.index, [None, "", ""])
                    of_call[0] = call.id or of_call[0]
                    of_call[1] += call.function.name or ""
                    of_call[2] += call.function.arguments or ""
        return calls

    assert len(same_three_times(rig, ask)) == 2


def test_conversation_after_a_tool_call(rig: Rig) -> None:
    """The turn that carries a tool's result is answered from the exact tier."""
    call = {"id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
    messages = [
        *user("Use get_time"),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12:30"},
    ]
    same_three_times(
        rig,
        lambda c: plain(c.chat.completions.create(model=MODEL, messages=messages, tools=[TIME])),
    )


def test_structured_output(rig: Rig) -> None:
    """The client parses an instance of the schema, the same one each time."""

    def ask(client: Any) -> Any:
        found = client.chat.completions.parse(
            model=MODEL, messages=user("Plan a trip"), response_format=Trip
        )
        return found.choices[0].message.parsed

    assert isinstance(same_three_times(rig, ask), Trip)


def test_responses(rig: Rig) -> None:
    """The Responses API; a replayed response keeps its id, which clients pass back."""
    found = same_three_times(
        rig, lambda c: c.responses.create(model=MODEL, input="A response, please").output_text
    )
    assert found
    ids = {rig.openai().responses.create(model=MODEL, input="Id?").id for _ in range(2)}
    assert len(ids) == 1


def test_responses_stream(rig: Rig) -> None:
    """Events of the Responses API in their order, up to `response.completed`."""

    def ask(client: Any) -> Any:
        with client.responses.stream(model=MODEL, input="Stream a response") as stream:
            kinds = [event.type for event in stream]
            return [kinds[0], kinds[-1], stream.get_final_response().output_text]

    found = same_three_times(rig, ask)
    assert found[:2] == ["response.created", "response.completed"]


def test_continued_response_passes_by(rig: Rig) -> None:
    """`previous_response_id` names what only the provider knows."""
    client = rig.openai()
    first = client.responses.create(model=MODEL, input="Begin")
    for _ in range(2):
        raw = client.responses.with_raw_response.create(
            model=MODEL, input="Go on", previous_response_id=first.id
        )
        assert cache_status(raw) == {"fwd": "bypass", "detail": "stateful"}
    assert rig.call_count == 3


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
def test_embeddings(rig: Rig, encoding: str | None) -> None:
    """The client asks for base64 unless told otherwise; numbers or text, the vector is the same."""
    options: dict[str, Any] = {} if encoding is None else {"encoding_format": encoding}
    found = same_three_times(
        rig,
        lambda c: plain(c.embeddings.create(model="fake-embedding", input=["a", "b"], **options)),
    )
    assert len(found["data"]) == 2


def test_embeddings_stored_in_one_encoding_serve_both(rig: Rig) -> None:
    """One call; both encodings hold the same float32 numbers."""
    client = rig.openai()
    ask = client.embeddings.create
    numbers = ask(model="fake-embedding", input="x", encoding_format="float").data[0].embedding
    default = ask(model="fake-embedding", input="x").data[0].embedding
    assert default == pytest.approx(numbers, abs=1e-7)
    assert rig.call_count == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 400}, openai.BadRequestError),
        ({"status": 429, "retry_after_s": 7}, openai.RateLimitError),
        ({"status": 500}, openai.InternalServerError),
        ({"status": 503}, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_pass_through(rig: Rig, fault: Any, error: Any, stream: bool) -> None:
    """Same class, message and retry-after as directly; nothing is stored."""
    found = []
    for direct in (True, False):
        rig.fault(**fault)
        with pytest.raises(error) as raised:
            rig.openai(direct=direct).chat.completions.create(
                model=MODEL, messages=user("Fail"), stream=stream
            )
        reply = raised.value.response
        found.append((str(raised.value), raised.value.body, reply.headers.get("retry-after")))
    assert found[0] == found[1]
    assert rig.count_entries() == 0


def test_bad_provider_key_is_the_providers_error(rig: Rig) -> None:
    """Without keys of ours, the caller's own credentials go upstream and are judged there."""
    with pytest.raises(openai.AuthenticationError):
        rig.openai(api_key="sk-bad").chat.completions.create(model=MODEL, messages=user("Hi"))


def test_error_event_in_a_stream_reaches_the_client(rig: Rig) -> None:
    """An error in the middle is raised by the client as it would be directly; the rest is not stored."""
    for direct in (True, False):
        rig.fault(error_after=3)
        with pytest.raises(openai.APIError):
            streamed(rig.openai(direct=direct), messages=user("Break"))
    assert rig.count_entries() == 0


def test_other_routes_pass_through(rig: Rig) -> None:
    """A route that is not cached answers as it would directly."""
    direct = plain(rig.openai(direct=True).models.list())
    assert direct == plain(rig.openai().models.list())
    with pytest.raises(openai.NotFoundError):
        rig.openai().files.list()


def test_usage_and_ids_of_a_hit(rig: Rig) -> None:
    """Nothing was spent on a hit, and logs that are keyed by id see a new one."""
    ask = rig.openai().chat.completions.create
    first = ask(model=MODEL, messages=user("Count"))
    second = ask(model=MODEL, messages=user("Count"))
    assert first.usage is not None
    assert second.usage is not None
    assert first.usage.total_tokens > 0
    assert second.usage.total_tokens == 0
    assert first.id != second.id
