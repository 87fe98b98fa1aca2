"""What was spent and what was saved, per line and model: four layers side by side.

A request is answered by one layer: the exact tier, the semantic tier, or the provider, whose own prompt cache may have
read part of the input. Tokens are booked where the request was answered, so no token is in two rows. There is no total:
savings of the layers are measured against different things (a call not made, a part of a call made cheaper).

Booked in memory and written every second; without a database what was booked waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from operator import add, attrgetter
from typing import Any, Literal

import structlog

from service.errors import Unavailable
from service.prices import ModelPrice, PriceTable
from service.storage import ledger as rows
from service.storage.database import Database
from service.wire.usage import Usage

Layer = Literal[
    "provider",  # asked the upstream: tokens as the provider counted them
    "exact",  # answered by the exact tier: tokens of the call that filled the entry
    "semantic",  # answered by the semantic tier: likewise
    "collapsed",  # answered by an upstream call that another request had begun: tokens of that call
]

FLUSH_S = 1.0
MAX_ROWS = 10_000
"""Rows waiting in memory; beyond it new models of a day are booked as `other`."""

_DAY_MS = 86_400_000
_FEW = 5
"""Calls below which a prompt cache that was never read says nothing."""

log = structlog.get_logger("surehit.ledger")


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of some requests; fields as in storage.ledger.COUNTS, in that order."""

    requests: int = 1
    without_usage: int = 0
    input_tokens: int = 0
    cached_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_write_other: int = 0
    output_tokens: int = 0
    embedded_tokens: int = 0

    @classmethod
    def of(cls, usage: Usage | None, *, embedded_tokens: int = 0) -> Spent:
        """One request with the usage that its provider reported; None counts as not known."""
        if usage is None:
            return cls(without_usage=1, embedded_tokens=embedded_tokens)
        return cls(
            input_tokens=usage.input_tokens,
            cached_read=usage.cached_read,
            cache_write_5m=usage.cache_write_5m,
            cache_write_1h=usage.cache_write_1h,
            cache_write_other=usage.cache_write_other,
            output_tokens=usage.output_tokens,
            embedded_tokens=embedded_tokens,
        )

    def __add__(self, other: Spent) -> Spent:
        return Spent(*map(add, _values(self), _values(other)))

    @property
    def written(self) -> int:
        """Input written to the provider's prompt cache."""
        return self.cache_write_5m + self.cache_write_1h + self.cache_write_other

    @property
    def plain(self) -> int:
        """Input that no prompt cache had a part in."""
        return max(0, self.input_tokens - self.cached_read - self.written)


_values = attrgetter(*rows.COUNTS)
"""The counts as a tuple; `dataclasses.astuple` copies deeply and costs more than all the rest of a booking."""

_NOTHING = Spent(requests=0)


