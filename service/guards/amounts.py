"""Decides which tokens form amounts, dates and clock times, and takes them out of the stream.

What remains of the text is judged as words; what was taken is judged by value.
"""

from fractions import Fraction

from service.guards import quantity as q
from service.guards.dates import take_date
from service.guards.stream import Amounts, hold, is_kind, joined, key_at
from service.guards.text import Token

_ORDINAL_SUFFIX = frozenset({"st", "nd", "rd", "th"})
_LETTER_SCALES = {"k": 1000, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}
_RANGE_SIGNS = frozenset({"-", "~", "至", "到", "、", "to"})
_ARTICLES = frozenset({"a", "an"})
_VERSION_WORDS = frozenset({"version", "ver", "release", "版本", "版"})


def take_amounts(tokens: list[Token]) -> Amounts:
    """Walk the tokens once and split off every amount, date, time and version."""
    found = Amounts()
    at = 0
    while at < len(tokens):
        used = (
            take_date(tokens, at, found)
            or _version(tokens, at, found)
            or _amount(tokens, at, found)
        )
        if not used:
            found.rest.append(tokens[at])
            used = 1
        at += used
    return found


# versions ----------------------------------------------------------------------------------------


def _version(tokens: list[Token], at: int, found: Amounts) -> int:
    """`v2`, `1.2.3`, `version 5`, `5 版本`; the word "version" goes with its number."""
    token = tokens[at]
    if token.kind == "version":
        found.versions.append(_version_form(token.key.lstrip("v")))
        used = 1 + (key_at(tokens, at + 1) in _VERSION_WORDS)
    elif token.key in _VERSION_WORDS and is_kind(tokens, at + 1, "num"):
        found.versions.append(_version_form(tokens[at + 1].key))
        used = 2
    elif token.kind == "num" and key_at(tokens, at + 1) in _VERSION_WORDS:
        found.versions.append(_version_form(token.key))
        used = 2
    elif token.kind == "num" and _named_before(tokens, at) and not _unit(tokens, at + 1):
        found.versions.append(_version_form(token.key))
        used = 1
    else:
        return 0
    hold(found, "version", "<version>", token)
    return used


def _named_before(tokens: list[Token], at: int) -> bool:
    """Whether a product name stands just before: `Python 3.11`, `Vue 2`, `iOS 17`."""
    if at == 0 or tokens[at - 1].kind not in ("word", "ident"):
        return False
    name = tokens[at - 1].text
    return at > 1 and any(char.isupper() for char in name) and name not in ("I", "A")


def _version_form(text: str) -> str:
    return text.removesuffix(".0").rstrip(".") or "0"


# amounts -----------------------------------------------------------------------------------------


def _amount(tokens: list[Token], at: int, found: Amounts) -> int:
    token = tokens[at]
    read = _value(tokens, at)
    if read is None:
        return 0
    value, used, soft = read
    raw = value
    if token.text == "I" or (token.key in _ARTICLES and not used):
        return 0
    of_one = [key_at(tokens, at + used), key_at(tokens, at + used + 1) in _ARTICLES] == ["of", True]
    if value < 1 and of_one and _unit(tokens, at + used + 2):
        used += 2  # three quarters of an hour
    unit = _unit(tokens, at + used)
    if unit is not None:
        value, name, extra = value * unit[1], unit[0], unit[2]
        used += extra
        if [key_at(tokens, at + used + i) for i in range(3)] == ["and", "a", "half"]:
            value, used = value + unit[1] / 2, used + 3  # an hour and a half
        if soft and name in q.CURRENCIES.values():
            soft = False
    else:
        name = _currency_before(tokens, at, found)
    if token.key in _ARTICLES and not name and soft and used == 1:
        return 0
    if name and found.quantities and _continues_range(tokens, at):
        found.quantities[-1] = _with_unit(found.quantities[-1], name, value / raw if raw else 1)
    text = " ".join(piece.text for piece in tokens[at : at + used])
    found.quantities.append(q.Quantity(value, name, soft, text, raw))
    hold(found, "num", f"<{value} {name}>" if not soft else "<soft>", token)
    return used


