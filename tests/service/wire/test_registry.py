"""Which API a path or an answer belongs to; errors in each one's shape."""

from __future__ import annotations

import json

import pytest

from service.wire.registry import api_for, recognise
from tests.service.wire import (
    test_anthropic_messages,
    test_openai_chat,
    test_openai_responses,
)


@pytest.mark.parametrize(
    ("provider", "path", "name"),
    [
        ("openai", "/v1/chat/completions", "openai.chat"),
        ("openai", "chat/completions", "openai.chat"),
        ("openai", "/v1/responses", "openai.responses"),
        ("openai", "/v1/embeddings", "openai.embeddings"),
        ("anthropic", "/v1/messages", "anthropic.messages"),
        ("anthropic", "/v1/messages/batches", None),
        ("anthropic", "/v1/chat/completions", None),
        ("openai", "/v1/responses/resp_1", None),
        ("openai", "/v1/messages", None),
        ("other", "/v1/messages", None),
    ],
)
def test_api_for_a_path(provider, path, name):
    api = api_for(provider, path)

    assert name == (api and api.NAME)


@pytest.mark.parametrize(
    ("response", "name"),
    [
        (test_openai_chat.response(), "openai.chat"),
        ({"choices": [{"finish_reason": "length"}]}, "openai.chat"),
        (test_openai_responses.response(), "openai.responses"),
        (test_anthropic_messages.message(), "anthropic.messages"),
        ({"answer": 42}, None),
        ("text", None),
        (None, None),
    ],
)
def test_an_answer_is_recognised_by_its_shape(response, name):
    api = recognise(response)

    assert name == (api and api.NAME)


@pytest.mark.parametrize(
    ("path", "provider", "status", "type"),
    [
        ("chat/completions", "openai", 504, "server_error"),
        ("responses", "openai", 401, "authentication_error"),
        ("embeddings", "openai", 418, "invalid_request_error"),
        ("messages", "anthropic", 529, "overloaded_error"),
        ("messages", "anthropic", 504, "timeout_error"),
        ("messages", "anthropic", 418, "invalid_request_error"),
    ],
)
def test_errors_wear_the_shape_of_the_provider(path, provider, status, type):
    api = api_for(provider, path)
    assert api is not None

    body = api.error_body(status, "No.", code="c", request_id="r")

    assert ("No.", type) == (body["error"]["message"], body["error"]["type"])
    if provider == "anthropic":
        assert (body["type"], body["request_id"]) == ("error", "r")
    else:
        assert {"message", "type", "param", "code"} == set(body["error"])
    assert api.error_body(status, "No.", type="own")["error"]["type"] == "own"


@pytest.mark.parametrize(
    ("path", "provider"),
    [("chat/completions", "openai"), ("responses", "openai"), ("messages", "anthropic")],
)
def test_an_error_event_ends_a_stream_without_a_response(path, provider):
    api = api_for(provider, path)
    assert api is not None
    assembler = api.assembler()

    event = api.error_event(502, "No.")
    assembler.feed(event)

    assert assembler.failure == "error_event"
    assert "No." in json.dumps(json.loads(event.split(b"data: ")[1]))
