"""Decides how Chinese runs are cut into words, and which Chinese words are synonyms or opposites."""

from collections.abc import Set
from functools import cache

from service.guards import quantity as q
from service.guards.lexicon import chinese as zh
from service.guards.lexicon.choices import choices
from service.guards.lexicon.common_chinese import common_words
from service.guards.lexicon.lists import mates, opposite_pairs, opposites_by_word, synonym_groups
from service.guards.text import Token


def groups() -> dict[str, frozenset[int]]:
    """Word to the numbers of the synonym lines it stands in."""
    return synonym_groups("zh")


def line_mates(word: str) -> tuple[str, ...]:
    """Words that share a synonym line with this one."""
    return mates("zh", word)


def opposites() -> frozenset[tuple[str, str]]:
    """Pairs of opposite words, both ways round."""
    return opposite_pairs("zh")


def opposites_of(word: str) -> frozenset[str]:
    """Opposites of a word."""
    return opposites_by_word("zh").get(word, frozenset())


@cache
def kinds() -> dict[str, int]:
    """Word to the number of the line of `KINDS` that it, or a synonym of it, stands in."""
    table: dict[str, int] = {}
    for number, line in enumerate(zh.KINDS.strip().splitlines()):
        for word in line.split():
            table |= dict.fromkeys((word, *line_mates(word)), number)
    return table


@cache
def opposite_words() -> frozenset[str]:
    """Words that stand in a pair of opposites."""
    return frozenset(word for pair in opposites() for word in pair)


@cache
def _vocabulary() -> tuple[frozenset[str], int]:
    words = {
        *zh.FUNCTION, *zh.LIGHT, *zh.NOT_NEGATION, *zh.NEGATORS, *zh.QUANTIFIERS, *zh.STATES,
        *(name for name in choices() if not name.isascii()),
        *zh.EXTRA_WORDS, *zh.ROLES, *kinds(), *zh.NARROWING, *zh.OFFERING, *zh.DISHES, *zh.LEXICAL_NEGATIVES, *zh.TROUBLE, *zh.LABELS, *(word for pair in opposites() for word in pair),
        *(name for name in [*q.UNITS, *q.CURRENCIES] if not name.isascii()), "点钟", "月份", "个",
    }  # fmt: skip
    known = words | groups().keys()
    words |= {word for word in groups() if len(word) < _COMPOUND or not _is_compound(word, known)}
    return frozenset(words), max(map(len, words))


_COMPOUND = 4
"""A word of so many characters that is made of known words is left to `matching`, which joins them again:
cut as one it would hide its parts from the other text."""


def _is_compound(word: str, known: Set[str]) -> bool:
    """Whether the word is made of known words of two characters or more."""
    return any(
        word[:at] in known and (word[at:] in known or _is_compound(word[at:], known))
        for at in range(2, len(word) - 1)
    )


@cache
def small_words() -> frozenset[str]:
    """Words that name no thing and no deed by themselves."""
    return frozenset(
        {
            *zh.FUNCTION,
            *zh.LIGHT,
            *zh.NEGATORS,
            *zh.QUANTIFIERS,
            *zh.STATES,
            *q.UNITS,
            *q.CURRENCIES,
        }
    )


def cut(token: Token) -> list[Token]:
    """Cut a run of Han characters at the longest known words; unknown characters stand alone."""
    words, longest = _vocabulary()
    run, at, out = token.text, 0, []
    while at < len(run):
        size = next(
            (
                size
                for size in range(min(longest, len(run) - at), 1, -1)
                if run[at : at + size] in words
            ),
            1,
        )
        if size == 1 and run[at] not in words and run[at : at + 2] in common_words():
            out.append(Token("han", run[at], run[at], token.start + at))
            at += 1  # no word begins within a common one (项目的 is not 项 目的)
        piece = run[at : at + size]
        out.append(Token("han", piece, piece, token.start + at))
        at += size
    return out
