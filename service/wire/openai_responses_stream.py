"""Responses as a stream: named events to one object, and one object to named events.

`response.completed` carries the whole response, so reading is easy; the items are collected for
servers that leave them out there. Writing goes through every event that the official clients
expect.
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
    json_object,
)
from service.wire.pieces import pieces
from service.wire.sse import SseEvent, write

Step = tuple[str, dict[str, Any]]
"""The type of an event, and what it says besides its position."""


class ResponseAssembler(StreamAssembler):
    """Ends at `response.completed`, or at `response.incomplete` with a response that says so."""

    def __init__(self, *, max_bytes: int) -> None:
        super().__init__(max_bytes=max_bytes)
        self._items: dict[int, dict[str, Any]] = {}

    def _on_event(self, event: SseEvent) -> dict[str, Any] | None:
        if event.data.startswith(b"[DONE]"):  # some servers send it here too
            raise StreamFailed("no_terminal_event")
        body = json_object(event)
        kind = body.get("type") or event.name
        if kind in ("error", "response.failed") or event.name == "error" or body.get("error"):
            raise StreamFailed("error_event")
        if kind == "response.output_item.done":
            self._items[as_index(body.get("output_index"))] = as_object(body.get("item"))
        if kind not in ("response.completed", "response.incomplete"):
            return None
        response = as_object(body.get("response"))
        if not response.get("output"):
            response = {**response, "output": [self._items[at] for at in sorted(self._items)]}
        return response


def response_events(response: dict[str, Any]) -> Iterator[bytes]:
    """The events of a complete response, numbered."""
    for number, (kind, fields) in enumerate(_steps(response)):
        event = {"type": kind, "sequence_number": number, **fields}
        yield write(json_text.dump(event), kind)


def _steps(response: dict[str, Any]) -> Iterator[Step]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    for name in ("completed_at", "incomplete_details"):
        if name in begun:
            begun[name] = None
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for at, item in enumerate(response["output"]):
        where = {"output_index": at}
        yield "response.output_item.added", {**where, "item": _opened(item)}
        for kind, fields in _item_steps(item):
            yield kind, {"item_id": item.get("id") or "", **where, **fields}
        yield "response.output_item.done", {**where, "item": item}
    ending = "incomplete" if response.get("status") == "incomplete" else "completed"
    yield f"response.{ending}", {"response": response}


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    """The item before anything has been written into it."""
    opened = dict(item)
    if "status" in opened:
        opened["status"] = "in_progress"
    for name in ("content", "summary"):
        if isinstance(opened.get(name), list):
            opened[name] = []
    for name in ("arguments", "input"):
        if isinstance(opened.get(name), str):
            opened[name] = ""
    return opened


def _item_steps(item: dict[str, Any]) -> Iterator[Step]:
    kind = item.get("type")
    if kind == "function_call":
        yield from _written("response.function_call_arguments", "arguments", item, {})
    elif kind == "custom_tool_call":
        yield from _written("response.custom_tool_call_input", "input", item, {})
    elif kind == "reasoning":
        for at, part in enumerate(item.get("summary") or []):
            yield from _summary_steps(part, {"summary_index": at})
    for at, part in enumerate(item.get("content") or []):
        where = {"content_index": at}
        yield "response.content_part.added", {**where, "part": _opened_part(part)}
        yield from _part_steps(part, where)
        yield "response.content_part.done", {**where, "part": part}


def _summary_steps(part: dict[str, Any], where: dict[str, Any]) -> Iterator[Step]:
    yield "response.reasoning_summary_part.added", {**where, "part": {**part, "text": ""}}
    yield from _written("response.reasoning_summary_text", "text", part, where)
    yield "response.reasoning_summary_part.done", {**where, "part": part}


def _opened_part(part: dict[str, Any]) -> dict[str, Any]:
    opened = dict(part)
    for name in ("text", "refusal"):
        if isinstance(opened.get(name), str):
            opened[name] = ""
    for name in ("annotations", "logprobs"):
        if isinstance(opened.get(name), list):
            opened[name] = []
    return opened


def _part_steps(part: dict[str, Any], where: dict[str, Any]) -> Iterator[Step]:
    kind = part.get("type")
    if kind == "refusal":
        yield from _written("response.refusal", "refusal", part, where)
    elif kind == "reasoning_text":
        yield from _written("response.reasoning_text", "text", part, where)
    elif kind == "output_text":
        *deltas, done = _written("response.output_text", "text", part, {**where, "logprobs": []})
        yield from deltas
        for at, annotation in enumerate(part.get("annotations") or []):
            said = {**where, "annotation_index": at, "annotation": annotation}
            yield "response.output_text.annotation.added", said
        yield done


def _written(
    prefix: str, name: str, holder: dict[str, Any], where: dict[str, Any]
) -> Iterator[Step]:
    text = holder.get(name)
    if not isinstance(text, str):
        return
    for piece in pieces(text):
        yield f"{prefix}.delta", {**where, "delta": piece}
    yield f"{prefix}.done", {**where, name: text}
