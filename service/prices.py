"""The dated price table: what tokens cost, and the prompt-cache rules that a diagnosis needs.

`prices.toml` comes with the package; a file of that name in the data directory takes its place.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from service.errors import Unavailable


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Prices of one token, in the table's currency; `min_tokens` is the shortest prefix a provider caches."""

    input: float
    output: float
    read: float
    write_5m: float
    write_1h: float
    min_tokens: int
    automatic: bool


@dataclass(frozen=True, slots=True)
class PriceTable:
    """All prices as of one date."""

    as_of: date
    currency: str
    notes: str
    embedding: float
    """Price of one embedded token."""
    models: tuple[tuple[tuple[str, ...], ModelPrice], ...]

    def of(self, model: str) -> ModelPrice:
        """The first entry one of whose prefixes begins the model's name; the last entry matches all."""
        name = model.rsplit("/", 1)[-1].lower()
        return next(price for match, price in self.models if name.startswith(match))


def load(data_dir: Path) -> PriceTable:
    """The table in force. Raises Unavailable naming the file and what is wrong with it."""
    path = data_dir / "prices.toml"
    try:
        if path.is_file():
            return parse(path.read_text("utf-8"))
        return parse(files("service").joinpath("prices.toml").read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise Unavailable(f"{path}: is no price table: {error!r}") from error


def parse(text: str) -> PriceTable:
    """A table from TOML. Raises TOMLDecodeError, KeyError, TypeError or ValueError."""
    table = tomllib.loads(text)
    models = tuple(_model(entry) for entry in table["model"])
    if not models or "" not in models[-1][0]:
        raise ValueError('the last [[model]] must match every name: match = [""]')
    return PriceTable(
        table["as_of"],
        table.get("currency", "USD"),
        table.get("notes", ""),
        float(table["embedding_per_million"]) / 1e6,
        models,
    )


def _model(entry: dict[str, Any]) -> tuple[tuple[str, ...], ModelPrice]:
    given, million = float(entry["input"]), 1e6
    shares = [float(entry["read"]), float(entry["write_5m"])]
    shares.append(float(entry.get("write_1h", entry["write_5m"])))
    if min(given, float(entry["output"]), *shares) < 0:
        raise ValueError(f"{entry['match']}: prices must not be negative")
    price = ModelPrice(
        input=given / million,
        output=float(entry["output"]) / million,
        read=given * shares[0] / million,
        write_5m=given * shares[1] / million,
        write_1h=given * shares[2] / million,
        min_tokens=int(entry.get("min_tokens", 1024)),
        automatic=bool(entry.get("automatic", False)),
    )
    return tuple(m.lower() for m in entry["match"]), price
