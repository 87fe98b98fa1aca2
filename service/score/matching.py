"""Which content of two texts has a counterpart on the other side, in bounded time.

The guards' own alignment looks for joined words and initials too and takes milliseconds on two long texts; a score is
computed for several candidates per lookup, so here it is equal keys, then synonyms, opposites and slips of the pen
among the first few that are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from service.guards import slips, words
from service.guards.matching import opposite_han, same_han
from service.guards.units import Unit

MOST = 8
"""Units left on a side that are compared with each other by meaning; of more, the first."""
_LITERAL = frozenset({"num", "code", "op", "name"})


@dataclass(slots=True)
class Matched:
    """Positions of the units of each side that found none, and how many pairs of opposites there were."""

    left_a: list[int]
    left_b: list[int]
    opposites: int


def match(a: tuple[Unit, ...], b: tuple[Unit, ...]) -> Matched:
    """Match the content of two texts; for (b, a) the numbers left may differ only where several words are alike."""
    places: dict[str, list[int]] = {}
    for j, unit in enumerate(b):
        places.setdefault(unit.key, []).append(j)
    left_a = []
    for i, unit in enumerate(a):
        found = places.get(unit.key)
        if found:
            found.pop()
        else:
            left_a.append(i)
    left_b = sorted(j for rest in places.values() for j in rest)
    opposites = 0
    for i in left_a[:MOST]:
        for j in left_b[:MOST]:
            kind = _relation(a[i], b[j])
            if kind:
                opposites += kind == "opposite"
                left_a.remove(i)
                left_b.remove(j)
                break
    return Matched(left_a, left_b, opposites)


@lru_cache(50_000)
def _relation(left: Unit, right: Unit) -> str:
    if left.kind in _LITERAL or right.kind in _LITERAL:
        return ""
    if left.key.isascii() and right.key.isascii():
        if words.same(left.key, right.key):
            return "same"
        if words.are_opposite(left.key, right.key):
            return "opposite"
        return "same" if slips.mistyped(left.text.lower(), right.text.lower()) else ""
    if same_han(left.key, right.key):
        return "same"
    return "opposite" if opposite_han(left.key, right.key) else ""
