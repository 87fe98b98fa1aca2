"""The one dated price table: what tokens cost, and the prompt-cache rules of providers.

`prices.toml` comes with the package; a file of that name in the data directory takes its place, for the ledger of
live traffic and for the audit of a log alike.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from service.errors import Unavailable

FILE_NAME = "prices.toml"
_MILLION = 1e6


class PricesUnusable(ValueError):
    """The price file is missing, is no TOML, or lacks a field; the message names it."""


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Prices per million tokens, cache prices as shares of `input`, and the rules of the provider's prompt cache.

    `write_1h` is None where there is no cache of an hour.
    """

    match: tuple[str, ...]
    input: float
    output: float
    read: float
    write_5m: float
    write_1h: float | None = None
    min_tokens: int = 1024
    step_tokens: int = 1
    automatic: bool = False
    max_breakpoints: int = 4
    lookback_blocks: int = 20

    def cost(
        self,
        *,
        plain: float = 0,
        read: float = 0,
        written_5m: float = 0,
        written_1h: float = 0,
        output: float = 0,
    ) -> float:
        """Cost in the table's currency of so many tokens: input by how it is billed, and output.

        Writes of an hour cost as those of 5 minutes where there is no hour.
        """
        hour = self.write_5m if self.write_1h is None else self.write_1h
        shares = plain + read * self.read + written_5m * self.write_5m + written_1h * hour
        return (shares * self.input + output * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class PriceTable:
    """All prices as of one date."""

    as_of: date
    currency: str
    notes: str
    embedding_per_million: float
    """Price of a million embedded tokens."""
    models: tuple[ModelPrice, ...]

    def of(self, model: str) -> ModelPrice:
        """The first entry one of whose matches begins the model's name; the last entry matches all."""
        name = model.rsplit("/", 1)[-1].lower()
        return next(price for price in self.models if name.startswith(price.match))


def load(data_dir: Path) -> PriceTable:
    """The table in force for a service. Raises Unavailable naming the file and what is wrong with it."""
    try:
        return in_force(data_dir)
    except PricesUnusable as error:
        raise Unavailable(str(error)) from error


def in_force(data_dir: Path) -> PriceTable:
    """The data directory's own table, else the one that comes with the package. Raises PricesUnusable."""
    path = data_dir / FILE_NAME
    return read(path) if path.is_file() else bundled()


def read(path: Path) -> PriceTable:
    """The table in a TOML file. Raises PricesUnusable."""
    try:
        return parse(path.read_text("utf-8"))
    except OSError as error:
        raise PricesUnusable(f"{path}: {error.strerror}") from error
    except PricesUnusable as error:
        raise PricesUnusable(f"{path}: is no price table: {error}") from error


@cache
def bundled() -> PriceTable:
    """The table that comes with the package."""
    return parse(files("service").joinpath(FILE_NAME).read_text("utf-8"))


def parse(text: str) -> PriceTable:
    """A table from TOML. Raises PricesUnusable naming the field."""
    try:
        table = tomllib.loads(text)
        models = tuple(_model(entry) for entry in table["model"])
        if not models or "" not in models[-1].match:
            raise PricesUnusable('the last [[model]] must match every name: match = [""]')
        as_of = table["as_of"]
        if not isinstance(as_of, date):
            raise PricesUnusable("as_of: must be a date such as 2026-01-31")
        return PriceTable(
            as_of,
            str(table.get("currency", "USD")),
            str(table.get("notes", "")),
            _at_least_0("embedding_per_million", table["embedding_per_million"]),
            models,
        )
    except KeyError as error:
        raise PricesUnusable(f"{error.args[0]}: is missing") from error
    except (TypeError, ValueError) as error:  # TOMLDecodeError and PricesUnusable are ValueErrors
        raise PricesUnusable(str(error)) from error


_RULES = {"min_tokens": 0, "step_tokens": 1, "max_breakpoints": 0, "lookback_blocks": 0}
"""Whole numbers of an entry, with their least values."""
_NEEDED = ("input", "output", "read", "write_5m")
_KNOWN = frozenset(field.name for field in fields(ModelPrice))


def _model(entry: dict[str, Any]) -> ModelPrice:
    match = entry["match"]
    if not isinstance(match, list) or not all(isinstance(m, str) for m in match):
        raise PricesUnusable("match: must be a list of beginnings of names")
    where = f"[[model]] {match}: "
    unknown = sorted(entry.keys() - _KNOWN)
    if unknown:
        raise PricesUnusable(f"{where}{unknown[0]}: there is no such field")
    missing = [name for name in _NEEDED if name not in entry]
    if missing:
        raise PricesUnusable(f"{where}{missing[0]}: is missing")
    known = dict(entry)
    for name in (*_NEEDED, "write_1h"):
        if name in entry:
            known[name] = _at_least_0(where + name, entry[name])
    for name, least in _RULES.items():
        given = entry.get(name, least)
        if not isinstance(given, int) or isinstance(given, bool) or given < least:
            raise PricesUnusable(f"{where}{name}: must be a whole number from {least} on")
    if not isinstance(entry.get("automatic", False), bool):
        raise PricesUnusable(f"{where}automatic: must be true or false")
    return ModelPrice(**{**known, "match": tuple(m.lower() for m in match)})


def _at_least_0(name: str, value: Any) -> float:
    """The number. Raises PricesUnusable."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise PricesUnusable(f"{name}: must be a number from 0 on")
    return float(value)
