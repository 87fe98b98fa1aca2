"""The guard on one wording used twice, with other content in one place."""

from service.guards import mentions, words
from service.guards.alignment import TEMPLATE, Alignment, weight
from service.guards.analysis import Analysis
from service.guards.asked import asked_han
from service.guards.inflections import inflection
from service.guards.leftovers import content, own_content, show
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
from service.guards.lexicon.wordnet import is_noun
from service.guards.matching import same_han
from service.guards.refusal import Refusal
from service.guards.small_words import owner_han
from service.guards.units import Unit

_OF_A_THING = frozenset("where who what state money count big tall wide deep heavy far".split())
"""Kinds of question that name their thing; when, how and whether something is are put in many words."""
LEAST_ALIKE = 0.25
"""From this likeness on, a thing of mine and the same of somebody else are two things."""
_SHORT = 2
"""Texts of so few words are names of a thing: other words name another thing."""
ELSEWHERE_WEIGHT = 1.5
"""Weight on either side, from which on two Chinese texts that share little are about other things."""
ELSEWHERE_SHARE = 0.5
"""Of that weight: with more in common they may be one question in other words."""


def slot(pair: Alignment) -> Refusal | None:
    """Refuse where one wording is used twice with other content in one place."""
    spoken = mentions.other_word(pair.a.text, pair.b.text, han=pair.a.script == "han")
    things = spoken or _other_owner(pair) or _other_thing(pair) or _thing_or_us(pair)
    if things:
        return Refusal("slot", f"{things[0]} vs {things[1]}")
    if (
        _is_elsewhere(pair)
        or _is_other_material(pair)
        or _is_other_object(pair)
        or _differs_in_one_place(pair)
        or _other_deed_to_it(pair)
    ):
        return Refusal("slot", f"{show(pair.only_a())} vs {show(pair.only_b())}")
    shortest = max(len(pair.a.skeleton), len(pair.b.skeleton)) <= _SHORT
    if pair.likeness < TEMPLATE and not (shortest and not pair.pairs):
        return None
    left, right = content(pair.only_a()), content(pair.only_b())
    if not left and not right:
        return None
    left, right = left or _stand_in(pair, pair.a, right), right or _stand_in(pair, pair.b, left)
    if left and right:
        return Refusal("slot", f"{show(left)} vs {show(right)}")
    return None


def _differs_in_one_place(pair: Alignment) -> bool:
    """Whether the content of both texts stands in one order but for one place, whatever is around it.

    `Please help me change my password` and `How do I change my username?` are worded unlike and
    still one sentence with a changed part.
    """
    mine, yours = _places(pair.a, pair.left_a), _places(pair.b, pair.left_b)
    twin = dict(pair.pairs)
    start = 0
    while start < min(len(mine), len(yours)) and twin.get(mine[start]) == yours[start]:
        start += 1
    end = 0
    while end < min(len(mine), len(yours)) - start and twin.get(mine[-1 - end]) == yours[-1 - end]:
        end += 1
    left, right = mine[start : len(mine) - end], yours[start : len(yours) - end]
    own_a, own_b = set(pair.left_a), set(pair.left_b)
    if not left or not right or not own_a.issuperset(left) or not own_b.issuperset(right):
        return False
    if pair.a.script == pair.b.script == "han" and start + end >= 1:
        mine_run, your_run = _run(pair.a, left), _run(pair.b, right)
        if min(len(mine_run), len(your_run)) > 1 and set(mine_run).isdisjoint(your_run):
            return True
    mine_unit, your_unit = pair.a.units[left[0]], pair.b.units[right[0]]
    if (
        start + end >= 1
        and max(len(left), len(right)) <= _MOST_CHANGED
        and _are_deeds(mine_unit, your_unit)
    ):
        return True
    return start >= 1 and len(left) == len(right) == 1 and _are_things(mine_unit, your_unit)


_MOST_CHANGED = 2
"""Words in the place that differs, of which the first is the deed (renew, replace a lost …)."""


