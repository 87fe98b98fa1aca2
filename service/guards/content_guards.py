"""Guards on content: names, choices, code, language, and what one text has and the other lacks."""

import re
from collections import Counter
from itertools import pairwise, zip_longest

from service.guards import han, words
from service.guards.alignment import TEMPLATE, Alignment, turning_words, weight
from service.guards.analysis import Analysis
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
from service.guards.lexicon.choices import choices
from service.guards.lexicon.common_chinese import is_plain
from service.guards.lexicon.wordnet import is_noun
from service.guards.matching import same_han
from service.guards.read_han import OFFERED
from service.guards.refusal import Refusal
from service.guards.units import Unit

HAN_NAME_CHARS = 3
"""Runs of so many unknown characters on both sides are two names, however the rest is worded."""
_SHORT = 2
"""Texts of so few words are names of a thing: other words name another thing."""
INSERTION = 0.4
"""From this likeness on, words put in at one place of an otherwise equal text narrow the question."""
INSERTION_WEIGHT = 1.0
HAN_INSERTION_WEIGHT = 0.6
EXTRA_WEIGHT = 2.0
ELSEWHERE_WEIGHT = 1.5
"""Weight on either side, from which on two Chinese texts that share little are about other things."""
ELSEWHERE_SHARE = 0.5
"""Of that weight: with more in common they may be one question in other words."""
REWORDED_WEIGHT = 1.0
"""Weight of the own content of both texts, from which on a narrowing word may be said in other words there."""
SENTENCE_WEIGHT = 1.5
"""Weight of a sentence that only one text has, from which on it is a request of its own."""


_HAN = re.compile("[\u4e00-\u9fff]")


def language(pair: Alignment) -> Refusal | None:
    """Refuse where the two texts are written in different scripts."""
    scripts = {pair.a.script, pair.b.script} - {"none"}
    mixed = scripts == {"han", "latin"} and all(_HAN.search(text.text) for text in (pair.a, pair.b))
    if len(scripts) > 1 and not mixed:
        return Refusal("language", f"{pair.a.script} vs {pair.b.script}")
    return None


def code(pair: Alignment) -> Refusal | None:
    """Refuse where code, identifiers, paths, addresses or operators differ."""
    if pair.a.source or pair.b.source:
        return _source(pair)
    moved = _moved_line(pair.a.indents, pair.b.indents)
    if moved:
        return Refusal("code", f"another indentation: {moved}"[:200])
    if not pair.a.code and not pair.b.code and not pair.only_a("op") and not pair.only_b("op"):
        return None
    left, right = Counter(pair.a.code), Counter(pair.b.code)
    only_left, only_right = sorted((left - right).elements()), sorted((right - left).elements())
    operators_left = sorted(u.key for u in pair.only_a("op"))
    operators_right = sorted(u.key for u in pair.only_b("op"))
    only_left, only_right = _not_said(only_left, pair.b.units), _not_said(only_right, pair.a.units)
    if only_left or only_right or operators_left != operators_right:
        show_left, show_right = only_left + operators_left, only_right + operators_right
        return Refusal(
            "code", f"{' '.join(show_left) or 'none'} vs {' '.join(show_right) or 'none'}"[:200]
        )
    return None


def _moved_line(a: tuple[tuple[str, int], ...], b: tuple[tuple[str, int], ...]) -> str | None:
    """A line of both texts that stands further in or out in one of them; a shift of all lines is none."""
    right = dict(b)
    shifts = {line: right[line] - depth for line, depth in a if line in right}
    if len(set(shifts.values())) < 2:
        return None
    usual = Counter(shifts.values()).most_common(1)[0][0]
    return next(line for line, shift in shifts.items() if shift != usual)


