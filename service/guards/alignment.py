"""Decides which content two texts share and what is left on one side only.

Units are matched by key, then by meaning, then as slips of the pen, then as opposites. The rest is
what the two texts do not share; all guards on content judge that rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from service.guards import han, words
from service.guards.analysis import Analysis
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
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
    _match_equal(out)
    if len(out.left_a) <= _MOST_LEFT and len(out.left_b) <= _MOST_LEFT:
        _match(out, _same)
        _match_short_forms(out)
        _match_joined(out)
        out.opposites = _match(out, _opposite)
        _match(out, _mistyped)
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


def _match_equal(out: Alignment) -> None:
    """Match equal keys, in order of appearance; the common start and end first."""
    keys_a, keys_b = [u.key for u in out.a.units], [u.key for u in out.b.units]
    start = 0
    while start < len(keys_a) and start < len(keys_b) and keys_a[start] == keys_b[start]:
        start += 1
    end = 0
    longest = min(len(keys_a), len(keys_b)) - start
    while end < longest and keys_a[-1 - end] == keys_b[-1 - end]:
        end += 1
    out.pairs = [(i, i) for i in range(start)]
    out.pairs += [(len(keys_a) - 1 - i, len(keys_b) - 1 - i) for i in range(end)]
    places: dict[str, list[int]] = {}
    for j in range(len(keys_b) - end - 1, start - 1, -1):
        places.setdefault(keys_b[j], []).append(j)
    for i in range(start, len(keys_a) - end):
        found = places.get(keys_a[i])
        if found:
            out.pairs.append((i, found.pop()))
        else:
            out.left_a.append(i)
    out.left_b = sorted(j for rest in places.values() for j in rest)


def _match(out: Alignment, test: Callable[[Unit, Unit], bool]) -> list[tuple[int, int]]:
    """Match leftover units of which `test` says so; return the new pairs."""
    found: list[tuple[int, int]] = []
    for i in list(out.left_a):
        for j in out.left_b:
            if test(out.a.units[i], out.b.units[j]):
                found.append((i, j))
                out.left_a.remove(i)
                out.left_b.remove(j)
                break
    out.pairs += found
    return found


_WORDS = frozenset({"word", "light", "weak", "unknown"})


def _same(left: Unit, right: Unit) -> bool:
    if left.kind in _WORDS and right.kind in _WORDS:
        if left.key.isascii() and right.key.isascii():
            return words.same(left.key, right.key)
        return same_han(left.key, right.key)
    if {left.kind, right.kind} <= {"word", "han", "light"}:
        return same_han(left.key, right.key)
    if {left.kind, right.kind} <= {"name", "word", "unknown", "code", "choice"}:
        a, b = left.key.lower(), right.key.lower()
        if a == b or a.strip("`'\"") == b.strip("`'\""):
            return True
        if left.kind == right.kind == "name":
            return words.shortened(a, b) or words.listed_same(a, b)
        both = {left.kind, right.kind}
        return "name" in both and (
            words.shortened(a, b) or words.inflection(a).lemma == words.inflection(b).lemma
        )
    return False


@lru_cache(20_000)
def same_han(left: str, right: str) -> bool:
    """Whether two Chinese words stand on one synonym line, or one holds the other."""
    groups = han.groups()
    mine, yours = groups.get(left), groups.get(right)
    return bool(mine and yours and not mine.isdisjoint(yours))


def _mistyped(left: Unit, right: Unit) -> bool:
    if left.kind in ("code", "num", "op") or right.kind in ("code", "num", "op"):
        return False
    if not (left.text.isascii() and right.text.isascii()):
        return False
    if left.kind == "name" and right.kind == "name":
        return False
    return words.mistyped(left.text.lower(), right.text.lower())


def _opposite(left: Unit, right: Unit) -> bool:
    if left.kind in ("name", "code", "num", "op") or right.kind in ("name", "code", "num", "op"):
        return False
    if left.key.isascii() and right.key.isascii():
        return words.are_opposite(left.key, right.key)
    return opposite_han(left.key, right.key)


@lru_cache(20_000)
def opposite_han(left: str, right: str) -> bool:
    """Whether two Chinese words are listed opposites, themselves or through a synonym."""
    pairs = han.opposites()
    if (left, right) in pairs:
        return True
    lefts, rights = han.line_mates(left), han.line_mates(right)
    return any((x, right) in pairs for x in lefts) or any((left, y) in pairs for y in rights)


def _match_short_forms(out: Alignment) -> None:
    """Match an initialism with the run of words it stands for (UN, United Nations)."""
    for left, right, units_l, units_r in (
        (out.left_a, out.left_b, out.a.units, out.b.units),
        (out.left_b, out.left_a, out.b.units, out.a.units),
    ):
        for i in list(left):
            letters = units_l[i].text.lower()
            if not (2 <= len(letters) <= 5 and letters.isascii() and letters.isalpha()):
                continue
            for run in (
                right[at : at + size]
                for size in (len(letters), 2, 3, 4)
                for at in range(len(right))
            ):
                if (
                    _stands_for(letters, [units_r[j].text.lower() for j in run])
                    and run[-1] - run[0] == len(run) - 1
                ):
                    left.remove(i)
                    for j in run:
                        right.remove(j)
                    break


def _stands_for(letters: str, run: list[str]) -> bool:
    """Initials of a run, the last word of which may be a numeral that is kept (WWII)."""
    if len(run) < 2:
        return False
    heads = "".join(word[:1] for word in run)
    return letters in (heads, heads[:-1] + run[-1])


def _match_joined(out: Alignment) -> None:
    """Match words written as one with words written apart (back end, backend; 手机 号, 手机号)."""
    for left, right, units_l, units_r in (
        (out.left_a, out.left_b, out.a.units, out.b.units),
        (out.left_b, out.left_a, out.b.units, out.a.units),
    ):
        for i in list(left):
            whole = units_l[i].key.lower().replace(" ", "")
            for at in range(len(right)):
                for size in (2, 3, 4):
                    run = right[at : at + size]
                    if len(run) == size and "".join(units_r[j].text.lower() for j in run) == whole:
                        left.remove(i)
                        for j in run:
                            right.remove(j)
                        break
                else:
                    continue
                break


def turning_words(units: list[Unit]) -> list[Unit]:
    """Units such as "avoid" or "stop" that turn the meaning round when only one text has them."""
    return [
        unit
        for unit in units
        if unit.kind in ("word", "light")
        and (unit.key in en.LEXICAL_NEGATIVES or unit.key in zh.LEXICAL_NEGATIVES)
    ]
