"""Finding a short value that changed inside an otherwise equal text: where it ends on both sides,
and what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from evaluation.audit.prompt import Segment
from evaluation.audit.tokens import Tokenizer, Tokens
from evaluation.audit.volatile import PATTERN

VariableKind = Literal["timestamp", "id", "name", "value"]

MAX_VALUE_TOKENS = 64
"""A longer change is other text, not a value in a template."""

RESUME_TOKENS = 16
"""Equal tokens that show the template going on behind the value: one block."""

_NAME_BEFORE = re.compile(
    r"(?:user|name|customer|client|account|member|hello|hi|dear|help(?:ing|s)?|assist(?:ing)?|with|for|"
    r"用户|姓名|客户|你好|您好)\W{0,4}(?:is|are|called|:|：)?\W{0,3}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A changed value: its tokens in a and in b, counted from the first that differs, and its
    kind."""

    tokens_a: int
    tokens_b: int
    kind: VariableKind


def find_value(a: Segment, b: Segment, offset: int, tokenizer: Tokenizer) -> Value | None:
    """The value that starts at token `offset` of two segments, or None when the texts just
    differ."""
    spans = _resume(a.tokens[offset:], b.tokens[offset:])
    if spans is None:
        return None
    return Value(*spans, _kind(a, b, offset, spans, tokenizer))


def _resume(a: Tokens, b: Tokens) -> tuple[int, int] | None:
    """How many tokens to skip on both sides until they go on alike; the fewest in sum.

    Alike means RESUME_TOKENS equal tokens, or equal to the end of both.
    """
    rest_a, rest_b = a.tolist(), b.tolist()
    places: dict[tuple[int, ...], int] = {}
    for at in range(min(MAX_VALUE_TOKENS, len(rest_b)) + 1):
        places.setdefault(tuple(rest_b[at : at + RESUME_TOKENS]), at)
    best: tuple[int, int] | None = None
    for skipped in range(min(MAX_VALUE_TOKENS, len(rest_a)) + 1):
        run = tuple(rest_a[skipped : skipped + RESUME_TOKENS])
        place = places.get(run)
        if place is None:
            continue
        if len(run) < RESUME_TOKENS and len(rest_b) - place != len(run):
            continue
        if best is None or skipped + place < sum(best):
            best = (skipped, place)
    return best


def _kind(
    a: Segment, b: Segment, offset: int, spans: tuple[int, int], tokenizer: Tokenizer
) -> VariableKind:
    """What the value is, by its look and what stands in front of it; the two sides must agree."""
    kinds = []
    for side, span in zip((a, b), spans, strict=True):
        start = len(tokenizer.decode(side.tokens[:offset]))
        end = len(tokenizer.decode(side.tokens[: offset + span]))
        kinds.append(_kind_of(side.text, start, end))
    first, second = kinds
    return first if first == second else "value"


def _kind_of(text: str, start: int, end: int) -> VariableKind:
    window = max(0, start - 80)
    for match in PATTERN.finditer(text, window, min(len(text), end + 80)):
        if match.start() < max(end, start + 1) and match.end() > start:
            return "timestamp" if match.lastgroup == "timestamp" else "id"
    begin = start
    while begin > 0 and (text[begin - 1].isalnum() or text[begin - 1] in "-'."):
        begin -= 1
    if _NAME_BEFORE.search(text[max(0, begin - 40) : begin]) and not text[begin:end].isdigit():
        return "name"
    return "value"
