"""Guards on small words: quantity, place in time, permission, kind of question, degree, asker."""

import re

from service.guards.alignment import TEMPLATE, Alignment
from service.guards.asked import another_question, start_or_end
from service.guards.english_questions import another_opening
from service.guards.flip_guards import turns
from service.guards.marks import Marks
from service.guards.refusal import Refusal
from service.guards.small_words import each, objects, objects_han, of_all_or_own, time_words

_BINDING = frozenset(
    {"notall", "only", "except", "atleast", "atmost", "including", "lessthan", "morethan", "rarely"}
)
_GROUPS = frozenset(
    {"notall", "all", "some", "any", "none", "one", "most", "both", "few", "many", "only"}
)
_FREQUENCY = frozenset({"always", "often", "rarely", "sometimes"})
_AMOUNT = frozenset({"most", "least", "more", "less"})
_CLASHES = (_GROUPS, _FREQUENCY, _AMOUNT)
_HARMLESS_STATES = frozenset(
    {
        "today",
        "tonight",
        "this week",
        "this month",
        "this year",
        "until",
        "since",
        "ago",
        "later",
        "just",
    }
)
_COUNTING = frozenset({"count", "howmany", "howmuch", "howlong", "howfar"})
_SPECIFIC = frozenset(
    {"why", "when", "where", "who", "howlong", "howmany", "howmuch", "howoften", "howfar", "howold"}
)
_CLOSED = frozenset({"why", "when"})
"""Questions that a plain yes does not answer."""
_EFFECT = re.compile(
    r"\bwhat (?:did|does|do|will|would|can|could) .*\b(?:cause|lead to|result in|trigger)\b", re.I
)
_WHETHER = frozenset({"may", "need", "have"})
_TOLD_AT_LENGTH = 10
"""Characters of a Chinese question that says more than a thing and a deed."""
_HOW_CLASHES = frozenset(
    {"count", "why", "when", "who", "howlong", "howmany", "howoften", "howfar", "howold", "howmuch"}
)


def quantifier(pair: Alignment) -> Refusal | None:
    """Refuse where all, some, only, except, at least … differ."""
    if pair.a.source and pair.likeness < TEMPLATE:
        return None  # a reworded comment; the code itself is compared exactly
    told = _of_each(pair) or _one_or_all(pair)
    if told:
        return Refusal("quantifier", told)
    left, right = pair.a.marks.quantifiers, pair.b.marks.quantifiers
    only_left, only_right = left - right, right - left
    if not only_left and not only_right:
        return None
    if only_left | only_right == {"more", "less"}:
        return None  # a turn, which `flip_guards` counts
    hardly = only_left | only_right
    if "rarely" in hardly and pair.a.negations and pair.b.negations:
        return Refusal("quantifier", f"{_show(only_left)} vs {_show(only_right)}")  # hardly, not
    counts = {pair.a.marks.question, pair.b.marks.question} <= _COUNTING
    if counts and only_left | only_right == {"atmost"}:
        return None  # how many, and how many at most, ask for one figure
    one_sided = not only_left or not only_right
    binding = (only_left | only_right) & _BINDING
    if one_sided and (pair.likeness < TEMPLATE or turns(pair)):
        # a rewording, or a turn that a negation makes up for; 除了 … 都 leaves something out however worded
        binding = binding & {"except"} if pair.a.script == "han" else frozenset()
    clash = any(only_left & kind and only_right & kind for kind in _CLASHES)
    permitted = "may" in pair.a.marks.modals & pair.b.marks.modals
    if {*only_left, *only_right} == {"all", "any"} and permitted:
        clash = False  # what any may do, all may do
    if binding or clash:
        return Refusal("quantifier", f"{_show(only_left)} vs {_show(only_right)}")
    return None


def _of_each(pair: Alignment) -> str:
    """What each text counts by, where that differs (每天, 每次)."""
    left, right = each(pair.a.text), each(pair.b.text)
    return f"{_show(left)} vs {_show(right)}" if left and right and left.isdisjoint(right) else ""


