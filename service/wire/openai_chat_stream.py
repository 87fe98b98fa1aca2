"""Chat completions as a stream: chunks to one object, and one object to chunks.

Fields that we do not know (reasoning text, vendors' own) go through both ways: strings are put
together from their pieces, lists grow, objects merge, and of other values the last one that says
something counts.
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
from service.wire.sse import DONE, SseEvent, write

_NOT_OF_THE_RESPONSE = frozenset({"choices", "object", "obfuscation"})
_NOT_OF_THE_CHOICE = frozenset({"index", "delta"})
_WORDS = frozenset({"role", "type", "id"})  # strings that are repeated or set, never continued


class _Text(list[str]):
    """A string that is still coming in."""


class ChatAssembler(StreamAssembler):
    """Ends at `[DONE]`, and takes it for an end only if every choice has said why it finished."""

    def __init__(self, *, max_bytes: int) -> None:
        super().__init__(max_bytes=max_bytes)
        self._top: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._messages: dict[int, dict[str, Any]] = {}
        self._calls: dict[int, dict[int, dict[str, Any]]] = {}

    def _on_event(self, event: SseEvent) -> dict[str, Any] | None:
        if event.data.startswith(b"[DONE]"):
            return self._response()
        chunk = json_object(event)
        if event.name == "error" or chunk.get("error"):
            raise StreamFailed("error_event")
        for name, value in chunk.items():
            if name not in _NOT_OF_THE_RESPONSE and (name != "usage" or value is not None):
                _keep_latest(self._top, name, value)
        choices = chunk.get("choices") or []
        if not isinstance(choices, list):
            raise StreamFailed("malformed")
        for choice in choices:
            self._take_choice(as_object(choice))
        return None

    def _take_choice(self, choice: dict[str, Any]) -> None:
        index = as_index(choice.get("index", 0))
        kept = self._choices.setdefault(index, {})
        for name, value in choice.items():
            if name not in _NOT_OF_THE_CHOICE:
                _keep_latest(kept, name, value)
        delta = as_object(choice.get("delta") or {})
        message = self._messages.setdefault(index, {})
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise StreamFailed("malformed")
        for call in calls:
            self._take_call(index, as_object(call))
        if calls:
            delta = {name: value for name, value in delta.items() if name != "tool_calls"}
        _merge(message, delta)

    def _take_call(self, choice: int, delta: dict[str, Any]) -> None:
        """Without a position, or with two ids at one, nobody knows whose piece this is."""
        call = self._calls.setdefault(choice, {}).setdefault(as_index(delta.get("index")), {})
        if delta.get("id") and call.get("id") and delta["id"] != call["id"]:
            raise StreamFailed("malformed")
        function, known = delta.get("function"), call.get("function")
        known_name = "".join(known.get("name") or ()) if isinstance(known, dict) else ""
        if isinstance(function, dict) and known_name and function.get("name") == known_name:
            # some servers repeat the name with every piece
            delta = {**delta, "function": {**function, "name": ""}}
        _merge(call, {name: value for name, value in delta.items() if name != "index"})

    def _response(self) -> dict[str, Any]:
        if not self._choices or not all(c.get("finish_reason") for c in self._choices.values()):
            raise StreamFailed("no_finish_reason")
        choices = []
        for index in sorted(self._choices):
            message = {"role": "assistant", **_settled(self._messages[index])}
            message.setdefault("content", None)
            calls = self._calls.get(index)
            if calls:
                message["tool_calls"] = [_settled(calls[at]) for at in sorted(calls)]
            choices.append({"index": index, "message": message, **self._choices[index]})
        return {"object": "chat.completion", **self._top, "choices": choices}


def chat_events(response: dict[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    """The chunks of a complete response with its first choice, and of usage if asked for."""
    choice = response["choices"][0]
    own = {
        k: v for k, v in response.items() if k not in ("choices", "object", "usage", "moderation")
    }
    # small facts (id, model, fingerprint) are on every chunk, large ones once
    small = {k: v for k, v in own.items() if not isinstance(v, dict | list)}
    large = {k: v for k, v in own.items() if isinstance(v, dict | list)}
    small["object"] = "chat.completion.chunk"
    if with_usage:
        small["usage"] = None
    extras = {k: v for k, v in choice.items() if k not in ("index", "message", "finish_reason")}
    unsaid = dict.fromkeys(extras)

    def chunk(delta: dict[str, Any]) -> bytes:
        step = {"index": 0, "delta": delta, **unsaid, "finish_reason": None}
        return write(json_text.dump({**small, "choices": [step]}))

    for delta in _deltas(choice["message"]):
        yield chunk(delta)
    end = {"index": 0, "delta": {}, **extras, "finish_reason": choice.get("finish_reason")}
    yield write(json_text.dump({**small, **large, "choices": [end]}))
    if response.get("moderation") is not None:
        yield write(json_text.dump({**small, "choices": [], "moderation": response["moderation"]}))
    if with_usage and response.get("usage") is not None:
        yield write(json_text.dump({**small, "choices": [], "usage": response["usage"]}))
    yield DONE


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Opening, what was thought, what is said, what is called: as a model writes."""
    opening: dict[str, Any] = {"role": message.get("role", "assistant")}
    for name, value in message.items():
        if value is None or value in ("", []) or (name == "content" and isinstance(value, str)):
            opening[name] = None if value is None else type(value)()
    yield opening
    late = ("content", "refusal", "tool_calls", "function_call")
    for name in [*(name for name in message if name not in late), *late]:
        value = message.get(name)
        if name == "role" or not value:
            if value in (0, False, {}) and name in message and name not in opening:
                yield {name: value}
        elif isinstance(value, str) and name not in _WORDS:
            for piece in pieces(value):
                yield {name: piece}
        elif name == "tool_calls":
            for at, call in enumerate(value):
                for step in _opened_then_filled(call):
                    yield {"tool_calls": [{"index": at, **step}]}
        elif name == "function_call":
            for step in _opened_then_filled({"function": value}):
                yield {"function_call": step["function"]}
        else:
            yield {name: value}


def _opened_then_filled(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A call without its arguments, then the arguments piece by piece."""
    for kind, long in (("function", "arguments"), ("custom", "input")):
        payload = call.get(kind)
        if isinstance(payload, dict) and isinstance(payload.get(long), str):
            yield {**call, kind: {**payload, long: ""}}
            for piece in pieces(payload[long]):
                yield {kind: {long: piece}}
            return
    yield call


def _keep_latest(holder: dict[str, Any], name: str, value: Any) -> None:
    if value or name not in holder:
        holder[name] = value


def _merge(into: dict[str, Any], delta: dict[str, Any]) -> None:
    for name, value in delta.items():
        before = into.get(name)
        if value is None:
            into.setdefault(name, None)
        elif isinstance(value, str) and name not in _WORDS:
            if before is None:
                into[name] = before = _Text()
            if not isinstance(before, _Text):
                raise StreamFailed("malformed")
            before.append(value)
        elif isinstance(value, str):
            into[name] = as_text(value) or before or ""
        elif isinstance(value, dict):
            if before is None:
                into[name] = before = {}
            _merge(as_object(before), value)
        elif isinstance(value, list):
            if before is not None and not isinstance(before, list):
                raise StreamFailed("malformed")
            into[name] = [*(before or []), *value]
        else:
            into[name] = value


def _settled(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, dict):
        return {name: _settled(item) for name, item in value.items()}
    return value
