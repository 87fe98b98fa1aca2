"""What makes two requests the same: the canonical request, its exact key, and its context.

Everything of a request is part of its key unless it is listed here as inert, so an unknown field is safe by default.

Canonical form: JSON with sorted keys; a top-level number with an integral value is written as an integer (0.0 is 0);
the text of messages is put into Unicode form NFC, its line ends become LF, and white space behind its end is dropped.
Nothing else is folded: case, inner spaces, indentation and compatibility forms (2⁵) all stay different.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from functools import lru_cache
from typing import Any

import msgspec
import orjson

from service.errors import InvalidRequest
from service.visible import is_blank

KEY_VERSION = b"surehit-key-2"

INERT_FIELDS = frozenset(
    {
        # OpenAI: who asks, how it is billed, traced and delivered
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        # Anthropic
        "speed",
        "diagnostics",
        # tracing labels that SDK wrappers put into bodies
        "request_id",
        "trace_id",
        "cache_control",
    }
)
"""Top-level fields of a request that cannot alter the answer."""

INERT_MESSAGE_FIELDS = frozenset({"id", "cache_control"})
"""Fields of a message that cannot alter the answer: its id, and marks for the provider's own cache.

The id of an item without a role stays: it may be all that the item says (`item_reference` of OpenAI's responses).
"""

_MARKS = frozenset({"cache_control"})
_MARKED = ("system", "tools")
"""Lists beside the conversation whose items may bear such marks (Anthropic)."""
_TEXT_PARTS = ("text", "input_text")
"""A tuple, since a caller's `type` may be anything, and not all of that could be looked up in a set."""


class CanonicalRequest:
    """A request in canonical form.

    `body` is everything that can change the answer. `context` is the same with the query cut out; `query` is the text
    of the last user message, or None where the request has none that could be compared by meaning (`no_query` says
    why: `shape`, `turn` when the last message is not a user's, `blank`).
    """

    __slots__ = (
        "_context",
        "_context_hash",
        "_kept",
        "_turns",
        "body",
        "model",
        "no_query",
        "query",
    )

    def __init__(
        self,
        body: bytes,
        query: str | None,
        no_query: str | None,
        model: str,
        kept: dict[str, Any] | None = None,
        turns: str = "",
    ) -> None:
        self.body = body
        self.query = query
        self.no_query = no_query
        self.model = model
        self._kept = kept
        self._turns = turns  # the field of `kept` that holds the conversation
        self._context: bytes | None = None
        self._context_hash: bytes | None = None

    @property
    def context(self) -> bytes:
        """Canonical JSON of all but the query; the body where there is no query. Written when first asked for."""
        if self._context is None:  # an exact hit never asks
            self._context = (
                self.body if self.query is None else _dump(_without_query(self._kept, self._turns))
            )
        return self._context

    @property
    def context_hash(self) -> bytes:
        """SHA-256 (32 bytes) of the context."""
        if self._context_hash is None:
            self._context_hash = hashlib.sha256(self.context).digest()
        return self._context_hash

    @property
    def is_blank(self) -> bool:
        """True when the last user message has no visible text."""
        return self.no_query == "blank"


def parse(text: bytes | memoryview) -> Any:
    """A request from its JSON text. Integers keep all their digits: two seeds that differ are never one number.

    Raises InvalidRequest for what is not JSON, or nested too deeply.
    """
    try:
        return _parse(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest.field("request", f"is not JSON that can be kept: {error}") from error
    except RecursionError as error:
        raise InvalidRequest.field("request", "is nested too deeply") from error


_parse = msgspec.json.Decoder().decode


def canonicalize(request: Any, *, inert: frozenset[str] = frozenset()) -> CanonicalRequest:
    """The canonical form of any JSON value; `inert` adds a line's own top-level fields to the inert ones.

    Raises InvalidRequest when the value is null, or has an empty list of messages.
    """
    if request is None:
        raise InvalidRequest.field("request", "must be a JSON value that is not null")
    if not isinstance(request, dict):
        return _plain(request)
    dropped = _inert_fields(inert)
    kept = {
        name: value if value.__class__ is not float else _number(value)
        for name, value in request.items()
        if name not in dropped
    }
    for name in _MARKED:
        if isinstance(kept.get(name), list):
            kept[name] = [_unmarked(item) for item in kept[name]]
    field, reason = _turns_field(kept)
    query: str | None = None
    if field:
        turns = kept[field]
        if isinstance(turns, str):
            text = canonical_text(turns)
            if field == "input":  # a `prompt` is gone on with: the white space at its end is where
                text = text.rstrip()
            kept[field] = text
            query, reason = (text, None) if not is_blank(text) else (None, "blank")
        else:
            if not turns:
                raise InvalidRequest.field(f"request.{field}", "must hold at least one message")
            messages = kept[field] = [*map(_message, turns)]
            last = messages[-1] = _without_end(messages[-1])
            query, reason = _query_of(last)
    body = _dump(kept)
    model = kept.get("model")
    # a label for invalidation and lists; PostgreSQL has no NUL in text
    label = model.replace("\x00", "\u2400") if isinstance(model, str) else ""
    return CanonicalRequest(body, query, reason, label, kept, field)


@lru_cache(maxsize=1024)
def _inert_fields(of_line: frozenset[str]) -> frozenset[str]:
    return INERT_FIELDS | of_line


def _plain(request: Any) -> CanonicalRequest:
    """A request that is a bare text, or another JSON value without fields."""
    if not isinstance(request, str):
        body = _dump(request)
        return CanonicalRequest(body, None, "shape", "")
    text = canonical_text(request).rstrip()
    body = _dump(text)
    if is_blank(text):
        return CanonicalRequest(body, None, "blank", "")
    return CanonicalRequest(body, text, None, "")  # nothing of it lies outside of the query


def exact_key(*, tenant: str, scope: str, line: str, policy_version: str, body: bytes) -> bytes:
    """SHA-256 (32 bytes) over the length-prefixed parts, so that no two different requests can share a key."""
    head = _key_head(tenant, scope, line, policy_version)
    return hashlib.sha256(b"%b%b%b" % (head, len(body).to_bytes(8, "big"), body)).digest()


@lru_cache(maxsize=4096)
def _key_head(tenant: str, scope: str, line: str, policy_version: str) -> bytes:
    return _framed(
        KEY_VERSION, tenant.encode(), scope.encode(), line.encode(), policy_version.encode()
    )


def partition_key(
    *,
    tenant: str,
    scope: str,
    line: str,
    policy_version: str,
    fingerprint: str,
    context_hash: bytes,
) -> bytes:
    """SHA-256 (32 bytes) that names the entries which a query may be compared with."""
    return _digest(
        b"surehit-partition-1",
        tenant.encode(),
        scope.encode(),
        line.encode(),
        policy_version.encode(),
        fingerprint.encode(),
        context_hash,
    )


def canonical_text(text: str) -> str:
    """NFC and LF line ends. Lossless for the reader: no case, space or form is folded."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _turns_field(request: dict[str, Any]) -> tuple[str, str | None]:
    """The field that holds the conversation: OpenAI chat and Anthropic, OpenAI responses, plain prompt; or ""."""
    if isinstance(request.get("messages"), list):
        return "messages", None
    for name in ("input", "prompt"):
        if isinstance(request.get(name), str) or (
            name == "input" and isinstance(request.get(name), list)
        ):
            return name, None
    return "", "shape"


def _message(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    inert = INERT_MESSAGE_FIELDS if "role" in message else _MARKS
    kept = {k: v for k, v in message.items() if k not in inert}
    content = kept.get("content")
    if isinstance(content, str):
        kept["content"] = canonical_text(content)
    elif isinstance(content, list):
        kept["content"] = [_part(p) for p in content]
    return kept


def _without_end(message: Any) -> Any:
    """The last message without the white space behind its text, which is where a user has stopped to type.

    Anywhere else it stays: behind a text that goes on in the next part, or that the model is to go on with.
    """
    if not isinstance(message, dict) or message.get("role") != "user":
        return message
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": content.rstrip()}
    if isinstance(content, list) and content and isinstance(content[-1], dict):
        last = content[-1]
        if last.get("type") in _TEXT_PARTS and isinstance(last.get("text"), str):
            return {**message, "content": [*content[:-1], {**last, "text": last["text"].rstrip()}]}
    return message


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    # a tool result's id links it to its call: it stays; only the mark for the provider's cache goes
    kept = dict(_unmarked(part))
    if kept.get("type") in _TEXT_PARTS and isinstance(kept.get("text"), str):
        kept["text"] = canonical_text(kept["text"])
    return kept


def _unmarked(item: Any) -> Any:
    if isinstance(item, dict) and "cache_control" in item:
        return {k: v for k, v in item.items() if k not in _MARKS}
    return item


def _query_of(message: Any) -> tuple[str | None, str | None]:
    """(query, why there is none). Of several text parts the last that can be seen is the query."""
    if not isinstance(message, dict):
        return None, "shape"
    if message.get("role") != "user":
        return None, "turn"
    content = message.get("content")
    if isinstance(content, str):
        return (None, "blank") if is_blank(content) else (content, None)
    if isinstance(content, list):
        at = _query_part(content)
        if at is not None:
            return content[at]["text"], None
        return None, "blank" if not any(map(_is_visible, content)) else "shape"
    return None, "blank" if content is None else "shape"


def _query_part(content: list[Any]) -> int | None:
    """Where the query is among the parts of a message."""
    for at in range(len(content) - 1, -1, -1):
        part = content[at]
        if isinstance(part, dict) and part.get("type") in _TEXT_PARTS:
            text = part.get("text")
            if isinstance(text, str) and not is_blank(text):
                return at
    return None


def _without_query(kept: dict[str, Any] | None, turns: str) -> Any:
    """A request that has a query, with nothing in its place."""
    if kept is None:  # a bare text
        return None
    messages = kept[turns]
    if isinstance(messages, str):
        return {**kept, turns: None}
    last = messages[-1]
    content = last["content"]
    cut: Any = None
    if isinstance(content, list) and (at := _query_part(content)) is not None:
        cut = [*content[:at], {**content[at], "text": None}, *content[at + 1 :]]
    return {**kept, turns: [*messages[:-1], {**last, "content": cut}]}


def _is_visible(part: Any) -> bool:
    return not (isinstance(part, dict) and part.get("type") in _TEXT_PARTS)


def _number(value: Any) -> Any:
    """Clients disagree on how they write 0.0; the model does not."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError) as error:
        return _dump_large(value, error)


def _dump_large(value: Any, error: Exception) -> bytes:
    """The same text for values with integers beyond 64 bits, which orjson refuses; they are rare, so slow is fine."""
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True
        )
        return text.encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest.field("request", f"cannot be written as JSON: {error}") from error


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(_framed(*parts)).digest()


def _framed(*parts: bytes) -> bytes:
    """Each part behind its length: no two lists of parts give the same bytes."""
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "big"), part)])
