"""Guards on amounts: numbers, units and currencies, dates and clock times, versions."""

import re
from collections import Counter
from fractions import Fraction

from service.guards.alignment import TEMPLATE, Alignment
from service.guards.analysis import Analysis
from service.guards.quantity import Quantity
from service.guards.refusal import Refusal
from service.guards.written import other_power, other_prefix


def number(pair: Alignment) -> Refusal | None:
    """Refuse where a number differs in value, or stands on one side only."""
    if pair.a.source and pair.b.source:
        return _digits(pair)
    power = other_power(pair)
    if power:
        return Refusal("number", f"{power[0]} vs {power[1]}")
    if pair.a.quantities == pair.b.quantities:
        return None
    left, right = _rest(pair)
    if _raw(left) == _raw(right):
        return None  # the same numbers with other units: `unit` judges that
    hard_left = [amount for amount in left if not amount.soft]
    hard_right = [amount for amount in right if not amount.soft]
    if not hard_left and not hard_right and not (left and right):
        return None
    if (
        pair.likeness < TEMPLATE
        and (not left or not right)
        and all(_aside(x) for x in left + right)
    ):
        return None
    hard = hard_left + hard_right
    if hard and all(x.raw == 1 and not x.unit for x in hard) and (not left or not right):
        return None  # "one" beside no number
    return Refusal("number", f"{_show(left)} vs {_show(right)}")


def _digits(pair: Alignment) -> Refusal | None:
    """Compare all digits of two source texts, in code, examples and comments alike."""
    left = Counter(re.findall(r"[0-9]+", pair.a.text))
    right = Counter(re.findall(r"[0-9]+", pair.b.text))
    if left == right:
        return None
    return Refusal(
        "number", f"{' '.join(left - right) or 'none'} vs {' '.join(right - left) or 'none'}"[:200]
    )


def unit(pair: Alignment) -> Refusal | None:
    """Refuse where the same numbers stand with other units or currencies."""
    prefix = other_prefix(pair)
    if prefix:
        return Refusal("unit", f"{prefix[0]} vs {prefix[1]}")
    if pair.a.quantities == pair.b.quantities:
        return None
    left, right = _rest(pair)
    if not left or _raw(left) != _raw(right):
        return None
    for mine, yours in zip(sorted(left), sorted(right), strict=True):
        told_apart = pair.likeness >= TEMPLATE and (pair.only_a("word") or pair.only_b("word"))
        if (mine.unit and yours.unit) or (mine.unit != yours.unit and told_apart):
            return Refusal("unit", f"{_show(left)} vs {_show(right)}")
    return None  # one side leaves the unit out


def date(pair: Alignment) -> Refusal | None:
    """Refuse where a date, weekday or clock time differs."""
    if pair.a.dates == pair.b.dates:
        return None
    left, right = Counter(pair.a.dates), Counter(pair.b.dates)
    only_left = _no_figure(sorted(set(left - right)), pair.b)
    only_right = _no_figure(sorted(set(right - left)), pair.a)
    if not only_left and not only_right:
        return None
    return Refusal("date", f"{', '.join(only_left) or 'none'} vs {', '.join(only_right) or 'none'}")


def _no_figure(dates: list[str], other: Analysis) -> list[str]:
    """Dates without the years that the other text has as a bare figure (for 1800, for 1,800)."""
    figures = {f"year={x.raw}" for x in other.quantities if not x.unit}
    return [date for date in dates if date not in figures]


def version(pair: Alignment) -> Refusal | None:
    """Refuse where a version differs; a bare number on the other side may be the same version."""
    if pair.a.versions == pair.b.versions:
        return None
    left, right = Counter(pair.a.versions), Counter(pair.b.versions)
    only_left, only_right = list((left - right).elements()), list((right - left).elements())
    for mine, amounts in ((only_left, pair.b.quantities), (only_right, pair.a.quantities)):
        bare = [str(float(x.value)).removesuffix(".0") for x in amounts if not x.unit]
        for form in list(mine):
            if form in bare:
                mine.remove(form)
    if not only_left and not only_right:
        return None
    return Refusal(
        "version", f"{', '.join(only_left) or 'none'} vs {', '.join(only_right) or 'none'}"
    )


def _rest(pair: Alignment) -> tuple[list[Quantity], list[Quantity]]:
    """Amounts that only one side has, equal ones and versions of the other side taken off."""
    right = list(pair.b.quantities)
    left = []
    for mine in pair.a.quantities:
        twin = next((x for x in right if _equal(x, mine)), None)
        if twin is None:
            left.append(mine)
        else:
            right.remove(twin)
    return _without(left, _figures(pair.b), _figures(pair.a)), _without(
        right, _figures(pair.a), _figures(pair.b)
    )


_ONE_NAME = ({"pound", "GBP"}, {"degree", "celsius"})
"""Half a pound, 0.5 pounds: the word does not tell weight from money; 26 degrees: of Celsius, where the other says so."""


def _equal(left: Quantity, right: Quantity) -> bool:
    """Whether two amounts are one: also a half and 50 %."""
    if left.unit == right.unit or {left.unit, right.unit} in _ONE_NAME:
        return left.value == right.value
    shares = {left.unit: left.value, right.unit: right.value}
    return (
        set(shares) == {"", "percent"} and shares[""] < 1 and shares[""] * 100 == shares["percent"]
    )


def _figures(text: Analysis) -> tuple[str, ...]:
    """Numbers that were read as a version or as a year."""
    years = (x.removeprefix("year=") for x in text.dates if x.startswith("year="))
    return (*text.versions, *years)


def _without(
    amounts: list[Quantity], theirs: tuple[str, ...], mine: tuple[str, ...]
) -> list[Quantity]:
    """Drop bare numbers that the other side writes as a version or a year."""
    open_forms = list((Counter(theirs) - Counter(mine)).elements())
    kept = []
    for amount in amounts:
        form = str(float(amount.value)).removesuffix(".0")
        if not amount.unit and form in open_forms:
            open_forms.remove(form)
        else:
            kept.append(amount)
    return kept


def _aside(amount: Quantity) -> bool:
    """A small bare count as in "these two", which a rewording may drop."""
    return not amount.unit and amount.raw <= 3


def _raw(amounts: list[Quantity]) -> Counter[Fraction]:
    return Counter(amount.raw for amount in amounts)


def _show(amounts: list[Quantity]) -> str:
    return ", ".join(amount.text for amount in amounts) or "none"
