"""Decides which content two texts share and what is left on one side only.

Units are matched by key, then by meaning, then as slips of the pen, then as opposites. The rest is
what the two texts do not share; all guards on content judge that rest.
"""

from dataclasses import dataclass, field

from service.guards import han
from service.guards.analysis import Analysis
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
from service.guards.matching import match_equal, match_meaning
from service.guards.units import Unit

TEMPLATE = 0.5
"""From this likeness on, two texts are one wording with a changed part, and that part is judged."""
_MOST_LEFT = 60
"""With more units than this left on a side the texts are plainly different: no search by meaning."""
_WEIGHTS = {"word": 1.0, "name": 1.5, "unknown": 1.0, "choice": 1.5, "code": 1.5, "num": 0.7, "op": 0.5,
            "han": 0.6, "light": 0.3, "weak": 0.1}  # fmt: skip


@dataclass(slots=True)
class Alignment:
    """The result: positions matched, units left over on each side, pairs of opposites."""

    a: Analysis
    b: Analysis
    pairs: list[tuple[int, int]] = field(default_factory=list)
    left_a: list[int] = field(default_factory=list)
    left_b: list[int] = field(default_factory=list)
    opposites: list[tuple[int, int]] = field(default_factory=list)
    small_opposites: list[tuple[str, str]] = field(default_factory=list)
    """Opposites among the small words that are no units (up and down, 上 and 下), in equal company."""
    turns: dict[str, str] | None = None
    """What turns the meaning round, filled in by the first guard that asks (`flip_guards.turns`)."""
    likeness: float = 0.0
    """Share of the wording, in [0, 1], that the two texts have in common at their start and end."""
    shared: tuple[int, int] = (0, 0)
    """Words in common at the start and at the end."""
    inserted: bool = False
    """Whether one text is the other with words put in at one place."""

    def only_a(self, *kinds: str) -> list[Unit]:
        """Units of these kinds (all, if none is named) that only `a` has."""
        return [self.a.units[i] for i in self.left_a if not kinds or self.a.units[i].kind in kinds]

    def only_b(self, *kinds: str) -> list[Unit]:
        """Units of these kinds (all, if none is named) that only `b` has."""
        return [self.b.units[i] for i in self.left_b if not kinds or self.b.units[i].kind in kinds]

    def shared_weight(self) -> float:
        """Weight of the matched units."""
        units_a, units_b = self.a.units, self.b.units
        return sum(max(_WEIGHTS[units_a[i].kind], _WEIGHTS[units_b[j].kind]) for i, j in self.pairs)


def weight(units: list[Unit]) -> float:
    """Weight of some units: names count more than words, light words little."""
    return sum(_WEIGHTS[unit.kind] for unit in units)


def align(a: Analysis, b: Analysis) -> Alignment:
    """Match the units of two texts; the result for (b, a) is this one turned round."""
    if a.text > b.text:
        return _turned(align(b, a))
    out = Alignment(a, b)
    start, end = out.shared = _shared(a.skeleton, b.skeleton)
    changed = max(_changed(text.skeleton, start, end) for text in (a, b))
    out.likeness = (start + end) / max(1, start + end + changed)
    out.inserted = sum(_shared(a.plainest, b.plainest)) == min(len(a.plainest), len(b.plainest))
    match_equal(out)
    if len(out.left_a) <= _MOST_LEFT and len(out.left_b) <= _MOST_LEFT:
        match_meaning(out)
        out.small_opposites = _small_opposites(a.skeleton, b.skeleton, start, end)
    out.pairs.sort()
    return out


_SMALL_TURNS = {
    word: other
    for pair in (
        "up down",
        "in out",
        "on off",
        "inside outside",
        "上 下",
        "来 去",
        "里 外",
        "前 后",
        "里面 外面",
        "上面 下面",
        "前面 后面",
        "左边 右边",
    )
    for word, other in (pair.split(), pair.split()[::-1])
}


_LEADING = frozenset({"in", "out", "on", "off"})
_OWNERS = frozenset("the a an my your our his her their its this that these those".split())


def _turned(pair: Alignment) -> Alignment:
    return Alignment(
        pair.b,
        pair.a,
        pairs=sorted((j, i) for i, j in pair.pairs),
        left_a=pair.left_b,
        left_b=pair.left_a,
        opposites=[(j, i) for i, j in pair.opposites],
        small_opposites=[(y, x) for x, y in pair.small_opposites],
        likeness=pair.likeness,
        shared=pair.shared,
        inserted=pair.inserted,
    )


def _small_opposites(
    a: tuple[str, ...], b: tuple[str, ...], start: int, end: int
) -> list[tuple[str, str]]:
    """Opposite small words in the part that differs, after or before the same word in both texts."""
    places_a, places_b = range(start, len(a) - end), range(start, len(b) - end)
    small_b = [j for j in places_b if b[j] in _SMALL_TURNS]
    return [
        (a[i], b[j])
        for i in places_a
        if a[i] in _SMALL_TURNS
        for j in small_b
        if b[j] == _SMALL_TURNS[a[i]]
        and _same_company(a, i, b, j)
        and not (_leads(a, i) or _leads(b, j))
    ]


def _leads(skeleton: tuple[str, ...], at: int) -> bool:
    """Whether "in", "out", "on" or "off" leads what follows it, instead of closing a verb."""
    after = skeleton[at + 1] if at + 1 < len(skeleton) else ""
    return (
        skeleton[at] in _LEADING and bool(after) and (after in _OWNERS or after not in en.FUNCTION)
    )


def _same_company(a: tuple[str, ...], i: int, b: tuple[str, ...], j: int) -> bool:
    """Whether the same word stands just before, or just after, place `i` of `a` and `j` of `b`."""
    before = i > 0 and j > 0 and a[i - 1] == b[j - 1]
    return before or (i + 1 < len(a) and j + 1 < len(b) and a[i + 1] == b[j + 1])


def _changed(skeleton: tuple[str, ...], start: int, end: int) -> int:
    """Words between the shared start and end; a run of unknown Chinese characters is one word."""
    middle = skeleton[start : len(skeleton) - end]
    loose = [_is_loose(key) for key in middle]
    for at in range(1, len(middle) - 1):
        if loose[at - 1] and loose[at + 1] and len(middle[at]) == 1:
            loose[at] = True  # a name with a known character in it
    return sum(not (at and loose[at] and loose[at - 1]) for at in range(len(middle)))


def _is_loose(key: str) -> bool:
    return (
        key >= "\u3400" and (len(key) == 1 or key in han.groups()) and key not in han.small_words()
    )


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[int, int]:
    """How many words the two texts share at the start and, beyond those, at the end."""
    shortest = min(len(a), len(b))
    start = 0
    while start < shortest and a[start] == b[start]:
        start += 1
    end = 0
    while end < shortest - start and a[-1 - end] == b[-1 - end]:
        end += 1
    return start, end


def turning_words(units: list[Unit]) -> list[Unit]:
    """Units such as "avoid" or "stop" that turn the meaning round when only one text has them."""
    return [
        unit
        for unit in units
        if unit.kind in ("word", "light")
        and (unit.key in en.LEXICAL_NEGATIVES or unit.key in zh.LEXICAL_NEGATIVES)
    ]
