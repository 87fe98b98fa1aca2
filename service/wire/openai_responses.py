"""OpenAI responses: what is keyed, what is stored, how it is replayed.

The stored form is a complete `response` object. It keeps its id, because clients pass it back as
`previous_response_id`. For the same reason `store: false` is part of the key here: its answers
cannot be continued, and must not reach a caller who may want to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from service.visible import is_blank
from service.wire import json_text
from service.wire.api import BypassReason, JsonObject, Provider, QueryPath, UsageOnHit, WhyNotStored
from service.wire.assembling import DEFAULT_MAX_BYTES, StreamAssembler
from service.wire.openai_errors import error_body as error_body
from service.wire.openai_responses_stream import ResponseAssembler, response_events
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
from service.wire.sse import write
from service.wire.usage import Usage, count, zero_usage

NAME: Final = "openai.responses"
PROVIDER: Final[Provider] = "openai"
IS_SEMANTIC: Final = True
INERT_FIELDS: Final = OPENAI_INERT_FIELDS
KEY_HEADERS: Final = ("openai-beta",)

_OWN_TOOLS = ("function", "custom")
_OWN_ITEMS = frozenset({"message", "reasoning", "function_call", "custom_tool_call"})
_TEXT_PARTS = ("input_text", "text")
_ECHOES = ("user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
_ZERO_USAGE = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def bypass_reason(body: JsonObject) -> BypassReason | None:
    """Why this request must not touch the cache, or None."""
    model, given = body.get("model"), body.get("input")
    if not isinstance(model, str) or not (isinstance(given, str) or is_list_of_objects(given)):
        return "malformed"
    if WIRE_FIELD in body:
        return "reserved_field"
    if _is_stateful(body):
        return "stateful"
    if body.get("background"):
        return "background"
    if body.get("top_logprobs") or "message.output_text.logprobs" in (body.get("include") or ()):
        return "logprobs"
    if _has_audio(given):
        return "audio"
    if searches_by_itself(model):
        return "web_search"
    if has_other_tools(body, _OWN_TOOLS):
        return "hosted_tool"
    options = body.get("prompt_cache_options")
    return "prewarm" if isinstance(options, dict) and options.get("prewarm") else None


def is_streaming(body: JsonObject) -> bool:
    """Whether the client asked for a stream."""
    return body.get("stream") is True


def inert(body: JsonObject) -> JsonObject:
    """The body without what cannot alter the answer: inert fields, and ids of messages.

    Ids of other items stay; `store` stays when it is false.
    """
    kept = without(body, INERT_FIELDS)
    if body.get("store") is False:
        kept["store_response"] = False  # under `store` the key module would drop it
    items = kept.get("input")
    if isinstance(items, list):
        kept["input"] = [_without_id(item) for item in items]
    return kept


def as_request(body: JsonObject, headers: Mapping[str, str]) -> JsonObject:
    """The request to be keyed."""
    return wired(inert(body), NAME, headers, KEY_HEADERS)


def query_text_location(request: JsonObject) -> QueryPath | None:
    """Where `as_request` holds the query, or None if nothing can be compared by meaning."""
    given = request.get("input")
    if isinstance(given, str):
        return None if is_blank(given) else ("input",)
    return last_text_path(given, "input", _TEXT_PARTS)


def storable(
    response: JsonObject,
    *,
    allow_truncated: bool = False,
    allow_filtered: bool = False,
    allow_tool_calls: bool = True,
) -> WhyNotStored | None:
    """Why this complete response must not be stored, or None."""
    if response.get("error") or response.get("status") == "failed":
        return "error_in_200"
    items = response.get("output")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return "malformed"
    details = response.get("incomplete_details")
    cut = details.get("reason") if isinstance(details, dict) else None
    ended = _why_not_ended(response.get("status"), cut, allow_truncated, allow_filtered)
    return ended or _why_not_reusable(items, allow_tool_calls)


def unfit(response: JsonObject, request: JsonObject) -> WhyNotStored | None:
    """Why this response is no answer to this request: JSON was asked for, and a text is none."""
    options = request.get("text")
    form = options.get("format") if isinstance(options, dict) else None
    if not isinstance(form, dict) or form.get("type") not in ("json_object", "json_schema"):
        return None
    items = [item for item in response.get("output") or [] if isinstance(item, dict)]
    parts = [part for item in items for part in _message_parts(item)]
    text = "".join(str(part.get("text") or "") for part in parts)
    return "not_as_asked" if json_text.is_broken(text) else None


def assembler(*, max_bytes: int = DEFAULT_MAX_BYTES) -> StreamAssembler:
    """Reads a stream and ends up with the response that a plain call would have given."""
    return ResponseAssembler(max_bytes=max_bytes)


def render_json(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> bytes:
    """The body of a plain hit. Id and time stay those of the stored response."""
    return json_text.dump(_replayed(stored, request_body, usage))


def render_stream(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> Iterator[bytes]:
    """The same as a stream of named events that ends in `response.completed`."""
    return response_events(_replayed(stored, request_body, usage))


def usage(response: JsonObject) -> Usage | None:
    """What the provider counted, or None when it did not say."""
    counted = response.get("usage")
    if not isinstance(counted, dict):
        return None
    read = counted.get("input_tokens_details")
    return Usage(
        input_tokens=count(counted, "input_tokens"),
        output_tokens=count(counted, "output_tokens"),
        cached_read=count(read, "cached_tokens"),
        cache_write_other=count(read, "cache_write_tokens"),
        reasoning=count(counted.get("output_tokens_details"), "reasoning_tokens"),
    )


def error_event(
    status: int,
    message: str,
    *,
    type: str | None = None,
    code: str | None = None,
    request_id: str | None = None,
) -> bytes:
    """The error as an event of a stream of responses."""
    named = code or error_body(status, message, type=type)["error"]["type"]
    event = {
        "type": "error",
        "code": named,
        "message": message,
        "param": None,
        "sequence_number": 0,
    }
    return write(json_text.dump(event), "error")


def _is_stateful(body: JsonObject) -> bool:
    """Whether something at the provider stands in for a part of the request."""
    if body.get("previous_response_id") or body.get("conversation"):
        return True
    prompt = body.get("prompt")
    if isinstance(prompt, dict) and not prompt.get("version"):
        return True  # a template that its owner may publish anew at any time
    given = body.get("input")
    return isinstance(given, list) and any(map(_is_reference, given))


def _is_reference(item: JsonObject) -> bool:
    """An item that only names what the provider holds: by a reference, or as bare reasoning."""
    kind = item.get("type")
    if kind == "reasoning":
        return not item.get("encrypted_content") and not item.get("content")
    # without a type it is a message, unless it has no content and must be a reference
    return kind == "item_reference" or (kind is None and "content" not in item)


def _has_audio(given: Any) -> bool:
    items = given if isinstance(given, list) else []
    contents = [item.get("content") for item in items if isinstance(item, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return any(isinstance(part, dict) and part.get("type") == "input_audio" for part in parts)


def _without_id(item: Any) -> Any:
    is_message = isinstance(item, dict) and item.get("type", "message") == "message"
    return without(item, frozenset({"id"})) if is_message and "id" in item else item


def _replayed(stored: JsonObject, request_body: JsonObject, usage: UsageOnHit) -> JsonObject:
    """Echoes of the request follow this request; what concerned only the other call goes."""
    answer = {k: v for k, v in stored.items() if k != "prompt_cache_diagnostics"}
    if usage == "zero":
        answer["usage"] = zero_usage(stored.get("usage"), _ZERO_USAGE)
    if "metadata" in stored:
        answer["metadata"] = request_body.get("metadata") or {}
    for name in _ECHOES:
        if name in stored:
            answer[name] = request_body.get(name)
    return answer


def _why_not_ended(
    status: Any, cut: Any, allow_truncated: bool, allow_filtered: bool
) -> WhyNotStored | None:
    if status is None:
        return "no_finish_reason"
    if status == "completed":
        return None
    if status != "incomplete":
        return "not_finished"
    if cut == "content_filter":
        return None if allow_filtered else "content_filter"
    if cut == "max_output_tokens":
        return None if allow_truncated else "truncated"
    return "not_finished"


def _why_not_reusable(items: list[JsonObject], allow_tool_calls: bool) -> WhyNotStored | None:
    if any(item.get("type") not in _OWN_ITEMS for item in items):
        return "hosted_tool"
    parts = [part for item in items for part in _message_parts(item)]
    if any(part.get("type") == "refusal" for part in parts):
        return "refusal"
    calls = [item for item in items if item.get("type") in ("function_call", "custom_tool_call")]
    if not calls:
        said = any(not is_blank(str(part.get("text") or "")) for part in parts)
        return None if said else "empty"
    if not allow_tool_calls:
        return "tool_calls"
    functions = [item for item in calls if item["type"] == "function_call"]
    good = all(json_text.is_json_or_blank(item.get("arguments")) for item in functions)
    return None if good else "tool_arguments_not_json"


def _message_parts(item: JsonObject) -> list[JsonObject]:
    content = item.get("content") if item.get("type") == "message" else None
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict)]
