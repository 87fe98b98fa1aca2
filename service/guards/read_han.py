"""Decides what a Chinese word adds to the reading of a text: a mark, a unit, or nothing."""

from service.guards import han
from service.guards.lexicon import chinese as zh
from service.guards.lexicon.choices import choices
from service.guards.text import Token
from service.guards.units import Reader

ROLES = {"从": "from", "到": "to", "比": "than"}


def read_han(reader: Reader, stream: list[Token], at: int) -> None:
    token = stream[at]
    key = token.key
    reader.marks.chinese(key, stream, at)
    if key in zh.NEGATORS:
        if key != "别" or _opens_clause(stream, at):
            reader.negations += 1
            reader.denied = True
    elif key in ROLES:
        reader.role = ROLES[key]
    elif key in zh.STATES or key in zh.QUANTIFIERS:
        pass
    elif key in choices():
        reader.add(choices()[key][1], "choice", key)
    elif key in zh.FUNCTION:
        pass
    else:
        kind = (
            "light"
            if key in zh.LIGHT
            else "word"
            if len(key) > 1 or key in han.groups() or key in han.opposite_words()
            else "han"
        )
        reader.add(key, kind, key)


def _opens_clause(stream: list[Token], at: int) -> bool:
    return (
        at == 0 or stream[at - 1].kind == "sym" or stream[at - 1].key in ("请", "你", "千万", "先")
    )
