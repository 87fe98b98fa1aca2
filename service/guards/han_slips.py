"""Decides whether two Chinese texts are one, but for a character typed by its sound (打应机 for 打印机)."""

from functools import lru_cache

from service.guards import han
from service.guards.lexicon import chinese as zh
from service.guards.lexicon.sounds import is_word, sound_alike

_LONGEST_WORD = 4
_MARKS = str.maketrans("", "", " ，。？！、；：,.?!;:")


def differ_by_a_slip(left: str, right: str) -> bool:
    """Whether one character tells two texts apart, both sound alike, and only one of them makes a word.

    Also where two characters have changed places, or one is typed twice.

    Of two words (权利, 权力) neither is a slip; a character of a name, which makes no word in either text,
    is none either.
    """
    if len(left) > _LONGEST or len(right) > _LONGEST:
        return False
    left, right = left.translate(_MARKS), right.translate(_MARKS)
    if len(left) != len(right):
        return _is_doubled(left, right)
    places = [at for at, (mine, yours) in enumerate(zip(left, right, strict=True)) if mine != yours]
    if len(places) == _EXCHANGED:
        return _are_exchanged(left, right, *places)
    if len(places) != 1 or not sound_alike(left[places[0]], right[places[0]]):
        return False
    (at,) = places
    return _makes_word(left, at) != _makes_word(right, at)


def _is_doubled(left: str, right: str) -> bool:
    """Whether one text has a character twice in a row that the other has once; numerals count."""
    short, long = sorted((left, right), key=len)
    if len(long) != len(short) + 1:
        return False
    at = next((at for at, char in enumerate(short) if char != long[at]), len(short))
    return (
        short[:at] + long[at] + short[at:] == long
        and at > 0
        and long[at] == long[at - 1]
        and long[at] not in _COUNTS
    )


def _are_exchanged(left: str, right: str, first: int, second: int) -> bool:
    """Whether two characters that stand side by side change places, and only one order makes words."""
    if second != first + 1 or left[first] != right[second] or left[second] != right[first]:
        return False
    made = [_long_word(text, first) for text in (left, right)]
    none = [not any(_makes_word(text, at) for at in (first, second)) for text in (left, right)]
    return (made[0] and none[1]) or (made[1] and none[0])


def _long_word(text: str, at: int) -> bool:
    """Whether a word of three characters or more covers this place and the next; of two, both orders may be names."""
    return any(
        _is_word(text[start:end])
        for start in range(max(0, at - _LONGEST_WORD + 2), at + 1)
        for end in range(max(at + 2, start + 3), min(len(text), start + _LONGEST_WORD) + 1)
    )


def _is_word(run: str) -> bool:
    return is_word(run) or run in han.groups() or run in zh.MODERN


_EXCHANGED = 2
_COUNTS = frozenset("零一二三四五六七八九十百千万0123456789")
_LONGEST = 200
"""Characters of a text that is compared for slips."""


@lru_cache(8192)
def _makes_word(text: str, at: int) -> bool:
    """Whether a word of two characters or more covers the place."""
    return any(
        _is_word(text[start:end])
        for start in range(max(0, at - _LONGEST_WORD + 1), at + 1)
        for end in range(max(at + 1, start + 2), min(len(text), start + _LONGEST_WORD) + 1)
    )
