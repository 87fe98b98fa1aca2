"""Decides whether two Chinese texts are one, but for a character typed by its sound (打应机 for 打印机)."""

from functools import lru_cache

from service.guards import han
from service.guards.lexicon import chinese as zh
from service.guards.lexicon.sounds import is_word, sound_alike

_LONGEST_WORD = 4
_MARKS = str.maketrans("", "", " ，。？！、；：,.?!;:")


def differ_by_a_slip(left: str, right: str) -> bool:
    """Whether one character tells two texts apart, both sound alike, and only one of them makes a word.

    Of two words (权利, 权力) neither is a slip; a character of a name, which makes no word in either text,
    is none either.
    """
    if len(left) > _LONGEST or len(right) > _LONGEST:
        return False
    left, right = left.translate(_MARKS), right.translate(_MARKS)
    if len(left) != len(right):
        return False
    places = [at for at, (mine, yours) in enumerate(zip(left, right, strict=True)) if mine != yours]
    if len(places) != 1 or not sound_alike(left[places[0]], right[places[0]]):
        return False
    (at,) = places
    return _makes_word(left, at) != _makes_word(right, at)


_LONGEST = 200
"""Characters of a text that is compared for slips."""


@lru_cache(8192)
def _makes_word(text: str, at: int) -> bool:
    """Whether a word of two characters or more covers the place."""
    return any(
        is_word(text[start:end]) or text[start:end] in han.groups() or text[start:end] in zh.MODERN
        for start in range(max(0, at - _LONGEST_WORD + 1), at + 1)
        for end in range(max(at + 1, start + 2), min(len(text), start + _LONGEST_WORD) + 1)
    )
