"""Decides which English words are known, near in meaning or opposite, from the shipped WordNet file.

Loaded at first use (about 60 ms), then held for the life of the process.
"""

import gzip
from functools import cache
from importlib import resources
from typing import NamedTuple


class WordNet(NamedTuple):
    """What `from_wordnet.py` kept: words, those seldom used, those mostly nouns, capitonyms, synonym groups per lemma, opposites."""

    words: frozenset[str]
    rare: frozenset[str]
    nouns: frozenset[str]
    capitonyms: frozenset[str]
    groups: dict[str, frozenset[int]]
    opposites: dict[str, frozenset[str]]


@cache
def wordnet() -> WordNet:
    """Read the shipped file once."""
    packed = resources.files(__package__).joinpath("wordnet.txt.gz").read_bytes()
    words: set[str] = set()
    rare: set[str] = set()
    nouns: set[str] = set()
    capitonyms: set[str] = set()
    groups: dict[str, set[int]] = {}
    opposites: dict[str, set[str]] = {}
    for number, line in enumerate(gzip.decompress(packed).decode().splitlines()):
        kind, rest = line[0], line[2:]
        if kind in "wrnm":
            words.add(rest)
            if kind in "rm":
                rare.add(rest)
            if kind in "nm":
                nouns.add(rest)
        elif kind == "c":
            capitonyms.add(rest)
        elif kind == "s":
            for lemma in rest.split():
                groups.setdefault(lemma, set()).add(number)
        else:
            left, right = rest.split()
            opposites.setdefault(left, set()).add(right)
            opposites.setdefault(right, set()).add(left)
    return WordNet(
        frozenset(words),
        frozenset(rare),
        frozenset(nouns),
        frozenset(capitonyms),
        {lemma: frozenset(ids) for lemma, ids in groups.items()},
        {lemma: frozenset(other) for lemma, other in opposites.items()},
    )


def is_word(lemma: str) -> bool:
    """Whether the lower-case lemma stands in the dictionary."""
    return lemma in wordnet().words


def is_noun(lemma: str) -> bool:
    """Whether the lemma is mostly used as a noun; words newer than the dictionary are taken for nouns."""
    return lemma in wordnet().nouns or lemma not in wordnet().words


def share_sense(left: str, right: str) -> bool:
    """Whether two lemmas share one of their usual senses."""
    groups = wordnet().groups
    mine = groups.get(left)
    return mine is not None and not mine.isdisjoint(groups.get(right, frozenset()))


def listed_opposites(left: str, right: str) -> bool:
    """Whether WordNet lists the two lemmas as antonyms."""
    return right in wordnet().opposites.get(left, frozenset())
