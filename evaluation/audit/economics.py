"""What the provider's prompt cache costs and saves on this traffic, and where its breakpoints
belong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evaluation.audit.prices import ModelPrice, PriceTable, break_even_reads
from evaluation.audit.prompt import Prompt
from evaluation.audit.prompt_cache import (
    BestCache,
    Billed,
    Boundary,
    RuledCache,
    boundaries,
)
from evaluation.audit.records import Record

MAX_PLACES = 400
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Reads per write from which a prefix is cheaper cached; `reads` is the equality, not
    rounded."""

    lifetime: Literal["5m", "1h"]
    write: float
    read: float
    reads: float


@dataclass(frozen=True, slots=True)
class Placement:
    """A place for a breakpoint: how long the prefix in front of it is and how often it comes
    again."""

    line: str
    place: str
    requests: int
    mean_tokens: float
    reads_per_write: float
    is_worth_it: bool


@dataclass(frozen=True, slots=True)
class EconomicsReport:
    """Costs in the table's currency. `cost_as_is` is None where neither usage nor rules tell.

    Output tokens are in no figure: no prompt cache changes them. `as_is_from` says whether the
    present cost comes from the log's usage or from simulating the provider's rules.
    """

    as_of: str
    currency: str
    notes: str
    models: tuple[tuple[str, int], ...]
    requests: int
    input_tokens: int
    read_tokens: int
    written_tokens: int
    cost_without_cache: float
    cost_as_is: float
    as_is_from: Literal["usage", "rules", "both"]
    cost_perfect_5m: float
    cost_perfect_1h: float | None
    break_even: tuple[BreakEven, ...]
    placements: tuple[Placement, ...]
    has_timestamps: bool


class EconomicsLayer:
    """Adds up costs over a stream of requests; memory is bounded by the number of live prefixes."""

    def __init__(self, prices: PriceTable) -> None:
        self._prices = prices
        self._ruled = RuledCache()
        self._best = {300.0: BestCache(300.0), 3600.0: BestCache(3600.0)}
        self._models: dict[str, int] = {}
        self._main_price: dict[str, ModelPrice] = {}
        self._requests = self._input = self._read = self._written = 0
        self._without = self._as_is = 0.0
        self._sources: set[str] = set()
        self._has_hour = True
        self._timed = True
        self._places: dict[tuple[str, str], list[float]] = {}

    def add(self, record: Record, prompt: Prompt) -> None:
        """Bill one request in all ways."""
        model = _model(record)
        price = self._prices.of(model)
        if model in self._models or len(self._models) < 100:
            self._models[model] = self._models.get(model, 0) + 1
            self._main_price[model] = price
        now_s = 0.0 if record.ts_s is None else record.ts_s
        self._timed = self._timed and record.ts_s is not None
        salt = f"{record.tenant}\x1f{model}".encode()
        blocks = boundaries(prompt, salt=salt)
        counted = len(prompt.tokens)
        usage = record.usage
        billed_input = usage.input_tokens if usage and usage.input_tokens else counted
        scale = billed_input / counted if counted else 1.0
        if usage is not None and usage.reports_cache:
            billed = Billed(usage.read_tokens, usage.written_5m_tokens, usage.written_1h_tokens)
            self._sources.add("usage")
        else:
            simulated = self._ruled.serve(prompt, blocks, price, now_s, salt)
            billed = Billed(
                round(simulated.read * scale),
                round(simulated.written_5m * scale),
                round(simulated.written_1h * scale),
            )
            self._sources.add("rules")
        self._requests += 1
        self._input += billed_input
        self._read += billed.read
        self._written += billed.written_5m + billed.written_1h
        self._without += billed_input * price.input
        self._as_is += input_cost(price, billed_input, billed) * _MILLION
        self._add_best(record.line, blocks, price, now_s, scale, billed_input)

    def _add_best(
        self,
        line: str,
        blocks: list[Boundary],
        price: ModelPrice,
        now_s: float,
        scale: float,
        billed: int,
    ) -> None:
        self._has_hour = self._has_hour and price.write_1h is not None
        reads = self._best[300.0].serve(blocks, price, price.write_5m, now_s, scale)
        if price.write_1h is not None:
            self._best[3600.0].serve(blocks, price, price.write_1h, now_s, scale)
        tail = billed - (blocks[-1].tokens if blocks else 0) * scale
        for best in self._best.values():
            best.add_plain(max(0.0, tail) * price.input)
        for block, was_read in zip(blocks, reads, strict=True):
            if not block.place:
                continue
            key = (line, block.place)
            if key in self._places or len(self._places) < MAX_PLACES:
                tally = self._places.setdefault(key, [0, 0, 0.0, 0])
                tally[0] += 1
                tally[1] += was_read
                tally[2] += block.tokens
                tally[3] += block.tokens >= price.min_tokens

    def report(self) -> EconomicsReport:
        """The costs so far."""
        models = tuple(sorted(self._models.items(), key=lambda item: -item[1]))
        main = self._main_price[models[0][0]] if models else self._prices.of("")
        source = "both" if len(self._sources) > 1 else next(iter(self._sources), "rules")
        return EconomicsReport(
            self._prices.as_of.isoformat(),
            self._prices.currency,
            self._prices.notes,
            models,
            self._requests,
            self._input,
            self._read,
            self._written,
            self._without / _MILLION,
            self._as_is / _MILLION,
            source,  # type: ignore[arg-type] # the set holds only these two words
            self._best[300.0].cost_per_million() / _MILLION,
            self._best[3600.0].cost_per_million() / _MILLION if self._has_hour else None,
            tuple(_break_even(main)),
            tuple(self._placements(main)),
            self._timed,
        )

    def _placements(self, price: ModelPrice) -> Iterator[Placement]:
        needed = break_even_reads(price.write_5m, price.read)
        order = {"tools": 0, "system": 1, "history": 2}
        for (line, place), (seen, read, tokens, long_enough) in sorted(
            self._places.items(), key=lambda item: (item[0][0], order[item[0][1]])
        ):
            writes = seen - read
            per_write = read / writes if writes else float(read)
            worth = per_write > needed and long_enough > seen / 2
            yield Placement(line, place, int(seen), tokens / seen, per_write, bool(worth))


def input_cost(price: ModelPrice, input_tokens: int, billed: Billed) -> float:
    """Cost of the input of one request."""
    plain = input_tokens - billed.read - billed.written_5m - billed.written_1h
    return price.cost(
        plain=max(0, plain),
        read=billed.read,
        written_5m=billed.written_5m,
        written_1h=billed.written_1h,
    )


def _break_even(price: ModelPrice) -> Iterator[BreakEven]:
    yield BreakEven("5m", price.write_5m, price.read, break_even_reads(price.write_5m, price.read))
    if price.write_1h is not None:
        yield BreakEven(
            "1h", price.write_1h, price.read, break_even_reads(price.write_1h, price.read)
        )


def _model(record: Record) -> str:
    model = record.request.get("model") if isinstance(record.request, dict) else None
    return model if isinstance(model, str) else ""
