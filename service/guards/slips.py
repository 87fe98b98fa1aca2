"""Decides which English words are known, and which are slips of the pen of others."""

from functools import lru_cache

from rapidfuzz.distance import DamerauLevenshtein

from service.guards.inflections import inflection, kept, stem
from service.guards.lexicon import english as en
from service.guards.lexicon.wordnet import is_word, wordnet
from service.guards.words import are_opposite


@lru_cache(20_000)
def may_be_slip(word: str) -> bool:
    """Whether a word can be a slip of another: no word at all, or a rare one."""
    return len(word) > 2 and word.isalpha() and (not _known(word) or word in wordnet().rare)


@lru_cache(20_000)
def mistyped(left: str, right: str) -> bool:
    """Whether one of two words is a slip of the other: near in letters, and not a word itself."""
    if (
        are_opposite(left, right)
        or min(len(left), len(right)) < 3
        or not (left.isalpha() and right.isalpha())
    ):
        return False
    known_left, known_right = _known(left), _known(right)
    if known_left == known_right:
        return known_left and _slip_to_rare(left, right)
    longest = max(len(left), len(right))
    allowed = 1 if longest < 7 else 2
    return DamerauLevenshtein.distance(left, right, score_cutoff=allowed) <= allowed


def _slip_to_rare(left: str, right: str) -> bool:
    """Whether one letter too few or two exchanged make a rare word of a common one (wether)."""
    rare = wordnet().rare
    if (left in rare) == (right in rare) or min(len(left), len(right)) < 5:
        return False
    slip = left if left in rare else right
    meant = right if slip == left else left
    if slip[0] != meant[0] or inflection(slip).lemma != slip:
        return False
    dropped = len(slip) + 1 == len(meant)
    swapped = len(slip) == len(meant) and sorted(slip) == sorted(meant)
    return (dropped or swapped) and DamerauLevenshtein.distance(left, right) == 1


@lru_cache(20_000)
def _known(word: str) -> bool:
    lemma = inflection(word).lemma
    if is_word(word) or word in kept() or is_word(lemma) or lemma in kept():
        return True
    base = stem(word)
    if base != word and (is_word(base) or is_word(base + "e")):
        return True
    bare = next(
        (word[len(p) :] for p in ("un", "re", "pre", "non", "de") if word.startswith(p)), ""
    )
    return len(bare) > 3 and (is_word(bare) or is_word(inflection(bare).lemma))


def known(word: str) -> bool:
    """Whether the word is in the dictionary or in our lists, in any inflection."""
    return _known(word)


_SHORTEST_SMALL = 3
"""Letters of a small word, of which two may be exchanged (teh)."""


@lru_cache(20_000)
def slip_of_small_word(word: str) -> bool:
    """Whether an unknown word is a slip of a small word that carries no content ("wher")."""
    if len(word) == _SHORTEST_SMALL:
        return any(
            word[0] == small[0] and sorted(word) == sorted(small)
            for small in en.FUNCTION
            if len(small) == len(word)
        )
    return len(word) >= 4 and any(
        len(small) >= 4
        and small[0] == word[0]
        and DamerauLevenshtein.distance(word, small, score_cutoff=1) <= 1
        for small in en.FUNCTION
    )
