"""Responses of the fake upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from service.fake.answers import Question, Tool
from service.fake.prompt_cache import Segment
from service.fake.reply import (
    Event,
    Json,
    Reply,
    forced_tool,
    output_tokens,
    sevens,
    text_of,
    words,
)


def read_question(body: Json) -> Question:
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    users = [i for i in items if i.get("role") == "user"]
    last = items[-1]
    others = [i for i in items if not users or i is not users[-1]]
    result = last.get("output") if last.get("type") == "function_call_output" else None
    return Question(
        model=body["model"],
        text=text_of(users[-1].get("content")) if users else "",
        context=json.dumps([body.get("instructions"), others]),
        tools=tuple(
            Tool(t["name"], t.get("parameters")) for t in body.get("tools") or [] if "name" in t
        ),
        forced_tool=forced_tool(body.get("tool_choice")),
        tool_result=text_of(result) if result is not None else None,
        schema=((body.get("text") or {}).get("format") or {}).get("schema"),
        wants_reasoning=bool(body.get("reasoning")),
    )


def read_prompt(body: Json) -> list[Segment]:
    given = body["input"]
    items = [given] if isinstance(given, str) else given
    parts = [body.get("tools") or [], body.get("instructions") or "", *items]
    return [Segment(json.dumps(part)) for part in parts]


def write_body(reply: Reply) -> Json:
    body = reply.body
    given = ("metadata", "user", "safety_identifier", "prompt_cache_key", "max_output_tokens")
    echoes: Json = {name: body.get(name) for name in given}
    return {
        **echoes,
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": reply.now,
        "completed_at": reply.now,
        "status": "incomplete" if reply.cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if reply.cut else None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "model": body["model"],
        "output": list(_items(reply)),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": _responses_usage(reply),
    }


def write_events(reply: Reply) -> Iterator[Event]:
    for number, (kind, fields) in enumerate(_responses_steps(reply)):
        yield kind, {"type": kind, **fields, "sequence_number": number}


def _responses_steps(reply: Reply) -> Iterator[Event]:
    whole = write_body(reply)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for at, item in enumerate(whole["output"]):
        id, where = item["id"], {"item_id": item["id"], "output_index": at}
        if item["type"] == "reasoning":
            yield (
                "response.output_item.added",
                {"output_index": at, "item": {**item, "summary": []}},
            )
            yield from _streamed_summary(item["summary"][0], {**where, "summary_index": 0})
        elif item["type"] == "message":
            opened = {"id": id, "type": "message", "role": "assistant", "status": "in_progress"}
            item_added = {**opened, "content": []}
            yield "response.output_item.added", {"output_index": at, "item": item_added}
            yield from _streamed_part(item["content"][0], {**where, "content_index": 0})
        else:
            long = "arguments" if item["type"] == "function_call" else "input"
            prefix = "function_call_arguments" if long == "arguments" else "custom_tool_call_input"
            item_added = {**item, "status": "in_progress", long: ""}
            yield "response.output_item.added", {"output_index": at, "item": item_added}
            for piece in sevens(item[long]):
                yield f"response.{prefix}.delta", {**where, "delta": piece}
            yield f"response.{prefix}.done", {**where, long: item[long]}
        yield "response.output_item.done", {"output_index": at, "item": item}
    yield f"response.{whole['status']}", {"response": whole}


def _streamed_summary(part: Json, where: Json) -> Iterator[Event]:
    prefix = "response.reasoning_summary"
    yield f"{prefix}_part.added", {**where, "part": {"type": "summary_text", "text": ""}}
    for piece in words(part["text"]):
        yield f"{prefix}_text.delta", {**where, "delta": piece}
    yield f"{prefix}_text.done", {**where, "text": part["text"]}
    yield f"{prefix}_part.done", {**where, "part": part}


def _streamed_part(part: Json, where: Json) -> Iterator[Event]:
    if part["type"] == "refusal":
        yield "response.content_part.added", {**where, "part": {"type": "refusal", "refusal": ""}}
        for piece in words(part["refusal"]):
            yield "response.refusal.delta", {**where, "delta": piece}
        yield "response.refusal.done", {**where, "refusal": part["refusal"]}
    else:
        yield "response.content_part.added", {**where, "part": {**part, "text": ""}}
        for piece in words(part["text"]):
            said = {**where, "delta": piece, "logprobs": [], "obfuscation": "x"}
            yield "response.output_text.delta", said
        yield "response.output_text.done", {**where, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**where, "part": part}


def _items(reply: Reply) -> Iterator[Json]:
    answer, status = reply.answer, "incomplete" if reply.cut else "completed"
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        yield {"id": f"rs_{reply.id}", "type": "reasoning", "summary": summary}
    for call in answer.calls:
        head = {"id": f"fc_{call.id}", "call_id": f"call_{call.id}", "name": call.name}
        if call.is_free_text:
            yield {**head, "type": "custom_tool_call", "status": status, "input": call.arguments}
        else:
            yield {**head, "type": "function_call", "status": status, "arguments": call.arguments}
    if not answer.calls:
        part: Json = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        if answer.refusal:
            part = {"type": "refusal", "refusal": answer.refusal}
        head = {"id": f"msg_{reply.id}", "type": "message", "role": "assistant"}
        yield {**head, "status": status, "content": [part]}


def _responses_usage(reply: Reply) -> Json:
    spent, thought = output_tokens(reply.answer)
    return {
        "input_tokens": reply.counted.total,
        "input_tokens_details": {"cached_tokens": reply.counted.read, "cache_write_tokens": 0},
        "output_tokens": spent,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": reply.counted.total + spent,
    }