def _other_deed_to_it(pair: Alignment) -> bool:
    """Whether something that both texts name is the object of another deed in each (leave, delete a review)."""
    own_a, own_b = set(pair.left_a), set(pair.left_b)
    before = (
        (pair.a.units[i - 1], pair.b.units[j - 1])
        for i, j in pair.pairs
        if i - 1 in own_a and j - 1 in own_b
    )
    left, right = content(pair.only_a()), content(pair.only_b())
    alone = len(left) == len(right) == 1 and _are_deeds(left[0], right[0])
    return alone or any(_are_deeds(mine, yours) for mine, yours in before)


def _run(text: Analysis, places: list[int]) -> str:
    """The characters of a Chinese thing of which these are the words; empty where they stand apart."""
    together = all(place in text.joined for place in places[1:])
    known = all(text.units[place].kind in ("han", "word", "light") for place in places)
    return "".join(text.units[place].text for place in places) if together and known else ""


def _are_deeds(left: Unit, right: Unit) -> bool:
    """Whether both are verbs of which the lists know the other wordings, so that these are two deeds."""
    return (left.key in en.DEEDS and right.key in en.DEEDS) or (
        left.key in zh.DEEDS and right.key in zh.DEEDS
    )


def _are_things(left: Unit, right: Unit) -> bool:
    """Whether both words name things, in no common letters: verbs have too many other wordings."""
    if left.kind != "word" or right.kind != "word":
        return False
    if left.key.isascii() and right.key.isascii():
        return is_noun(left.key) and is_noun(right.key)
    return min(len(left.key), len(right.key)) > 1 and set(left.key).isdisjoint(right.key)


def _places(text: Analysis, left: list[int]) -> list[int]:
    """Places of the content of a text; what is light counts where the other text has it too."""
    own = set(left)
    return [
        place
        for place, unit in enumerate(text.units)
        if unit.kind not in ("light", "weak", "num", "op")
        or (unit.kind == "light" and (place not in own or _is_in_word(text, place, own)))
    ]


def _is_in_word(text: Analysis, place: int, own: set[int]) -> bool:
    """Whether a light character is part of a word that no list has, with its neighbour."""
    neighbours = [place - 1] if place in text.joined else []
    neighbours += [place + 1] if place + 1 in text.joined else []
    return len(text.units[place].key) == 1 and any(
        beside in own and text.units[beside].kind == "han" for beside in neighbours
    )


def _is_other_material(pair: Alignment) -> bool:
    """Whether two statements that ask nothing differ: text to work on, of which every word counts."""
    both = pair.a.marks.states_only and pair.b.marks.states_only
    return both and bool(content(pair.only_a()) or content(pair.only_b()))


def _is_other_object(pair: Alignment) -> bool:
    """Whether both begin with one and the same verb and share nothing else (define X, define Y)."""
    a, b = pair.a, pair.b
    if not pair.shared[0] or not a.units or not b.units or a.units[0].key != b.units[0].key:
        return False
    opens = a.units[0].kind in ("word", "light") and _first_word(a) == _first_word(b) != ""
    shared = [i for i, _ in pair.pairs if i and a.units[i].kind not in ("light", "weak")]
    return opens and not shared and bool(content(pair.only_a()) and content(pair.only_b()))


def _first_word(text: Analysis) -> str:
    """The first word, where it is the first piece of content too."""
    first = text.skeleton[0]
    return first if text.units[0].text.lower() == first else ""


def _is_elsewhere(pair: Alignment) -> bool:
    """Whether two Chinese texts share so little of their content that they are about other things."""
    if pair.a.script != "han" or pair.b.script != "han":
        return False
    mine, yours = own_content(pair.only_a()), own_content(pair.only_b())
    own = min(weight(mine), weight(yours))
    kinds_a, kinds_b = asked_han(pair.a.text), asked_han(pair.b.text)
    of_one_kind = (kinds_a & kinds_b) | {"may"} & (kinds_a | kinds_b)
    if (
        own >= 1.0
        and not pair.shared_weight()
        and of_one_kind <= _OF_A_THING
        and _no_letter_in_common(mine, yours)
    ):
        return True
    return own >= ELSEWHERE_WEIGHT and pair.shared_weight() < ELSEWHERE_SHARE * own