class Ledger:
    """The book of this process."""

    def __init__(self, db: Database, *, clock_ms: Callable[[], int]) -> None:
        self._db = db
        self._clock_ms = clock_ms
        self._booked: dict[rows.RowKey, Spent] = {}
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin writing in the background."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Write what is left and stop."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self.flush()

    def note(self, tenant: str, line: str, model: str, layer: Layer, spent: Spent) -> None:
        """Book one request where it was answered."""
        key = (tenant, line, _column(model), self._clock_ms() // _DAY_MS, layer)
        if key not in self._booked and len(self._booked) >= MAX_ROWS:
            key = (tenant, line, "other", key[3], layer)
        self._booked[key] = self._booked.get(key, _NOTHING) + spent

    async def flush(self) -> None:
        """Write what has been booked; on trouble of the database it stays for the next time."""
        async with self._writing:
            booked, self._booked = self._booked, {}
            if not booked:
                return
            counts = {key: _values(spent) for key, spent in booked.items()}
            try:
                await self._db.write(lambda tx: rows.add(tx, counts))
            except Exception as error:
                for key, spent in booked.items():
                    self._booked[key] = self._booked.get(key, _NOTHING) + spent
                if not isinstance(error, Unavailable):
                    raise
                log.warning("ledger_waits", rows=len(booked), error=error.detail)

    async def report(
        self, tenant: str, *, days: int, prices: PriceTable, pays_for_embedding: bool
    ) -> dict[str, Any]:
        """Four rows per line over the last days, priced; see `four_rows`."""
        await self.flush()
        since = self._clock_ms() // _DAY_MS - days + 1
        lines: dict[str, dict[tuple[str, str], Spent]] = {}
        for line, model, layer, *counts in await rows.since(self._db, tenant, day=since):
            found = lines.setdefault(line, {})
            found[model, layer] = Spent(*(int(n) for n in counts))
        return {
            "days": days,
            "prices_as_of": prices.as_of.isoformat(),
            "currency": prices.currency,
            "notes": prices.notes,
            "lines": {
                line: four_rows(found, prices, pays_for_embedding=pays_for_embedding)
                for line, found in lines.items()
            },
        }

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            try:
                await self.flush()
            except Exception:  # the book must outlive whatever one row does to it
                log.exception("ledger_failed")


def four_rows(
    found: dict[tuple[str, str], Spent], prices: PriceTable, *, pays_for_embedding: bool
) -> list[dict[str, Any]]:
    """The layers of one line, from tokens by (model, layer): `exact`, `semantic`, `provider_prompt_cache`,
    `prefix_kv`.

    `saved` of the first two is what the answered requests would have cost, with input that the filling call had read
    from or written to the prompt cache at the price of a read: a repeat would have read it. `saved` of the third is
    what its calls cost less than without a prompt cache, premiums for writing taken off; it is negative where writes
    were never read. Requests whose provider reported no usage count with 0 tokens.
    """
    embedded = sum(spent.embedded_tokens for spent in found.values())
    embedding_cost = embedded * prices.embedding_per_million / 1e6 if pays_for_embedding else 0.0
    saved_semantic = _saved(found, "semantic", prices)
    provider = _of(found, "provider")
    return [
        {
            "layer": "exact",
            **_counts(_of(found, "exact")),
            "saved": _saved(found, "exact", prices),
            "collapsed": {
                **_counts(_of(found, "collapsed")),
                "saved": _saved(found, "collapsed", prices),
            },
        },
        {
            "layer": "semantic",
            **_counts(_of(found, "semantic")),
            "saved": saved_semantic,
            "embedded_tokens": embedded,
            "embedding_cost": embedding_cost,
            "net": saved_semantic - embedding_cost,
        },
        {
            "layer": "provider_prompt_cache",
            **_counts(provider),
            "cached_read": provider.cached_read,
            "cache_write_5m": provider.cache_write_5m,
            "cache_write_1h": provider.cache_write_1h,
            "cache_write_other": provider.cache_write_other,
            "cost": sum(_cost(s, prices.of(m)) for m, s in _layer(found, "provider")),
            "saved": sum(_saved_by_reads(s, prices.of(m)) for m, s in _layer(found, "provider")),
            "diagnosis": {
                model: text
                for model, spent in _layer(found, "provider")
                if (text := diagnosis(spent, prices.of(model))) is not None
            },
        },
        {
            "layer": "prefix_kv",
            "note": "prefixes shared inside an inference engine cannot be seen from here: "
            "`surehit audit` computes them from a log",
        },
    ]


def diagnosis(spent: Spent, price: ModelPrice) -> str | None:
    """Why a provider's prompt cache was never read; None when it was, or after too few calls to tell."""
    counted = spent.requests - spent.without_usage
    if spent.cached_read or counted < _FEW:
        return None
    average = spent.input_tokens / counted
    if average < price.min_tokens:
        return (
            f"below the minimum: prompts have {average:.0f} tokens on average, and this model caches "
            f"prefixes from {price.min_tokens} tokens on"
        )
    if spent.written:
        return (
            f"{spent.written} tokens were written and none was read: a breakpoint stands behind content "
            "that changes, or the next call came after the entry had ended; `surehit diff` shows what changed"
        )
    if price.automatic:
        return (
            "prompts are long enough and nothing was read: their beginning changes from call to call; "
            "`surehit diff A B` shows the first token that differs"
        )
    return (
        "prompts are long enough and nothing was written: no breakpoint (`cache_control`) is set, or not "
        "behind a prefix that long"
    )


def _of(found: dict[tuple[str, str], Spent], layer: Layer) -> Spent:
    return sum((spent for _, spent in _layer(found, layer)), _NOTHING)


def _layer(found: dict[tuple[str, str], Spent], layer: Layer) -> list[tuple[str, Spent]]:
    return [(model, spent) for (model, of_layer), spent in found.items() if of_layer == layer]


def _counts(spent: Spent) -> dict[str, int]:
    return {
        "requests": spent.requests,
        "without_usage": spent.without_usage,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
    }


def _saved(found: dict[tuple[str, str], Spent], layer: Layer, prices: PriceTable) -> float:
    return sum((_avoided(spent, prices.of(model)) for model, spent in _layer(found, layer)), 0.0)


def _avoided(spent: Spent, price: ModelPrice) -> float:
    cached = spent.cached_read + spent.written
    return price.cost(plain=spent.plain, read=cached, output=spent.output_tokens)


def _input_cost(spent: Spent, price: ModelPrice) -> float:
    return price.cost(
        plain=spent.plain,
        read=spent.cached_read,
        written_5m=spent.cache_write_5m + spent.cache_write_other,
        written_1h=spent.cache_write_1h,
    )


def _cost(spent: Spent, price: ModelPrice) -> float:
    return _input_cost(spent, price) + price.cost(output=spent.output_tokens)


def _saved_by_reads(spent: Spent, price: ModelPrice) -> float:
    return price.cost(plain=spent.input_tokens) - _input_cost(spent, price)


def _column(model: str) -> str:
    """A model's name as a column can hold it."""
    return model.replace("\x00", "")[:128]
