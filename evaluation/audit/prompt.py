"""A request as the model sees it: segments of text in the order in which they enter the prefix.

Order: tools, system, messages, as both large providers describe theirs. Settings that are not text
but still part of what a prefix cache compares (model, tool choice, thinking, …) stand between the
segments: they take no token and break everything behind them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import orjson

from evaluation.audit.hashing import hash64, sorted_json
from evaluation.audit.tokens import Tokenizer, Tokens

Part = Literal["tools", "system", "messages"]
ChatFormat = Literal["chatml", "plain"]
DEFAULT_SYSTEM_PATH = "(default system message of the chat template)"

SYSTEM_SETTINGS = (
    "web_search_options",
    "response_format",
    "text",
    "output_format",
    "speed",
)
"""Settings that change what stands in front of the system message."""

MESSAGE_SETTINGS = (
    "tool_choice",
    "parallel_tool_calls",
    "thinking",
    "reasoning",
    "reasoning_effort",
    "output_config",
)
"""Settings that change what stands in front of the messages."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the prompt. `path` is its JSON path in the request body; `message` the message's
    index.

    `is_markup` marks what the chat template writes. `breakpoint_ttl_s` is the lifetime asked for by
    a `cache_control` mark at its end.
    """

    path: str
    part: Part
    text: str
    tokens: Tokens
    message: int | None = None
    role: str = ""
    is_markup: bool = False
    breakpoint_ttl_s: float | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that stands in front of segment `before` and takes no token."""

    path: str
    before: int
    value: bytes


@dataclass(frozen=True)
class Prompt:
    """Segments and settings of one request."""

    segments: tuple[Segment, ...]
    settings: tuple[Setting, ...] = ()

    @cached_property
    def tokens(self) -> Tokens:
        """All token ids, shape (n,)."""
        if not self.segments:
            return np.empty(0, np.uint32)
        return np.concatenate([s.tokens for s in self.segments])

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Index of each segment's first token, and the total at the end."""
        return (0, *np.cumsum([len(s.tokens) for s in self.segments]).tolist())

    def with_segments(self, segments: tuple[Segment, ...]) -> Prompt:
        """The same settings, in front of the same parts, over other segments."""
        firsts = {_first(self.segments, part): part for part in ("messages", "system", "tools")}
        moved = []
        for setting in self.settings:
            part = firsts.get(setting.before)
            before = 0 if setting.before == 0 else _first(segments, part) if part else len(segments)
            moved.append(replace(setting, before=before))
        return Prompt(segments, tuple(moved))


@dataclass(frozen=True, slots=True)
class Renderer:
    """How requests become prompts: which tokenizer, which chat format, which default system
    message."""

    tokenizer: Tokenizer
    chat_format: ChatFormat = "chatml"
    default_system: str | None = None

    def render(self, request: Any) -> Prompt:
        """The prompt of a request body or a bare prompt text; never raises for odd shapes."""
        if not isinstance(request, dict):
            text = request if isinstance(request, str) else orjson.dumps(request).decode()
            return Prompt((self._text("$", "messages", text, message=0, role="user"),))
        turns = _turns(request)
        if turns is None:
            prompt = request.get("prompt")
            text = prompt if isinstance(prompt, str) else orjson.dumps(request).decode()
            path = "$.prompt" if isinstance(prompt, str) else "$"
            return Prompt(
                (self._text(path, "messages", text, message=0, role="user"),),
                tuple(_settings(request, ("model",), 0)),
            )
        field, messages = turns
        lead = 0
        while lead < len(messages) and _role(messages[lead]) in ("system", "developer"):
            lead += 1
        tools = [*self._tools(request)]
        system = [*self._system(request, field, messages[:lead])]
        body = [
            segment
            for at, message in enumerate(messages[lead:], start=lead)
            for segment in self._message(f"$.{field}[{at}]", "messages", message, at)
        ]
        if self.chat_format == "chatml":
            body.append(
                self._markup("(start of the answer)", "messages", "<|im_start|>assistant\n")
            )
        settings = (
            *_settings(request, ("model",), 0),
            *_settings(request, SYSTEM_SETTINGS, len(tools)),
            *_document_settings(request, messages, len(tools)),
            *_settings(request, MESSAGE_SETTINGS, len(tools) + len(system)),
        )
        return Prompt((*tools, *system, *body), settings)

    def _tools(self, request: dict[str, Any]) -> Iterator[Segment]:
        tools = [
            (f"$.{field}[{at}]", tool)
            for field in ("tools", "functions")
            for at, tool in enumerate(_list(request.get(field)))
            if not _is_search(tool)
        ]
        if not tools:
            return
        if self.chat_format == "chatml":
            yield self._markup("$.tools", "tools", "<|im_start|>tools\n")
        for path, tool in tools:
            yield self._text(path, "tools", _dump(tool), breakpoint_ttl_s=_breakpoint(tool))
            if self.chat_format == "chatml":
                yield self._markup(path, "tools", "\n")
        if self.chat_format == "chatml":
            yield self._markup("$.tools", "tools", "<|im_end|>\n")

    def _system(self, request: dict[str, Any], field: str, leading: list[Any]) -> Iterator[Segment]:
        given = False
        for name in ("system", "instructions"):
            if isinstance(request.get(name), str | list):
                given = True
                message = {"role": "system", "content": request[name]}
                yield from self._message(f"$.{name}", "system", message, None)
        for at, message in enumerate(leading):
            yield from self._message(f"$.{field}[{at}]", "system", message, at)
        if not given and not leading and self.default_system is not None:
            message = {"role": "system", "content": self.default_system}
            yield from self._message(DEFAULT_SYSTEM_PATH, "system", message, None)

    def _message(self, path: str, part: Part, message: Any, at: int | None) -> Iterator[Segment]:
        role = _role(message) or ("assistant" if _is_call(message) else "user")
        if self.chat_format == "chatml":
            yield self._markup(f"{path}.role", part, f"<|im_start|>{role}\n", at, role)
        for where, text, ttl_s in _contents(path, message):
            yield self._text(where, part, text, message=at, role=role, breakpoint_ttl_s=ttl_s)
        if self.chat_format == "chatml":
            yield self._markup(f"{path}.role", part, "<|im_end|>\n", at, role)

    def _text(
        self,
        path: str,
        part: Part,
        text: str,
        *,
        message: int | None = None,
        role: str = "",
        breakpoint_ttl_s: float | None = None,
    ) -> Segment:
        tokens = self.tokenizer.encode(text)
        return Segment(path, part, text, tokens, message, role, False, breakpoint_ttl_s)

    def _markup(
        self, path: str, part: Part, text: str, message: int | None = None, role: str = ""
    ) -> Segment:
        return Segment(path, part, text, self.tokenizer.encode_markup(text), message, role, True)


