"""Decides which English words mean the same to an asker, and which are opposites."""

import re
from functools import cache, lru_cache

from service.guards.inflections import american, inflection, stem
from service.guards.lexicon import english as en
from service.guards.lexicon.lists import mates, opposite_pairs, opposites_by_word, synonym_groups
from service.guards.lexicon.wordnet import is_word, listed_opposites, share_sense, wordnet

NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")
_ADJECTIVE_ENDINGS = ("able", "ible", "ous", "ent", "ant", "ive", "al", "ful", "ic", "ate", "ect")


def groups() -> dict[str, frozenset[int]]:
    """Lemma to the numbers of the hand-written synonym lines it stands in."""
    return synonym_groups("en")


@cache
def phrase_heads() -> frozenset[str]:
    """First words of the phrases in the synonym lists."""
    return frozenset(word.split("_")[0] for word in groups() if "_" in word)


def opposites() -> frozenset[tuple[str, str]]:
    """Hand-written opposites, both ways round."""
    return opposite_pairs("en")


@cache
def hyphened() -> frozenset[str]:
    """Words written with a hyphen that our lists hold as one word."""
    listed = en.RESTRICTIVE | en.NARROWING | {word for pair in opposites() for word in pair}
    return frozenset(word for word in listed if "-" in word)


@lru_cache(50_000)
def same(left: str, right: str) -> bool:
    """Whether two lemmas mean the same for an asker: synonyms, spellings, derivations, short forms."""
    if left == right or american(left) == american(right) or listed_same(left, right):
        return True
    if are_opposite(left, right):
        return False
    return share_sense(left, right) or _derived(left, right) or shortened(left, right)


def listed_same(left: str, right: str) -> bool:
    """Whether two lemmas stand on one hand-written synonym line."""
    mine, yours = groups().get(left), groups().get(right)
    return bool(mine and yours and not mine.isdisjoint(yours))


@lru_cache(50_000)
def are_opposite(left: str, right: str) -> bool:
    """Whether two lemmas are opposites: listed, or one is the other with a negating prefix."""
    if (left, right) in opposites() or listed_opposites(left, right):
        return True
    if listed_same(left, right):
        return False
    if _negated_of(left, right) or _negated_of(right, left):
        return True
    return (
        _negates_kin(left, right)
        or _negates_kin(right, left)
        or _synonym_opposite(left, right)
        or _sense_opposite(left, right)
        or _sense_opposite(right, left)
    )


def _sense_opposite(left: str, right: str) -> bool:
    """Opposite through one usual sense that WordNet gives the right word (right, wrong, incorrect)."""
    return any(share_sense(other, right) for other in wordnet().opposites.get(left, ()))


def _negated_of(word: str, base: str) -> bool:
    if len(base) < 3:
        return False
    for prefix in NEGATING:
        if word.startswith(prefix):
            rest = word[len(prefix) :].lstrip("-")
            if rest == base or (len(rest) > 3 and inflection(rest).lemma == inflection(base).lemma):
                return True
    return word.endswith("less") and base.endswith("ful") and word[:-4] == base[:-3]


def _negates_kin(word: str, other: str) -> bool:
    """Whether one is un- or in- before a word akin to the other (untruthful, true)."""
    for prefix in NEGATING:
        base = word.removeprefix(prefix).lstrip("-")
        if base != word and len(base) > 3 and is_word(base):
            plainly = prefix in ("un", "non") or base.endswith(_ADJECTIVE_ENDINGS)
            return plainly and (
                _derived(base, other)
                or share_sense(base, other)
                or listed_same(base, other)
                or _begins(base, other)
            )
    return False


def _begins(base: str, other: str) -> bool:
    return len(other) > 3 and base.startswith(other)


def _synonym_opposite(left: str, right: str) -> bool:
    """Opposite through one hand-written synonym on either side (raise / cut through lower)."""
    mine, yours = groups().get(left), groups().get(right)
    if not mine and not yours:
        return False
    lefts, rights = [left, *line_mates(left)], [right, *line_mates(right)]
    return any((a, b) in opposites() for a in lefts for b in rights if a == left or b == right)


@lru_cache(20_000)
def line_mates(word: str) -> tuple[str, ...]:
    """Words that share a hand-written synonym line with this one."""
    return mates("en", word)


def opposites_of(word: str) -> frozenset[str]:
    """Hand-written opposites of a word."""
    return opposites_by_word("en").get(word, frozenset())


_AGENT = re.compile(r"(?:er|or|ee|ant|ist)$")


def _derived(left: str, right: str) -> bool:
    """Derivations of one stem (translate, translation), but not the doer and the one done to."""
    if len(left) < 4 or len(right) < 4 or left[:4] != right[:4]:
        return False
    if _AGENT.search(left) and _AGENT.search(right):
        return False
    a, b = stem(left), stem(right)
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    return len(short) >= 5 and long.startswith(short) and len(long) - len(short) <= 2


def shortened(left: str, right: str) -> bool:
    """`repo` and `repository`, `docs` and `documents`: a short form that is no word of its own."""
    short, long = sorted((left, right), key=len)
    return (
        3 <= len(short) <= 6
        and len(long) >= len(short) + 3
        and long.startswith(short)
        and not is_word(short)
    )


def is_capitonym(word: str) -> bool:
    """Whether a capital makes another word of it (Polish, polish)."""
    return word in wordnet().capitonyms or word in en.BRANDS
