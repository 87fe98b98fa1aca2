"""Messages as a stream: named events to one object, and one object to named events, in their order.

message_start, then per block content_block_start, content_block_delta ..., content_block_stop, then
message_delta, message_stop. `ping` may come anywhere and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from service.wire import json_text
from service.wire.assembling import (
    StreamAssembler,
    StreamFailed,
    as_index,
    as_object,
    as_text,
    json_object,
)
from service.wire.pieces import pieces
from service.wire.sse import SseEvent, write

PRIVATE_FIELD = "$surehit"
"""Field of the stored form that is ours and never leaves: `{"input_json": {"<block>": text}}`."""

_DELTA_USAGE = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
)
_ENDING = ("stop_reason", "stop_sequence", "stop_details", "container")
_CALLS = frozenset({"tool_use", "server_tool_use"})


class MessageAssembler(StreamAssembler):
    """Ends at `message_stop`, and takes it for an end only if a stop reason has been given."""

    def __init__(self, *, max_bytes: int) -> None:
        super().__init__(max_bytes=max_bytes)
        self._message: dict[str, Any] = {}
        self._blocks: list[dict[str, Any]] = []
        self._open: _OpenBlock | None = None
        self._spelled: dict[str, str] = {}

    def _on_event(self, event: SseEvent) -> dict[str, Any] | None:
        body = json_object(event)
        kind = body.get("type") or event.name
        if kind == "error" or event.name == "error":
            raise StreamFailed("error_event")
        if kind == "message_start":
            self._message = dict(as_object(body.get("message")))
        elif kind == "content_block_start":
            self._start_block(body)
        elif kind == "content_block_delta":
            self._open_block(body).add(as_object(body.get("delta")))
        elif kind == "content_block_stop":
            self._stop_block(body)
        elif kind == "message_delta":
            self._take_ending(body)
        elif kind == "message_stop":
            return self._response()
        return None  # also for pings and for events to come, which clients are told to skip

    def _start_block(self, body: dict[str, Any]) -> None:
        if as_index(body.get("index")) != len(self._blocks) or self._open is not None:
            raise StreamFailed("malformed")
        self._open = _OpenBlock(as_object(body.get("content_block")))

    def _open_block(self, body: dict[str, Any]) -> _OpenBlock:
        if self._open is None or as_index(body.get("index")) != len(self._blocks):
            raise StreamFailed("malformed")
        return self._open

    def _stop_block(self, body: dict[str, Any]) -> None:
        block, spelling = self._open_block(body).closed()
        if spelling is not None:
            self._spelled[str(len(self._blocks))] = spelling
        self._blocks.append(block)
        self._open = None

    def _take_ending(self, body: dict[str, Any]) -> None:
        for name, value in as_object(body.get("delta")).items():
            self._message[name] = value
        counted = as_object(body.get("usage") or {})
        before = as_object(self._message.get("usage") or {})
        said = {name: value for name, value in counted.items() if value is not None}
        self._message["usage"] = {**before, **said}
        for name, value in body.items():  # beta features report beside `delta`
            if name not in ("type", "delta", "usage"):
                self._message[name] = value

    def _response(self) -> dict[str, Any]:
        if self._open is not None or "type" not in self._message:
            raise StreamFailed("malformed")
        if self._message.get("stop_reason") is None:
            raise StreamFailed("no_finish_reason")
        message = {**self._message, "content": self._blocks}
        if self._spelled:
            message[PRIVATE_FIELD] = {"input_json": self._spelled}
        return message


class _OpenBlock:
    """A content block that is still coming in."""

    def __init__(self, start: dict[str, Any]) -> None:
        self._block = dict(start)
        self._texts: dict[str, list[str]] = {}

    def add(self, delta: dict[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self._texts.setdefault("text", []).append(as_text(delta.get("text")))
        elif kind == "thinking_delta":
            self._texts.setdefault("thinking", []).append(as_text(delta.get("thinking")))
        elif kind == "input_json_delta":
            self._texts.setdefault("input", []).append(as_text(delta.get("partial_json")))
        elif kind == "signature_delta":
            self._block["signature"] = as_text(delta.get("signature"))
        elif kind == "citations_delta":
            citations = self._block.get("citations") or []
            self._block["citations"] = [*citations, delta.get("citation")]
        else:
            raise StreamFailed("unknown_delta")

    def closed(self) -> tuple[dict[str, Any], str | None]:
        """The block, and how its input was spelled if we would spell it otherwise."""
        spelling = "".join(self._texts.pop("input", []))
        for name, parts in self._texts.items():
            self._block[name] = str(self._block.get(name) or "") + "".join(parts)
        if not spelling.strip():
            return self._block, None
        self._block["input"] = json_text.parse(spelling)
        ours = json_text.readable(self._block["input"])
        return self._block, spelling if spelling != ours else None


def message_events(message: dict[str, Any]) -> Iterator[bytes]:
    """The events of a complete message."""
    spelled = message.get(PRIVATE_FIELD, {}).get("input_json", {})
    counted = message.get("usage") or {}
    begun = {name: value for name, value in message.items() if name != PRIVATE_FIELD}
    begun |= {"content": [], "stop_reason": None, "stop_sequence": None}
    begun |= {name: None for name in _ENDING if name in begun}
    begun["usage"] = {**counted, "output_tokens": min(1, counted.get("output_tokens", 0))}
    yield _event("message_start", message=begun)
    for at, block in enumerate(message["content"]):
        yield _event("content_block_start", index=at, content_block=_opened(block))
        for delta in _deltas(block, spelled.get(str(at))):
            yield _event("content_block_delta", index=at, delta=delta)
        yield _event("content_block_stop", index=at)
    said = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    said |= {name: message[name] for name in _ENDING if message.get(name) is not None}
    spent = {name: counted[name] for name in _DELTA_USAGE if name in counted}
    yield _event("message_delta", delta=said, usage={"output_tokens": 0, **spent})
    yield _event("message_stop")


def _opened(block: dict[str, Any]) -> dict[str, Any]:
    """The block before anything has been written into it; kinds that are not streamed are whole."""
    kind = block.get("type")
    if kind == "text":
        opened = {**block, "text": ""}
        return {**opened, "citations": []} if block.get("citations") else opened
    if kind == "thinking":
        return {**block, "thinking": "", "signature": ""}
    return {**block, "input": {}} if kind in _CALLS else block


def _deltas(block: dict[str, Any], spelling: str | None) -> Iterator[dict[str, Any]]:
    kind = block.get("type")
    if kind == "text":
        for piece in pieces(block.get("text") or ""):
            yield {"type": "text_delta", "text": piece}
        for citation in block.get("citations") or []:
            yield {"type": "citations_delta", "citation": citation}
    elif kind == "thinking":
        for piece in pieces(block.get("thinking") or ""):
            yield {"type": "thinking_delta", "thinking": piece}
        if block.get("signature"):
            yield {"type": "signature_delta", "signature": block["signature"]}
    elif kind in _CALLS:
        given = block.get("input")
        for piece in pieces(spelling or json_text.readable(given) if given else ""):
            yield {"type": "input_json_delta", "partial_json": piece}


def _event(kind: str, **fields: Any) -> bytes:
    return write(json_text.dump({"type": kind, **fields}), kind)