def _continues_range(tokens: list[Token], at: int) -> bool:
    """Whether a bare number and a sign of a range stand just before (1-2 hours, 2、3个小时)."""
    return key_at(tokens, at - 1) in _RANGE_SIGNS and is_kind(tokens, at - 2, "num")


def _with_unit(bare: q.Quantity, unit: str, factor: Fraction | int) -> q.Quantity:
    """The first number of a range in the unit of the second."""
    if bare.unit or bare.value != bare.raw:
        return bare
    return bare._replace(value=bare.raw * factor, unit=unit)


def _value(tokens: list[Token], at: int) -> tuple[Fraction, int, bool] | None:
    """(value, tokens used, soft) of the number that starts here."""
    token = tokens[at]
    if token.kind == "num":
        return _digits(tokens, at)
    if token.kind != "word" and token.key not in ("半",):
        return None
    key, after = token.key, key_at(tokens, at + 1)
    shared_out = key in _ARTICLES and after in q.FRACTION_WORDS and key_at(tokens, at + 2) == "of"
    thirds = key in _ARTICLES and after in ("half", "third", "quarter")
    if key in ("half", "quarter") or thirds or shared_out:
        return _part(tokens, at)
    if key in _ARTICLES and after in q.SCALES and len(after) > 2:
        return (*_scaled(tokens, at + 2, q.SCALES[after], 2), False)
    if key in _ARTICLES and after in q.UNITS and len(after) > 1 and after != "second":
        return Fraction(1), 1, True
    if key in q.ORDINALS and key not in ("first", "second"):
        return Fraction(q.ORDINALS[key]), 1, False
    if key in q.DECADES:
        return Fraction(1900 + q.DECADES[key]), 1, False
    if key in ("couple",) or (key == "dozen"):
        return Fraction(2 if key == "couple" else 12), 1, False
    if key == "both":
        return Fraction(2), 1, True
    if "-" in key:
        parts = key.split("-")
        if parts[-1] in q.ORDINALS and all(part in q.NUMBER_WORDS for part in parts[:-1]):
            tens = q.english_number([" ".join(parts[:-1])])
            return (tens + q.ORDINALS[parts[-1]], 1, False) if tens is not None else None
        if all(part in q.NUMBER_WORDS for part in parts):
            value = q.english_number([" ".join(parts)])
            return (value, 1, False) if value is not None else None
        return None
    if key in q.NUMBER_WORDS:
        return _words(tokens, at)
    return None


def _part(tokens: list[Token], at: int) -> tuple[Fraction, int, bool] | None:
    """`half a million`, `half an hour`, `a half`, `a third of`."""
    first = at + (tokens[at].key in _ARTICLES)
    value = q.FRACTION_WORDS[key_at(tokens, first)]
    used = first - at + 1
    of = key_at(tokens, at + used) == "of" and key_at(tokens, at + used + 1) in _ARTICLES
    used += of and key_at(tokens, at + used + 2) in q.SCALES  # a quarter of a million
    if key_at(tokens, at + used) in _ARTICLES:
        nxt = key_at(tokens, at + used + 1)
        if nxt in q.SCALES:
            return value * q.SCALES[nxt], used + 2, False
        if nxt in q.UNITS:
            return value, used + 1, False
    if key_at(tokens, first) == "quarter" and first == at and key_at(tokens, at + 1) != "of":
        return None
    return value, used, False


def _scaled(tokens: list[Token], at: int, value: Fraction, used: int) -> tuple[Fraction, int]:
    while key_at(tokens, at) in q.SCALES and len(key_at(tokens, at)) > 2:
        value *= q.SCALES[key_at(tokens, at)]
        at, used = at + 1, used + 1
    return value, used


def _digits(tokens: list[Token], at: int) -> tuple[Fraction, int, bool]:
    """Digits with what may follow: a fraction bar, a scale, an ordinal suffix, "and a half"."""
    value = Fraction(tokens[at].key.replace(",", ""))
    used = 1
    if (
        key_at(tokens, at + 1) == "/" and joined(tokens, at + 1) and joined(tokens, at + 2)
        and is_kind(tokens, at + 2, "num") and key_at(tokens, at + 3) != "/"
        and Fraction(tokens[at + 2].key.replace(",", ""))
    ):  # fmt: skip
        return value / Fraction(tokens[at + 2].key.replace(",", "")), 3, False
    after = key_at(tokens, at + 1)
    if joined(tokens, at + 1) and after in _LETTER_SCALES and not _is_length(tokens, at + 1):
        return value * _LETTER_SCALES[after], 2, False
    if after in _ORDINAL_SUFFIX and joined(tokens, at + 1):
        return value, 2, False
    value, used = _scaled(tokens, at + 1, value, used)
    return (*_and_half(tokens, at, value, used), False)