def _source(pair: Alignment) -> Refusal | None:
    """Refuse where source text differs: one side only, another language, other tokens or depth."""
    left, right = pair.a.source, pair.b.source
    if left is None or right is None:
        return Refusal("code", "source text on one side only")
    if left.language != right.language:
        return Refusal("code", f"{left.language or 'unknown'} vs {right.language or 'unknown'}")
    for mine, yours in zip_longest(left.tokens, right.tokens, fillvalue="none"):
        if mine != yours:
            return Refusal("code", f"{mine} vs {yours}"[:200])
    return None


def _not_said(literals: list[str], others: tuple[Unit, ...]) -> list[str]:
    """Literals that the other text does not have as a plain word either."""
    keys = {unit.key.lower() for unit in others} | {unit.text.lower() for unit in others}
    run = f" {' '.join(unit.text.lower() for unit in others)} "
    return [x for x in literals if x.lower() not in keys and f" {x.lower()} " not in run]


def choice(pair: Alignment) -> Refusal | None:
    """Refuse where an environment, tier, period or language differs."""
    left, right = pair.only_a("choice"), pair.only_b("choice")
    if not (left and right) and pair.likeness < TEMPLATE:
        left = [unit for unit in left if not _is_loose(unit)]
        right = [unit for unit in right if not _is_loose(unit)]
    if left or right:
        return Refusal("choice", f"{_show(left)} vs {_show(right)}")
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
        return Refusal("name", f"{_show(left)} vs {_show(right)}")
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
    for mine, yours in ((pair.a, pair.b), (pair.b, pair.a)):
        if yours.text[:1].islower() or yours.text == yours.text.lower():
            continue  # typed without care for capitals, so a small letter says nothing
        for word in mine.capitals & yours.lower - mine.lower - yours.capitals:
            if words.is_capitonym(word):
                return Refusal("case", f"{word.capitalize()} vs {word}")
    return None


def slot(pair: Alignment) -> Refusal | None:
    """Refuse where one wording is used twice with other content in one place."""
    things = _other_thing(pair)
    if things:
        return Refusal("slot", f"{things[0]} vs {things[1]}")
    if (
        _is_elsewhere(pair)
        or _is_other_material(pair)
        or _is_other_object(pair)
        or _differs_in_one_place(pair)
        or _other_deed_to_it(pair)
    ):
        return Refusal("slot", f"{_show(pair.only_a())} vs {_show(pair.only_b())}")
    shortest = max(len(pair.a.skeleton), len(pair.b.skeleton)) <= _SHORT
    if pair.likeness < TEMPLATE and not (shortest and not pair.pairs):
        return None
    left, right = _content(pair.only_a()), _content(pair.only_b())
    if not left and not right:
        return None
    left, right = left or _stand_in(pair, pair.a, right), right or _stand_in(pair, pair.b, left)
    if left and right:
        return Refusal("slot", f"{_show(left)} vs {_show(right)}")
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
    return any(
        i - 1 in own_a and j - 1 in own_b and _are_deeds(pair.a.units[i - 1], pair.b.units[j - 1])
        for i, j in pair.pairs
    )


def _run(text: Analysis, places: list[int]) -> str:
    """The characters of a Chinese thing of which these are the words; empty where they stand apart."""
    together = all(place in text.joined for place in places[1:])
    known = all(text.units[place].kind in ("han", "word") for place in places)
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
        or (unit.kind == "light" and place not in own)
    ]


def _is_other_material(pair: Alignment) -> bool:
    """Whether two statements that ask nothing differ: text to work on, of which every word counts."""
    both = pair.a.marks.states_only and pair.b.marks.states_only
    return both and bool(_content(pair.only_a()) or _content(pair.only_b()))


def _is_other_object(pair: Alignment) -> bool:
    """Whether both begin with one and the same verb and share nothing else (define X, define Y)."""
    a, b = pair.a, pair.b
    if not pair.shared[0] or not a.units or not b.units or a.units[0].key != b.units[0].key:
        return False
    opens = a.units[0].kind in ("word", "light") and _first_word(a) == _first_word(b) != ""
    shared = [i for i, _ in pair.pairs if i and a.units[i].kind not in ("light", "weak")]
    return opens and not shared and bool(_content(pair.only_a()) and _content(pair.only_b()))


