"""The word lists of this folder that are plain data: synonyms and opposites of either language.

A line that begins with `#` is a remark. A synonym file holds one group a line; a file of opposites
holds two groups a line with a slash between them, and each word of one is an opposite of each word
of the other. Words of a phrase are joined with underscores.
"""

from functools import cache
from importlib import resources


def _lines(name: str) -> list[str]:
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@cache
def synonym_lines(language: str) -> tuple[tuple[str, ...], ...]:
    """The groups of words that mean the same; `language` is en or zh."""
    return tuple(tuple(line.split()) for line in _lines(f"synonyms_{language}.txt"))


@cache
def synonym_groups(language: str) -> dict[str, frozenset[int]]:
    """Word to the numbers of the groups it stands in."""
    table: dict[str, set[int]] = {}
    for number, words in enumerate(synonym_lines(language)):
        for word in words:
            table.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in table.items()}


@cache
def mates(language: str, word: str) -> tuple[str, ...]:
    """Words that stand in a group with this one."""
    lines = synonym_lines(language)
    numbers = synonym_groups(language).get(word, frozenset())
    return tuple(mate for number in sorted(numbers) for mate in lines[number] if mate != word)


@cache
def opposite_pairs(language: str) -> frozenset[tuple[str, str]]:
    """Pairs of opposites, both ways round; a line without its slash is an error."""
    pairs: set[tuple[str, str]] = set()
    for line in _lines(f"opposites_{language}.txt"):
        left, right = (side.split() for side in line.split("/"))
        pairs |= {(a, b) for a in left for b in right if a != b}
    return frozenset(pairs | {(b, a) for a, b in pairs})


@cache
def opposites_by_word(language: str) -> dict[str, frozenset[str]]:
    """Word to its opposites."""
    table: dict[str, set[str]] = {}
    for word, other in opposite_pairs(language):
        table.setdefault(word, set()).add(other)
    return {word: frozenset(others) for word, others in table.items()}
