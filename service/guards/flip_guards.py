"""Guards on what turns a meaning round: negation, opposites, and order of the parties.

Each turn counts one; an even number of turns of two sorts cancels out ("not dangerous", "safe";
"A is cheaper than B", "B is more expensive than A"), an odd number refuses.
"""

import re
from collections import Counter

from service.guards.alignment import TEMPLATE, Alignment, turning_words
from service.guards.analysis import Analysis
from service.guards.english_questions import changes_subject
from service.guards.inflections import inflection
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
from service.guards.read_han import HOW
from service.guards.refusal import Refusal
from service.guards.units import Unit

_SYMMETRIC = frozenset(
    """same equal equals identical equivalent difference differ compare comparison versus vs similar similarity relationship relation between
    连接 配对 区别 不同 差别 差异 相同 比较 关系""".split()
)
_LONGEST_ORDER = 40
_CANNOT = re.compile(r"\bcan(?: ?not|'t|t)\b|\bunable\b|不了|无法|不能|不上|没法", re.I)
_HOW_TO = re.compile(r"\bhow (?:do|can|could|to|should)\b|怎么(?!办)|如何|怎样", re.I)
_REMEDY = re.compile(
    r"\bwhat (?:(?:should|can|could|do|must) (?:i|we) do|to do)\b|\bhow (?:do|can|could|should) (?:i|we) (?:fix|solve|handle) (?:it|that|this)\b|怎么办|怎么处理|怎么解决|如何处理|如何解决",
    re.I,
)
"""A question what to do about trouble: to stop it is what is asked."""


def turns(pair: Alignment) -> dict[str, str]:
    """The sorts of turn between the two texts, each with what was seen; empty if there is none."""
    if pair.turns is None:
        pair.turns = _turns(pair)
    return pair.turns


def _turns(pair: Alignment) -> dict[str, str]:
    seen: dict[str, str] = {}
    negatives_a, negatives_b = turning_words(pair.only_a()), turning_words(pair.only_b())
    count_a, count_b = pair.a.negations, pair.b.negations
    if pair.likeness < TEMPLATE and (count_a - count_b) % 2:
        count_a -= _aside(pair.a, set(pair.left_a)) if pair.left_b else 0
        count_b -= _aside(pair.b, set(pair.left_b)) if pair.left_a else 0
    remedy = [_REMEDY.search(text.text) is not None for text in (pair.a, pair.b)]
    if remedy[0] == remedy[1] or pair.likeness >= TEMPLATE:
        remedy = [False, False]
    count_a += len(negatives_a) if not _content(pair.only_b()) and not remedy[1] else 0
    count_b += len(negatives_b) if not _content(pair.only_a()) and not remedy[0] else 0
    if (count_a - count_b) % 2:
        count_a -= pair.a.asks_with_not and not pair.b.asks_with_not
        count_b -= pair.b.asks_with_not and not pair.a.asks_with_not
    if (count_a - count_b) % 2 and pair.likeness < TEMPLATE:
        count_a -= _tells_cannot(pair.a, pair.b)
        count_b -= _tells_cannot(pair.b, pair.a)
    denies_another = (count_a - count_b) % 2 == 0 and _denies_another(pair)
    if denies_another:
        seen["negation"] = "the denial stands before another word"
    if (count_a - count_b) % 2 and pair.likeness < TEMPLATE:
        fewer, more = (pair.b, count_b), (pair.a, count_a)
        if count_a < count_b:
            fewer, more = more, fewer
        if _tells_of_trouble(fewer[0]) and not _tells_of_trouble(more[0]):
            return seen  # "cannot sign in", "trouble signing in"
    if (count_a - count_b) % 2:
        seen["negation"] = f"{count_a} negation{'s' * (count_a != 1)} vs {count_b}"
    compared = pair.a.marks.quantifiers ^ pair.b.marks.quantifiers
    opposed = [("more", "less")] if compared == {"more", "less"} else []
    opposed += [(pair.a.units[i].text, pair.b.units[j].text) for i, j in pair.opposites]
    if pair.likeness >= TEMPLATE:
        opposed += pair.small_opposites
    if opposed:
        seen["antonym"] = ", ".join(f"{mine} vs {yours}" for mine, yours in opposed)
    swapped = "" if denies_another else _swapped(pair)  # X, not Y; Y, not X: one turn, not two
    if swapped:
        seen["order"] = swapped
    return seen


