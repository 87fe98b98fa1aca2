"""Messages of the fake upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from service.fake.answers import Answer, Question, Tool
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
    messages = body["messages"]
    users = [m for m in messages if m.get("role") == "user"]
    content = users[-1].get("content") if users else ""
    blocks = content if isinstance(content, list) else []
    results = [b for b in blocks if b.get("type") == "tool_result"]
    others = [m for m in messages if not users or m is not users[-1]]
    format = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Question(
        model=body["model"],
        text=text_of(content),
        context=json.dumps([_unmarked(body.get("system")), _unmarked(others)]),
        tools=tuple(
            Tool(t["name"], t["input_schema"])
            for t in body.get("tools") or []
            if "input_schema" in t
        ),
        forced_tool=forced_tool(body.get("tool_choice")),
        tool_result=text_of(results[-1].get("content")) if results else None,
        schema=format.get("schema"),
        wants_reasoning=(body.get("thinking") or {}).get("type") in ("enabled", "adaptive"),
    )


def read_prompt(body: Json) -> list[Segment]:
    blocks = [*(body.get("tools") or [])]
    for content in (body.get("system") or [], *(m.get("content") for m in body["messages"])):
        blocks += [{"text": content}] if isinstance(content, str) else content or []
    if blocks and body.get("cache_control"):
        blocks[-1] = {**blocks[-1], "cache_control": body["cache_control"]}
    return [Segment(json.dumps(_unmarked(block)), _life_s(block)) for block in blocks]


def write_body(reply: Reply) -> Json:
    ending = "tool_use" if reply.answer.calls else "end_turn"
    if reply.answer.refusal:
        ending = "refusal"
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.body["model"],
        "content": list(_blocks(reply.answer)),
        "stop_reason": "max_tokens" if reply.cut else ending,
        "stop_sequence": None,
        "usage": _messages_usage(reply),
    }


def write_events(reply: Reply) -> Iterator[Event]:
    whole = write_body(reply)
    counted = {**whole["usage"], "output_tokens": 1}
    begun = {**whole, "content": [], "stop_reason": None, "usage": counted}
    yield "message_start", {"type": "message_start", "message": begun}
    for at, block in enumerate(whole["content"]):
        opened, deltas = _opened(block)
        yield (
            "content_block_start",
            {"type": "content_block_start", "index": at, "content_block": opened},
        )
        if at == 0:
            yield "ping", {"type": "ping"}
        for delta in deltas:
            yield (
                "content_block_delta",
                {"type": "content_block_delta", "index": at, "delta": delta},
            )
        yield "content_block_stop", {"type": "content_block_stop", "index": at}
    said = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    spent = {"output_tokens": whole["usage"]["output_tokens"]}
    yield "message_delta", {"type": "message_delta", "delta": said, "usage": spent}
    yield "message_stop", {"type": "message_stop"}


def _opened(block: Json) -> tuple[Json, list[Json]]:
    """A block as it starts, and what is added to it."""
    if block["type"] == "thinking":
        thought = [{"type": "thinking_delta", "thinking": p} for p in words(block["thinking"])]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]
    if block["type"] == "tool_use":
        pieces = ["", *sevens(json.dumps(block["input"], ensure_ascii=False))]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        return {**block, "input": {}}, deltas
    said = [{"type": "text_delta", "text": piece} for piece in words(block["text"])]
    return {"type": "text", "text": ""}, said


def _blocks(answer: Answer) -> Iterator[Json]:
    if answer.reasoning:
        yield {"type": "thinking", "thinking": answer.reasoning, "signature": "c2lnbmVk"}
    text = answer.refusal or answer.text
    if text:
        yield {"type": "text", "text": text}
    for call in answer.calls:
        arguments = json.loads(call.arguments)
        yield {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": arguments}


def _messages_usage(reply: Reply) -> Json:
    counted = reply.counted
    written = counted.written_5m + counted.written_1h
    return {
        "input_tokens": counted.total - counted.read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": counted.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counted.written_5m,
            "ephemeral_1h_input_tokens": counted.written_1h,
        },
        "output_tokens": output_tokens(reply.answer)[0],
        "service_tier": "standard",
    }


def _life_s(block: Any) -> int | None:
    mark = block.get("cache_control") if isinstance(block, dict) else None
    if not isinstance(mark, dict):
        return None
    return 3600 if mark.get("ttl") == "1h" else 300


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value
