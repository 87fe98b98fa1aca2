"""The dated price table: what tokens cost, and which prompt-cache rules a provider applies."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any


class PricesUnusable(ValueError):
    """The price file is missing, is no TOML, or lacks a field; the message names it."""


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Prices per million tokens, cache prices as shares of `input`, and the rules of the cache.

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


@dataclass(frozen=True)
class PriceTable:
    """All prices as of one date."""

    as_of: date
    currency: str
    notes: str
    embedding_per_million: float
    models: tuple[ModelPrice, ...]

    def of(self, model: str) -> ModelPrice:
        """The first entry whose match begins the model's name; the last entry matches all."""
        name = model.rsplit("/", 1)[-1].lower()
        return next(p for p in self.models if any(name.startswith(m) for m in p.match))


def load_prices(path: Path | None = None) -> PriceTable:
    """The price table in a TOML file, or the one that comes with the package.

    Raises PricesUnusable.
    """
    if path is None:
        return _bundled()
    try:
        return _parse(path.read_text("utf-8"))
    except OSError as error:
        raise PricesUnusable(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise PricesUnusable(f"{path}: {error}") from error


def break_even_reads(write: float, read: float) -> float:
    """Reads per write above which caching a prefix is cheaper than sending it anew each time.

    One write and r reads cost w + r·ρ, without a cache 1 + r, all in prices of an input token; they
    are equal at r = (w - 1) / (1 - ρ). 0 where writing costs nothing extra, infinity where a read
    costs as much as the input.
    """
    if write <= 1:
        return 0.0
    return (write - 1) / (1 - read) if read < 1 else math.inf


@cache
def _bundled() -> PriceTable:
    return _parse(files("evaluation.audit").joinpath("data", "prices.toml").read_text("utf-8"))


def _parse(text: str) -> PriceTable:
    table = tomllib.loads(text)
    models = tuple(_model(entry) for entry in table["model"])
    if not models or "" not in models[-1].match:
        raise TypeError('the last [[model]] must be the fallback, with match = [""]')
    return PriceTable(
        table["as_of"],
        table.get("currency", "USD"),
        table.get("notes", ""),
        float(table["embedding_per_million"]),
        models,
    )


def _model(entry: dict[str, Any]) -> ModelPrice:
    known = {**entry, "match": tuple(m.lower() for m in entry["match"])}
    price = ModelPrice(**known)
    if min(price.input, price.output, price.read, price.write_5m) < 0:
        raise TypeError(f"{entry['match']}: prices must not be negative")
    return price
