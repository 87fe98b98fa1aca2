"""The guard on content or a condition that only one text has."""

from itertools import pairwise

from service.guards.alignment import TEMPLATE, Alignment, weight
from service.guards.analysis import Analysis
from service.guards.leftovers import own_content, show
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
from service.guards.lexicon.wordnet import is_noun
from service.guards.read_han import OFFERED
from service.guards.refusal import Refusal
from service.guards.units import Unit

INSERTION = 0.4
"""From this likeness on, words put in at one place of an otherwise equal text narrow the question."""
INSERTION_WEIGHT = 1.0
HAN_INSERTION_WEIGHT = 0.6
EXTRA_WEIGHT = 2.0
REWORDED_WEIGHT = 1.0
"""Weight of the own content of both texts, from which on a narrowing word may be said in other words there."""
SENTENCE_WEIGHT = 1.5
"""Weight of a sentence that only one text has, from which on it is a request of its own."""


def extra(pair: Alignment) -> Refusal | None:
    """Refuse where one text carries content that the other lacks."""
    if pair.a.hidden != pair.b.hidden:
        counts = f"{len(pair.a.hidden)} vs {len(pair.b.hidden)}"
        return Refusal("extra", f"characters that nobody sees: {counts}")
    reworded = (
        pair.likeness < TEMPLATE
        and min(weight(own_content(pair.only_a())), weight(own_content(pair.only_b())))
        >= REWORDED_WEIGHT
    )
    sides = ((pair.a, pair.left_a, pair.b), (pair.b, pair.left_b, pair.a))
    for text, places, other in sides:
        said = zh.SAID_OTHERWISE if reworded else frozenset[str]()
        asked = _narrowed(text, places, said | (zh.ROLES if _asks_for_all(text, other) else said))
        if asked:
            return Refusal("extra", f"{asked} on one side only")
    left, right = own_content(pair.only_a()), own_content(pair.only_b())
    if bool(left) == bool(right):
        return None
    own, text, places = (left, pair.a, pair.left_a) if left else (right, pair.b, pair.left_b)
    if text.script == "latin" and _other_head(pair, text, places):
        return Refusal("extra", f"{show(left)} vs {show(right)}")
    narrowing = [u for u in own if u.key in en.RESTRICTIVE or u.key in text.marks.owners]
    if (
        (pair.likeness >= TEMPLATE and (narrowing or weight(own) >= EXTRA_WEIGHT))
        or (pair.inserted and pair.likeness >= INSERTION and weight(own) >= _least_insertion(text))
        or _own_sentence(text, set(places)) >= SENTENCE_WEIGHT
    ):
        return Refusal("extra", f"{show(left)} vs {show(right)}")
    return None


def _other_head(pair: Alignment, text: Analysis, places: list[int]) -> bool:
    """Whether a noun is put behind what both texts name, which makes another thing of it (meter board)."""
    own = {place for place in places if text.units[place].kind not in ("light", "weak")}
    if max(own) - min(own) >= len(own):
        return False  # more than one thing is added: another wording
    for place in sorted(own):
        behind = place in text.joined and place - 1 not in own and place > 1
        ends = place + 1 not in text.joined
        if text.units[place].key in en.NAMES_OF_A_KIND:
            continue
        if behind and ends and _is_thing(text.units[place]) and _is_thing(text.units[place - 1]):
            return True
    return False


def _asks_for_all(text: Analysis, other: Analysis) -> bool:
    """Whether a text asks how or where a kind of person does what the other asks for the asker."""
    role = bool(text.units) and text.units[0].key in zh.ROLES
    return (
        role
        and other.marks.mine
        and {text.marks.question, other.marks.question} <= {"how", "where"}
    )


def _is_thing(unit: Unit) -> bool:
    return (
        unit.kind == "word"
        and unit.key.isascii()
        and is_noun(unit.key)
        and not unit.text.endswith(("ing", "ed"))
    )


def _least_insertion(text: Analysis) -> float:
    """Weight of words put in that narrow the question: one character can, in Chinese (白金卡, 金卡)."""
    return HAN_INSERTION_WEIGHT if text.script == "han" else INSERTION_WEIGHT


def _narrowed(text: Analysis, places: list[int], but: frozenset[str]) -> str:
    """A narrowing modifier, or the thing that something must have, which only this text names."""
    left = set(places)
    for place in places:
        unit = text.units[place]
        if unit.key not in but and (unit.key in zh.NARROWING or unit.key in en.NARROWING):
            return unit.text
        if unit.kind not in ("han", "word"):
            continue
        end = place
        while end in left and text.units[end].kind in ("han", "word"):
            end += 1
        run = "".join(part.text for part in text.units[place:end])
        after = text.units[end].key if end < len(text.units) else ""
        if len(run) > 1 and (unit.role == OFFERED or after in zh.DISHES):
            return run
    return ""


def _own_sentence(text: Analysis, places: set[int]) -> float:
    """Weight of the heaviest sentence of which the other text has nothing."""
    bounds = [0, *text.sentences, len(text.units)]
    heaviest = 0.0
    for start, end in pairwise(bounds):
        if end > start and all(place in places for place in range(start, end)):
            heaviest = max(heaviest, weight(own_content(list(text.units[start:end]))))
    return heaviest
