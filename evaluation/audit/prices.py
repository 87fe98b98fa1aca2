"""The price table of the service as the audit uses it, and where caching a prefix breaks even."""

from __future__ import annotations

import math
from pathlib import Path

from service import prices
from service.prices import ModelPrice as ModelPrice
from service.prices import PricesUnusable as PricesUnusable
from service.prices import PriceTable as PriceTable


def load_prices(path: Path | None = None) -> PriceTable:
    """The price table in a TOML file, or the one that comes with the package.

    Raises PricesUnusable.
    """
    return prices.bundled() if path is None else prices.read(path)


def break_even_reads(write: float, read: float) -> float:
    """Reads per write above which caching a prefix is cheaper than sending it anew each time.

    One write and r reads cost w + r·ρ, without a cache 1 + r, all in prices of an input token; they
    are equal at r = (w - 1) / (1 - ρ). 0 where writing costs nothing extra, infinity where a read
    costs as much as the input.
    """
    if write <= 1:
        return 0.0
    return (write - 1) / (1 - read) if read < 1 else math.inf
