"""Decides the lemma, the degree, the stem and the American spelling of an English word."""

import re
from functools import cache, lru_cache
from typing import NamedTuple

from service.guards.lexicon import english as en
from service.guards.lexicon.lists import synonym_groups
from service.guards.lexicon.wordnet import is_word, wordnet

_BRITISH = (
    (re.compile(r"is(e|ed|es|ing|er|ation)$"), r"iz\1"),
    (re.compile(r"ys(e|ed|ing)$"), r"yz\1"),
    (re.compile(r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|ful$|ite|able$)"), "or"),
    (re.compile(r"(?<=[bcdft])re$"), "er"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"ll(ed|ing|er)$"), r"l\1"),
)


class Inflection(NamedTuple):
    """Lemma and degree ("" | "more" | "most") of a word form."""

    lemma: str
    degree: str


@lru_cache(20_000)
def inflection(word: str) -> Inflection:
    """Strip plural, tense and degree endings, as far as the dictionary knows the rest."""
    if word in en.IRREGULAR:
        degree = {"better": "more", "worse": "more", "best": "most", "worst": "most"}.get(word, "")
        return Inflection(en.IRREGULAR[word], degree)
    for ending, degree in (("est", "most"), ("er", "more")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            base = _base(word, ending)
            if base and base in _gradable():
                return Inflection(base, degree)
    if word in kept() and not word.endswith("s"):
        return Inflection(word, "")
    for ending in ("ies", "es", "s", "ied", "ed", "ing"):
        if (
            word.endswith(ending)
            and len(word) > len(ending) + 1
            and not word.endswith(("ss", "us", "is"))
        ):
            base = _base(word, ending)
            if base:
                return Inflection(base, "")
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return Inflection(word if is_word(word) else word[:-1], "")
    return Inflection(word, "")


def _base(word: str, ending: str) -> str | None:
    stem = word[: -len(ending)]
    if ending in ("ies", "ied"):
        forms = [stem + "y", stem + "ie"]
    elif ending in ("es", "s"):
        forms = [stem] if ending == "s" else [stem, stem + "e"]
    else:
        forms = [stem + "e"] if stem.endswith(("v", "u", "iz", "at", "ur")) else []
        forms.append(stem)
        if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "ls":
            forms.insert(0, stem[:-1])
        elif len(stem) > 2 and stem[-1] == stem[-2]:
            forms.append(stem[:-1])
        forms.append(stem + "e")
        if stem.endswith("i"):
            forms.insert(0, stem[:-1] + "y")
    known = [form for form in forms if len(form) > 1 and (is_word(form) or form in kept())]
    return next((form for form in known if form in kept()), known[0] if known else None)


@cache
def kept() -> frozenset[str]:
    """Words of our own lists that are lemmas, also where the dictionary lacks them."""
    return frozenset(en.FUNCTION | en.LIGHT | en.NEGATORS | en.MODERN) | frozenset(
        word for word in synonym_groups("en") if "_" not in word
    )


@cache
def _gradable() -> frozenset[str]:
    """Adjectives and adverbs whose -er and -est forms are degrees, not agents (a "reader")."""
    return frozenset(
        """big large huge small little tiny quick fast rapid slow cheap dear near close far high low long
        short tall old young new early late soon hard easy soft strong weak rich poor hot cold warm cool
        heavy light deep shallow thick thin wide narrow broad dark bright loud quiet clean dirty wet dry
        safe simple fine few great nice smart clever happy sad pretty ugly fresh tough rough smooth sharp
        steep busy healthy tasty lucky funny friendly noisy lazy angry crazy dense rare brief mild wise
        brave calm clear fair flat full kind mean neat proud pure sick slim tight ripe sweet sour stale
        messy tidy neat roomy bulky runny salty shiny murky lively fatty bumpy blurry sturdy flimsy soggy crisp lean slim
        skinny shy bold lax gentle faint firm frail gloomy grim hilly humid humble muddy roomy rusty shaky steady stiff
        stuffy thirsty wealthy costly risky tricky handy spicy sunny windy cloudy rainy chilly windy dim""".split()
    )


@lru_cache(20_000)
def american(word: str) -> str:
    """American spelling of a British word, by ending."""
    for rule, form in _BRITISH:
        spelled = rule.sub(form, word)
        if spelled != word:
            return spelled
    return word


_SUFFIXES = sorted(
    """ation ition ment tion sion ing ed er or ly al ally ness ity ance ence ive able ible ous ful ic y
    ant ent ency ancy ure ee ion s e""".split(),
    key=len,
    reverse=True,
)


@lru_cache(20_000)
def stem(word: str) -> str:
    """Cut derivational endings, keeping at least four letters."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


def is_graded(lemma: str) -> bool:
    """Whether "more" and "most" before this word form a degree."""
    return lemma in _gradable() or (
        lemma.endswith(("able", "ible", "ive", "ful", "ous", "al", "ic", "ant", "ent", "ly"))
        and lemma not in wordnet().nouns
    )
