"""Guards on what turns a meaning round: negation, opposites, and order of the parties.

Each turn counts one; an even number of turns of two sorts cancels out ("not dangerous", "safe";
"A is cheaper than B", "B is more expensive than A"), an odd number refuses.
"""

from service.guards.alignment import TEMPLATE, Alignment, turning_words
from service.guards.analysis import Analysis, Unit
from service.guards.refusal import Refusal

_SYMMETRIC = frozenset(
    """difference differ compare comparison versus vs similar similarity relationship relation between
    区别 不同 差别 差异 相同 比较 关系""".split()
)
_LONGEST_ORDER = 40


def turns(pair: Alignment) -> dict[str, str]:
    """The sorts of turn between the two texts, each with what was seen; empty if there is none."""
    seen: dict[str, str] = {}
    negatives_a, negatives_b = turning_words(pair.only_a()), turning_words(pair.only_b())
    count_a = _denials(pair.a, set(pair.left_a)) if pair.left_b else pair.a.negations
    count_b = _denials(pair.b, set(pair.left_b)) if pair.left_a else pair.b.negations
    if pair.likeness >= TEMPLATE:
        count_a, count_b = pair.a.negations, pair.b.negations
    count_a += len(negatives_a) if not _content(pair.only_b()) else 0
    count_b += len(negatives_b) if not _content(pair.only_a()) else 0
    if (count_a - count_b) % 2:
        seen["negation"] = f"{count_a} negation{'s' * (count_a != 1)} vs {count_b}"
    if pair.opposites:
        seen["antonym"] = ", ".join(
            f"{pair.a.units[i].text} vs {pair.b.units[j].text}" for i, j in pair.opposites
        )
    swapped = _swapped(pair)
    if swapped:
        seen["order"] = swapped
    return seen


def _denials(text: Analysis, left: set[int]) -> int:
    """Negations, less those of a clause that the other text puts in other words."""
    return text.negations - sum(place in left and text.units[place].kind != "light" for place in text.denials)


def _content(units: list[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.kind not in ("light", "num", "op")]


def negation(pair: Alignment) -> Refusal | None:
    """Refuse where one text denies what the other says."""
    return _refuse(pair, "negation")


def antonym(pair: Alignment) -> Refusal | None:
    """Refuse where a word is replaced by its opposite."""
    return _refuse(pair, "antonym")


def order(pair: Alignment) -> Refusal | None:
    """Refuse where the parties change places: from A to B, A before B, A does it to B."""
    return _refuse(pair, "order")


def _refuse(pair: Alignment, sort: str) -> Refusal | None:
    seen = turns(pair)
    if sort not in seen:
        return None
    odd = len(seen) % 2 == 1 or len(pair.opposites) > 1
    return Refusal(sort, seen[sort]) if odd else None


def _swapped(pair: Alignment) -> str:
    """What changed places: roles named by prepositions, or two parties around what joins them."""
    by_role = _roles_swapped(pair)
    if by_role:
        return by_role
    units_a, units_b = pair.a.units, pair.b.units
    if any(unit.key in _SYMMETRIC for unit in (*units_a, *units_b)):
        return ""
    if len(pair.pairs) > _LONGEST_ORDER or len(pair.left_a) + len(pair.left_b) > 3:
        return ""
    places = [
        (i, j)
        for i, j in pair.pairs
        if not (units_a[i].role and units_a[i].role == units_b[j].role)
    ]
    for x in range(len(places)):
        for z in range(x + 2, len(places)):
            if places[x][1] < places[z][1]:
                continue
            for y in range(x + 1, z):
                if places[z][1] < places[y][1] < places[x][1]:
                    first, last = units_a[places[x][0]].text, units_a[places[z][0]].text
                    return f"{first} … {last} vs {last} … {first}"
    return ""


def _roles_swapped(pair: Alignment) -> str:
    """Two matched units whose prepositions changed over, or two that took each other's place."""
    crossed = []
    for i, j in pair.pairs:
        mine, yours = pair.a.units[i], pair.b.units[j]
        if mine.kind != "num" and {mine.role, yours.role} == {"from", "to"}:
            crossed.append(f"{mine.role} {mine.text} vs {yours.role} {yours.text}")
    if len(crossed) > 1:
        return crossed[0]
    matched_a = {pair.a.units[i].key for i, _ in pair.pairs}
    for role in ("to", "than", "from"):
        theirs_a = {u.key for u in pair.a.units if u.role == role and u.kind != "num"}
        theirs_b = {u.key for u in pair.b.units if u.role == role and u.kind != "num"}
        only_a, only_b = (theirs_a - theirs_b) & matched_a, (theirs_b - theirs_a) & matched_a
        if only_a and only_b:
            return f"{role} {min(only_a)} vs {role} {min(only_b)}"
    return ""
