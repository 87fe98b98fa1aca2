"""Decides what one text says, once per text: its units of content and its marks.

An `Analysis` is plain data and is kept per text, so that an entry is read once and compared often.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from service.guards import amounts, han, words
from service.guards.lexicon import chinese as zh
from service.guards.lexicon import english as en
from service.guards.lexicon.choices import choices
from service.guards.marks import MarkReader, Marks
from service.guards.quantity import CURRENCIES, Quantity, english_number
from service.guards.source import Source, is_source, read_source
from service.guards.text import Token, normalise, script, spell_out, tokens

_SENTENCE_END = frozenset('.?!:;"。？！：；“”\n(（)）')
_BEFORE_INFINITIVE = frozenset(
    """allowed permitted able unable need needs needed want wants have has had way how like possible
    impossible supposed required going try trying ok okay where what when who which learn best easy hard
    easier harder used safe dangerous legal illegal necessary forget remember fail refuse ready happy
    free time want love expect plan decide hope about begin start continue""".split()
)
_KEEPS_ROLE = frozenset("a an the my your our his her their its this that these those of any all".split())
_CLAUSE_ENDS = frozenset(",，.。!！?？;；")
_STOPS = frozenset(".?!;。？！；\n")
_CODE_KINDS = frozenset({"code", "url", "email", "path", "flag", "ident", "other"})
_ROLES = {
    "from": "from",
    "to": "to",
    "into": "to",
    "onto": "to",
    "by": "by",
    "than": "than",
    "从": "from",
    "到": "to",
    "比": "than",
}
_POLITE = re.compile(
    r"(?<![\w'])(?:" + "|".join(line for line in en.POLITE.strip().splitlines()) + r")(?![\w'])",
    re.I,
)
_SEPARABLE = re.compile(
    r"\b(turn|switch|shut|power)(?:s|ed|ing)?((?:\s+[\w'-]+){1,4}?)\s+(on|off)\b", re.I
)


_HALF_PAST = re.compile(
    r"\b(?:a )?(?P<part>half past|quarter past|quarter to) (?P<hour>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.I,
)


class Unit(NamedTuple):
    """A piece of content: its key, its kind, the role its preposition gives it, as written."""

    key: str
    kind: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the guards know of one text."""

    text: str
    script: str
    source: Source | None
    units: tuple[Unit, ...]
    quantities: tuple[Quantity, ...]
    dates: tuple[str, ...]
    versions: tuple[str, ...]
    negations: int
    denials: tuple[int, ...]
    skeleton: tuple[str, ...]
    sentences: tuple[int, ...]
    code: tuple[str, ...]
    marks: Marks
    capitals: frozenset[str]
    lower: frozenset[str]


@dataclass
class _Reader:
    """The state while the tokens of one text are walked."""

    capital_news: bool
    han: bool = False
    units: list[Unit] = field(default_factory=list)
    negations: int = 0
    code: list[str] = field(default_factory=list)
    marks: MarkReader = field(default_factory=MarkReader)
    capitals: set[str] = field(default_factory=set)
    lower: set[str] = field(default_factory=set)
    role: str = ""
    degree: str = ""
    denied: bool = False
    denials: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)

    def add(self, key: str, kind: str, text: str) -> None:
        if self.degree and kind != "num":
            self.marks.degrees.append((key, self.degree))
            self.degree = ""
        if self.denied:
            self.denials.append(len(self.units))
            self.denied = False
        self.units.append(Unit(key, kind, self.role, text))
        self.role = ""


@lru_cache(8192)
def analyse(text: str) -> Analysis:
    """Read one text. Pure; the last few thousand readings are kept."""
    flat = normalise(text)
    writing = script(flat)
    source = read_source(flat) if is_source(flat) else None
    plain = _plain(source.prose if source else flat, writing)
    cut = [
        piece
        for token in tokens(plain)
        for piece in (han.cut(token) if token.kind == "han" else [token])
    ]
    found = amounts.take_amounts(cut)
    reader = _Reader(capital_news=_capitals_tell(cut), han=writing == "han")
    stream = found.rest
    at = 0
    while at < len(stream):
        if stream[at].kind == "sym" and reader.denied and stream[at].text in _CLAUSE_ENDS:
            reader.denials.append(max(0, len(reader.units) - 1))
            reader.denied = False
        if stream[at].kind == "sym" and stream[at].text in _STOPS:
            reader.sentences.append(len(reader.units))
        at += _read(reader, stream, at)
    return Analysis(
        text=flat,
        script=writing,
        source=source,
        units=tuple(reader.units),
        quantities=tuple(found.quantities),
        dates=tuple(sorted(found.dates)),
        versions=tuple(sorted(found.versions)),
        negations=reader.negations,
        denials=tuple(reader.denials),
        skeleton=tuple(token.key for token in cut if token.kind != "sym"),
        sentences=tuple(reader.sentences),
        code=tuple(sorted(reader.code)),
        marks=reader.marks.done(plain),
        capitals=frozenset(reader.capitals),
        lower=frozenset(reader.lower),
    )


