"""Decides what a Chinese word adds to the reading of a text: a mark, a unit, or nothing."""

from service.guards import han
from service.guards.lexicon import chinese as zh
from service.guards.lexicon.choices import choices
from service.guards.text import Token
from service.guards.units import Reader

OFFERED = "offered"
"""The role of what stands after a verb of having or offering."""
_JOINING = frozenset("和 与 及 以及 且 并且 还有 或 或者".split())
_NAME_UNITS = 4
HOW = "how"
"""The role of the verb after a word that asks how: it may stand before or after its object."""
_HOW = frozenset({"怎么", "如何", "怎样", "咋"})
_COPULAS = frozenset("是 在 为 要 达到 达 大概 大约 最好 需要 能 价格 消费".split())
ROLES = {"从": "from", "自": "from", "到": "to", "往": "to", "向": "to", "比": "than"}


def read_han(reader: Reader, stream: list[Token], at: int) -> None:
    token = stream[at]
    key = token.key
    reader.marks.chinese(key, stream, at)
    if key in zh.NEGATORS:
        reader.negations += 1
        reader.denied = True
    elif key in ROLES:
        reader.role = ROLES[key]
    elif key in zh.STATES or key in zh.QUANTIFIERS or _labels(stream, at):
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
    if key in _HOW:
        reader.role = HOW
    if key in zh.OFFERING or (key in _JOINING and _offers(reader)):
        reader.role = OFFERED


def _offers(reader: Reader) -> bool:
    """Whether the thing just named is one that is offered, so that one joined to it is, too."""
    return any(unit.role == OFFERED for unit in reader.units[-_NAME_UNITS:])


def _labels(stream: list[Token], at: int) -> bool:
    """Whether the word only names the amount that follows it (评分 4.5 分以上)."""
    if stream[at].key not in zh.LABELS:
        return False
    place = at + 1
    while place < len(stream) and stream[place].key in _COPULAS:
        place += 1
    return place < len(stream) and (stream[place].kind == "num" or stream[place].key == "免费")