def _no_letter_in_common(mine: list[Unit], yours: list[Unit]) -> bool:
    letters = {char for unit in mine for char in unit.text}
    return letters.isdisjoint(char for unit in yours for char in unit.text)


def _stand_in(pair: Alignment, text: Analysis, other: list[Unit]) -> list[Unit]:
    """What stands in the changed place where a side has no content of its own.

    Light words and numbers count; beside unknown characters the other side's characters do too,
    since one of them may be a small word elsewhere (成都, 重庆).
    """
    units = pair.only_a("light", "num") if text is pair.a else pair.only_b("light", "num")
    if not units and other:
        units = _small_deed(pair, text, other)
    if not units and any(unit.kind == "han" for unit in other):
        start, end = pair.shared
        middle = text.skeleton[start : len(text.skeleton) - end]
        units = [Unit(key, "han", "", key) for key in middle if len(key) == 1]
    return units


def _other_thing(pair: Alignment) -> tuple[str, str] | None:
    """Two things of common names (account, order; 用户, 页面), of which each text has its own.

    Such words carry little where they are put in or left out, and all where one takes the other's place.
    """
    if own_content(pair.only_a()) or own_content(pair.only_b()):
        return None
    mine, yours = (
        [unit.key for unit in units if unit.key in en.THINGS or unit.key in zh.THINGS]
        for units in (pair.only_a("light"), pair.only_b("light"))
    )
    return (mine[0], yours[0]) if len(mine) == len(yours) == 1 else None


def _other_owner(pair: Alignment) -> tuple[str, str] | None:
    """Whose a thing is, where one text says so of another than the asker (我妈的余额, 我的余额)."""
    if pair.a.script != "han":
        return None
    mine, yours = owner_han(pair.a.text), owner_han(pair.b.text)
    told = {mine, yours} - {"first", ""}
    stated = "。" in pair.a.text or "。" in pair.b.text
    if (
        mine == yours
        or not told
        or (stated and "" in (mine, yours))
        or ("named" in told and "" in (mine, yours))
    ):
        return None
    if pair.likeness < (TEMPLATE if "" in (mine, yours) else LEAST_ALIKE):
        return None  # what looks like a name may be none, but where the other says: mine
    return mine or "none", yours or "none"


def _thing_or_us(pair: Alignment) -> tuple[str, str] | None:
    """A thing of which one text asks what the other asks of whom it speaks to (医院, 你们公司)."""
    left, right = own_content(pair.only_a()), own_content(pair.only_b())
    if pair.a.script != "han" or len(left) + len(right) != 1 or pair.likeness < TEMPLATE:
        return None
    (thing,), other = (left, pair.b) if left else (right, pair.a)
    whose = [key for key in other.skeleton if len(key) > 2 and key[0] in zh.ADDRESSED]
    return (thing.text, whose[0]) if whose and set(thing.text).isdisjoint(whose[0]) else None


def _small_deed(pair: Alignment, text: Analysis, other: list[Unit]) -> list[Unit]:
    """A verb of little content (find, use, 使用) that is the one word that another has replaced."""
    start, end = pair.shared
    middles = [side.skeleton[start : len(side.skeleton) - end] for side in (pair.a, pair.b)]
    if any(len(middle) != 1 for middle in middles):
        return []
    key = middles[text is pair.b][0]
    lemma = inflection(key).lemma if key.isascii() else key
    is_deed = lemma in zh.SMALL_DEEDS or lemma in en.SMALL_DEEDS
    is_same = any(same_han(lemma, unit.key) or words.same(lemma, unit.key) for unit in other)
    return [Unit(key, "light", "", key)] if is_deed and not is_same else []
