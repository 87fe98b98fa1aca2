"""Decides what an English word adds to the reading of a text: a mark, a unit, or nothing."""

import re

from service.guards import slips, words
from service.guards.inflections import inflection, is_graded
from service.guards.letter_names import LETTER
from service.guards.lexicon import english as en
from service.guards.lexicon.choices import choices
from service.guards.quantity import CURRENCIES
from service.guards.text import Token
from service.guards.units import Reader

_SENTENCE_END = frozenset('.?!:;"。？！：；“”\n(（)）')
_BEFORE_INFINITIVE = frozenset(
    """allowed permitted able unable need needs needed want wants have has had way how like possible
    impossible supposed required going try trying ok okay where what when who which learn best easy hard
    easier harder used safe dangerous legal illegal necessary forget remember fail refuse ready happy
    free time want love expect plan decide hope about begin start continue""".split()
)
_KEEPS_ROLE = frozenset(
    "a an the my your our his her their its this that these those of any all".split()
)
ROLES = {"from": "from", "to": "to", "into": "to", "onto": "to", "by": "by", "than": "than"}
_PREFIXES = ("re-", "pre-", "co-", "un-", "de-", "anti-", "multi-", "over-", "under-")
"""Re-enter and reenter are one word."""
_SAID_IN_PASSING = frozenset(
    "hello hi hey ok okay please thanks sorry dear bro sir dude well yes yep nope btw er um uh oh ah".split()
)
_PARTICLES = frozenset("in on out off up down over back away for to into onto".split())
_BEFORE_NOUN = frozenset(
    "the a an my our your his her their its these those all some any no".split()
)
_HTTP_METHODS = frozenset("GET POST PUT PATCH DELETE HEAD OPTIONS".split())
_CAPITAL_NAMES = {"us": "usa"}
_SPOKEN_OPERATORS = {"plus": "+", "minus": "-", "times": "*", "multiplied": "*", "divided": "/"}