def _first_word(text: Analysis) -> str:
    """The first word, where it is the first piece of content too."""
    first = text.skeleton[0]
    return first if text.units[0].text.lower() == first else ""


def _is_elsewhere(pair: Alignment) -> bool:
    """Whether two Chinese texts share so little of their content that they are about other things."""
    if pair.a.script != "han" or pair.b.script != "han":
        return False
    own = min(weight(_own(pair.only_a())), weight(_own(pair.only_b())))
    return own >= ELSEWHERE_WEIGHT and pair.shared_weight() < ELSEWHERE_SHARE * own


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
    if _own(pair.only_a()) or _own(pair.only_b()):
        return None
    mine, yours = (
        [unit.key for unit in units if unit.key in en.THINGS or unit.key in zh.THINGS]
        for units in (pair.only_a("light"), pair.only_b("light"))
    )
    return (mine[0], yours[0]) if len(mine) == len(yours) == 1 else None


def _small_deed(pair: Alignment, text: Analysis, other: list[Unit]) -> list[Unit]:
    """A verb of little content (find, use, 使用) that is the one word that another has replaced."""
    start, end = pair.shared
    middles = [side.skeleton[start : len(side.skeleton) - end] for side in (pair.a, pair.b)]
    if any(len(middle) != 1 for middle in middles):
        return []
    key = middles[text is pair.b][0]
    lemma = words.inflection(key).lemma if key.isascii() else key
    is_deed = lemma in zh.SMALL_DEEDS or lemma in en.SMALL_DEEDS
    is_same = any(same_han(lemma, unit.key) or words.same(lemma, unit.key) for unit in other)
    return [Unit(key, "light", "", key)] if is_deed and not is_same else []


def extra(pair: Alignment) -> Refusal | None:
    """Refuse where one text carries content that the other lacks."""
    reworded = (
        pair.likeness < TEMPLATE
        and min(weight(_own(pair.only_a())), weight(_own(pair.only_b()))) >= REWORDED_WEIGHT
    )
    for text, places in ((pair.a, pair.left_a), (pair.b, pair.left_b)):
        asked = _narrowed(text, places, zh.SAID_OTHERWISE if reworded else frozenset())
        if asked:
            return Refusal("extra", f"{asked} on one side only")
    left, right = _own(pair.only_a()), _own(pair.only_b())
    if bool(left) == bool(right):
        return None
    own, text, places = (left, pair.a, pair.left_a) if left else (right, pair.b, pair.left_b)
    if text.script == "latin" and _other_head(pair, text, places):
        return Refusal("extra", f"{_show(left)} vs {_show(right)}")
    narrowing = [u for u in own if u.key in en.RESTRICTIVE or u.key in text.marks.owners]
    if (
        (pair.likeness >= TEMPLATE and (narrowing or weight(own) >= EXTRA_WEIGHT))
        or (pair.inserted and pair.likeness >= INSERTION and weight(own) >= _least_insertion(text))
        or _own_sentence(text, set(places)) >= SENTENCE_WEIGHT
    ):
        return Refusal("extra", f"{_show(left)} vs {_show(right)}")
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
            heaviest = max(heaviest, weight(_own(list(text.units[start:end]))))
    return heaviest


def _content(units: list[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.kind not in ("num", "op", "light", "weak")]


def _own(units: list[Unit]) -> list[Unit]:
    turning = {id(unit) for unit in turning_words(units)}
    return [
        unit
        for unit in units
        if unit.kind not in ("num", "op", "light", "weak") and id(unit) not in turning
    ]


def _show(units: list[Unit]) -> str:
    return " ".join(unit.text for unit in units[:8]) or "none"
