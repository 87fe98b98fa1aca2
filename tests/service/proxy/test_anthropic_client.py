"""The official Anthropic client: same results through the proxy as directly, first upstream, then from the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from tests.service.proxy.rig import Rig, cache_status
from tests.service.proxy.test_openai_client import plain, user

MODEL = "fake-large"
WEATHER = {
    "name": "get_weather",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
}


def asked(text: str, **options: Any) -> dict[str, Any]:
    """Arguments of a call."""
    return {"model": MODEL, "max_tokens": 500, "messages": user(text)} | options


def same_three_times(rig: Rig, ask: Callable[[Any], Any]) -> Any:
    """Ask the upstream directly, then twice through the proxy: three equal results, one call for the last two."""
    direct = ask(rig.anthropic(direct=True))
    before = rig.call_count
    first = ask(rig.anthropic())
    second = ask(rig.anthropic())
    assert rig.call_count == before + 1
    assert direct == first
    assert first == second
    return second


def test_message(rig: Rig) -> None:
    """A plain answer."""
    found = same_three_times(rig, lambda c: plain(c.messages.create(**asked("Say something"))))
    assert found["content"][0]["text"]


def test_asynchronous_client(rig: Rig) -> None:
    """The same with the asynchronous client."""

    async def ask(direct: bool) -> Any:
        async with rig.async_anthropic(direct=direct) as client:
            return plain(await client.messages.create(**asked("Async?")))

    direct, first, second = (asyncio.run(ask(d)) for d in (True, False, False))
    assert direct == first
    assert first == second
    assert rig.call_count == 2


def test_stream_helper(rig: Rig) -> None:
    """The client's own accumulator; text and final message."""

    def ask(client: Any) -> Any:
        with client.messages.stream(**asked("Stream this")) as stream:
            text = "".join(stream.text_stream)
            return text, plain(stream.get_final_message())

    text, message = same_three_times(rig, ask)
    assert text == message["content"][0]["text"]


def test_events_of_a_stream(rig: Rig) -> None:
    """Named events from `message_start` to `message_stop`."""

    def ask(client: Any) -> Any:
        with client.messages.create(**asked("Events"), stream=True) as stream:
            kinds = [event.type for event in stream if event.type != "ping"]
        return [kinds[0], kinds[-2], kinds[-1]]

    found = same_three_times(rig, ask)
    assert found == ["message_start", "message_delta", "message_stop"]


def test_asynchronous_stream(rig: Rig) -> None:
    """The same with the asynchronous client."""

    async def ask(direct: bool) -> str:
        async with (
            rig.async_anthropic(direct=direct) as client,
            client.messages.stream(**asked("Async stream")) as stream,
        ):
            return "".join([text async for text in stream.text_stream])

    direct, first, second = (asyncio.run(ask(d)) for d in (True, False, False))
    assert direct
    assert direct == first
    assert first == second
    assert rig.call_count == 2


@pytest.mark.parametrize("stream", [False, True])
def test_tool_use(rig: Rig, stream: bool) -> None:
    """Id, name and input of a tool call."""
    arguments = asked("Use get_weather in Bergen", tools=[WEATHER])

    def ask(client: Any) -> Any:
        if not stream:
            return plain(client.messages.create(**arguments))
        with client.messages.stream(**arguments) as found:
            return plain(found.get_final_message())

    found = same_three_times(rig, ask)
    assert found["stop_reason"] == "tool_use"
    calls = [block for block in found["content"] if block["type"] == "tool_use"]
    assert calls[0]["name"] == "get_weather"


def test_marks_for_the_providers_cache_are_not_part_of_the_key(rig: Rig) -> None:
    """`cache_control` says how the prompt is billed, not what is asked."""
    system: Any = [{"type": "text", "text": "Be brief."}]
    marked: Any = [{**system[0], "cache_control": {"type": "ephemeral"}}]
    client = rig.anthropic()
    client.messages.create(**asked("Marked?", system=system))
    again = client.messages.with_raw_response.create(**asked("Marked?", system=marked))
    assert cache_status(again)["detail"] == "exact"


def test_beta_features_are_part_of_the_key(rig: Rig) -> None:
    """A beta header may change the answer."""
    client = rig.anthropic()
    client.messages.create(**asked("Beta?"))
    other = client.messages.with_raw_response.create(
        **asked("Beta?"), extra_headers={"anthropic-beta": "some-feature-2026-01-01"}
    )
    assert cache_status(other)["fwd"] == "miss"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 400}, anthropic.BadRequestError),
        ({"status": 429, "retry_after_s": 3}, anthropic.RateLimitError),
        ({"status": 529}, anthropic.InternalServerError),
    ],
)
def test_errors_pass_through(rig: Rig, fault: Any, error: Any) -> None:
    """Same class, type and message as directly."""
    found = []
    for direct in (True, False):
        rig.fault(**fault)
        with pytest.raises(error) as raised:
            rig.anthropic(direct=direct).messages.create(**asked("Fail"))
        body = raised.value.body
        found.append(
            (type(raised.value), body["error"], raised.value.response.headers.get("retry-after"))
        )
    assert found[0] == found[1]
    assert rig.count_entries() == 0


def test_error_of_ours_has_the_providers_shape(rig: Rig) -> None:
    """`only-if-cached` on a miss; the client must not try again."""
    with pytest.raises(anthropic.APIStatusError) as raised:
        rig.anthropic().messages.create(
            **asked("Not there"), extra_headers={"cache-control": "only-if-cached"}
        )
    assert raised.value.status_code == 504
    assert raised.value.body["type"] == "error"  # type: ignore[index]
    assert raised.value.response.headers["x-should-retry"] == "false"
    assert rig.call_count == 0


def test_other_routes_pass_through(rig: Rig) -> None:
    """Models, and a route that this upstream does not have."""
    direct = plain(rig.anthropic(direct=True).models.list())
    assert direct == plain(rig.anthropic().models.list())
    with pytest.raises(anthropic.NotFoundError):
        rig.anthropic().messages.count_tokens(model=MODEL, messages=user("How long?"))
