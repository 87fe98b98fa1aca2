"""Decides which units of two texts are matched: equal ones, then by meaning, then as slips or opposites.

Each function takes pairs off what is left over of an alignment. All cost grows with the length of the
texts and not with its square, since only units that share a key are compared (see `nearness`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from service.guards import han, slips, words
from service.guards.inflections import inflection
from service.guards.nearness import Index, Keys, far, near
from service.guards.short_names import differ_by_a_short_name
from service.guards.units import Unit

if TYPE_CHECKING:
    from service.guards.alignment import Alignment
    from service.guards.analysis import Analysis


def match_meaning(out: Alignment) -> None:
    """Match what is left over: the same in other words, short forms, opposites, slips of the pen."""
    if (out.left_a or out.left_b) and out.a.script == out.b.script == "han":
        _match_compounds(out)
        _match_short_names(out)
    if not out.left_a or not out.left_b:
        return
    _match(out, _same, near, near)
    _match_short_forms(out)
    _match_joined(out)
    out.opposites = _match(out, _opposite, near, far)
    _match_slips(out)


def match_equal(out: Alignment) -> None:
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


def _match(
    out: Alignment, test: Callable[[Unit, Unit], bool], keys: Keys, other_keys: Keys
) -> list[tuple[int, int]]:
    """Match leftover units of which `test` says so; return the new pairs.

    Only units are tested of which one has, among its `keys`, one of the `other_keys` of the other.
    """
    units_a, units_b = out.a.units, out.b.units
    indexes = [(Index(out.left_b, lambda j: units_b[j].key, keys), other_keys)]
    if keys is not other_keys:
        indexes.append((Index(out.left_b, lambda j: units_b[j].key, other_keys), keys))
    free = set(out.left_b)
    found: list[tuple[int, int]] = []
    for i in out.left_a:
        key = units_a[i].key
        likely = set().union(*(index.sharing(probe(key)) for index, probe in indexes))
        for j in sorted(likely & free):
            if test(units_a[i], units_b[j]):
                found.append((i, j))
                free.remove(j)
                break
    _take(out, found)
    return found


def _take(out: Alignment, found: list[tuple[int, int]]) -> None:
    """Move new pairs from what is left over to what is matched."""
    if found:
        gone_a, gone_b = {i for i, _ in found}, {j for _, j in found}
        out.left_a = [i for i in out.left_a if i not in gone_a]
        out.left_b = [j for j in out.left_b if j not in gone_b]
        out.pairs += found


def _match_slips(out: Alignment) -> None:
    """Match slips of the pen: one of the two is no word, or a rare one."""
    odd_a = {i for i in out.left_a if slips.may_be_slip(out.a.units[i].text.lower())}
    odd_b = [j for j in out.left_b if slips.may_be_slip(out.b.units[j].text.lower())]
    free = list(out.left_b)
    found = []
    for i in out.left_a:
        for j in free if i in odd_a else odd_b:
            if j in free and _mistyped(out.a.units[i], out.b.units[j]):
                found.append((i, j))
                free.remove(j)
                break
    _take(out, found)


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
            words.shortened(a, b) or inflection(a).lemma == inflection(b).lemma
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
    return slips.mistyped(left.text.lower(), right.text.lower())


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
    if same_han(left, right):
        return False
    lefts, rights = han.line_mates(left), han.line_mates(right)
    return any((x, right) in pairs for x in lefts) or any((left, y) in pairs for y in rights)


def _match_short_forms(out: Alignment) -> None:
    """Match an initialism with the run of words it stands for (UN, United Nations)."""
    for left, right, units_l, units_r in _both_ways(out):
        short = [i for i in left if _may_be_initials(units_l[i].text)]
        if not short or len(right) < _SHORTEST_RUN:
            continue
        forms: dict[str, list[int]] = {}
        for run in _runs(right, _LONGEST_INITIALS):
            if run[-1] - run[0] != len(run) - 1:
                continue
            heads = "".join(units_r[j].text[:1].lower() for j in run)
            forms.setdefault(heads, run)
            forms.setdefault(heads[:-1] + units_r[run[-1]].text.lower(), run)  # WWII
            if units_r[run[-1]].text.lower() in _KINDS_OF_PLACE:
                forms[heads[:-1]] = run  # JFK
        _take_runs(left, right, {i: forms.get(units_l[i].text.lower()) for i in short})


def _may_be_initials(text: str) -> bool:
    return 2 <= len(text) <= _LONGEST_INITIALS and text.isascii() and text.isalpha()


def _match_joined(out: Alignment) -> None:
    """Match words written as one with words written apart (back end, backend; 手机 号, 手机号)."""
    for left, right, units_l, units_r in _both_ways(out):
        if not left or len(right) < _SHORTEST_RUN:
            continue
        wholes = {i: units_l[i].key.lower().replace(" ", "") for i in left}
        sizes = {len(whole) for whole in wholes.values()}
        joined: dict[str, list[int]] = {}
        for run in _runs(right, _LONGEST_JOINED):
            text = "".join(units_r[j].text.lower() for j in run)
            if len(text) in sizes:
                joined.setdefault(text, run)
        _take_runs(left, right, {i: joined.get(whole) for i, whole in wholes.items()})


def _match_compounds(out: Alignment) -> None:
    """Match Chinese words that together are on a synonym line with a word of it (网上 银行, 网银).

    Words that are matched already may belong to either side, as long as they are matched with each other.
    """
    groups = han.groups()
    twins = dict(out.pairs)
    mine, yours = _compounds(out.a, out.left_a), _compounds(out.b, out.left_b)
    for run, text in mine:
        for other, other_text in yours:
            if len(run) == len(other) == 1 or groups[text].isdisjoint(groups[other_text]):
                continue
            own, others = set(run).intersection(out.left_a), set(other).intersection(out.left_b)
            matched = {twins[i] for i in run if i in twins}
            if not (own or others) or matched != set(other) - others:
                continue
            if len(run) == len(own) + len(matched):  # else taken by an earlier run
                out.left_a = [i for i in out.left_a if i not in own]
                out.left_b = [j for j in out.left_b if j not in others]
                if own and others:
                    out.pairs.append((min(own), min(others)))


def _compounds(text: Analysis, left: list[int]) -> list[tuple[range, str]]:
    """Runs of up to three adjacent words, longest first, that the synonym lines hold as one.

    Around what is left over; anywhere where nothing is, since the other text's words may belong there.
    """
    around = {place - step for place in left for step in range(_LONGEST_COMPOUND)}
    starts = sorted(around) if left else range(len(text.units))
    found = []
    for size in range(_LONGEST_COMPOUND, 0, -1):
        for at in starts:
            run = range(at, at + size)
            if at < 0 or run.stop > len(text.units) or not text.joined.issuperset(run[1:]):
                continue
            key = "".join(text.units[place].key for place in run)
            if key in han.groups():
                found.append((run, key))
    return found


def _match_short_names(out: Alignment) -> None:
    """Match a Chinese organisation with its short form, where nothing else differs (浙大, 浙江大学)."""
    if differ_by_a_short_name(out.a.text, out.b.text):
        out.left_a, out.left_b = [], []


_KINDS_OF_PLACE = frozenset("airport station university college hospital institute".split())
_LONGEST_COMPOUND = 3
_SHORTEST_RUN = 2
_LONGEST_JOINED = 4
_LONGEST_INITIALS = 5
_Side = tuple[list[int], list[int], tuple[Unit, ...], tuple[Unit, ...]]


def _both_ways(out: Alignment) -> tuple[_Side, _Side]:
    return (
        (out.left_a, out.left_b, out.a.units, out.b.units),
        (out.left_b, out.left_a, out.b.units, out.a.units),
    )


def _runs(places: list[int], longest: int) -> Iterator[list[int]]:
    """Runs of 2 to `longest` leftover places, by their start and then by their length."""
    for at in range(len(places) - 1):
        for size in range(_SHORTEST_RUN, min(longest, len(places) - at) + 1):
            yield places[at : at + size]


def _take_runs(left: list[int], right: list[int], runs: dict[int, list[int] | None]) -> None:
    """Take each unit and its run off what is left over; a place is taken once."""
    for i, run in runs.items():
        if run and all(j in right for j in run):
            left.remove(i)
            for j in run:
                right.remove(j)
