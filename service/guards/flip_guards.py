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
    blocks = _blocks(pair)
    for x, y, z in zip(blocks, blocks[1:], blocks[2:], strict=False):
        if z[1] + z[2] == y[1] and y[1] + y[2] == x[1]:
            first, last = units_a[x[0]].text, units_a[z[0]].text
            return f"{first} … {last} vs {last} … {first}"
    return ""


def _blocks(pair: Alignment) -> list[tuple[int, int, int]]:
    """Runs of matched units that stay together: (rank in a, rank in b, length), in order of a."""
    rank = {j: place for place, j in enumerate(sorted(j for _, j in pair.pairs))}
    blocks: list[tuple[int, int, int]] = []
    for i, j in pair.pairs:
        if blocks and rank[j] == blocks[-1][1] + blocks[-1][2]:
            blocks[-1] = (blocks[-1][0], blocks[-1][1], blocks[-1][2] + 1)
        else:
            blocks.append((i, rank[j], 1))
    return blocks


def _roles_swapped(pair: Alignment) -> str:
    """Two matched units whose prepositions changed over, or two that took each other's place."""
    crossed = []
    for i, j in pair.pairs:
        mine, yours = pair.a.units[i], pair.b.units[j]
        if mine.kind != "num" and {mine.role, yours.role} == {"from", "to"}:
            crossed.append(f"{mine.role} {mine.text} vs {yours.role} {yours.text}")
    if len(crossed) > 1:
        return crossed[0]
    all_a, all_b = _joined(pair.a.units), _joined(pair.b.units)
    for role in ("to", "than", "from"):
        theirs_a, theirs_b = _holders(pair.a.units, role), _holders(pair.b.units, role)
        only_a = {run for run in theirs_a - theirs_b if f" {run} " in all_b}
        only_b = {run for run in theirs_b - theirs_a if f" {run} " in all_a}
        if only_a and only_b:
            return f"{role} {min(only_a)} vs {role} {min(only_b)}"
    return ""


def _joined(units: tuple[Unit, ...]) -> str:
    return f" {' '.join(unit.key for unit in units)} "


def _holders(units: tuple[Unit, ...], role: str) -> set[str]:
    """What stands in a role: one unit, or the run of single characters that makes a Chinese name."""
    runs = set()
    for at, unit in enumerate(units):
        if unit.role != role or unit.kind == "num":
            continue
        end = at + 1
        while unit.kind == "han" and end < len(units) and units[end].kind == "han" and not units[end].role:
            end += 1
        runs.add(" ".join(part.key for part in units[at:end]))
    return runs
