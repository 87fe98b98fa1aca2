"""OpenAI chat completions, and everything that speaks like it: what is keyed, what is stored, how
it is replayed.

The stored form is a complete `chat.completion` object. A refusal is not stored: another wording,
or another try, may well be answered, and a cache would turn one refusal into many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from service.visible import is_blank
from service.wire import json_text
from service.wire.api import BypassReason, JsonObject, Provider, QueryPath, UsageOnHit, WhyNotStored
from service.wire.assembling import DEFAULT_MAX_BYTES, StreamAssembler
from service.wire.openai_chat_stream import ChatAssembler, chat_events
from service.wire.openai_errors import error_body as error_body
from service.wire.openai_errors import error_event as error_event
from service.wire.requests import (
    OPENAI_INERT_FIELDS,
    WIRE_FIELD,
    has_other_tools,
    is_list_of_objects,
    last_text_path,
    searches_by_itself,
    wired,
    without,
)
from service.wire.usage import Usage, count, zero_usage

NAME: Final = "openai.chat"
PROVIDER: Final[Provider] = "openai"
IS_SEMANTIC: Final = True
INERT_FIELDS: Final = OPENAI_INERT_FIELDS
KEY_HEADERS: Final = ("openai-beta",)

_OWN_TOOLS = ("function", "custom")
_TEXT_PARTS = ("text",)
_GOOD_ENDS = frozenset({"stop", "tool_calls", "function_call"})
_ZERO_USAGE = {
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "total_tokens": 0,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
}


def bypass_reason(body: JsonObject) -> BypassReason | None:
    """Why this request must not touch the cache, or None."""
    model = body.get("model")
    if not isinstance(model, str) or not is_list_of_objects(body.get("messages")):
        return "malformed"
    if WIRE_FIELD in body:
        return "reserved_field"
    if body.get("n") not in (None, 1):
        return "several_answers"
    if body.get("logprobs") or body.get("top_logprobs"):
        return "logprobs"
    if _has_audio(body):
        return "audio"
    if body.get("web_search_options") is not None or searches_by_itself(model):
        return "web_search"
    if has_other_tools(body, _OWN_TOOLS):
        return "hosted_tool"
    return None


def is_streaming(body: JsonObject) -> bool:
    """Whether the client asked for a stream."""
    return body.get("stream") is True


def inert(body: JsonObject) -> JsonObject:
    """The body without everything that cannot alter the answer: inert fields, and ids of messages
    (C-104).
    """
    kept = without(body, INERT_FIELDS)
    messages = kept.get("messages")
    if isinstance(messages, list):
        kept["messages"] = [_without_id(message) for message in messages]
    return kept


def as_request(body: JsonObject, headers: Mapping[str, str]) -> JsonObject:
    """The request to be keyed."""
    return wired(inert(body), NAME, headers, KEY_HEADERS)


def query_text_location(request: JsonObject) -> QueryPath | None:
    """Where `as_request` holds the query, or None if nothing can be compared by meaning."""
    return last_text_path(request.get("messages"), "messages", _TEXT_PARTS)


def storable(
    response: JsonObject,
    *,
    allow_truncated: bool = False,
    allow_filtered: bool = False,
    allow_tool_calls: bool = True,
) -> WhyNotStored | None:
    """Why this complete response must not be stored, or None."""
    if response.get("error"):
        return "error_in_200"
    choices = response.get("choices")
    if not is_list_of_objects(choices) or not isinstance(choices, list):
        return "malformed"
    if len(choices) > 1:
        return "several_answers"
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return "malformed"
    return _why_not_ended(
        choices[0].get("finish_reason"), allow_truncated, allow_filtered
    ) or _why_not_reusable(message, allow_tool_calls)


def unfit(response: JsonObject, request: JsonObject) -> WhyNotStored | None:
    """Why this response is no answer to this request: JSON was asked for, and its text is none."""
    form = request.get("response_format")
    choices = response.get("choices")
    if (
        not isinstance(form, dict)
        or not isinstance(choices, list)
        or not is_list_of_objects(choices)
    ):
        return None
    message = choices[0].get("message")
    text = message.get("content") if isinstance(message, dict) else None
    is_wanted = form.get("type") in ("json_object", "json_schema")
    return "not_as_asked" if is_wanted and json_text.is_broken(text) else None


def assembler(*, max_bytes: int = DEFAULT_MAX_BYTES) -> StreamAssembler:
    """Reads a stream and ends up with the response that a plain call would have given."""
    return ChatAssembler(max_bytes=max_bytes)


def render_json(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> bytes:
    """The body of a plain hit."""
    return json_text.dump(_replayed(stored, request_body, now, new_id, usage))


def render_stream(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> Iterator[bytes]:
    """The same as a stream, with a usage chunk for a client that asked for one."""
    options = request_body.get("stream_options")
    with_usage = isinstance(options, dict) and options.get("include_usage") is True
    return chat_events(_replayed(stored, request_body, now, new_id, usage), with_usage=with_usage)


def usage(response: JsonObject) -> Usage | None:
    """What the provider counted, or None when it did not say."""
    counted = response.get("usage")
    if not isinstance(counted, dict):
        return None
    read = counted.get("prompt_tokens_details")
    return Usage(
        input_tokens=count(counted, "prompt_tokens"),
        output_tokens=count(counted, "completion_tokens"),
        # DeepSeek reports cache reads under a name of its own
        cached_read=count(read, "cached_tokens") or count(counted, "prompt_cache_hit_tokens"),
        cache_write_other=count(read, "cache_write_tokens"),
        reasoning=count(counted.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _replayed(
    stored: JsonObject, request_body: JsonObject, now: float, new_id: str, usage: UsageOnHit
) -> JsonObject:
    answer = {**stored, "id": f"chatcmpl-{new_id}", "created": int(now)}
    if usage == "zero":
        answer["usage"] = zero_usage(stored.get("usage"), _ZERO_USAGE)
    if "metadata" in stored:  # an echo of the request, and this is another one
        answer["metadata"] = request_body.get("metadata")
    return answer


def _why_not_ended(
    finish_reason: Any, allow_truncated: bool, allow_filtered: bool
) -> WhyNotStored | None:
    if finish_reason is None:
        return "no_finish_reason"
    if finish_reason == "length":
        return None if allow_truncated else "truncated"
    if finish_reason == "content_filter":
        return None if allow_filtered else "content_filter"
    return None if finish_reason in _GOOD_ENDS else "unknown_finish_reason"


def _why_not_reusable(message: JsonObject, allow_tool_calls: bool) -> WhyNotStored | None:
    if message.get("refusal"):
        return "refusal"
    calls = [call for call in message.get("tool_calls") or [] if isinstance(call, dict)]
    legacy = message.get("function_call")
    functions = [call["function"] for call in calls if isinstance(call.get("function"), dict)]
    if isinstance(legacy, dict):
        functions.append(legacy)
    if not calls and not functions:
        content = message.get("content")
        return None if isinstance(content, str) and not is_blank(content) else "empty"
    if not allow_tool_calls:
        return "tool_calls"
    good = all(json_text.is_json_or_blank(function.get("arguments")) for function in functions)
    return None if good else "tool_arguments_not_json"


def _without_id(message: Any) -> Any:
    if isinstance(message, dict) and "id" in message:
        return {name: value for name, value in message.items() if name != "id"}
    return message


def _has_audio(body: JsonObject) -> bool:
    modalities = body.get("modalities")
    if body.get("audio") is not None or (isinstance(modalities, list) and "audio" in modalities):
        return True
    return any(
        message.get("audio") is not None or any(map(_is_audio_part, _parts(message)))
        for message in body["messages"]
    )


def _parts(message: JsonObject) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _is_audio_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "input_audio"
