"""Decides which text of a stored answer a reviewer reads: the message where it is one, else all of the JSON."""

from __future__ import annotations

import json
from typing import Any


def readable(response: Any) -> tuple[str, str]:
    """(text, what it is). Only an answer that is text and nothing else is taken out of its wrapping.

    A tool call, a refusal or several choices stay visible as the JSON that they are.
    """
    if response is None:
        return "", ""
    if isinstance(response, str):
        return response, ""
    for wrapped, name in (
        (_chat_completion(response), "text of a chat completion"),
        (_blocks(response, "content", "text"), "text of a message"),
        (_responses(response), "text of a response"),
    ):
        if wrapped is not None:
            return wrapped, name
    return json.dumps(response, ensure_ascii=False, indent=2), "JSON"


def _chat_completion(response: Any) -> str | None:
    match response:
        case {"choices": [{"message": {"content": str(text)} as message}]}:
            others = {k for k, v in message.items() if v} - {"role", "content", "annotations"}
            return None if others else text
    return None


def _responses(response: Any) -> str | None:
    match response:
        case {"output": [{"type": "message"} as message]}:
            return _blocks(message, "content", "output_text")
    return None


def _blocks(message: Any, name: str, kind: str) -> str | None:
    blocks = message.get(name) if isinstance(message, dict) else None
    if not isinstance(blocks, list) or not blocks:
        return None
    is_text = all(
        isinstance(b, dict) and b.get("type") == kind and isinstance(b.get("text"), str)
        for b in blocks
    )
    return "".join(b["text"] for b in blocks) if is_text else None
