"""Anthropic messages: what is keyed, what is stored, how it is replayed.

The stored form is a complete `message` object. Where a stream spelled the input of a tool call in
another way than we would, its spelling is kept beside it under `$surehit` and replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from service.visible import is_blank
from service.wire import json_text
from service.wire.anthropic_messages_stream import PRIVATE_FIELD, MessageAssembler, message_events
from service.wire.api import BypassReason, JsonObject, Provider, QueryPath, UsageOnHit, WhyNotStored
from service.wire.assembling import DEFAULT_MAX_BYTES, StreamAssembler
from service.wire.requests import WIRE_FIELD, is_list_of_objects, last_text_path, wired, without
from service.wire.sse import write
from service.wire.usage import Usage, count, zero_usage

NAME: Final = "anthropic.messages"
PROVIDER: Final[Provider] = "anthropic"
IS_SEMANTIC: Final = True
INERT_FIELDS: Final = frozenset(
    {"metadata", "service_tier", "speed", "stream", "diagnostics", "cache_control"}
)
KEY_HEADERS: Final = ("anthropic-version", "anthropic-beta")

_OWN_TOOLS = ("bash_", "text_editor_", "computer_", "memory_", "browser_")  # run by the client
_OWN_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_TEXT_PARTS = ("text",)
_MARK = frozenset({"cache_control"})
_GOOD_ENDS = frozenset({"end_turn", "stop_sequence", "tool_use"})
_TRUNCATED = frozenset({"max_tokens", "model_context_window_exceeded"})
_ZERO_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def bypass_reason(body: JsonObject) -> BypassReason | None:
    """Why this request must not touch the cache, or None."""
    if not isinstance(body.get("model"), str) or not is_list_of_objects(body.get("messages")):
        return "malformed"
    if WIRE_FIELD in body:
        return "reserved_field"
    if body.get("container") is not None:
        return "stateful"
    if body.get("mcp_servers") or not all(map(_is_own_tool, _objects(body.get("tools")))):
        return "hosted_tool"
    return "prewarm" if body.get("max_tokens") == 0 else None


def is_streaming(body: JsonObject) -> bool:
    """Whether the client asked for a stream."""
    return body.get("stream") is True


def inert(body: JsonObject) -> JsonObject:
    """The body without what cannot alter the answer: inert fields, ids of messages, cache marks.

    Marks are taken from the places where the API has them, not from everywhere: a tool's schema
    and a call's input are the caller's own words.
    """
    kept = without(body, INERT_FIELDS)
    for name in ("system", "tools"):
        if isinstance(kept.get(name), list):
            kept[name] = _unmarked(kept[name])
    messages = kept.get("messages")
    if isinstance(messages, list):
        kept["messages"] = [_unmarked_message(message) for message in messages]
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
    if response.get("type") == "error" or response.get("error"):
        return "error_in_200"
    blocks = response.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return "malformed"
    ended = _why_not_ended(response.get("stop_reason"), allow_truncated)
    return ended or _why_not_reusable(blocks, allow_tool_calls)


def unfit(response: JsonObject, request: JsonObject) -> WhyNotStored | None:
    """Why this response is no answer to this request: JSON was asked for, and its text is none."""
    options = request.get("output_config")
    form = options.get("format") if isinstance(options, dict) else request.get("output_format")
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        return None
    said = [str(b.get("text") or "") for b in _objects(response.get("content"))]
    return "not_as_asked" if json_text.is_broken("".join(said)) else None


def assembler(*, max_bytes: int = DEFAULT_MAX_BYTES) -> StreamAssembler:
    """Reads a stream and ends up with the response that a plain call would have given."""
    return MessageAssembler(max_bytes=max_bytes)


def render_json(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> bytes:
    """The body of a plain hit."""
    return json_text.dump(without(_replayed(stored, new_id, usage), frozenset({PRIVATE_FIELD})))


def render_stream(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> Iterator[bytes]:
    """The same as a stream of named events that ends in `message_stop`."""
    return message_events(_replayed(stored, new_id, usage))


def usage(response: JsonObject) -> Usage | None:
    """What the provider counted, or None when it did not say.

    Anthropic leaves cached tokens out of `input_tokens`; here they are in. Writes without a
    breakdown count as 5 minutes, which is the provider's default.
    """
    counted = response.get("usage")
    if not isinstance(counted, dict):
        return None
    read = count(counted, "cache_read_input_tokens")
    split = counted.get("cache_creation")
    hour = count(split, "ephemeral_1h_input_tokens")
    written = max(
        count(counted, "cache_creation_input_tokens"),
        hour + count(split, "ephemeral_5m_input_tokens"),
    )
    return Usage(
        input_tokens=count(counted, "input_tokens") + read + written,
        output_tokens=count(counted, "output_tokens"),
        cached_read=read,
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        reasoning=count(counted.get("output_tokens_details"), "thinking_tokens"),
    )


def error_body(
    status: int,
    message: str,
    *,
    type: str | None = None,
    code: str | None = None,
    request_id: str | None = None,
) -> JsonObject:
    """`{"type": "error", "error": {...}}`. Anthropic has no codes, so `code` is not used."""
    fallback = "api_error" if status >= 500 else "invalid_request_error"
    kind = type or _ERROR_TYPES.get(status, fallback)
    error = {"type": kind, "message": message}
    return {"type": "error", "error": error, "request_id": request_id}


def error_event(
    status: int,
    message: str,
    *,
    type: str | None = None,
    code: str | None = None,
    request_id: str | None = None,
) -> bytes:
    """The error as an event of a stream of messages."""
    body = error_body(status, message, type=type, request_id=request_id)
    return write(json_text.dump(body), "error")


def _is_own_tool(tool: JsonObject) -> bool:
    kind = tool.get("type")
    return kind in (None, "custom") or str(kind).startswith(_OWN_TOOLS)


def _objects(value: Any) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _unmarked_message(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    kept = without(message, frozenset({"id"}))
    if isinstance(kept.get("content"), list):
        kept["content"] = _unmarked(kept["content"])
    return kept


def _unmarked(blocks: list[Any]) -> list[Any]:
    """Blocks without marks, and the blocks inside tool results, search results and documents."""
    unmarked: list[Any] = []
    for block in blocks:
        if isinstance(block, dict):
            block = without(block, _MARK)
            if isinstance(block.get("content"), list):
                block["content"] = _unmarked(block["content"])
            source = block.get("source")
            if isinstance(source, dict) and isinstance(source.get("content"), list):
                block["source"] = {**source, "content": _unmarked(source["content"])}
        unmarked.append(block)
    return unmarked


def _replayed(stored: JsonObject, new_id: str, usage: UsageOnHit) -> JsonObject:
    answer = {**stored, "id": f"msg_{new_id}"}
    if usage == "zero":
        answer["usage"] = zero_usage(stored.get("usage"), _ZERO_USAGE)
    if "diagnostics" in stored:  # was about the other call
        answer["diagnostics"] = None
    return answer


def _why_not_ended(stop_reason: Any, allow_truncated: bool) -> WhyNotStored | None:
    if stop_reason is None:
        return "no_finish_reason"
    if stop_reason in _TRUNCATED:
        return None if allow_truncated else "truncated"
    if stop_reason == "refusal":
        return "refusal"
    if stop_reason == "pause_turn":
        return "not_finished"
    return None if stop_reason in _GOOD_ENDS else "unknown_finish_reason"


def _why_not_reusable(blocks: list[JsonObject], allow_tool_calls: bool) -> WhyNotStored | None:
    if any(block.get("type") not in _OWN_BLOCKS for block in blocks):
        return "hosted_tool"
    if any(block["type"] == "tool_use" for block in blocks):
        return None if allow_tool_calls else "tool_calls"
    said = any(
        not is_blank(str(block.get("text") or "")) for block in blocks if block["type"] == "text"
    )
    return None if said else "empty"
