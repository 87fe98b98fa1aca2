"""Decides which tokens form a date, a weekday or a clock time."""

from fractions import Fraction

from service.guards import quantity as q
from service.guards.stream import Amounts, hold, is_kind, key_at
from service.guards.text import Token

_DATE_HAN = {"年": "year", "月": "month", "月份": "month", "日": "day", "号": "day"}
_CLOCK_HAN = frozenset({"点", "点钟", "时"})
_ORDINAL_SUFFIX = frozenset({"st", "nd", "rd", "th"})
_TIMES_OF_DAY = {"noon": 720, "midday": 720, "midnight": 0, "中午": 720, "午夜": 0}
_ALSO_WORDS = frozenset({"mon", "wed", "sat", "sun"})
"""Short weekdays that are words of their own in small letters."""
_MOST_DAYS, _MOST_MONTHS = 31, 12
_FULL_MONTH = 5
"""Letters from which on the name of a month is no short form (Sept. 3)."""
_GERMANE_YEARS = range(1000, 2200)
_BEFORE_YEAR = frozenset({"in", "of", "since", "from", "until", "for", "the", "by", ",", "year"})


def take_date(tokens: list[Token], at: int, found: Amounts) -> int:
    token = tokens[at]
    key = token.key
    if token.kind == "isodate":
        parts = [int(part) for part in key.replace("/", "-").replace(".", "-").split("-")]
        names = ("year", "month", "day") if parts[0] > _MOST_DAYS else ("day", "month", "year")
        if names[0] == "day" and parts[1] > _MOST_MONTHS:
            names = ("month", "day", "year")  # 12/25/2021
        found.dates += [f"{name}={part}" for name, part in zip(names, parts, strict=False)]
        used = 1
    elif token.kind == "time":
        found.dates.append(f"time={q.clock(key)}")
        used = 1
    elif key in q.MONTHS and token.kind == "word":
        used = _month(tokens, at, found)
    elif key in q.WEEKDAYS and (key not in _ALSO_WORDS or token.text[0].isupper()):
        found.dates.append(f"weekday={q.WEEKDAYS[key]}")
        used = 1
    elif key.startswith("weekday") and key[7:].isdigit():
        found.dates.append(f"weekday={key[7:]}")  # written so by `han_numerals.write_digits`
        used = 1
    elif key in _TIMES_OF_DAY:
        found.dates.append(f"time={_TIMES_OF_DAY[key]}")
        used = 1
    else:
        used = _numbered_date(tokens, at, found)
    if used:
        hold(found, "date", "<date>", token)
    return used


def _month(tokens: list[Token], at: int, found: Amounts) -> int:
    """A month name, with a day before or after it and a year after it."""
    key, text = tokens[at].key, tokens[at].text
    if key in ("may", "march", "mar", "sun", "sat"):
        numbered = is_kind(tokens, at + 1, "num") or key_at(tokens, at - 1) in (
            "in",
            "of",
            "by",
            "until",
        )
        if not (numbered and (text[0].isupper() or key_at(tokens, at - 1) in ("in", "of"))):
            return 0
    found.dates.append(f"month={q.MONTHS[key]}")
    used = 1 + (
        len(key) < _FULL_MONTH and key_at(tokens, at + 1) == "." and is_kind(tokens, at + 2, "num")
    )
    day = _small_number(tokens, at + used)
    if day and day[0] <= 31:
        found.dates.append(f"day={day[0]}")
        used += day[1]
    if key_at(tokens, at + used) == ",":
        used += is_kind(tokens, at + used + 1, "num")
    if is_kind(tokens, at + used, "num") and key_at(tokens, at + used).isdigit():
        year = int(key_at(tokens, at + used))
        if year in _GERMANE_YEARS:
            found.dates.append(f"year={year}")
            used += 1
    return used


def _small_number(tokens: list[Token], at: int) -> tuple[int, int] | None:
    """(value, tokens used) of a day number such as `3`, `3rd`, `third`, `twenty first`."""
    key = key_at(tokens, at)
    if is_kind(tokens, at, "num") and key.isdigit() and len(key) <= 2:
        return int(key), 2 if key_at(tokens, at + 1) in _ORDINAL_SUFFIX else 1
    if key in q.ORDINALS:
        return q.ORDINALS[key], 1
    if key in ("twenty", "thirty") and key_at(tokens, at + 1) in q.ORDINALS:
        return int(q.english_number([key]) or 0) + q.ORDINALS[key_at(tokens, at + 1)], 2
    return None


def _numbered_date(tokens: list[Token], at: int, found: Amounts) -> int:
    """`3 May`, `3rd of May`, `5日`, `2024年`, `three o'clock`; a bare year counts as a year."""
    if (
        not is_kind(tokens, at, "num")
        and tokens[at].key not in q.ORDINALS
        and (tokens[at].key not in q.NUMBER_WORDS)
    ):
        return 0
    small = _small_number(tokens, at)
    if small and small[0] <= 31:
        of = at + small[1] + (key_at(tokens, at + small[1]) == "of")
        if key_at(tokens, of) in q.MONTHS and key_at(tokens, of) not in ("mar", "sun"):
            found.dates.append(f"day={small[0]}")
            return of - at + (_month(tokens, of, found) or _plain_month(key_at(tokens, of), found))
    key, after = tokens[at].key, key_at(tokens, at + 1)
    if key.isdigit() and after in _DATE_HAN:
        if after == "年" and int(key) not in _GERMANE_YEARS:
            return 0
        found.dates.append(f"{_DATE_HAN[after]}={int(key)}")
        return 2
    if key.isdigit() and after in _CLOCK_HAN and int(key) <= 24:
        return _han_clock(tokens, at, found)
    if after in ("o'clock", "oclock") or (after == "o" and key_at(tokens, at + 2) == "clock"):
        value = q.english_number([key]) if not key.isdigit() else Fraction(int(key))
        found.dates.append(f"time={(value or 0) * 60}")
        return 2 if after != "o" else 3
    if after in ("am", "pm") and key in q.NUMBER_WORDS:
        found.dates.append(f"time={q.clock(f'{q.english_number([key])} {after}')}")
        return 2
    is_year = key.isdigit() and len(key) == 4 and int(key) in range(1800, 2100)
    counted = (after in q.UNITS and after != "s") or after in q.CURRENCIES
    if is_year and key_at(tokens, at - 1) in _BEFORE_YEAR and not counted:
        found.dates.append(f"year={int(key)}")
        return 1 + (after == "s")
    return 0


def _plain_month(name: str, found: Amounts) -> int:
    """A month whose name is a word of its own, told by the day before it (3 May, 3 March)."""
    found.dates.append(f"month={q.MONTHS[name]}")
    return 1


def _han_clock(tokens: list[Token], at: int, found: Amounts) -> int:
    """`3点`, `3点半`, `3点20分`, with 下午 or 晚上 before it."""
    hour, used = int(tokens[at].key), 2
    if key_at(tokens, at - 1) in ("下午", "晚上", "傍晚", "今晚") and hour < 12:
        hour += 12
    minute = 0
    if key_at(tokens, at + 2) == "半":
        minute, used = 30, 3
    elif is_kind(tokens, at + 2, "num") and key_at(tokens, at + 2).isdigit():
        minute, used = int(key_at(tokens, at + 2)), 3 + (key_at(tokens, at + 3) == "分")
    found.dates.append(f"time={hour * 60 + minute}")
    return used