def _tells_cannot(text: Analysis, other: Analysis) -> bool:
    """Whether one text says that it cannot be done and asks what to do, and the other how to do it."""
    helpless = _REMEDY.search(text.text) is not None and _CANNOT.search(text.text) is not None
    return helpless and _HOW_TO.search(other.text) is not None and not other.negations


def _denies_another(pair: Alignment) -> bool:
    """Whether both texts say "not X but Y", each of another X: same words, another thing denied."""
    denied_a, denied_b = set(pair.a.denials), set(pair.b.denials)
    if len(denied_a) != 1 or len(denied_b) != 1:
        return False
    texts = (pair.a, pair.b)
    if not all(text.negations and _CONTRAST.search(text.text) for text in texts):
        return False
    twin = dict(pair.pairs).get(next(iter(denied_a)))
    return twin is not None and twin not in denied_b


def _tells_of_trouble(text: Analysis) -> bool:
    return any(unit.key in en.TROUBLE or unit.key in zh.TROUBLE for unit in text.units)


def _aside(text: Analysis, left: set[int]) -> int:
    """Negations in a clause that the other text puts in other words."""
    return sum(
        (place in left and text.units[place].kind not in ("light", "weak"))
        or _is_own_clause(text, place, left)
        for place in text.denials
        if place < len(text.units)
    )


def _is_own_clause(text: Analysis, place: int, left: set[int]) -> bool:
    """Whether the other text has nothing of the clause around `place`, and something of the rest."""
    start = max((end for end in text.clauses if end <= place), default=0)
    end = min((end for end in text.clauses if end > place), default=len(text.units))
    kinds = {at: text.units[at].kind for at in range(len(text.units))}
    content = [at for at in kinds if kinds[at] not in ("light", "weak")]
    inside = [at for at in content if start <= at < end]
    return all(at in left for at in inside) and any(
        at not in left for at in content if not start <= at < end
    )


