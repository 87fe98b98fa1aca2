"""Decides whether a request may be answered by meaning at all, whatever is stored.

Four kinds of request must not be: those whose answer passes with time, those whose answer depends
on the asker's own data, those that act on something, and those that ask for a fresh invention.
A question *how to* do any of this has one answer for all askers and stays eligible.
Rules for English and Chinese; a line may switch each rule and add patterns of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import regex

from service.eligibility import chinese, english
from service.visible import is_blank

RULES: dict[str, str] = {
    "acting": "The request acts on something: cancel my order, set an alarm, 帮我取消订单.",
    "personal": "The answer depends on the asker's own data: my balance, where is my order, 我的余额.",
    "creative": "The request wants a fresh invention: write a poem, surprise me, 讲个笑话.",
    "volatile": "The answer passes with time: today, latest, weather, prices, 现在, 最新.",
}
"""Every rule that can be switched, with a sentence on what it holds back, in the order asked."""
ALL = frozenset(RULES)
MAX_PATTERN_CHARS = 200
MAX_PATTERNS = 50
MATCH_TIMEOUT_S = 0.005
"""An added pattern that runs longer than this counts as a match: better a miss than a slow lookup."""
_END_CHARS = 300
"""Of a longer text only both ends are looked at: the request stands there, the middle is material."""


_ENGLISH_WORD = regex.compile(r"[A-Za-z]{2}")
_CHINESE = regex.compile(r"[\u4e00-\u9fff]")
_UNSEEN = regex.compile(r"[\p{Format}\p{Variation_Selector}]+")
"""Inside a word they would hide it from the rules, not from the model."""
_ENGLISH = {
    "volatile": english.volatile,
    "personal": english.personal,
    "acting": english.acting,
    "creative": english.creative,
}
_IN_CHINESE = {
    "volatile": chinese.volatile,
    "personal": chinese.personal,
    "acting": chinese.acting,
    "creative": chinese.creative,
}


@dataclass(frozen=True, slots=True)
class Ineligible:
    """Why a request is not reused by meaning: a rule's name (or "blank"), and the words seen.

    Chinese words are named as the rules read them: in simplified characters, standard words for regional ones.
    """

    reason: str
    detail: str


def classify(
    text: str,
    *,
    enabled: frozenset[str] = ALL,
    extra: Mapping[str, Iterable[str]] | None = None,
) -> Ineligible | None:
    """The first reason not to reuse an answer to this text by meaning, or None.

    `extra` holds a line's own patterns by rule name; run them through `check_patterns` when they
    are set.
    """
    if is_blank(text):
        return Ineligible("blank", "nothing of the text can be seen")
    ends = _ends(text)
    at = english.read(ends) if _ENGLISH_WORD.search(ends) else None
    in_chinese = chinese.read(ends) if _CHINESE.search(ends) else None
    for reason in RULES:
        if reason not in enabled:
            continue
        seen = _ENGLISH[reason](at) if at else None
        if seen is None and in_chinese is not None:
            seen = _IN_CHINESE[reason](in_chinese)
        if seen is None and extra and reason in extra:
            seen = _extra_seen(tuple(extra[reason]), ends)
        if seen is not None:
            return Ineligible(reason, seen.strip(" ,.:")[:80])
    return None


def check_patterns(patterns: Mapping[str, Iterable[str]]) -> None:
    """Check a line's own patterns.

    Raises ValueError that names the rule and what is wrong: unknown rule, too many or too long
    patterns, a pattern that does not compile, or one that matches the empty text.
    """
    for rule, given in patterns.items():
        if rule not in RULES:
            raise ValueError(f"unknown rule {rule!r}; known are {', '.join(RULES)}")
        rows = list(given)
        if len(rows) > MAX_PATTERNS:
            raise ValueError(f"{rule}: {len(rows)} patterns, at most {MAX_PATTERNS} are allowed")
        for row in rows:
            if len(row) > MAX_PATTERN_CHARS:
                raise ValueError(
                    f"{rule}: a pattern has {len(row)} characters, at most {MAX_PATTERN_CHARS}"
                )
            try:
                compiled = _compiled(row)
            except regex.error as error:
                raise ValueError(f"{rule}: {row!r} is no valid pattern: {error}") from error
            if compiled.search("", timeout=MATCH_TIMEOUT_S):
                raise ValueError(
                    f"{rule}: {row!r} matches the empty text, so it would match every request"
                )


def _ends(text: str) -> str:
    if not text.isascii():
        text = _UNSEEN.sub("", text)
    flat = " ".join(text.replace("’", "'").split())
    if len(flat) > 2 * _END_CHARS:
        flat = f"{flat[:_END_CHARS]} … {flat[-_END_CHARS:]}"
    return flat


@lru_cache(1024)
def _compiled(pattern: str) -> "regex.Pattern[str]":
    return regex.compile(pattern, regex.I)


def _extra_seen(patterns: tuple[str, ...], text: str) -> str | None:
    for pattern in patterns:
        try:
            found = _compiled(pattern).search(text, timeout=MATCH_TIMEOUT_S)
        except TimeoutError:
            return f"pattern took too long: {pattern}"[:80]
        if found:
            return str(found.group())[:80]
    return None