def _is_length(tokens: list[Token], at: int) -> bool:
    """Whether a joined `m` means metres: small letter and no currency sign before the number."""
    return tokens[at].text == "m" and key_at(tokens, at - 2) not in ("$", "€", "£")


def _and_half(tokens: list[Token], at: int, value: Fraction, used: int) -> tuple[Fraction, int]:
    if [key_at(tokens, at + used + i) for i in range(3)] == ["and", "a", "half"]:
        return value + Fraction(1, 2), used + 3
    return value, used


def _words(tokens: list[Token], at: int) -> tuple[Fraction, int, bool] | None:
    """The longest run of number words that makes one number."""
    end = at
    while key_at(tokens, end) in q.NUMBER_WORDS or (
        key_at(tokens, end) in ("and", "point")
        and end > at
        and key_at(tokens, end + 1) in q.NUMBER_WORDS
    ):
        end += 1
    value = None
    while end > at and value is None:
        value = q.english_number([token.key for token in tokens[at:end]])
        end -= value is None
    if value is None:
        return None
    used = end - at
    after = key_at(tokens, at + used)
    if after in q.FRACTION_WORDS and after not in ("half", "quarter") and used == 1:
        return value * q.FRACTION_WORDS[after], 2, False
    if after == "quarters" and key_at(tokens, at + used + 1) == "of":
        return value / 4, used + 1, False
    if after == "dozen":
        return value * 12, used + 1, False
    value, used = _and_half(tokens, at, value, used)
    soft = value == 1 and used == 1
    return value, used, soft


def _unit(tokens: list[Token], at: int) -> tuple[str, Fraction, int] | None:
    """(dimension, factor, tokens used) of the unit that starts here."""
    skip = 0
    if key_at(tokens, at) == "-" and joined(tokens, at) and joined(tokens, at + 1):
        skip = 1
    if at + skip >= len(tokens):
        return None
    token = tokens[at + skip]
    if token.text in q.CASED_UNITS:
        return (*q.CASED_UNITS[token.text], skip + 1)
    key = (
        token.key.split("-")[0].rstrip(".") if token.kind == "word" else token.key.replace(" ", "")
    )
    if key in q.CURRENCIES and token.text != "won":
        return q.CURRENCIES[key], Fraction(1), skip + 1
    if key == "个" and key_at(tokens, at + 1) in (
        "月",
        "小时",
        "钟头",
        "星期",
        "礼拜",
        "季度",
        "世纪",
    ):
        dimension, factor = q.UNITS[key_at(tokens, at + 1)]
        return dimension, factor, 2
    if key == "degree" or key == "degrees":
        scale = key_at(tokens, at + skip + 1)
        if scale in ("c", "f", "celsius", "fahrenheit"):
            return (
                q.UNITS[{"c": "celsius", "f": "fahrenheit"}.get(scale, scale)][0],
                Fraction(1),
                skip + 2,
            )
    if key in q.UNITS:
        if (
            len(key) == 1
            and key.isascii()
            and key.isalpha()
            and token.text.isupper()
            and key not in ("w", "v", "l")
        ):
            return None
        if key in ("foot", "quarter"):
            return None
        dimension, factor = q.UNITS[key]
        return dimension, factor, skip + 1
    return None


def _currency_before(tokens: list[Token], at: int, found: Amounts) -> str:
    """Currency sign or code just before the number, taken out of the rest."""
    if found.rest and at and found.rest[-1] is tokens[at - 1]:
        key = tokens[at - 1].key.strip()
        if key in q.CURRENCIES and (not key.isalpha() or len(key) == 3):
            found.rest.pop()
            return q.CURRENCIES[key]
    return ""