def _content(units: list[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.kind not in ("light", "weak", "num", "op")]


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
    odd = len(seen) % 2 == 1 or len(pair.opposites) > 1 or bool(pair.small_opposites)
    return Refusal(sort, seen[sort]) if odd else None


def _swapped(pair: Alignment) -> str:
    """What changed places: roles named by prepositions, or two parties around what joins them."""
    if pair.a.marks.states_only and pair.b.marks.states_only:
        pieces = len(blocks(pair))
        if pieces > 1:
            return f"a statement in {pieces} pieces of another order"
    if changes_subject(pair):
        return "who does it vs to whom it is done"
    if _reworded(pair) or (_weighs_both(pair.a) and _weighs_both(pair.b)):
        return ""
    found = _roles_swapped(pair) or _places_swapped(pair) or _kinds_swapped(pair)
    if found:
        return found
    units_a, units_b = pair.a.units, pair.b.units
    if _OR.intersection(pair.a.skeleton) and _OR.intersection(pair.b.skeleton):
        return ""
    if any(unit.key in _SYMMETRIC for unit in (*units_a, *units_b)):
        return ""
    if len(pair.pairs) > _LONGEST_ORDER or len(pair.left_a) + len(pair.left_b) > 3:
        return ""
    if len(pair.a.clauses) != len(pair.b.clauses):
        return ""  # a list of what is wanted, with commas and without
    runs = blocks(pair)
    for x, y, z in zip(runs, runs[1:], runs[2:], strict=False):
        asked = any(units_a[block[0]].role == HOW for block in (x, y, z))
        if z[1] + z[2] == y[1] and y[1] + y[2] == x[1] and not asked:
            first, last = units_a[x[0]].text, units_a[z[0]].text
            return f"{first} … {last} vs {last} … {first}"
    return ""


def _weighs_both(text: Analysis) -> bool:
    """Whether a Chinese text asks which of several joined things it is: they may come in any order."""
    words = {*text.skeleton}
    return not words.isdisjoint(_WHICH | {"谁"}) and not words.isdisjoint(_JOINING_HAN)


def _reworded(pair: Alignment) -> bool:
    """Whether the two texts use other words, so that a change of order says little."""
    longest = max(len(pair.a.skeleton), len(pair.b.skeleton))
    if longest - sum(pair.shared) <= _MOST_OTHER_WORDS:
        return False
    words_a, words_b = Counter(pair.a.skeleton), Counter(pair.b.skeleton)
    return max((words_a - words_b).total(), (words_b - words_a).total()) > _MOST_OTHER_WORDS


_PERSONS = dict.fromkeys(
    "i me my we us our 我 我们 给我 我的 我们的 我自己 咱 咱们 俺 俺们".split(), "first"
) | dict.fromkeys(
    "he him his she her they them their 他 她 他们 她们 他的 她的 他们的 她们的".split(), "third"
)
_ACTING_AND_ACTED = {("i",), ("me",)}
"""The asker does it in one text, and it is done to the asker in the other."""
_HERE = {"这": "this", "那": "that", "this": "this", "that": "that"}
_OR = frozenset({"or", "还是"})
_CONTRAST = re.compile(
    r"\bnot\b.*\bbut\b|, (?:and |but )?not\b|不是.*而是|而不是|而非", re.I | re.S
)
"""A text that says of two things that it is the one and not the other."""
_JOINING_HAN = frozenset({"和", "与", "跟", "还是"})
_WHICH = frozenset({"哪个", "哪些", "哪款", "哪种", "哪家", "哪座", "哪一个"})
_MOST_OTHER_WORDS = 2
_ARTICLES = frozenset({"a", "an", "the"})
_JOINING = frozenset("and or nor plus vs versus with & 和 与 跟 或 及 以及 还是 或者 同".split())


def _places_swapped(pair: Alignment) -> str:
    """X joined to Y in one text and Y to X in the other, word for word: `dog bit man`, `man bit dog`."""
    turned = {pair.b.units[j].key: pair.a.units[i].key for i, j in pair.opposites}
    a, b = _plain_words(pair.a), [turned.get(word, word) for word in _plain_words(pair.b)]
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    while a and b and len(a) > start and len(b) > start and a[-1] == b[-1]:
        a.pop()
        b.pop()
    a, b = a[start:], b[start:]
    if len(a) != len(b) or not 3 <= len(a) <= _LONGEST_ORDER or sorted(a) != sorted(b):
        return ""
    for x in range(1, len(a) - 1):
        if b[-x:] != a[:x]:
            continue
        for y in range(1, len(a) - x):
            middle = a[x : len(a) - y]
            if b[:y] != a[-y:] or b[y : len(b) - x] != middle or _names_one_thing(a, x, y):
                continue
            left, right = " ".join(a[:x]), " ".join(a[-y:])
            one_figure = any(map(str.isdigit, a[:x])) != any(map(str.isdigit, a[-y:]))
            if not _JOINING.issuperset(middle) and not one_figure:
                return f"{left} … {right} vs {right} … {left}"
    return ""


def _kinds_swapped(pair: Alignment) -> str:
    """`is X a Y` and `is Y an X`, and who does it to whom (I him, he me)."""
    a, b = _plainest_words(pair.a), _plainest_words(pair.b)
    if len(a) == len(b) == 3 and a[0] == b[0] == "be" and a[1:] == b[:0:-1] and a[1] != a[2]:
        return f"{a[1]} {a[2]} vs {a[2]} {a[1]}"
    persons_a, persons_b = (
        [_PERSONS[key] for key in text.skeleton if key in _PERSONS] for text in (pair.a, pair.b)
    )
    if sorted(persons_a) == sorted(persons_b) == ["first", "third"] and persons_a != persons_b:
        return f"{' '.join(persons_a)} vs {' '.join(persons_b)} person"
    if (
        not pair.left_a
        and not pair.left_b
        and {tuple(sorted({"i", "me"}.intersection(text.skeleton))) for text in (pair.a, pair.b)}
        == _ACTING_AND_ACTED
    ):
        return "i vs me"
    here_a, here_b = ([_HERE[char] for char in _pointers(text)] for text in (pair.a, pair.b))
    if len(here_a) == 2 and here_a == here_b[::-1] and here_a[0] != here_a[1]:
        return f"{' '.join(here_a)} vs {' '.join(here_b)}"
    others = {*persons_a, *persons_b} == {"first", "third"} and not {*persons_a} & {*persons_b}
    if others and persons_a and persons_b and not pair.left_a and not pair.left_b:
        return f"{persons_a[0]} vs {persons_b[0]} person"
    return ""


def _pointers(text: Analysis) -> list[str]:
    """This and that, in the order of a text that compares the two."""
    if text.script == "han":
        return [char for char in text.text if char in "这那"] if "比" in text.text else []
    return [key for key in text.skeleton if key in _HERE] if "than" in text.skeleton else []


def _plain_words(text: Analysis) -> list[str]:
    """The lemmas of a text without articles; a letter in a Chinese text is none."""
    small = _ARTICLES if text.script != "han" else frozenset[str]()
    return [inflection(key).lemma for key in text.skeleton if key not in small]


def _plainest_words(text: Analysis) -> list[str]:
    """The lemmas of a text without articles and words for all."""
    return [word for word in _plain_words(text) if word not in en.UNIVERSAL]


def _names_one_thing(words: list[str], start: int, end: int) -> bool:
    """Whether "which" stands at an end and "is" between: either side may come first."""
    ends, middle = {*words[:start], *words[-end:]}, words[start : len(words) - end]
    return not _WHICH.isdisjoint(ends) and "是" in (*middle, words[start - 1], words[-end])


def blocks(pair: Alignment) -> list[tuple[int, int, int]]:
    """Runs of matched units that stay together: (rank in a, rank in b, length), in order of a."""
    rank = {j: place for place, j in enumerate(sorted(j for _, j in pair.pairs))}
    runs: list[tuple[int, int, int]] = []
    for i, j in pair.pairs:
        if runs and rank[j] == runs[-1][1] + runs[-1][2]:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((i, rank[j], 1))
    return runs


def _roles_swapped(pair: Alignment) -> str:
    """Two matched units whose prepositions changed over, or two that took each other's place."""
    crossed = []
    for i, j in pair.pairs:
        mine, yours = pair.a.units[i], pair.b.units[j]
        if mine.kind != "num" and {mine.role, yours.role} == {"from", "to"}:
            crossed.append(f"{mine.role} {mine.text} vs {yours.role} {yours.text}")
    if len(crossed) > 1:
        return crossed[0]
    if len(pair.left_a) + len(pair.left_b) > 2:
        return ""
    all_a, all_b = _joined(pair.a.units), _joined(pair.b.units)
    for role in ("to", "than", "from"):
        holders_a, holders_b = _holders(pair.a.units, role), _holders(pair.b.units, role)
        for run_a in sorted(holders_a - holders_b):
            for run_b in sorted(holders_b - holders_a):
                first, last = _known_part(run_a, all_b), _known_part(run_b, all_a)
                if first and last and not first.startswith(last) and not last.startswith(first):
                    return f"{role} {first} vs {role} {last}"
    return ""


def _known_part(run: str, other: str) -> str:
    """The longest start of a run that the other text has too."""
    keys = run.split(" ")
    sizes = (size for size in range(len(keys), 0, -1) if f" {' '.join(keys[:size])} " in other)
    return " ".join(keys[: next(sizes, 0)])


def _joined(units: tuple[Unit, ...]) -> str:
    return f" {' '.join(unit.key for unit in units)} "


def _holders(units: tuple[Unit, ...], role: str) -> set[str]:
    """What stands in a role: one unit, or the run of single characters that makes a Chinese name."""
    runs = set()
    for at, unit in enumerate(units):
        if unit.role != role or unit.kind == "num":
            continue
        end = at + 1
        while (
            (unit.kind == "han" or (unit.kind == "word" and len(unit.key) == 1))
            and end < len(units)
            and units[end].kind == "han"
            and not units[end].role
        ):
            end += 1
        runs.add(" ".join(part.key for part in units[at:end]))
    return runs