def _plain(flat: str, writing: str) -> str:
    """Contractions spelt out, politeness dropped, set phrases and numerals written one way."""
    if writing == "han":
        flat = han.write_digits(han.ask_forms(flat))
    if any("a" <= char <= "z" or "A" <= char <= "Z" for char in flat):
        flat = _POLITE.sub(" ", spell_out(flat))
        flat = _SEPARABLE.sub(r"\1 \3\2", flat)
        flat = _phrases().sub(lambda match: f" {_phrase_table()[match.group().lower()]} ", flat)
        flat = _HALF_PAST.sub(_past, flat)
    return flat.strip()


def _past(match: re.Match[str]) -> str:
    """`half past three` as 3:30."""
    hour = int(match["hour"]) if match["hour"].isdigit() else int(english_number([match["hour"].lower()]) or 0)
    minute = {"half past": 30, "quarter past": 15, "quarter to": 45}[" ".join(match["part"].lower().split())]
    return f"{hour - (minute == 45)}:{minute:02d}"


@cache
def _phrase_table() -> dict[str, str]:
    return {key: full.replace("<", "").replace(">", "") for key, full in en.PHRASES.items()}


@cache
def _phrases() -> re.Pattern[str]:
    rules = sorted(map(re.escape, en.PHRASES), key=len, reverse=True)
    return re.compile(r"(?<![\w'])(?:" + "|".join(rules) + r")(?![\w'])", re.I)


def _capitals_tell(cut: list[Token]) -> bool:
    """Whether capital letters mark names here: not in titles and not in shouted text."""
    latin = [token.text for token in cut if token.kind == "word" and token.text != "I"]
    small = sum(not word[0].isupper() for word in latin)
    shouted = len(latin) > 1 and all(word.isupper() for word in latin)
    return not shouted and (small > 0 or len(latin) < 4)


def _read(reader: _Reader, stream: list[Token], at: int) -> int:
    """Read the token at `at`; return how many tokens were used."""
    token = stream[at]
    kind = token.kind
    if kind == "word":
        return _read_word(reader, stream, at)
    if kind == "han":
        _read_han(reader, stream, at)
    elif kind in ("num", "date", "version"):
        reader.add(token.key, "num", token.text)
    elif kind == "op":
        _read_operator(reader, stream, at)
    elif kind in _CODE_KINDS:
        literal = token.text.strip("`").strip()
        if kind == "ident" and literal.lower() in _prose_words():
            return _read_word(reader, [Token("word", literal, literal.lower(), token.start)], 0)
        form = (
            literal
            if kind in ("code", "flag") or "_" in literal or "(" in literal
            else literal.lower()
        )
        reader.code.append(form)
        reader.add(form, "code", token.text)
    elif token.key in ("$", "€", "£", "¥", "₹"):
        reader.add(token.key, "word", token.text)
    return 1


@cache
def _prose_words() -> frozenset[str]:
    """Words written like identifiers that are plain words to an asker."""
    return frozenset(
        {
            "wifi",
            "postgres",
            "kubernetes",
            "vscode",
            "2fa",
            "mfa",
            "ipad",
            "iphone",
            "ebay",
            "macos",
            "ios",
        }
    )


def _read_operator(reader: _Reader, stream: list[Token], at: int) -> None:
    """Operators of two characters are code; those of one count between numbers or symbols of code."""
    token = stream[at]
    beside = {stream[i].kind for i in (at - 1, at + 1) if 0 <= i < len(stream)}
    if len(token.text) > 1:
        reader.code.append(token.text)
        reader.add(token.text, "code", token.text)
    elif token.key in "+*/^=<>×÷%" and beside == {"num"}:
        reader.add({"×": "*", "÷": "/"}.get(token.key, token.key), "op", token.text)
    elif token.key in "+*^=<>" and "num" in beside:
        reader.add(token.key, "op", token.text)
    elif token.key == "-" and not reader.han and beside == {"num"} and _spaced(stream, at):
        reader.add("-", "op", token.text)


def _spaced(stream: list[Token], at: int) -> bool:
    before = stream[at - 1]
    return (
        stream[at].start > before.start + len(before.text)
        and stream[at + 1].start > stream[at].start + 1
    )