def _contents(path: str, message: Any) -> Iterator[tuple[str, str, float | None]]:
    """(JSON path, text, breakpoint lifetime) of every piece of a message."""
    if not isinstance(message, dict):
        yield path, message if isinstance(message, str) else _dump(message), None
        return
    inner = path if path.startswith(("$.system", "$.instructions", "(")) else f"{path}.content"
    content = message.get("content")
    if isinstance(content, str):
        yield inner, content, _breakpoint(message)
    for at, part in enumerate(_list(content)):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield f"{inner}[{at}].text", part["text"], _breakpoint(part)
        elif isinstance(part, dict) and isinstance(part.get("thinking"), str):
            yield f"{inner}[{at}].thinking", part["thinking"], _breakpoint(part)
        else:
            yield f"{inner}[{at}]", _shown(part), _breakpoint(part)
    for name in ("reasoning_content", "tool_calls", "function_call"):
        if message.get(name):
            value = message[name]
            yield f"{path}.{name}", value if isinstance(value, str) else _dump(value), None
    if "content" not in message and not any(k in message for k in ("tool_calls", "role")):
        yield path, _dump(message), _breakpoint(message)  # an item of the responses API


def _shown(part: Any) -> str:
    """A part as text; binary data stands there as its hash, since its tokens are not text."""
    if isinstance(part, dict) and str(part.get("type", "")).startswith(("image", "input_image")):
        return f"[image {hash64(sorted_json(part)):016x}]"
    return part if isinstance(part, str) else _dump(part)


def _dump(value: Any) -> str:
    """JSON in the order of the log, without marks for the provider's cache."""
    if isinstance(value, dict) and "cache_control" in value:
        value = {k: v for k, v in value.items() if k != "cache_control"}
    return orjson.dumps(value).decode()


def _breakpoint(part: Any) -> float | None:
    mark = part.get("cache_control") if isinstance(part, dict) else None
    if not isinstance(mark, dict):
        return None
    return 3600.0 if mark.get("ttl") == "1h" else 300.0


def _settings(request: dict[str, Any], names: tuple[str, ...], before: int) -> Iterator[Setting]:
    for name in names:
        if request.get(name) is not None:
            yield Setting(f"$.{name}", before, sorted_json(request[name]))


def _document_settings(
    request: dict[str, Any], messages: list[Any], before: int
) -> Iterator[Setting]:
    """Web search and citations: switched in a tool or a document, but felt from the system on."""
    search = [t for t in _list(request.get("tools")) if _is_search(t)]
    if search:
        yield Setting("$.tools[type=web_search]", before, sorted_json(search))
    for message in messages:
        for part in _list(message.get("content")) if isinstance(message, dict) else ():
            if isinstance(part, dict) and (part.get("citations") or {}).get("enabled"):
                yield Setting("$.messages[*].content[*].citations", before, b"true")
                return


def _turns(request: dict[str, Any]) -> tuple[str, list[Any]] | None:
    if isinstance(request.get("messages"), list):
        return "messages", request["messages"]
    given = request.get("input")
    if isinstance(given, str):
        return "input", [{"role": "user", "content": given}]
    return ("input", given) if isinstance(given, list) else None


def _first(segments: tuple[Segment, ...], part: str) -> int:
    """Index of the first segment of a part, or where it would stand."""
    order = ("tools", "system", "messages")
    rank = order.index(part)
    return next((at for at, s in enumerate(segments) if order.index(s.part) >= rank), len(segments))


def _is_search(tool: Any) -> bool:
    return isinstance(tool, dict) and str(tool.get("type", "")).startswith(
        ("web_search", "web_fetch")
    )


def _is_call(message: Any) -> bool:
    return isinstance(message, dict) and str(message.get("type", "")).endswith(
        ("_call", "reasoning")
    )


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
