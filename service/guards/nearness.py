"""Decides which units could mean the same or the opposite at all, by keys that such words share.

Two words are only compared where they share a key. So the cost of matching grows with the length of
two texts and not with its square. A key may be shared in vain, but no pair that matches is missed:
`tests/service/guards/test_nearness.py` compares with all pairs.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

from service.guards import han, words
from service.guards.inflections import american, inflection
from service.guards.lexicon.wordnet import is_word, wordnet

Keys = Callable[[str], frozenset[str]]


@lru_cache(50_000)
def near(key: str) -> frozenset[str]:
    """Keys of which two words that mean the same, or are one word in two forms, share one."""
    word = key.lower().strip("`'\"")
    found = {f"w {word}"}
    found |= {f"z {number}" for number in han.groups().get(key, ())}
    if word.isascii():
        found |= {f"w {american(word)}", f"w {inflection(word).lemma}", f"b {word[:3]}"}
        found |= _senses(word)
    return frozenset(found)


@lru_cache(50_000)
def far(key: str) -> frozenset[str]:
    """Keys of `near` that an opposite of the word has; one of the two words has such a key."""
    if not key.isascii():
        return frozenset(f"w {word}" for word in _turned(key, han.opposites_of, han.line_mates))
    found = {f"w {word}" for word in _turned(key, words.opposites_of, words.line_mates)}
    for other in wordnet().opposites.get(key, ()):
        found |= {f"w {other}"} | _senses(other)
    for prefix in words.NEGATING:
        base = key.removeprefix(prefix).lstrip("-")
        if base != key and len(base) > 2:
            found |= {f"w {base}", f"w {inflection(base).lemma}"}
            if is_word(base):
                found |= near(base)
    if key.endswith("less"):
        found.add(f"w {key[:-4]}ful")
    return frozenset(found)


def _senses(word: str) -> set[str]:
    """The groups of synonyms that a word stands in, of our own lists and of WordNet."""
    return {f"g {number}" for number in words.groups().get(word, ())} | {
        f"s {number}" for number in wordnet().groups.get(word, ())
    }


def _turned(
    word: str, opposites: Callable[[str], Iterable[str]], mates: Callable[[str], Iterable[str]]
) -> set[str]:
    """Opposites of a word or of a synonym of it, and synonyms of its opposites."""
    direct = set(opposites(word))
    return (
        direct
        | {turned for mate in mates(word) for turned in opposites(mate)}
        | {mate for turned in direct for mate in mates(turned)}
    )


class Index:
    """Places of one text by the keys of their words."""

    def __init__(self, places: Iterable[int], key_of: Callable[[int], str], keys: Keys) -> None:
        self._places: dict[str, list[int]] = {}
        for place in places:
            for key in keys(key_of(place)):
                self._places.setdefault(key, []).append(place)

    def sharing(self, keys: frozenset[str]) -> set[int]:
        """Places that have one of the keys."""
        return {place for key in keys if key in self._places for place in self._places[key]}
