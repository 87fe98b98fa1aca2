"""Decides which tokens form amounts, dates and clock times, and takes them out of the stream.

What remains of the text is judged as words; what was taken is judged by value.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from service.guards import quantity as q
from service.guards.text import Token

_DATE_HAN = {"年": "year", "月": "month", "月份": "month", "日": "day", "号": "day"}
_CLOCK_HAN = frozenset({"点", "点钟", "时"})
_ORDINAL_SUFFIX = frozenset({"st", "nd", "rd", "th"})
_LETTER_SCALES = {"k": 1000, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}
_ARTICLES = frozenset({"a", "an"})
_TIMES_OF_DAY = {"noon": 720, "midday": 720, "midnight": 0, "中午": 720, "午夜": 0}
_VERSION_WORDS = frozenset({"version", "ver", "release", "版本", "版"})
_GERMANE_YEARS = range(1000, 2200)


@dataclass
class Amounts:
    """The amounts of one text, and the tokens left over with a place holder for each amount."""

    quantities: list[q.Quantity] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    rest: list[Token] = field(default_factory=list)


def take_amounts(tokens: list[Token]) -> Amounts:
    """Walk the tokens once and split off every amount, date, time and version."""
    found = Amounts()
    at = 0
    while at < len(tokens):
        used = _date(tokens, at, found) or _version(tokens, at, found) or _amount(tokens, at, found)
        if not used:
            found.rest.append(tokens[at])
            used = 1
        at += used
    return found


def _key(tokens: list[Token], at: int) -> str:
    return tokens[at].key if 0 <= at < len(tokens) else ""


def _is(tokens: list[Token], at: int, kind: str) -> bool:
    return 0 <= at < len(tokens) and tokens[at].kind == kind


def _joined(tokens: list[Token], at: int) -> bool:
    """Whether token `at` follows its predecessor without a blank."""
    return 0 < at < len(tokens) and (
        tokens[at].start == tokens[at - 1].start + len(tokens[at - 1].text)
    )


def _hold(found: Amounts, kind: str, key: str, token: Token) -> None:
    found.rest.append(Token(kind, token.text, key, token.start))


# dates and times ---------------------------------------------------------------------------------


def _date(tokens: list[Token], at: int, found: Amounts) -> int:
    token = tokens[at]
    key = token.key
    if token.kind == "isodate":
        parts = [int(part) for part in key.replace("/", "-").replace(".", "-").split("-")]
        names = ("year", "month", "day") if parts[0] > 31 else ("day", "month", "year")
        found.dates += [f"{name}={part}" for name, part in zip(names, parts, strict=True)]
        used = 1
    elif token.kind == "time":
        found.dates.append(f"time={q.clock(key)}")
        used = 1
    elif key in q.MONTHS and token.kind == "word":
        used = _month(tokens, at, found)
    elif key in q.WEEKDAYS:
        found.dates.append(f"weekday={q.WEEKDAYS[key]}")
        used = 1
    elif key.startswith("weekday") and key[7:].isdigit():
        found.dates.append(f"weekday={key[7:]}")  # written so by `han.write_digits`
        used = 1
    elif key in _TIMES_OF_DAY:
        found.dates.append(f"time={_TIMES_OF_DAY[key]}")
        used = 1
    else:
        used = _numbered_date(tokens, at, found)
    if used:
        _hold(found, "date", "<date>", token)
    return used


def _month(tokens: list[Token], at: int, found: Amounts) -> int:
    """A month name, with a day before or after it and a year after it."""
    key, text = tokens[at].key, tokens[at].text
    if key in ("may", "march", "mar", "sun", "sat"):
        numbered = _is(tokens, at + 1, "num") or _key(tokens, at - 1) in ("in", "of", "by", "until")
        if not (numbered and (text[0].isupper() or _key(tokens, at - 1) in ("in", "of"))):
            return 0
    found.dates.append(f"month={q.MONTHS[key]}")
    used = 1
    day = _small_number(tokens, at + used)
    if day and day[0] <= 31:
        found.dates.append(f"day={day[0]}")
        used += day[1]
    if _key(tokens, at + used) == ",":
        used += _is(tokens, at + used + 1, "num")
    if _is(tokens, at + used, "num") and _key(tokens, at + used).isdigit():
        year = int(_key(tokens, at + used))
        if year in _GERMANE_YEARS:
            found.dates.append(f"year={year}")
            used += 1
    return used


def _small_number(tokens: list[Token], at: int) -> tuple[int, int] | None:
    """(value, tokens used) of a day number such as `3`, `3rd`, `third`, `twenty first`."""
    key = _key(tokens, at)
    if _is(tokens, at, "num") and key.isdigit() and len(key) <= 2:
        return int(key), 2 if _key(tokens, at + 1) in _ORDINAL_SUFFIX else 1
    if key in q.ORDINALS:
        return q.ORDINALS[key], 1
    if key in ("twenty", "thirty") and _key(tokens, at + 1) in q.ORDINALS:
        return int(q.english_number([key]) or 0) + q.ORDINALS[_key(tokens, at + 1)], 2
    return None


def _numbered_date(tokens: list[Token], at: int, found: Amounts) -> int:
    """`3 May`, `3rd of May`, `5日`, `2024年`, `three o'clock`; a bare year counts as a year."""
    if (
        not _is(tokens, at, "num")
        and tokens[at].key not in q.ORDINALS
        and (tokens[at].key not in q.NUMBER_WORDS)
    ):
        return 0
    small = _small_number(tokens, at)
    if small and small[0] <= 31:
        of = at + small[1] + (_key(tokens, at + small[1]) == "of")
        if _key(tokens, of) in q.MONTHS and _key(tokens, of) not in ("mar", "sun"):
            found.dates.append(f"day={small[0]}")
            return of - at + (_month(tokens, of, found) or _plain_may(found))
    key, after = tokens[at].key, _key(tokens, at + 1)
    if key.isdigit() and after in _DATE_HAN:
        if after == "年" and int(key) not in _GERMANE_YEARS:
            return 0
        found.dates.append(f"{_DATE_HAN[after]}={int(key)}")
        return 2
    if key.isdigit() and after in _CLOCK_HAN and int(key) <= 24:
        return _han_clock(tokens, at, found)
    if after in ("o'clock", "oclock") or (after == "o" and _key(tokens, at + 2) == "clock"):
        value = q.english_number([key]) if not key.isdigit() else Fraction(int(key))
        found.dates.append(f"time={(value or 0) * 60}")
        return 2 if after != "o" else 3
    if after in ("am", "pm") and key in q.NUMBER_WORDS:
        found.dates.append(f"time={q.clock(f'{q.english_number([key])} {after}')}")
        return 2
    if key.isdigit() and len(key) == 4 and int(key) in range(1800, 2100):
        if _key(tokens, at - 1) in ("in", "of", "since", "from", "until", "for", "the", "by", ","):
            found.dates.append(f"year={int(key)}")
            return 1 + (after == "s")
    return 0


def _plain_may(found: Amounts) -> int:
    found.dates.append("month=5")
    return 1


def _han_clock(tokens: list[Token], at: int, found: Amounts) -> int:
    """`3点`, `3点半`, `3点20分`, with 下午 or 晚上 before it."""
    hour, used = int(tokens[at].key), 2
    if _key(tokens, at - 1) in ("下午", "晚上", "傍晚", "今晚") and hour < 12:
        hour += 12
    minute = 0
    if _key(tokens, at + 2) == "半":
        minute, used = 30, 3
    elif _is(tokens, at + 2, "num") and _key(tokens, at + 2).isdigit():
        minute, used = int(_key(tokens, at + 2)), 3 + (_key(tokens, at + 3) == "分")
    found.dates.append(f"time={hour * 60 + minute}")
    return used


# versions ----------------------------------------------------------------------------------------


def _version(tokens: list[Token], at: int, found: Amounts) -> int:
    """`v2`, `1.2.3`, `version 5`, `5 版本`; the word "version" goes with its number."""
    token = tokens[at]
    if token.kind == "version":
        found.versions.append(_version_form(token.key.lstrip("v")))
        used = 1 + (_key(tokens, at + 1) in _VERSION_WORDS)
    elif token.key in _VERSION_WORDS and _is(tokens, at + 1, "num"):
        found.versions.append(_version_form(tokens[at + 1].key))
        used = 2
    elif token.kind == "num" and _key(tokens, at + 1) in _VERSION_WORDS:
        found.versions.append(_version_form(token.key))
        used = 2
    elif token.kind == "num" and _named_before(tokens, at) and not _unit(tokens, at + 1):
        found.versions.append(_version_form(token.key))
        used = 1
    else:
        return 0
    _hold(found, "version", "<version>", token)
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
    unit = _unit(tokens, at + used)
    if unit is not None:
        value, name, extra = value * unit[1], unit[0], unit[2]
        used += extra
        if soft and name in q.CURRENCIES.values():
            soft = False
    else:
        name = _currency_before(tokens, at, found)
    if token.key in _ARTICLES and not name and soft and used == 1:
        return 0
    text = " ".join(piece.text for piece in tokens[at : at + used])
    found.quantities.append(q.Quantity(value, name, soft, text, raw))
    _hold(found, "num", f"<{value} {name}>" if not soft else "<soft>", token)
    return used


def _value(tokens: list[Token], at: int) -> tuple[Fraction, int, bool] | None:
    """(value, tokens used, soft) of the number that starts here."""
    token = tokens[at]
    if token.kind == "num":
        return _digits(tokens, at)
    if token.kind != "word" and token.key not in ("半",):
        return None
    key, after = token.key, _key(tokens, at + 1)
    if key in ("half", "quarter") or (key in _ARTICLES and after in ("half", "third", "quarter")):
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
    if "-" in key:
        parts = key.split("-")
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
    value = q.FRACTION_WORDS[_key(tokens, first)]
    used = first - at + 1
    if _key(tokens, at + used) in _ARTICLES:
        nxt = _key(tokens, at + used + 1)
        if nxt in q.SCALES:
            return value * q.SCALES[nxt], used + 2, False
        if nxt in q.UNITS:
            return value, used + 1, False
    if _key(tokens, first) == "quarter" and first == at and _key(tokens, at + 1) != "of":
        return None
    return value, used, False


def _scaled(tokens: list[Token], at: int, value: Fraction, used: int) -> tuple[Fraction, int]:
    while _key(tokens, at) in q.SCALES and len(_key(tokens, at)) > 2:
        value *= q.SCALES[_key(tokens, at)]
        at, used = at + 1, used + 1
    return value, used


def _digits(tokens: list[Token], at: int) -> tuple[Fraction, int, bool]:
    """Digits with what may follow: a fraction bar, a scale, an ordinal suffix, "and a half"."""
    value = Fraction(tokens[at].key.replace(",", ""))
    used = 1
    if (
        _key(tokens, at + 1) == "/" and _joined(tokens, at + 1) and _joined(tokens, at + 2)
        and _is(tokens, at + 2, "num") and _key(tokens, at + 3) != "/"
        and Fraction(tokens[at + 2].key.replace(",", ""))
    ):  # fmt: skip
        return value / Fraction(tokens[at + 2].key.replace(",", "")), 3, False
    after = _key(tokens, at + 1)
    if _joined(tokens, at + 1) and after in _LETTER_SCALES and not _is_length(tokens, at + 1):
        return value * _LETTER_SCALES[after], 2, False
    if after in _ORDINAL_SUFFIX and _joined(tokens, at + 1):
        return value, 2, False
    value, used = _scaled(tokens, at + 1, value, used)
    return (*_and_half(tokens, at, value, used), False)


def _is_length(tokens: list[Token], at: int) -> bool:
    """Whether a joined `m` means metres: small letter and no currency sign before the number."""
    return tokens[at].text == "m" and _key(tokens, at - 2) not in ("$", "€", "£")


def _and_half(tokens: list[Token], at: int, value: Fraction, used: int) -> tuple[Fraction, int]:
    if [_key(tokens, at + used + i) for i in range(3)] == ["and", "a", "half"]:
        return value + Fraction(1, 2), used + 3
    return value, used


def _words(tokens: list[Token], at: int) -> tuple[Fraction, int, bool] | None:
    """The longest run of number words that makes one number."""
    end = at
    while _key(tokens, end) in q.NUMBER_WORDS or (
        _key(tokens, end) in ("and", "point")
        and end > at
        and _key(tokens, end + 1) in q.NUMBER_WORDS
    ):
        end += 1
    value = None
    while end > at and value is None:
        value = q.english_number([token.key for token in tokens[at:end]])
        end -= value is None
    if value is None:
        return None
    used = end - at
    after = _key(tokens, at + used)
    if after in q.FRACTION_WORDS and after not in ("half", "quarter") and used == 1:
        return value * q.FRACTION_WORDS[after], 2, False
    if after == "quarters" and _key(tokens, at + used + 1) == "of":
        return value / 4, used + 1, False
    if after == "dozen":
        return value * 12, used + 1, False
    value, used = _and_half(tokens, at, value, used)
    soft = value == 1 and used == 1
    return value, used, soft


def _unit(tokens: list[Token], at: int) -> tuple[str, Fraction, int] | None:
    """(dimension, factor, tokens used) of the unit that starts here."""
    skip = 0
    if _key(tokens, at) == "-" and _joined(tokens, at) and _joined(tokens, at + 1):
        skip = 1
    if at + skip >= len(tokens):
        return None
    token = tokens[at + skip]
    if token.text in q.CASED_UNITS:
        return (*q.CASED_UNITS[token.text], skip + 1)
    key = (
        token.key.split("-")[0].rstrip(".") if token.kind == "word" else token.key.replace(" ", "")
    )
    if key in q.CURRENCIES and not (token.text == "won"):
        return q.CURRENCIES[key], Fraction(1), skip + 1
    if key == "个" and _key(tokens, at + 1) in ("月", "小时", "星期", "季度", "世纪"):
        dimension, factor = q.UNITS[_key(tokens, at + 1)]
        return dimension, factor, 2
    if key == "degree" or key == "degrees":
        scale = _key(tokens, at + skip + 1)
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
            and key != "w"
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
