"""Decides what of the units on one side only is content, and how a refusal shows it."""

from service.guards.alignment import turning_words
from service.guards.units import Unit


def content(units: list[Unit]) -> list[Unit]:
    """Without amounts and words that carry little."""
    return [unit for unit in units if unit.kind not in ("num", "op", "light", "weak")]


def own_content(units: list[Unit]) -> list[Unit]:
    """Content without the words that turn the meaning round, which other guards judge."""
    turning = {id(unit) for unit in turning_words(units)}
    return [
        unit
        for unit in units
        if unit.kind not in ("num", "op", "light", "weak") and id(unit) not in turning
    ]


def show(units: list[Unit]) -> str:
    """The units as a refusal names them."""
    return " ".join(unit.text for unit in units[:8]) or "none"
