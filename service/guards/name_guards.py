"""Guards on names, on words no dictionary has, and on members of closed sets."""

from service.guards import han, mentions, words
from service.guards.alignment import TEMPLATE, Alignment
from service.guards.analysis import Analysis
from service.guards.leftovers import show
from service.guards.lexicon.choices import choices
from service.guards.lexicon.common_chinese import is_plain
from service.guards.refusal import Refusal
from service.guards.units import Unit

HAN_NAME_CHARS = 3
"""Runs of so many unknown characters on both sides are two names, however the rest is worded."""


def choice(pair: Alignment) -> Refusal | None:
    """Refuse where an environment, tier, period or language differs."""
    left, right = pair.only_a("choice"), pair.only_b("choice")
    if not (left and right) and pair.likeness < TEMPLATE:
        left = [unit for unit in left if not _is_loose(unit)]
        right = [unit for unit in right if not _is_loose(unit)]
    if left or right:
        return Refusal("choice", f"{show(left)} vs {show(right)}")
    return _other_kind(pair)


def _is_loose(unit: Unit) -> bool:
    """Whether a tier is named by a word that is common elsewhere (basic, 经济; but not 经济型)."""
    return choices().get(unit.key, ("",))[0] == "tier" and (
        unit.text.isascii() or len(unit.text) < 3
    )


def _other_kind(pair: Alignment) -> Refusal | None:
    """Refuse where each text names another member of one line of kinds (hotel, restaurant)."""
    kinds = han.kinds()
    named_a, named_b = ({unit.key for unit in text.units} for text in (pair.a, pair.b))
    right = [u for u in pair.only_b() if u.key in kinds and u.key not in named_a]
    for mine in pair.only_a():
        if mine.key in named_b:
            continue
        number = kinds.get(mine.key)
        for yours in right:
            if number is not None and kinds[yours.key] == number:
                return Refusal("choice", f"{mine.text} vs {yours.text}")
    return None


def name(pair: Alignment) -> Refusal | None:
    """Refuse where a name, or a word no dictionary has, stands on one side only."""
    left, right = pair.only_a("name", "unknown"), pair.only_b("name", "unknown")
    if left or right:
        return Refusal("name", f"{show(left)} vs {show(right)}")
    run_a, run_b = _unknown_run(pair.a, pair.left_a), _unknown_run(pair.b, pair.left_b)
    both = min(len(run_a), len(run_b)) >= HAN_NAME_CHARS
    stated = "。" in pair.a.text and "。" in pair.b.text  # of a statement every word counts
    if both and (stated or not (is_plain(run_a) and is_plain(run_b))):
        return Refusal("name", f"{run_a} vs {run_b}")
    return _namesake(pair)


def _namesake(pair: Alignment) -> Refusal | None:
    """Refuse where each text names a place of its own (…大酒店, …饭店)."""
    mine, yours = _named_places(pair.a, pair.left_a), _named_places(pair.b, pair.left_b)
    return Refusal("name", f"{mine[0]} vs {yours[0]}") if mine and yours else None


def _named_places(text: Analysis, left: list[int]) -> list[str]:
    kinds = han.kinds()
    names = (
        _name_before(text, place, left)
        for place, unit in enumerate(text.units)
        if unit.key in kinds
    )
    return [name for name in names if name]


def _name_before(text: Analysis, place: int, left: list[int]) -> str:
    """The leftover characters, no known word, that stand right before a word; at least two."""
    own, start = set(left), place
    while (
        start
        and start in text.joined
        and start - 1 in own
        and _may_open_name(text.units[start - 1])
    ):
        start -= 1
    if start == place:
        return ""
    run = "".join(unit.text for unit in text.units[start:place])
    if len(run) == 1 and start - 1 in own and _may_open_name(text.units[start - 1]):
        run = text.units[start - 1].text + run  # a small word within the name
    return run if len(run) > 1 else ""


def _unknown_run(text: Analysis, left: list[int]) -> str:
    """The longest run of leftover Chinese characters: a name, where it is in no list."""
    longest = run = ""
    before = -2
    for place in left:
        unit = text.units[place]
        joins = place == before + 1 and unit.kind in ("han", "word") and not unit.key.isascii()
        run = run + unit.key if joins else unit.key if _may_open_name(unit) else ""
        before = place if run else -2
        longest = max(longest, run, key=len)
    return longest


def _may_open_name(unit: Unit) -> bool:
    return unit.kind == "han" or (len(unit.key) == 1 and unit.key >= "\u3400")


def case(pair: Alignment) -> Refusal | None:
    """Refuse where a capital makes another word of the same letters (Polish, polish)."""
    spoken = mentions.other_case(pair.a.text, pair.b.text, han=pair.a.script == "han")
    if spoken:
        return Refusal("case", f"{spoken[0]} vs {spoken[1]}")
    for mine, yours in ((pair.a, pair.b), (pair.b, pair.a)):
        if yours.text[:1].islower() or yours.text == yours.text.lower():
            continue  # typed without care for capitals, so a small letter says nothing
        for word in mine.capitals & yours.lower - mine.lower - yours.capitals:
            if words.is_capitonym(word) and not (word in choices() and mine.script == "han"):
                return Refusal("case", f"{word.capitalize()} vs {word}")
    return None
