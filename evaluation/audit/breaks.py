"""Why does the prefix break between two requests, and how many tokens does each cause cost?

Method: find the first difference, recognise its cause, mend it in a copy of the second prompt, and
look how much further the two then agree. What is gained is what the cause cost. Then go on with the
next difference, until the prompts part because the question is another one.

Tokens lost are tokens of the second prompt that stand behind the break and would have been reused.
The changed value itself (a timestamp, another tool list) is not counted: it has to be computed
anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import orjson

from evaluation.audit.causes import MENDING, Cause
from evaluation.audit.divergence import (
    Divergence,
    Neighbourhood,
    first_difference,
    neighbourhood,
    setting_value,
    shared_tokens,
)
from evaluation.audit.documents import find_reordering, message_segments
from evaluation.audit.hashing import sorted_json
from evaluation.audit.prompt import DEFAULT_SYSTEM_PATH, Prompt, Segment
from evaluation.audit.tokens import Tokenizer
from evaluation.audit.variables import RESUME_TOKENS, find_value

MAX_BREAKS = 16
"""Breaks looked for between two prompts."""

_VALUE_CAUSES = {
    "timestamp": Cause.TIMESTAMP,
    "id": Cause.ID,
    "name": Cause.NAME,
    "value": Cause.VALUE,
}


@dataclass(frozen=True, slots=True)
class Break:
    """One cause between two prompts. `token` is the index of the first token that it spoils.

    For documents in another order, `sorted_tokens` is what sorting by document id would regain and
    `chunk_tokens` what position-independent reuse of chunks would.
    """

    cause: Cause
    token: int
    lost_tokens: int
    where: Neighbourhood
    mending: str
    sorted_tokens: int | None = None
    chunk_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Mend:
    """A copy of the second prompt without one cause; None when nothing can be said about what
    follows."""

    cause: Cause
    mended: Prompt | None
    own_tokens: int = 0
    lost_tokens: int | None = None
    sorted_tokens: int | None = None
    chunk_tokens: int | None = None


def find_breaks(
    a: Prompt,
    b: Prompt,
    tokenizer: Tokenizer,
    *,
    same_conversation: bool | None = None,
    min_lost_tokens: int = RESUME_TOKENS,
) -> tuple[Break, ...]:
    """The causes that keep b from reusing more of a, in the order of the prompt.

    `same_conversation` says whether b should go on where a ended; None finds out by the messages.
    Causes that cost less than `min_lost_tokens` (one block) are left out: nothing could be reused.
    """
    if same_conversation is None:
        same_conversation = is_same_conversation(a, b)
    breaks = []
    for _ in range(MAX_BREAKS):
        found = first_difference(a, b)
        mend = _mend(a, b, found, tokenizer, same_conversation) if found else None
        if found is None or mend is None:
            break
        lost = mend.lost_tokens
        if lost is None:
            assert mend.mended is not None  # noqa: S101 # a mend without a prompt brings its own count
            lost = max(0, shared_tokens(a, mend.mended) - found.token - mend.own_tokens)
        if lost >= min_lost_tokens:
            where = neighbourhood(a, b, found, tokenizer)
            breaks.append(
                Break(
                    mend.cause,
                    found.token,
                    lost,
                    where,
                    MENDING[mend.cause],
                    mend.sorted_tokens,
                    mend.chunk_tokens,
                )
            )
        if mend.mended is None:
            break
        b = mend.mended
    return tuple(breaks)


def is_same_conversation(a: Prompt, b: Prompt) -> bool:
    """True when b holds a message of the user that a holds too, besides its last one."""
    last = _last_turn(b)
    earlier = {s.text for s in b.segments[:last] if s.role == "user" and not s.is_markup}
    return any(s.text in earlier for s in a.segments if s.role == "user" and not s.is_markup)


def _mend(
    a: Prompt, b: Prompt, found: Divergence, tokenizer: Tokenizer, same_conversation: bool
) -> _Mend | None:
    if found.setting is not None:
        return _mend_setting(a, b, found.setting)
    if found.at_a >= len(a.segments) or found.at_b >= len(b.segments):
        return None
    part = min(
        (p.segments[at].part for p, at in ((a, found.at_a), (b, found.at_b))),
        key=lambda part: _RANK[part],
    )
    steps: list[Callable[[], _Mend | None]] = [
        lambda: _mend_tools(a, b) if part == "tools" else None,
        lambda: _mend_missing_system(a, b) if part == "system" else None,
        lambda: _mend_json(a, b, found),
        lambda: _mend_documents(a, b, found, tokenizer),
        lambda: _mend_value(a, b, found, tokenizer, same_conversation),
        lambda: _mend_part(a, b, found, "tools", Cause.TOOLS_CHANGED) if part == "tools" else None,
        lambda: (
            _mend_part(a, b, found, "system", Cause.SYSTEM_CHANGED) if part == "system" else None
        ),
        lambda: _mend_history(b, found) if same_conversation else None,
    ]
    return next((mend for step in steps if (mend := step()) is not None), None)


_RANK = {"tools": 0, "system": 1, "messages": 2}


def _mend_setting(a: Prompt, b: Prompt, path: str) -> _Mend:
    others = tuple(s for s in b.settings if s.path != path)
    wanted = setting_value(a, path)
    given = setting_value(b, path)
    if wanted is not None:
        # where b stands if it has the setting, else in front of the same part as in a
        before = (
            given.before
            if given
            else Prompt(a.segments, (wanted,)).with_segments(b.segments).settings[0].before
        )
        others += (replace(wanted, before=before),)
    cause = Cause.MODEL if path == "$.model" else Cause.SETTING
    return _Mend(cause, Prompt(b.segments, others))


def _mend_tools(a: Prompt, b: Prompt) -> _Mend | None:
    mine, theirs = (
        [s.text for s in p.segments if s.part == "tools" and not s.is_markup] for p in (a, b)
    )
    mended = _with_part(a, b, "tools")
    if Counter(mine) == Counter(theirs):
        return _Mend(Cause.TOOLS_REORDERED, mended)
    if Counter(map(_canonical, mine)) == Counter(map(_canonical, theirs)):
        return _Mend(Cause.JSON_RESERIALISED, mended)
    return None


def _mend_missing_system(a: Prompt, b: Prompt) -> _Mend | None:
    given = [
        any(s.part == "system" and not s.path.startswith(DEFAULT_SYSTEM_PATH) for s in p.segments)
        for p in (a, b)
    ]
    if given[0] == given[1]:
        return None
    return _Mend(Cause.SYSTEM_MISSING, _with_part(a, b, "system"))


def _mend_json(a: Prompt, b: Prompt, found: Divergence) -> _Mend | None:
    x, y = a.segments[found.at_a], b.segments[found.at_b]
    if x.text == y.text or x.text[:1] not in ("{", "[") or _canonical(x.text) != _canonical(y.text):
        return None
    return _Mend(Cause.JSON_RESERIALISED, _with_range(b, found.at_b, found.at_b + 1, (x,)))


def _mend_documents(a: Prompt, b: Prompt, found: Divergence, tokenizer: Tokenizer) -> _Mend | None:
    x, y = a.segments[found.at_a], b.segments[found.at_b]
    if x.is_markup or y.is_markup or (x.part, x.role) != (y.part, y.role) or x.part == "tools":
        return None
    range_a, range_b = message_segments(a, found.at_a), message_segments(b, found.at_b)
    mine, theirs = a.segments[slice(*range_a)], b.segments[slice(*range_b)]
    order = find_reordering(mine, theirs, tokenizer)
    if order is None:
        return None
    shared = found.token - b.starts[range_b[0]]
    return _Mend(
        Cause.DOCUMENTS,
        _with_range(b, *range_b, mine) if order.is_same_set else None,
        lost_tokens=None if order.is_same_set else max(0, order.sorted_tokens - shared),
        sorted_tokens=max(0, order.sorted_tokens - shared),
        chunk_tokens=max(0, order.chunk_tokens - shared),
    )


def _mend_value(
    a: Prompt, b: Prompt, found: Divergence, tokenizer: Tokenizer, same_conversation: bool
) -> _Mend | None:
    pair = _segments_with_value(a, b, found)
    if pair is None:
        return None
    x, at_b = pair
    y = b.segments[at_b]
    offset = found.token - b.starts[at_b]
    value = find_value(x, y, offset, tokenizer)
    if value is None:
        return None
    resumed = len(y.tokens) - offset - value.tokens_b
    is_question = y.part == "messages" and not (same_conversation and at_b < _last_turn(b))
    if is_question and resumed < RESUME_TOKENS:
        return None  # another question, not a value in a template
    tokens = np.concatenate(
        [x.tokens[: offset + value.tokens_a], y.tokens[offset + value.tokens_b :]]
    )
    mended = replace(y, tokens=tokens, text=tokenizer.decode(tokens))
    return _Mend(
        _VALUE_CAUSES[value.kind],
        _with_range(b, at_b, at_b + 1, (mended,)),
        own_tokens=value.tokens_a,
    )


def _mend_part(a: Prompt, b: Prompt, found: Divergence, part: str, cause: Cause) -> _Mend:
    rest = sum(
        max(0, min(len(s.tokens), start + len(s.tokens) - found.token))
        for s, start in zip(a.segments, a.starts, strict=False)
        if s.part == part
    )
    return _Mend(cause, _with_part(a, b, part), own_tokens=rest)


def _mend_history(b: Prompt, found: Divergence) -> _Mend | None:
    """Earlier turns differ: all that stands between here and the last turn is computed again."""
    lost = b.starts[_last_turn(b)] - found.token
    return _Mend(Cause.HISTORY, None, lost_tokens=lost) if lost > 0 else None


def _segments_with_value(a: Prompt, b: Prompt, found: Divergence) -> tuple[Segment, int] | None:
    """The text in a, and its place in b, that hold the differing token or end right before it."""
    for at_a in (found.at_a, found.at_a - 1):
        for at_b in (found.at_b, found.at_b - 1):
            if at_a < 0 or at_b < 0:
                continue
            x, y = a.segments[at_a], b.segments[at_b]
            if x.is_markup or y.is_markup or x.part != y.part or x.role != y.role:
                continue
            if a.starts[at_a] == b.starts[at_b]:
                return x, at_b
    return None


def _last_turn(prompt: Prompt) -> int:
    """Index of the first segment of the last message."""
    numbers = [s.message for s in prompt.segments if s.message is not None]
    last = max(numbers, default=0)
    return next(
        (at for at, s in enumerate(prompt.segments) if s.message == last), len(prompt.segments)
    )


def _with_part(a: Prompt, b: Prompt, part: str) -> Prompt:
    """b with one part taken from a."""
    pieces = {
        name: tuple(s for s in (a if name == part else b).segments if s.part == name)
        for name in _RANK
    }
    return b.with_segments((*pieces["tools"], *pieces["system"], *pieces["messages"]))


def _with_range(b: Prompt, start: int, end: int, segments: tuple[Segment, ...]) -> Prompt:
    return b.with_segments((*b.segments[:start], *segments, *b.segments[end:]))


def _canonical(text: str) -> bytes:
    try:
        return sorted_json(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text.encode()