# English -------------------------------------------------------------------------------------------

_SPOKEN_OPERATORS = {"plus": "+", "minus": "-", "times": "*", "multiplied": "*", "divided": "/"}


def _read_word(reader: _Reader, stream: list[Token], at: int) -> int:
    token = stream[at]
    key = token.key
    owned = key.endswith("'s")
    if owned:
        key = key[:-2]
    if "-" in key and key not in choices() and not words.known(key):
        parts, start = [], token.start
        for part in re.split("-", token.text):
            parts.append(Token("word", part, part.lower(), start))
            start += len(part) + 1
        for place in range(len(parts)):
            _read_word(reader, parts, place)
        return 1
    joined = _multiword(stream, at)
    if joined:
        reader.add(joined[0], "word", joined[0])
        return joined[1]
    first = at == 0 or (stream[at - 1].kind == "sym" and stream[at - 1].text in _SENTENCE_END)
    capital = token.text[0].isupper() and token.text != "I"
    if not first:
        (reader.capitals if capital and not token.text.isupper() else reader.lower).add(key)
    named = capital and not first and reader.capital_news
    if key in _SPOKEN_OPERATORS and any(
        _kind(stream, i) == "num" for i in (at - 1, at + 1, at + 2)
    ):
        reader.add(_SPOKEN_OPERATORS[key], "op", key)
        return 1
    lemma, degree = words.inflection(key)
    used = reader.marks.english(key, lemma, stream, at, owned=owned)
    if key in en.NEGATORS:
        interjection = key == "no" and at + 1 < len(stream) and stream[at + 1].key in (",", ".", "!")
        reader.negations += not interjection
        reader.denied = reader.denied or not interjection
    elif key in _ROLES and not named:
        infinitive = key == "to" and at > 0 and stream[at - 1].key in _BEFORE_INFINITIVE
        reader.role = "" if infinitive else _ROLES[key]
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
    elif named and key not in en.FUNCTION and lemma not in en.LIGHT and lemma not in en.WEAK:
        reader.add(key, "name", token.text)
    elif key in en.FUNCTION or (lemma in en.FUNCTION and not words.groups().get(lemma)):
        pass
    else:
        reader.degree = reader.degree or degree
        light = lemma in en.LIGHT or (key in en.LIGHT and lemma not in words.groups())
        unknown = not words.known(key)
        if unknown and words.slip_of_small_word(key):
            return 1
        if owned and not light:
            reader.marks.owners.add(lemma)
        weak = key in en.WEAK or lemma in en.WEAK
        reader.add(lemma, "weak" if weak else "light" if light else "unknown" if unknown else "word", token.text)
    return 1


def _kind(stream: list[Token], at: int) -> str:
    return stream[at].kind if 0 <= at < len(stream) else ""


def _degreed(key: str) -> bool:
    return words.is_graded(words.inflection(key).lemma)


def _multiword(stream: list[Token], at: int) -> tuple[str, int] | None:
    """A verb with its particle, or another fixed pair of words, that the synonym lists know."""
    lemma = words.inflection(stream[at].key).lemma
    for size in (3, 2):
        rest = stream[at + 1 : at + size]
        if len(rest) == size - 1 and all(token.kind == "word" for token in rest):
            for tail in ("_".join(token.key for token in rest),):
                for head in (lemma, stream[at].key):
                    if f"{head}_{tail}" in words.groups():
                        return f"{head}_{tail}", size
    return None


# Chinese -------------------------------------------------------------------------------------------


def _read_han(reader: _Reader, stream: list[Token], at: int) -> None:
    token = stream[at]
    key = token.key
    reader.marks.chinese(key, stream, at)
    if key in zh.NEGATORS:
        if key != "别" or _opens_clause(stream, at):
            reader.negations += 1
            reader.denied = True
    elif key in _ROLES:
        reader.role = _ROLES[key]
    elif key in zh.STATES or key in zh.QUANTIFIERS:
        pass
    elif key in choices():
        reader.add(choices()[key][1], "choice", key)
    elif key in zh.FUNCTION:
        pass
    else:
        kind = (
            "light" if key in zh.LIGHT else "word" if len(key) > 1 or key in han.groups() or key in han.opposite_words() else "han"
        )
        reader.add(key, kind, key)


def _opens_clause(stream: list[Token], at: int) -> bool:
    return (
        at == 0 or stream[at - 1].kind == "sym" or stream[at - 1].key in ("请", "你", "千万", "先")
    )


def content_runs(units: tuple[Unit, ...]) -> Iterator[str]:
    """Keys of the units that carry content, in order."""
    return (unit.key for unit in units if unit.kind != "light")
