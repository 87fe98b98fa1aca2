"""What the wire forms of the fake upstream share: a reply to write down, and small readers.

The forms are written apart from `service.wire`: a test of one against the other would prove nothing
if both came from the same code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from service.fake.answers import Answer, tokens
from service.fake.prompt_cache import Counted

Json = dict[str, Any]
Event = tuple[str, Json]
"""Name (empty for none) and data."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything a wire form needs to write an answer down."""

    body: Json
    answer: Answer
    counted: Counted
    id: str
    now: int
    cut: bool = False
    """Ended by the token limit."""


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)
    )


def forced_tool(choice: Any) -> str | None:
    """`tool_choice` of all three APIs as the name of a tool, `*`, `-` or None."""
    if isinstance(choice, dict):
        inner = choice.get("function") or choice.get("custom") or choice
        kind = inner.get("name") or choice.get("type")
    else:
        kind = choice
    return {"auto": None, None: None, "none": "-", "any": "*", "required": "*"}.get(kind, kind)


def output_tokens(answer: Answer) -> tuple[int, int]:
    """Output tokens, and the reasoning part of them."""
    thought = len(tokens(answer.reasoning or ""))
    said = (
        answer.text + (answer.refusal or "") + "".join(c.name + c.arguments for c in answer.calls)
    )
    return thought + len(tokens(said)), thought


def words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s?|\s+", text)


def sevens(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]