def read_word(reader: Reader, stream: list[Token], at: int) -> int:
    token = stream[at]
    key = token.key
    if reader.han and len(key) == 1 and token.text.isupper():
        reader.add(key, "name", token.text)  # A座, B仓: no article
        return 1
    if (
        reader.han
        and len(key) > 1
        and key in en.FUNCTION - _SAID_IN_PASSING
        and _stands_alone(stream, at)
    ):
        reader.add(key, "unknown", token.text)  # ETC, it: in a Chinese text, a thing
        return 1
    if key == LETTER:
        reader.add(key, "name", token.text)
        return 1
    if token.text in _HTTP_METHODS and _kind(stream, at + 1) in ("path", "url"):
        reader.code.append(token.text)
        reader.add(token.text, "code", token.text)
        return 1
    owned = key.endswith("'s")
    if owned:
        key = key[:-2]
    if key.startswith(_PREFIXES) and key not in choices() and slips.known(key.replace("-", "")):
        key = key.replace("-", "")
    if "-" in key and key not in choices() and key not in words.hyphened() and not slips.known(key):
        parts, start = [], token.start
        for part in re.split("-", token.text):
            parts.append(Token("word", part, part.lower(), start))
            start += len(part) + 1
        for place in range(len(parts)):
            read_word(reader, parts, place)
        return 1
    joined = _multiword(stream, at)
    if joined:
        reader.add(joined[0], "word", joined[0])
        return joined[1]
    first = at == 0 or (stream[at - 1].kind == "sym" and stream[at - 1].text in _SENTENCE_END)
    capital = token.text[0].isupper() and token.text != "I"
    if not first and not token.text.isupper():
        (reader.capitals if capital else reader.lower).add(key)
    named = capital and not first and reader.capital_news
    if named and len(key) > 1 and token.text.isupper() and key in en.FUNCTION:
        reader.add(_CAPITAL_NAMES.get(key, key), "name", token.text)  # US, IT, WHO
        return 1
    if key in _SPOKEN_OPERATORS and (
        _kind(stream, at + 1) == "num"
        if key == "times"  # two times three, but not: two times for one order
        else any(_kind(stream, i) == "num" for i in (at - 1, at + 1, at + 2))
    ):
        reader.add(_SPOKEN_OPERATORS[key], "op", key)
        return 1
    lemma, degree = inflection(key)
    if key == "lower" and at + 1 < len(stream) and stream[at + 1].key in _KEEPS_ROLE:
        lemma, degree = key, ""  # lower the price: a verb
    used = reader.marks.english(key, lemma, stream, at, owned=owned)
    if key in en.NEGATORS:
        interjection = (
            key == "no" and at + 1 < len(stream) and stream[at + 1].key in (",", ".", "!")
        )
        reader.negations += not interjection
        reader.denied = reader.denied or not interjection
    elif key in ROLES and not named:
        infinitive = key == "to" and at > 0 and stream[at - 1].key in _BEFORE_INFINITIVE
        reader.role = "" if infinitive else ROLES[key]
    elif key in ("more", "most", "less", "least"):
        if _kind(stream, at + 1) == "word" and _degreed(stream[at + 1].key):
            reader.degree = "more" if key in ("more", "less") else "most"
            reader.negations += key in ("less", "least")
    elif used:
        pass
    elif key in CURRENCIES and (len(key) > 3 or token.text.isupper()):
        reader.add(CURRENCIES[key], "choice", token.text)
    elif key in choices() or lemma in choices():
        reader.add(choices().get(key, choices().get(lemma, ("", "")))[1], "choice", token.text)
    elif key in en.TIER_NAMES and _lemma_at(stream, at + 1) in en.PLAN_NOUNS:
        reader.add(key, "choice", token.text)
    elif (
        named
        and key not in en.FUNCTION
        and lemma not in en.LIGHT
        and lemma not in en.WEAK
        and not (token.text.isupper() and key in words.groups())  # ATM, DB: words, not names
    ):
        reader.add(key, "name", token.text)
    elif key in en.FUNCTION or (lemma in en.FUNCTION and not words.groups().get(lemma)):
        pass
    else:
        reader.degree = reader.degree or degree
        light = lemma in en.LIGHT or (key in en.LIGHT and lemma not in words.groups())
        unknown = not slips.known(key)
        if unknown and slips.slip_of_small_word(key):
            return 1
        if owned and not light:
            reader.marks.owners.add(lemma)
        weak = key in en.WEAK or lemma in en.WEAK
        reader.add(
            lemma,
            "weak" if weak else "light" if light else "unknown" if unknown else "word",
            token.text,
        )
    return 1


def _stands_alone(stream: list[Token], at: int) -> bool:
    return "word" not in (_kind(stream, at - 1), _kind(stream, at + 1))


def _kind(stream: list[Token], at: int) -> str:
    return stream[at].kind if 0 <= at < len(stream) else ""


def _lemma_at(stream: list[Token], at: int) -> str:
    return inflection(stream[at].key).lemma if at < len(stream) else ""


def _degreed(key: str) -> bool:
    return is_graded(inflection(key).lemma)


def _multiword(stream: list[Token], at: int) -> tuple[str, int] | None:
    """A verb with its particle, or another fixed pair of words, that the synonym lists know."""
    key = stream[at].key
    particle = at + 1 < len(stream) and stream[at + 1].key in _PARTICLES
    if particle and key != inflection(key).lemma and at and stream[at - 1].key in _BEFORE_NOUN:
        return None  # the logs in production: things, and no verb with its particle
    heads = [head for head in (inflection(key).lemma, key) if head in words.phrase_heads()]
    if not heads:
        return None
    for size in (3, 2):
        rest = stream[at + 1 : at + size]
        if len(rest) == size - 1 and all(token.kind == "word" for token in rest):
            tail = "_".join(token.key for token in rest)
            for head in heads:
                if f"{head}_{tail}" in words.groups():
                    return f"{head}_{tail}", size
    return None
