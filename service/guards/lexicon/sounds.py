"""Decides which Chinese characters sound alike, and which words are rare ones that sound like a common one.

Loaded at first use (about 10 ms, 3 MB), then held for the life of the process.
"""

import gzip
from functools import cache
from importlib import resources
from typing import NamedTuple

from service.guards.lexicon.common_chinese import common_words


class Sounds(NamedTuple):
    """What `from_pypinyin.py` kept: the numbers of the sounds of each character, and the rare words."""

    of: dict[str, frozenset[int]]
    rare: frozenset[str]


@cache
def _sounds() -> Sounds:
    packed = resources.files(__package__).joinpath("sounds_zh.txt.gz").read_bytes()
    of: dict[str, set[int]] = {}
    rare: set[str] = set()
    for number, line in enumerate(gzip.decompress(packed).decode().split("\n")):
        if line[0] == "w":
            rare.add(line[2:])
        else:
            for char in line[2:]:
                of.setdefault(char, set()).add(number)
    return Sounds({char: frozenset(numbers) for char, numbers in of.items()}, frozenset(rare))


def sound_alike(left: str, right: str) -> bool:
    """Whether two characters have a sound in common, tones and what input methods blur left out."""
    of = _sounds().of
    return not of.get(left, frozenset()).isdisjoint(of.get(right, frozenset()))


def is_word(run: str) -> bool:
    """Whether two to four characters are a common word, or a rare one that sounds like a common one."""
    return run in common_words() or run in _sounds().rare
