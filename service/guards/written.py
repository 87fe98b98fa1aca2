"""Decides what signs and letter case tell where they carry meaning: in code, sums and measures."""

import re
from collections import Counter
from functools import lru_cache

from service.guards.alignment import Alignment

_CAMEL = re.compile(r"[a-z]{2,}[0-9]*(?:[A-Z][a-z0-9]*)+")
_CAMEL_WORD = re.compile(rf"(?<![A-Za-z0-9_]){_CAMEL.pattern}(?![A-Za-z0-9_])")
_STEP = re.compile(
    r"(?<![\w+-])(?P<before>\+\+|--)[A-Za-z]\w*\b(?!-)|\b[A-Za-z]\w*(?P<after>\+\+|--)(?![\w+-])"
)
_POWER = re.compile(r"\^\s?\(?\s?(?P<minus>-?)\s?(?=\d)|-\^(?=\d)|\*\*\s?\(?(?P<less>-?)(?=\d)")
_FACTORIAL = re.compile(r"(?<![\w.])(\d+|\([^()\n]*\))!(?!=)")
_SUM = re.compile(
    r"\b(?:what is|what's|whats|calculate|compute|evaluate|solve|value of|equals?|factorial)\b|[=+*/^]|[算等值]"
    r"|!\s?\S",
    re.I,
)
_PREFIXED = re.compile(
    r"(?<![A-Za-z])([mM])(?=(?:W|V|A|Ah|Hz|Pa|J|Wh|F)(?![A-Za-z]))|(?<![A-Za-z])[KMGT]i?([bB])(?:ps|/s)?(?![A-Za-z])"
)
"""Milli and mega, bits and bytes, of which only the case tells; letters all small are no witness."""


def other_case(pair: Alignment) -> tuple[str, str] | None:
    """A flag, an escape or an identifier that differs in case only."""
    for i, j in pair.pairs:
        mine, yours = pair.a.units[i], pair.b.units[j]
        if mine.kind == yours.kind == "code" and mine.text != yours.text:
            same = mine.text.lower() == yours.text.lower()
            if same and _case_counts(mine.text) and _case_counts(yours.text):
                return mine.text, yours.text
    return None


def other_name_in_code(pair: Alignment) -> tuple[str, str] | None:
    """A name in code (getUser) that the other text, else the same letter by letter, writes in small letters."""
    for text, other in ((pair.a.text, pair.b.text), (pair.b.text, pair.a.text)):
        for name in dict.fromkeys(_CAMEL_WORD.findall(text)):
            before, _, after = text.partition(name)
            rest = before + after
            with_care = rest != rest.lower() or not rest.isascii()
            if with_care and len(text) == len(other) and other == before + name.lower() + after:
                return name, name.lower()
    return None


def _case_counts(literal: str) -> bool:
    return (
        literal[:1] in "-`_\\"
        or "_" in literal
        or "(" in literal
        or _CAMEL.fullmatch(literal) is not None
    )


def other_step(pair: Alignment) -> tuple[str, str] | None:
    """`i++` against `++i`."""
    return _differ(_steps(pair.a.text), _steps(pair.b.text))


@lru_cache(8192)
def _steps(text: str) -> Counter[str]:
    return Counter(
        f"{match['before']}x" if match["before"] else f"x{match['after']}"
        for match in _STEP.finditer(text)
    )


def other_power(pair: Alignment) -> tuple[str, str] | None:
    """10^3 against 10^-3, and 5! against 5 where something is worked out."""
    found = _differ(_powers(pair.a.text), _powers(pair.b.text))
    if found:
        return found
    left, right = _factorials(pair.a.text), _factorials(pair.b.text)
    if left == right or not (_SUM.search(pair.a.text) and _SUM.search(pair.b.text)):
        return None
    return _named(left, "!"), _named(right, "!")


@lru_cache(8192)
def _powers(text: str) -> Counter[str]:
    return Counter(
        "^-" if match["minus"] or match["less"] or match.group().startswith("-") else "^"
        for match in _POWER.finditer(text)
    )


def other_prefix(pair: Alignment) -> tuple[str, str] | None:
    """Milli against mega."""
    return _differ(_prefixes(pair.a.text), _prefixes(pair.b.text))


@lru_cache(8192)
def _factorials(text: str) -> Counter[str]:
    return Counter(_FACTORIAL.findall(text))


@lru_cache(8192)
def _prefixes(text: str) -> Counter[str]:
    return Counter(prefix or size for prefix, size in _PREFIXED.findall(text))


def _differ(left: Counter[str], right: Counter[str]) -> tuple[str, str] | None:
    """What two texts of the same count of signs write otherwise."""
    if left == right or not left or left.total() != right.total():
        return None
    return _named(left), _named(right)


def _named(signs: Counter[str], behind: str = "") -> str:
    return " ".join(f"{sign}{behind}" for sign in sorted(signs)) or "none"
