"""Retrieved documents inside a message: told apart, compared as sets, and what another order would
regain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.audit.prompt import Prompt, Segment
from evaluation.audit.tokens import Tokenizer

RECOMPUTED_SHARE = 0.15
"""Share of a chunk's tokens that position-independent reuse computes again to repair attention
across chunks. Yao et al., 2025, "CacheBlend: Fast Large Language Model Serving for RAG with Cached
Knowledge Fusion" (EuroSys) reports 5 to 18 % at equal quality; this is a round figure of that
range."""

_TAGGED = re.compile(
    r"<(document|doc|source|passage|chunk|result|context)\b[^>]*>.*?</\1\s*>\s*", re.S | re.I
)
_NUMBER = re.compile(
    r"\A\s*(?:\[\d+\]|\(\d+\)|\d+[.)]|(?:Document|Source|Passage|Chunk|文档|资料)\s*\[?\d+\]?\s*[:：.-]?)\s*",
    re.I,
)
_INDEX = re.compile(r"\A(\s*<\w+\b[^>]*?)\s+(?:index|position|rank|n)=([\"']?)\d+\2", re.I)
_ID = re.compile(r"""(?:\bid|doc_id|source|title|url)\s*[=:]\s*["']?([^"'\s>,]+)""", re.I)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One document: its words without its position number, its id (or its words), its tokens."""

    key: str
    sort_key: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Reordering:
    """Documents that both prompts hold in another order.

    `sorted_tokens`: tokens of the common front when both are sorted by document id. `chunk_tokens`:
    tokens of all common documents that position-independent reuse would not compute again.
    """

    is_same_set: bool
    sorted_tokens: int
    chunk_tokens: int


def message_segments(prompt: Prompt, at: int) -> tuple[int, int]:
    """Range of the segments of the message (or system field) that segment `at` belongs to."""
    here = prompt.segments[at]

    def same(other: Segment) -> bool:
        return (
            other.part == here.part
            and other.message == here.message
            and other.is_markup == here.is_markup
        )

    start = end = at
    while start > 0 and same(prompt.segments[start - 1]):
        start -= 1
    while end < len(prompt.segments) and same(prompt.segments[end]):
        end += 1
    return start, end


def find_reordering(
    a: Sequence[Segment], b: Sequence[Segment], tokenizer: Tokenizer
) -> Reordering | None:
    """What happened to the documents of one message, or None when their order did not change."""
    mine, theirs = _chunks(a, tokenizer), _chunks(b, tokenizer)
    common = {c.key for c in mine} & {c.key for c in theirs}
    order_a = [c.key for c in mine if c.key in common]
    order_b = [c.key for c in theirs if c.key in common]
    if len(common) < 2 or order_a == order_b:
        return None
    reused = [c for c in theirs if c.key in common]
    return Reordering(
        sorted(order_a) == sorted(c.key for c in mine) and len(mine) == len(theirs),
        _common_front(sorted(mine, key=_by_id), sorted(theirs, key=_by_id)),
        round(sum(c.tokens for c in reused) * (1 - RECOMPUTED_SHARE)),
    )


def _by_id(chunk: Chunk) -> tuple[str, str]:
    return chunk.sort_key, chunk.key


def _common_front(a: Sequence[Chunk], b: Sequence[Chunk]) -> int:
    tokens = 0
    for x, y in zip(a, b, strict=False):
        if x.key != y.key:
            break
        tokens += y.tokens
    return tokens


def _chunks(segments: Sequence[Segment], tokenizer: Tokenizer) -> list[Chunk]:
    texts = [s.text for s in segments]
    if len(texts) == 1:
        tagged = [m.group() for m in _TAGGED.finditer(texts[0])]
        texts = tagged if len(tagged) > 1 else re.split(r"(?<=\n)\n+", texts[0])
    chunks = []
    for text in texts:
        key = _NUMBER.sub("", _INDEX.sub(r"\1", text)).strip()
        if not key:
            continue
        named = _ID.search(text)
        chunks.append(
            Chunk(key, named.group(1) if named else key, text, len(tokenizer.encode(text)))
        )
    return chunks
