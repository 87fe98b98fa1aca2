"""Decides which word a text speaks of as a word: what does "Polish" mean, 简述“制定”的用法."""

import re
from functools import lru_cache

from service.guards.inflections import american, inflection
from service.guards.lexicon import english as en
from service.guards.lexicon.sounds import is_word as is_han_word
from service.guards.lexicon.wordnet import is_word
from service.guards.matching import same_han
from service.guards.words import is_capitonym

_NAME = r"[\"'`]?(?P<{}>[A-Za-z]+)[\"'`]?"
_ENGLISH = tuple(
    re.compile(rule, re.I)
    for rule in (
        r"\b(?:the|a) (?:word|term|noun|verb|adjective|adverb|abbreviation|acronym|symbol|unit|prefix|suffix) "
        + _NAME.format("word"),
        r"\bwhat (?:does|do|did|is) "
        + _NAME.format("word")
        + r" (?:mean|stand for|refer to|short for)\b",
        r"\bmeaning of " + _NAME.format("word") + r"\s*[?.!]*$",
        r"^(?:please )?define " + _NAME.format("word") + r"\s*[?.!]*$",
        r"\b(?:spell|pronounce) " + _NAME.format("word") + r"\s*[?.!]*$",
        r"\b(?:synonyms?|antonyms?|plural|past tense|etymology) (?:for|of) " + _NAME.format("word"),
    )
)
_HAN = tuple(
    re.compile(rule)
    for rule in (
        r"(?:单词|词语|英文词?|英语词?|名词|动词|形容词|缩写|简称|符号|字母|单位|术语)[是为]?"
        + _NAME.format("word"),
        _NAME.format("word")
        + r"(?:这个|一|这)?(?:单?词|缩写|符号|字母|单位)?(?:是什么(?:意思|单位|缩写)|表示什么|代表什么|什么意思|怎么[读念拼]|的意思|的缩写)",
        r"[\"「『](?P<word>[\u4e00-\u9fff]{1,6})[\"」』](?:这个|这|一)?(?:词|字|两个字)?(?:的|是|怎|如何|表示|指|有什么)"
        r"(?=[\u4e00-\u9fff]{0,3}(?:意思|含义|用法|定义|读音|拼音|解释|意义|出处|近义词|反义词|区别|用|读|写|念|发音|什么))",
        r"(?:解释|理解|辨析|简述|用)[\"「『](?P<word>[\u4e00-\u9fff]{1,6})[\"」』]",
        r"[\"「『](?P<word>[\u4e00-\u9fff]{1,6})[\"」』][和与跟及]",
    )
)
_DEFINED = re.compile(
    r"^(?:请|请问)?(?:什么是|什么叫|何为|何谓)(?P<before>[\u4e00-\u9fff]{2,4})[？?。]*$"
    r"|^(?:请|请问)?(?:简述|解释)?(?P<behind>[\u4e00-\u9fff]{2,4}?)(?:是什么意思|是什么|是啥|的定义|的含义|的意思|的概念)(?:是什么)?[？?。]*$"
)
"""A text that asks nothing but what a word means."""
_OTHER = re.compile(r"[\"「『](?P<word>[\u4e00-\u9fff]{1,6})[\"」』]")
_NO_WORD = frozenset("of for in that is are to the a an it this you i we they and".split())


@lru_cache(8192)
def spoken_of(text: str, *, han: bool) -> tuple[str, ...]:
    """The words that a text in normal form speaks of as words, as written; empty where there are none."""
    if han:
        defined = _DEFINED.search(text)
        if defined:
            return (defined["before"] or defined["behind"],)
        if not any(rule.search(text) for rule in _HAN):
            return ()
        latin = (rule.search(text) for rule in _HAN[:2])
        named = [match["word"] for match in latin if match]
        return tuple(named[:1] or (match["word"] for match in _OTHER.finditer(text)))
    found = (rule.search(text) for rule in _ENGLISH)
    named = [match["word"] for match in found if match and match["word"].lower() not in _NO_WORD]
    return tuple(named[:1])


def other_case(left: str, right: str, *, han: bool) -> tuple[str, str] | None:
    """A word spoken of that a capital makes another word: March and march, Polish and polish."""
    for mine, yours in zip(spoken_of(left, han=han), spoken_of(right, han=han), strict=False):
        if mine == yours or mine.lower() != yours.lower():
            continue
        first, second = sorted((mine, yours))
        name = first.istitle() and (is_capitonym(second) or second in en.FIRST_NAMES)
        initials = first.isupper() and second in en.FUNCTION  # US, IT, WHO
        if second.islower() and (name or initials):
            return mine, yours
    return None


def other_word(left: str, right: str, *, han: bool) -> tuple[str, str] | None:
    """Two words of the dictionary, each spoken of as a word, that are no spellings of one."""
    mine, yours = spoken_of(left, han=han), spoken_of(right, han=han)
    if not mine or len(mine) != len(yours):
        return None
    for one, other in zip(sorted({*mine} - {*yours}), sorted({*yours} - {*mine}), strict=False):
        quoted = '"' in left and '"' in right
        if _are_words(one, other) and (quoted or not han or not same_han(one, other)):
            return one, other
    return None


def _are_words(one: str, other: str) -> bool:
    if one.isascii() != other.isascii():
        return False
    if not one.isascii():
        known = is_han_word(one) and is_han_word(other)
        return known and len(one) == len(other)
    one, other = one.lower(), other.lower()
    if american(one) == american(other) or inflection(one).lemma == inflection(other).lemma:
        return False
    return is_word(one) and is_word(other)
