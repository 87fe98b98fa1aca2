"""Chat completions of the fake upstream."""

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
    messages = body["messages"]
    users = [m for m in messages if m.get("role") == "user"]
    last = messages[-1]
    named = [t.get("function") or t.get("custom") or {} for t in body.get("tools") or []]
    schema = (body.get("response_format") or {}).get("json_schema") or {}
    return Question(
        model=body["model"],
        text=text_of(users[-1].get("content")) if users else "",
        context=json.dumps([m for m in messages if not users or m is not users[-1]]),
        tools=tuple(Tool(t["name"], t.get("parameters")) for t in named),
        forced_tool=forced_tool(body.get("tool_choice")),
        tool_result=text_of(last.get("content")) if last.get("role") == "tool" else None,
        schema=schema.get("schema"),
        wants_reasoning=body.get("reasoning_effort") not in (None, "none", "minimal"),
    )


def read_prompt(body: Json) -> list[Segment]:
    return [
        Segment(json.dumps(body.get("tools") or [])),
        *(Segment(m.get("role", "") + json.dumps(m.get("content"))) for m in body["messages"]),
    ]


def write_body(reply: Reply) -> Json:
    answer = reply.answer
    message: Json = {
        "role": "assistant",
        "content": None if answer.calls or answer.refusal else answer.text,
        "refusal": answer.refusal,
        "annotations": [],
    }
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{c.id}",
                "type": "custom",
                "custom": {"name": c.name, "input": c.arguments},
            }
            if c.is_free_text
            else {
                "id": f"call_{c.id}",
                "type": "function",
                "function": {"name": c.name, "arguments": c.arguments},
            }
            for c in answer.calls
        ]
    count = reply.body.get("n") or 1
    ending = {"finish_reason": _chat_ending(reply), "logprobs": None}
    return {
        **_chat_head(reply, "chat.completion"),
        "choices": [{"index": at, "message": message, **ending} for at in range(count)],
        "usage": _chat_usage(reply),
    }


def write_events(reply: Reply) -> Iterator[Event]:
    answer = reply.answer
    with_usage = (reply.body.get("stream_options") or {}).get("include_usage") is True
    head = _chat_head(reply, "chat.completion.chunk") | ({"usage": None} if with_usage else {})

    def step(delta: Json, ending: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": ending}
        return "", {**head, "choices": [choice], "obfuscation": "x" * (len(str(delta)) % 7)}

    start = None if answer.calls or answer.refusal else ""
    yield step({"role": "assistant", "content": start, "refusal": None})
    for piece in words(answer.reasoning or ""):
        yield step({"reasoning_content": piece})
    for piece in words(answer.text):
        yield step({"content": piece})
    for piece in words(answer.refusal or ""):
        yield step({"refusal": piece})
    for at, call in enumerate(answer.calls):
        kind, long = ("custom", "input") if call.is_free_text else ("function", "arguments")
        opened = {"name": call.name, long: ""}
        yield step(
            {"tool_calls": [{"index": at, "id": f"call_{call.id}", "type": kind, kind: opened}]}
        )
        for piece in sevens(call.arguments):
            yield step({"tool_calls": [{"index": at, kind: {long: piece}}]})
    yield step({}, _chat_ending(reply))
    if with_usage:
        yield "", {**head, "choices": [], "usage": _chat_usage(reply)}


def _chat_head(reply: Reply, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{reply.id}",
        "object": kind,
        "created": reply.now,
        "model": reply.body["model"],
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
    }


def _chat_ending(reply: Reply) -> str:
    return "length" if reply.cut else "tool_calls" if reply.answer.calls else "stop"


def _chat_usage(reply: Reply) -> Json:
    spent, thought = output_tokens(reply.answer)
    return {
        "prompt_tokens": reply.counted.total,
        "completion_tokens": spent,
        "total_tokens": reply.counted.total + spent,
        "prompt_tokens_details": {"cached_tokens": reply.counted.read, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": thought,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
