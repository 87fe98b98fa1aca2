"""Decides the lemma, the concept and the weight of an English word, and which words are near."""

import re
from functools import cache, lru_cache
from typing import NamedTuple

from rapidfuzz.distance import DamerauLevenshtein

from service.guards.lexicon import english as en
from service.guards.lexicon.lists import mates, opposite_pairs, opposites_by_word, synonym_groups
from service.guards.lexicon.wordnet import is_word, listed_opposites, share_sense, wordnet

_VOWELS = "aeiou"
NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")
_ADJECTIVE_ENDINGS = ("able", "ible", "ous", "ent", "ant", "ive", "al", "ful", "ic", "ate", "ect")
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
    if word in _kept() and not word.endswith("s"):
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
    known = [form for form in forms if len(form) > 1 and (is_word(form) or form in _kept())]
    return next((form for form in known if form in _kept()), known[0] if known else None)


@cache
def _kept() -> frozenset[str]:
    """Words of our own lists that are lemmas, also where the dictionary lacks them."""
    return frozenset(en.FUNCTION | en.LIGHT | en.NEGATORS | en.MODERN) | frozenset(
        word for word in groups() if "_" not in word
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
        wealthy costly risky tricky handy spicy sunny windy cloudy rainy chilly windy dim""".split()
    )


def groups() -> dict[str, frozenset[int]]:
    """Lemma to the numbers of the hand-written synonym lines it stands in."""
    return synonym_groups("en")


@cache
def phrase_heads() -> frozenset[str]:
    """First words of the phrases in the synonym lists."""
    return frozenset(word.split("_")[0] for word in groups() if "_" in word)


def opposites() -> frozenset[tuple[str, str]]:
    """Hand-written opposites, both ways round."""
    return opposite_pairs("en")


@cache
def hyphened() -> frozenset[str]:
    """Words written with a hyphen that our lists hold as one word."""
    listed = en.RESTRICTIVE | en.NARROWING | {word for pair in opposites() for word in pair}
    return frozenset(word for word in listed if "-" in word)


@lru_cache(20_000)
def american(word: str) -> str:
    """American spelling of a British word, by ending."""
    for rule, form in _BRITISH:
        spelled = rule.sub(form, word)
        if spelled != word:
            return spelled
    return word


@lru_cache(50_000)
def same(left: str, right: str) -> bool:
    """Whether two lemmas mean the same for an asker: synonyms, spellings, derivations, short forms."""
    if left == right or american(left) == american(right) or listed_same(left, right):
        return True
    if are_opposite(left, right):
        return False
    return share_sense(left, right) or _derived(left, right) or shortened(left, right)


def listed_same(left: str, right: str) -> bool:
    """Whether two lemmas stand on one hand-written synonym line."""
    mine, yours = groups().get(left), groups().get(right)
    return bool(mine and yours and not mine.isdisjoint(yours))


@lru_cache(50_000)
def are_opposite(left: str, right: str) -> bool:
    """Whether two lemmas are opposites: listed, or one is the other with a negating prefix."""
    if (left, right) in opposites() or listed_opposites(left, right):
        return True
    if listed_same(left, right):
        return False
    if _negated_of(left, right) or _negated_of(right, left):
        return True
    return (
        _negates_kin(left, right)
        or _negates_kin(right, left)
        or _synonym_opposite(left, right)
        or _sense_opposite(left, right)
        or _sense_opposite(right, left)
    )


def _sense_opposite(left: str, right: str) -> bool:
    """Opposite through one usual sense that WordNet gives the right word (right, wrong, incorrect)."""
    return any(share_sense(other, right) for other in wordnet().opposites.get(left, ()))


def _negated_of(word: str, base: str) -> bool:
    if len(base) < 3:
        return False
    for prefix in NEGATING:
        if word.startswith(prefix):
            rest = word[len(prefix) :].lstrip("-")
            if rest == base or (len(rest) > 3 and inflection(rest).lemma == inflection(base).lemma):
                return True
    return word.endswith("less") and base.endswith("ful") and word[:-4] == base[:-3]


def _negates_kin(word: str, other: str) -> bool:
    """Whether one is un- or in- before a word akin to the other (untruthful, true)."""
    for prefix in NEGATING:
        base = word.removeprefix(prefix).lstrip("-")
        if base != word and len(base) > 3 and is_word(base):
            plainly = prefix in ("un", "non") or base.endswith(_ADJECTIVE_ENDINGS)
            return plainly and (
                _derived(base, other)
                or share_sense(base, other)
                or listed_same(base, other)
                or _begins(base, other)
            )
    return False


def _begins(base: str, other: str) -> bool:
    return len(other) > 3 and base.startswith(other)


def _synonym_opposite(left: str, right: str) -> bool:
    """Opposite through one hand-written synonym on either side (raise / cut through lower)."""
    mine, yours = groups().get(left), groups().get(right)
    if not mine and not yours:
        return False
    lefts, rights = [left, *line_mates(left)], [right, *line_mates(right)]
    return any((a, b) in opposites() for a in lefts for b in rights if a == left or b == right)


@lru_cache(20_000)
def line_mates(word: str) -> tuple[str, ...]:
    """Words that share a hand-written synonym line with this one."""
    return mates("en", word)


def opposites_of(word: str) -> frozenset[str]:
    """Hand-written opposites of a word."""
    return opposites_by_word("en").get(word, frozenset())


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


_AGENT = re.compile(r"(?:er|or|ee|ant|ist)$")


def _derived(left: str, right: str) -> bool:
    """Derivations of one stem (translate, translation), but not the doer and the one done to."""
    if len(left) < 4 or len(right) < 4 or left[:4] != right[:4]:
        return False
    if _AGENT.search(left) and _AGENT.search(right):
        return False
    a, b = stem(left), stem(right)
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    return len(short) >= 5 and long.startswith(short) and len(long) - len(short) <= 2


def shortened(left: str, right: str) -> bool:
    """`repo` and `repository`, `docs` and `documents`: a short form that is no word of its own."""
    short, long = sorted((left, right), key=len)
    return (
        3 <= len(short) <= 6
        and len(long) >= len(short) + 3
        and long.startswith(short)
        and not is_word(short)
    )


@lru_cache(20_000)
def may_be_slip(word: str) -> bool:
    """Whether a word can be a slip of another: no word at all, or a rare one."""
    return len(word) > 2 and word.isalpha() and (not _known(word) or word in wordnet().rare)


@lru_cache(20_000)
def mistyped(left: str, right: str) -> bool:
    """Whether one of two words is a slip of the other: near in letters, and not a word itself."""
    if (
        are_opposite(left, right)
        or min(len(left), len(right)) < 3
        or not (left.isalpha() and right.isalpha())
    ):
        return False
    known_left, known_right = _known(left), _known(right)
    if known_left == known_right:
        return known_left and _slip_to_rare(left, right)
    longest = max(len(left), len(right))
    allowed = 1 if longest < 7 else 2
    return DamerauLevenshtein.distance(left, right, score_cutoff=allowed) <= allowed


def _slip_to_rare(left: str, right: str) -> bool:
    """Whether one letter too few or two exchanged make a rare word of a common one (wether)."""
    rare = wordnet().rare
    if (left in rare) == (right in rare) or min(len(left), len(right)) < 5:
        return False
    slip = left if left in rare else right
    meant = right if slip == left else left
    if slip[0] != meant[0] or inflection(slip).lemma != slip:
        return False
    dropped = len(slip) + 1 == len(meant)
    swapped = len(slip) == len(meant) and sorted(slip) == sorted(meant)
    return (dropped or swapped) and DamerauLevenshtein.distance(left, right) == 1


@lru_cache(20_000)
def _known(word: str) -> bool:
    lemma = inflection(word).lemma
    if is_word(word) or word in _kept() or is_word(lemma) or lemma in _kept():
        return True
    base = stem(word)
    if base != word and (is_word(base) or is_word(base + "e")):
        return True
    bare = next(
        (word[len(p) :] for p in ("un", "re", "pre", "non", "de") if word.startswith(p)), ""
    )
    return len(bare) > 3 and (is_word(bare) or is_word(inflection(bare).lemma))


def known(word: str) -> bool:
    """Whether the word is in the dictionary or in our lists, in any inflection."""
    return _known(word)


@lru_cache(20_000)
def slip_of_small_word(word: str) -> bool:
    """Whether an unknown word is a slip of a small word that carries no content ("wher")."""
    return len(word) >= 4 and any(
        len(small) >= 4
        and small[0] == word[0]
        and DamerauLevenshtein.distance(word, small, score_cutoff=1) <= 1
        for small in en.FUNCTION
    )


def is_graded(lemma: str) -> bool:
    """Whether "more" and "most" before this word form a degree."""
    return lemma in _gradable() or lemma.endswith(
        ("able", "ible", "ive", "ful", "ous", "al", "ic", "ant", "ent", "ly")
    )


def is_capitonym(word: str) -> bool:
    """Whether a capital makes another word of it (Polish, polish)."""
    return word in wordnet().capitonyms or word in en.BRANDS


def initials(words: list[str]) -> str:
    """First letters of some words."""
    return "".join(word[0] for word in words if word)
