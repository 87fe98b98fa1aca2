"""Decides what an English question asks by its form: its first word, its subject and its object."""

import re
from functools import lru_cache

from service.guards.alignment import TEMPLATE, Alignment
from service.guards.leftovers import content

_BEING = frozenset("is are was were be".split())
_MODAL = frozenset("should can could would will may might must shall have has had".split())
_DOING = frozenset("do does did".split())
_ASKING = frozenset("who what which whom whose".split())
_OPENS = frozenset({*_ASKING, "how", "where", "when"})
_TIMES = frozenset(
    "deadline date time schedule expiry cutoff hours timetable birthday due end start".split()
)
"""What is a time itself: when it is and what it is are one question."""
_PLACE_DEEDS = frozenset(
    "get buy purchase pay collect eat drink park repair fix rent sit stay sleep".split()
)
"""What is done at a place, so that where it is done is asked of the place and not of the way."""
_HEAD = re.compile(
    r"\W*(?:so |and |hi,? |hello,? |please,? )?(how|where)\b(?! (?:much|many|long|often|far|old)\b)",
    re.I,
)
_FIRST = 4
"""Words within which a question about an object has its do, does or did."""


def another_opening(pair: Alignment) -> tuple[str, str] | None:
    """The first words of two questions that are else alike and ask for another thing (what, where is it)."""
    a, b = pair.a.skeleton, pair.b.skeleton
    if content(pair.only_a()) or content(pair.only_b()):
        return None
    asked = _way_or_place(pair.a.text), _way_or_place(pair.b.text)
    if {*asked} == {"how", "where"} and _end_at_a_place(pair):
        return asked
    if pair.likeness < TEMPLATE or not a or not b or a[0] == b[0] or not {a[0], b[0]} <= _OPENS:
        return None
    opens = {a[0], b[0]}
    if opens == {"how", "where"}:
        return None
    if opens <= _ASKING - {"what"} or opens == {"what", "which"} or a[1:2] != b[1:2]:
        return None  # which, who and whom ask for one party
    if "when" in opens and not _TIMES.isdisjoint((*a, *b)):
        return None
    return a[0], b[0]


@lru_cache(8192)
def _way_or_place(text: str) -> str:
    """The word that asks how or where at the head of the text as written; the reading makes one of both."""
    head = _HEAD.match(text)
    return head.group(1).lower() if head else ""


def _end_at_a_place(pair: Alignment) -> bool:
    """Whether the words that both texts end with begin with, or hold, what is done at a place."""
    end = pair.shared[1]
    return end > 0 and not _PLACE_DEEDS.isdisjoint(pair.a.skeleton[-end:])


def changes_subject(pair: Alignment) -> bool:
    """Whether one text asks who does it, and the other to whom it is done, in the same words."""
    a, b = pair.a, pair.b
    first = a.skeleton[:1]
    if first != b.skeleton[:1] or not _ASKING.issuperset(first) or not first:
        return False
    if content(pair.only_a()) or content(pair.only_b()):
        return False
    order = [j for _, j in sorted(pair.pairs)]
    passive = [
        not _BEING.isdisjoint(text.skeleton[1:_FIRST]) and "by" in text.skeleton for text in (a, b)
    ]
    if passive[0] != passive[1]:
        active = b if passive[0] else a
        others = _BEING | _MODAL | _DOING
        return others.isdisjoint(active.skeleton) and len(order) > 1 and order == sorted(order)
    of_object = [not _DOING.isdisjoint(text.skeleton[1:_FIRST]) for text in (a, b)]
    if of_object[0] == of_object[1] or not (_BEING | _MODAL).isdisjoint((*a.skeleton, *b.skeleton)):
        return False
    return order != sorted(order)