def _one_or_all(pair: Alignment) -> str:
    """The thing to which the same is done once and to all of them."""
    left, right = objects(pair.a.skeleton), objects(pair.b.skeleton)
    for place in left.keys() & right.keys():
        if left[place] != right[place]:
            return f"{left[place]} vs {right[place]} {place[1]}"
    if pair.likeness >= TEMPLATE and of_all_or_own(pair.a.text, pair.b.text):
        return "all vs own"
    mine, yours = objects_han(pair.a.text), objects_han(pair.b.text)
    other = next((thing for thing in mine.keys() & yours.keys() if mine[thing] != yours[thing]), "")
    return f"{mine[other]} vs {yours[other]} {other}" if other else ""


def state(pair: Alignment) -> Refusal | None:
    """Refuse where the place in time or in a row differs: before/after, last/next, today/tomorrow."""
    left, right = pair.a.marks.states, pair.b.marks.states
    only_left, only_right = left - right, right - left
    stands_for = bool(pair.left_b if only_left else pair.left_a)
    one_sided = only_left | only_right
    if one_sided == {"after"} and not _CONDITIONS.isdisjoint(
        (pair.b if only_left else pair.a).skeleton
    ):
        one_sided = frozenset()  # after it fails, if it fails
    if not stands_for:
        one_sided -= _HARMLESS_STATES
    clash = pair.likeness >= TEMPLATE or not _axes(only_left).isdisjoint(_axes(only_right))
    if (only_left and only_right and clash) or (
        one_sided and (pair.likeness >= TEMPLATE or _narrow(one_sided))
    ):
        return Refusal("time", f"{_show(only_left)} vs {_show(only_right)}")
    joins_a, joins_b = time_words(pair.a.text), time_words(pair.b.text)
    if joins_a and joins_b and joins_a != joins_b and pair.likeness >= TEMPLATE:
        return Refusal("time", f"{_show(joins_a)} vs {_show(joins_b)}")
    marks = pair.a.marks, pair.b.marks
    will_or_did = any(mine.acted and yours.future for mine, yours in (marks, marks[::-1]))
    if will_or_did and not pair.left_a and not pair.left_b:
        return Refusal("time", "what was done vs what will be")
    tense_a, tense_b = _tense(pair.a.marks), _tense(pair.b.marks)
    if tense_a != tense_b and "past" in (tense_a, tense_b) and not pair.left_a and not pair.left_b:
        return Refusal("time", f"{tense_a} vs {tense_b}") if tense_a and tense_b else None
    return None


_CONDITIONS = frozenset({"if", "when", "once", "whenever", "如果", "要是", "假如", "的话"})


_AXES = (
    frozenset({"before", "after", "until", "since"}),
    frozenset({"morning", "afternoon", "evening", "am", "pm", "weekend", "tonight", "last night"}),
    frozenset(
        {"previous", "former", "last", "next", "first", "current", "future", "past", "second"}
    ),
)
"""States of one axis exclude each other; all others (yesterday, next week) share one axis."""


def _axes(states: frozenset[str]) -> set[int]:
    return {
        next((place for place, axis in enumerate(_AXES) if state in axis), -1) for state in states
    }


def _narrow(states: frozenset[str]) -> bool:
    """Whether one of the states names another thing by itself (the previous one, last week)."""
    return any(
        state in ("previous", "former", "last", "next", "tomorrow") or " " in state
        for state in states
    )


def _tense(marks: Marks) -> str:
    """The one tense that the small words of a text name, or "" for none or several."""
    named = {"past": marks.past, "present": marks.present, "future": marks.future}
    told = [tense for tense, seen in named.items() if seen]
    return "future" if "future" in told and not marks.past else told[0] if len(told) == 1 else ""


_HOW_MUST = re.compile(r"\bhow (?:must|(?:do|does) (?:\w+ ){1,3}have to)\b", re.I)
_HOW_CAN = re.compile(r"\bhow (?:can|may|could)\b", re.I)


