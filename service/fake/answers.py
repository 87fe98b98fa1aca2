"""What the fake upstream says: a readable answer that depends on the question and on nothing else.

`Echo: X` is answered with X, `Refuse: X` with a refusal. A question that speaks of a tool, or has
to use one, is answered with a call (two if it says "both"); a schema is answered with an instance.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")
_OPENINGS = ("In short", "As a rule", "Most of the time", "Strictly speaking", "To begin with")
_MIDDLES = (
    "the first thing to look at is the page of settings",
    "three steps are enough, and none of them can go wrong",
    "it depends on the plan, but the usual limit is twenty a day",
    "nothing is lost: the older state can be brought back",
    "the quickest way is to ask the person who set it up",
)
_ENDINGS = (
    "This takes about a minute.",
    "If it does not help, write to us.",
    "It works the same on a telephone.",
    "That is all there is to it.",
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the client offers; free text instead of arguments if it has no schema."""

    name: str
    schema: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Question:
    """A request in the form that all three chat-like APIs have in common."""

    model: str
    text: str
    context: str = ""
    """Whatever else is said in the conversation; another context gives another answer."""
    tools: tuple[Tool, ...] = ()
    forced_tool: str | None = None
    """A name, `*` for any, `-` for none."""
    tool_result: str | None = None
    """Set when the conversation ends in the result of a call."""
    schema: dict[str, Any] | None = None
    wants_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. `arguments` is JSON as text, or free text for a tool without a schema."""

    id: str
    name: str
    arguments: str
    is_free_text: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says; `text` and `refusal` exclude each other."""

    text: str = ""
    refusal: str | None = None
    reasoning: str | None = None
    calls: tuple[Call, ...] = field(default=())


def answer(question: Question) -> Answer:
    """The answer to a question; equal questions have equal answers, tool call ids included."""
    digest = _digest(question.model, question.text, question.context)
    reasoning = None
    if question.wants_reasoning:
        reasoning = f"The question is “{question.text}”. I compare two ways and take the shorter."
    command, _, said = question.text.partition(": ")
    if command.lower() == "refuse":
        return Answer(refusal=f"I will not help with “{said}”.", reasoning=reasoning)
    calls = _calls(question, digest)
    if calls:
        return Answer(calls=calls, reasoning=reasoning)
    if question.schema is not None:
        instance = _instance(question.schema, question.schema, digest, question.text)
        return Answer(text=json.dumps(instance, ensure_ascii=False), reasoning=reasoning)
    if command.lower() == "echo":
        return Answer(text=said, reasoning=reasoning)
    if question.tool_result is not None:
        text = f"The tool says “{question.tool_result}”, which answers “{question.text}”."
        return Answer(text=text, reasoning=reasoning)
    return Answer(text=_prose(question.text, digest), reasoning=reasoning)


def tokens(text: str) -> list[str]:
    """The text cut into what this upstream counts: up to six letters, or one sign."""
    return _TOKEN.findall(text)


def vector(text: str, dimensions: int) -> list[float]:
    """A unit vector that depends on the text alone."""
    values: list[float] = []
    block = 0
    while len(values) < dimensions:
        raw = hashlib.sha256(f"{block}\0{text}".encode()).digest()
        values += [int.from_bytes(raw[at : at + 2], "big") / 32768 - 1 for at in range(0, 32, 2)]
        block += 1
    values = values[:dimensions]
    length = sum(value * value for value in values) ** 0.5 or 1.0
    return [value / length for value in values]


def _prose(text: str, digest: bytes) -> str:
    pick = [options[digest[at] % len(options)] for at, options in enumerate(_PARTS)]
    about = text if len(text) <= 200 else text[:200] + "…"
    return f"On “{about}”: {pick[0]}, {pick[1]}. {pick[2]} (Answer {digest.hex()[:6]})"


_PARTS: tuple[Sequence[str], ...] = (_OPENINGS, _MIDDLES, _ENDINGS)


def _calls(question: Question, digest: bytes) -> tuple[Call, ...]:
    if not question.tools or question.forced_tool == "-":
        return ()
    words = question.text.lower()
    named = [tool for tool in question.tools if tool.name.lower() in words]
    if question.forced_tool not in (None, "*"):
        named = [tool for tool in question.tools if tool.name == question.forced_tool]
    asked = bool(named) or question.forced_tool is not None or "tool" in words
    if not asked or (question.tool_result is not None and question.forced_tool is None):
        return ()
    chosen = named or list(question.tools[:1])
    if "both" in words:
        chosen = (list(question.tools) if len(question.tools) > 1 else chosen * 2)[:2]
    return tuple(_call(tool, at, question, digest) for at, tool in enumerate(chosen))


def _call(tool: Tool, at: int, question: Question, digest: bytes) -> Call:
    id = f"{digest.hex()[:16]}{at:02d}"
    if tool.schema is None:
        return Call(id, tool.name, question.text, is_free_text=True)
    salted = hashlib.sha256(digest + bytes([at])).digest()
    arguments = _instance(tool.schema, tool.schema, salted, question.text)
    return Call(id, tool.name, json.dumps(arguments, ensure_ascii=False))


def _instance(schema: Any, root: dict[str, Any], digest: bytes, text: str) -> Any:
    """An instance of the schema: every property, the shortest array, a value out of the digest."""
    if not isinstance(schema, dict):
        return None
    if "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target[step]
        return _instance(target, root, digest, text)
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return _instance(schema[name][0], root, digest, text)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][digest[0] % len(schema["enum"])]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    salted = hashlib.sha256(digest).digest()
    if kind == "object":
        properties = schema.get("properties") or {}
        return {
            name: _instance(below, root, _digest(salted.hex(), name), text)
            for name, below in properties.items()
        }
    if kind == "array":
        count = max(1, int(schema.get("minItems", 1)))
        return [
            _instance(schema.get("items", {}), root, _digest(salted.hex(), str(at)), text)
            for at in range(count)
        ]
    return _scalar(kind, schema, digest, text)


def _scalar(kind: str, schema: dict[str, Any], digest: bytes, text: str) -> Any:
    if kind in ("integer", "number"):
        low = schema.get("minimum", 1)
        high = schema.get("maximum", low + 98)
        number = low + digest[0] / 255 * (high - low)
        return int(number) if kind == "integer" else round(number, 2)
    if kind == "boolean":
        return digest[0] % 2 == 0
    if kind == "null":
        return None
    if schema.get("format") == "date":
        return f"2026-{digest[0] % 12 + 1:02d}-{digest[1] % 28 + 1:02d}"
    words = re.findall(r"\w+", text) or ["nothing"]
    return words[digest[0] % len(words)]


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
