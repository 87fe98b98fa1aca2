"""Where two prompts part: the first token (or setting) that differs, its JSON path and what stands
around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.audit.prompt import Prompt, Segment, Setting
from evaluation.audit.tokens import Tokenizer, Tokens

_SHOWN_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference of b against a. `token` is the index of the first differing token id.

    `setting` names the setting when no token differs there but a hidden value does; then `token` is
    the first token that it spoils. `at_a` / `at_b` are indices of the segments that hold the token
    (their number where a prompt ends there).
    """

    token: int
    at_a: int
    at_b: int
    setting: str | None = None


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The decoded text around a divergence: what both share in front, then how each goes on."""

    path_a: str
    path_b: str
    before: str
    after_a: str
    after_b: str
    token_a: int | None
    token_b: int | None


def first_difference(a: Prompt, b: Prompt) -> Divergence | None:
    """The first difference, or None when one prompt is a prefix of the other."""
    shorter = min(len(a.tokens), len(b.tokens))
    unequal = np.flatnonzero(a.tokens[:shorter] != b.tokens[:shorter])
    token = int(unequal[0]) if len(unequal) else shorter
    setting = _first_setting(a, b)
    if setting is not None and setting[0] <= token:
        at, path = setting
        return Divergence(at, _segment_at(a, at), _segment_at(b, at), path)
    if not len(unequal):
        return None
    return Divergence(token, _segment_at(a, token), _segment_at(b, token))


def shared_tokens(a: Prompt, b: Prompt) -> int:
    """Length of the common prefix in tokens, hidden settings considered."""
    found = first_difference(a, b)
    return found.token if found else min(len(a.tokens), len(b.tokens))


def neighbourhood(a: Prompt, b: Prompt, found: Divergence, tokenizer: Tokenizer) -> Neighbourhood:
    """The decoded surroundings of a divergence; the start of a word is kept where tokens cut it."""
    t = found.token
    return Neighbourhood(
        _path(a, found.at_a, found.setting),
        _path(b, found.at_b, found.setting),
        tokenizer.decode(a.tokens[max(0, t - _SHOWN_TOKENS) : t]),
        _shown(a, found, tokenizer),
        _shown(b, found, tokenizer),
        _token(a.tokens, t),
        _token(b.tokens, t),
    )


def setting_value(prompt: Prompt, path: str) -> Setting | None:
    """The setting at a path, or None where the request does not give it."""
    return next((s for s in prompt.settings if s.path == path), None)


def segment(prompt: Prompt, at: int) -> Segment | None:
    """The segment at an index, or None behind the end."""
    return prompt.segments[at] if at < len(prompt.segments) else None


def _first_setting(a: Prompt, b: Prompt) -> tuple[int, str] | None:
    """(first token it spoils, path) of the foremost setting that only one has, or both
    differently."""
    mine = {s.path: s for s in a.settings}
    theirs = {s.path: s for s in b.settings}
    differing = []
    for path in mine.keys() | theirs.keys():
        x, y = mine.get(path), theirs.get(path)
        if x is None or y is None or x.value != y.value:
            starts = [p.starts[s.before] for p, s in ((a, x), (b, y)) if s is not None]
            differing.append((min(starts), path))
    return min(differing, default=None)


def _segment_at(prompt: Prompt, token: int) -> int:
    """Index of the segment that holds a token; empty segments hold none."""
    return int(np.searchsorted(np.asarray(prompt.starts[1:]), token, side="right"))


def _path(prompt: Prompt, at: int, setting: str | None) -> str:
    if setting is not None:
        return setting
    here = segment(prompt, at)
    return here.path if here else "(end of the prompt)"


def _shown(prompt: Prompt, found: Divergence, tokenizer: Tokenizer) -> str:
    if found.setting is not None:
        setting = setting_value(prompt, found.setting)
        return setting.value.decode("utf-8", "replace")[:200] if setting else "(not given)"
    return tokenizer.decode(prompt.tokens[found.token : found.token + _SHOWN_TOKENS])


def _token(tokens: Tokens, at: int) -> int | None:
    return int(tokens[at]) if at < len(tokens) else None