def modality(pair: Alignment) -> Refusal | None:
    """Refuse where one text asks what must be, the other what may be."""
    texts = (pair.a.text, pair.b.text)
    if any(_HOW_MUST.search(text) for text in texts) and any(
        _HOW_CAN.search(text) for text in texts
    ):
        return Refusal("permission", "must vs may")
    left, right = pair.a.marks, pair.b.marks
    asked_alike = left.question == right.question and (
        left.question in ("who", "what", "when", "where")
        or (pair.a.script != "han" and left.question != "")  # 要多久 asks what it takes
    )
    clash = {*left.modals, *right.modals} == {"must", "may"} and pair.likeness >= TEMPLATE
    if not left.modals or not right.modals:
        return None
    if not (left.yes_no and right.yes_no) and not (asked_alike and clash and not turns(pair)):
        return None
    if left.modals & right.modals:
        return None
    return Refusal("permission", f"{_show(left.modals)} vs {_show(right.modals)}")


def question(pair: Alignment) -> Refusal | None:
    """Refuse where the kind of question differs: why, when, where, who, how much …"""
    if pair.a.script == pair.b.script == "han":
        asked_kinds = another_question(pair.a.text, pair.b.text)
        if asked_kinds and not _is_way_or_whether(pair, *asked_kinds):
            return Refusal("question", " vs ".join("/".join(sorted(each)) for each in asked_kinds))
        if start_or_end(pair.a.text, pair.b.text):
            return Refusal("question", "when it begins vs when it ends")
    opening = another_opening(pair)
    if opening:
        return Refusal("question", f"{opening[0]} vs {opening[1]}")
    left, right = pair.a.marks.question, pair.b.marks.question
    whether = {pair.a.marks.yes_no and not left, pair.b.marks.yes_no and not right} == {True, False}
    asked = pair.a if left else pair.b
    if whether and left + right in _CLOSED and "," not in asked.text and not _has_own_content(pair):
        return Refusal("question", f"{left or 'whether'} vs {right or 'whether'}")
    if not left or not right or left == right:
        return None
    kinds = {left, right}
    if kinds <= _SPECIFIC or ("how" in kinds and kinds & _HOW_CLASHES):
        if kinds == {"howmany", "howmuch"} or kinds == {"howlong", "when"}:
            return None
        return Refusal("question", f"{left} vs {right}")
    if kinds == {"count", "howmuch"}:
        return Refusal("question", f"{left} vs {right}")
    if kinds == {"what", "why"} and _asks_effect(pair):
        return Refusal("question", f"{left} vs {right}")
    if kinds == {"what", "why"} and not _has_own_content(pair):
        return Refusal("question", f"{left} vs {right}")
    return None


def _is_way_or_whether(pair: Alignment, left: frozenset[str], right: frozenset[str]) -> bool:
    """How it is done and whether it may be done: told at length in other words, one answer may serve both."""
    told = min(len(pair.a.text), len(pair.b.text)) >= _TOLD_AT_LENGTH and _has_own_content(pair)
    whether = not _WHETHER.isdisjoint(left) or not _WHETHER.isdisjoint(right)
    return told and whether and ("how" in left) != ("how" in right)


def _asks_effect(pair: Alignment) -> bool:
    """Whether one of the texts asks what comes of something, and not why it came."""
    return bool(_EFFECT.search(pair.a.text) or _EFFECT.search(pair.b.text))


def _has_own_content(pair: Alignment) -> bool:
    return bool(pair.only_a("word", "name", "unknown") or pair.only_b("word", "name", "unknown"))


def degree(pair: Alignment) -> Refusal | None:
    """Refuse where a shared property stands in another degree (cheap, cheapest)."""
    if pair.likeness < TEMPLATE:
        return None
    left, right = dict(pair.a.marks.degrees), dict(pair.b.marks.degrees)
    for i, j in pair.pairs:
        mine, yours = pair.a.units[i].key, pair.b.units[j].key
        if left.get(mine, "") != right.get(yours, ""):
            return Refusal("degree", f"{pair.a.units[i].text} vs {pair.b.units[j].text}")
    return None


def _show(values: "frozenset[str] | set[str]") -> str:
    return ", ".join(sorted(values)) or "none"
