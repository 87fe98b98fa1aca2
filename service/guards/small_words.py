"""Decides what small words tell of time, of turns and of how many: at or until, a day or a time, one or all."""

import re
from functools import lru_cache

from service.guards.inflections import inflection
from service.guards.lexicon import english as en

_BEFORE_TIME = re.compile(
    r"\b(?P<word>at|on|until|till|til|by|from|since|after|before)\s+(?:about |around |the )?"
    r"(?=\d|noon\b|midnight\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|tomorrow\b|tonight\b|quarter\b"
    r"|january\b|february\b|march\b|april\b|may\b|june\b|july\b|august\b|september\b|october\b|november\b|december\b)",
    re.I,
)
_TIME_WORDS = {"on": "at", "till": "until", "til": "until", "since": "from", "before": "by"}
_EACH = re.compile(
    r"每(?:[一1])?(?P<each>个?(?:小时|钟头|星期|礼拜|季度)|个?[天日次回周月年晚人单笔张件名位])"
)
_EACH_ALIKE = {
    "日": "天",
    "回": "次",
    "星期": "周",
    "礼拜": "周",
    "钟头": "小时",
    "名": "人",
    "位": "人",
}
_ALL = frozenset({"all", "every", "each"})
_ONE = frozenset({"a", "an", "one", "single"})
_PREPOSITIONS = frozenset("to for from with at on".split())
_BEFORE_DEED = frozenset("to i we you please and".split())
_OWNERS = frozenset("of the my our your these those".split())


@lru_cache(8192)
def time_words(text: str) -> frozenset[str]:
    """How times of day and days are joined: at, until, by, from, after."""
    return frozenset(
        _TIME_WORDS.get(word, word)
        for word in (match["word"].lower() for match in _BEFORE_TIME.finditer(text))
    )


@lru_cache(8192)
def each(text: str) -> frozenset[str]:
    """What something is counted by in Chinese: 每天, 每次."""
    found = (match["each"].removeprefix("个") for match in _EACH.finditer(text))
    return frozenset(_EACH_ALIKE.get(unit, unit) for unit in found)


@lru_cache(8192)
def objects(skeleton: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """Deed and thing to `all` or `one`, for each deed that is done to one thing or to all of them."""
    found = {}
    for at, key in enumerate(skeleton[:-2]):
        deed = inflection(key).lemma
        place = at + 1 + (skeleton[at + 1] in _PREPOSITIONS)
        count = skeleton[place]
        if count not in _ALL | _ONE or not _is_deed(skeleton, at, deed):
            continue
        thing = next((word for word in skeleton[place + 1 :] if word not in _OWNERS), "")
        found[deed, inflection(thing).lemma] = "all" if count in _ALL else "one"
    return found


def _is_deed(skeleton: tuple[str, ...], at: int, lemma: str) -> bool:
    """Whether the word is a verb by the lists, or by where it stands."""
    opens = at == 0 or skeleton[at - 1] in _BEFORE_DEED
    return lemma in en.DEEDS or (opens and lemma not in en.FUNCTION)
