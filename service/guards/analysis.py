"""Decides what one text says, once per text: its units of content and its marks.

An `Analysis` is plain data and is kept per text, so that an entry is read once and compared often.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from service.guards import amounts, han
from service.guards.inflections import american
from service.guards.invisible import hidden
from service.guards.letter_names import name_letters
from service.guards.marks import Marks
from service.guards.plain import asks_with_not, plain
from service.guards.quantity import Quantity
from service.guards.read_english import read_word
from service.guards.read_han import read_han
from service.guards.source import Source, is_source, read_source
from service.guards.text import Token, normalise, script, tokens
from service.guards.units import Reader, Unit

_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_CLAUSE_ENDS = frozenset(",，.。!！?？;；")
_STOPS = frozenset(".?!;。？！；\n")
_CODE_KINDS = frozenset(
    {"emoji", "code", "url", "email", "path", "dotfile", "flag", "ident", "other"}
)
_PROSE_WORDS = frozenset(
    "wifi postgres kubernetes vscode 2fa mfa ipad iphone ebay macos ios".split()
)
"""Words written like identifiers that are plain words to an asker."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the guards know of one text."""

    text: str
    hidden: str
    script: str
    source: Source | None
    indents: tuple[tuple[str, int], ...]
    units: tuple[Unit, ...]
    quantities: tuple[Quantity, ...]
    dates: tuple[str, ...]
    versions: tuple[str, ...]
    negations: int
    asks_with_not: bool
    denials: tuple[int, ...]
    skeleton: tuple[str, ...]
    plainest: tuple[str, ...]
    sentences: tuple[int, ...]
    clauses: tuple[int, ...]
    joined: frozenset[int]
    code: tuple[str, ...]
    marks: Marks
    capitals: frozenset[str]
    lower: frozenset[str]


@lru_cache(8192)
def analyse(text: str) -> Analysis:
    """Read one text. Pure; the last few thousand readings are kept, 4 kB each."""
    return _analyse(text)


@lru_cache(2048)
def analyse_new(text: str) -> Analysis:
    """`analyse` for a query, which may never come again: it takes no place from the readings of entries."""
    return _analyse(text)


def _analyse(text: str) -> Analysis:
    flat = normalise(text)
    writing = script(flat)
    source = read_source(flat) if is_source(flat) else None
    wording = plain(source.prose if source else flat, writing)
    cut = [
        piece
        for token in tokens(wording)
        for piece in (han.cut(token) if token.kind == "han" else [token])
    ]
    capitals_tell = _capitals_tell(source.prose if source else flat)
    if writing != "han":
        cut = name_letters(cut, tells=capitals_tell)
    found = amounts.take_amounts(cut)
    reader = Reader(capital_news=capitals_tell, han=writing == "han")
    stream = found.rest
    at = 0
    unit_end = -1
    while at < len(stream):
        if stream[at].kind == "sym" and reader.denied and stream[at].text in _CLAUSE_ENDS:
            reader.denials.append(max(0, len(reader.units) - 1))
            reader.denied = False
        if stream[at].kind == "sym" and stream[at].text in _CLAUSE_ENDS:
            reader.clauses.append(len(reader.units))
        if stream[at].kind == "sym" and stream[at].text in _STOPS:
            reader.sentences.append(len(reader.units))
        count = len(reader.units)
        used = _read(reader, stream, at)
        if len(reader.units) > count:
            if unit_end == at:
                reader.joined.add(count)
            unit_end = at + used
        at += used
    skeleton = tuple(token.key for token in cut if token.kind != "sym")
    return Analysis(
        text=flat,
        hidden=hidden(text),
        script=writing,
        source=source,
        indents=_indents(text),
        units=tuple(reader.units),
        quantities=tuple(found.quantities),
        dates=tuple(sorted(found.dates)),
        versions=tuple(sorted(found.versions)),
        negations=reader.negations,
        asks_with_not=asks_with_not(flat),
        denials=tuple(reader.denials),
        skeleton=skeleton,
        plainest=tuple(american(key) if len(key) > 4 else key for key in skeleton),
        sentences=tuple(reader.sentences),
        clauses=tuple(reader.clauses),
        joined=frozenset(reader.joined),
        code=tuple(sorted(reader.code)),
        marks=reader.marks.done(wording),
        capitals=frozenset(reader.capitals),
        lower=frozenset(reader.lower),
    )


def _indents(text: str) -> tuple[tuple[str, int], ...]:
    """How far in each line of a text of several lines stands; lines that occur twice are left out."""
    if "\n" not in text:
        return ()
    lines = [line.expandtabs(4) for line in text.splitlines() if line.strip()]
    times = Counter(line.strip() for line in lines)
    return tuple(
        (line.strip(), len(line) - len(line.lstrip())) for line in lines if times[line.strip()] == 1
    )


def _capitals_tell(flat: str) -> bool:
    """Whether capital letters mark names here: not in titles and not in shouted text."""
    latin = [word for word in _LATIN_WORD.findall(flat) if word != "I"]
    small = sum(not word[0].isupper() for word in latin)
    shouted = len(latin) > 1 and all(word.isupper() for word in latin)
    return not shouted and (small > 0 or len(latin) < 4)


def _read(reader: Reader, stream: list[Token], at: int) -> int:
    """Read the token at `at`; return how many tokens were used."""
    token = stream[at]
    kind = token.kind
    if kind == "word":
        return read_word(reader, stream, at)
    if kind == "han":
        read_han(reader, stream, at)
    elif kind in ("num", "date", "version"):
        reader.add(token.key, "num", token.text)
    elif kind == "op":
        _read_operator(reader, stream, at)
    elif kind in _CODE_KINDS:
        literal = token.text.strip("`").strip().removeprefix("~/")
        if kind == "ident" and literal.lower() in _PROSE_WORDS:
            return read_word(reader, [Token("word", literal, literal.lower(), token.start)], 0)
        form = (
            literal
            if kind in ("code", "flag") or "_" in literal or "(" in literal or literal[0] == "\\"
            else literal.lower()
        )
        reader.code.append(form)
        reader.add(form, "code", token.text)
    elif token.key in ("$", "€", "£", "¥", "₹"):
        reader.add(token.key, "word", token.text)
    return 1


def _read_operator(reader: Reader, stream: list[Token], at: int) -> None:
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
    if not 0 < at < len(stream) - 1:
        return False
    before = stream[at - 1]
    return (
        stream[at].start > before.start + len(before.text)
        and stream[at + 1].start > stream[at].start + 1
    )
