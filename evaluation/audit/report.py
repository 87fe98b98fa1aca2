"""The outcome of an audit: one row per layer, and the figures behind it. Never one total hit
rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.audit.economics import EconomicsReport
from evaluation.audit.exact import ExactReport
from evaluation.audit.kv_memory import GIB, KvReport
from evaluation.audit.lengths import Lengths
from evaluation.audit.options import Layer
from evaluation.audit.prefix import PrefixReport
from evaluation.audit.reading import BadLine
from evaluation.audit.semantic import SemanticReport
from evaluation.audit.why import WhyReport

READ_AT = 0.95
"""Threshold at which the summary reads the semantic layer; every other one is in its table."""

WORTH_REPEATS = 0.01
WORTH_TOKENS = 0.05
"""Shares below which a layer is called not worth its trouble."""

_CONTENT = frozenset(
    {"model", "system", "system message", "earlier turns", "instructions", "tools", "functions"}
)
"""Fields that are what is asked: that they differ is no accident to be mended."""


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer in a sentence each. `share` is of `unit`; shares of different layers never add
    up."""

    layer: Layer
    share: float | None
    unit: str
    saves: str
    risk: str
    next_step: str
    is_worth_it: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """The figures of each layer; None for one that was not asked for, or that the log cannot
    tell."""

    exact: ExactReport | None = None
    semantic: SemanticReport | None = None
    prefix: PrefixReport | None = None
    why: WhyReport | None = None
    prompt_cache: EconomicsReport | None = None
    kv: KvReport | None = None


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything that an audit found: one row per layer, and the figures behind them."""

    source: str
    rows: int
    bad_lines: int
    bad_examples: tuple[BadLine, ...]
    tokenizer: str | None
    token_counts_are_approximate: bool
    layers: tuple[LayerRow, ...]
    findings: Findings
    lengths: Lengths | None
    notes: tuple[str, ...]
    seconds: float

    @property
    def is_worth_it(self) -> bool:
        """True when at least one layer would save something worth its trouble."""
        return any(row.is_worth_it for row in self.layers)


def layer_rows(found: Findings) -> Iterator[LayerRow]:
    """One row for each layer that was looked at, in the order in which they should be
    considered."""
    if found.exact is not None and found.exact.overall.rows:
        yield _exact_row(found.exact)
    if found.prefix is not None and found.prefix.best is not None and found.prefix.requests:
        yield _prefix_row(found.prefix)
    if found.why is not None and found.why.pairs:
        yield _why_row(found.why, found.prefix)
    if found.prompt_cache is not None and found.prompt_cache.requests:
        yield _prompt_cache_row(found.prompt_cache)
    if found.semantic is not None and found.semantic.lookups:
        yield _semantic_row(found.semantic)
    if found.kv is not None:
        yield _kv_row(found.kv)


def _exact_row(exact: ExactReport) -> LayerRow:
    as_bytes, canonical, stable = exact.overall.forms
    saves = f"{canonical.repeats:,} of {exact.overall.rows:,} requests repeat an earlier one"
    if canonical.repeats > as_bytes.repeats:
        saves += f" ({as_bytes.repeats:,} byte for byte)"
    worst = next((f for f in exact.fields if not f.ignored and f.field not in _CONTENT), None)
    worth = canonical.share >= WORTH_REPEATS
    if stable.repeats > canonical.repeats * 1.1:
        gained = stable.repeats - canonical.repeats
        step = f"Move times and ids out of the context: {gained:,} more repeats"
    elif worst is not None and worst.broken_repeats > canonical.repeats * 0.1:
        step = f"Ask whether {worst.field!r} must vary: it breaks {worst.broken_repeats:,} repeats"
    else:
        step = "Turn the exact tier on (mode `exact`)" if worth else "Leave it on; it costs little"
    return LayerRow(
        Layer.EXACT,
        canonical.share,
        "requests",
        saves,
        "No false hit is possible; only age: choose the time to live by the table",
        step,
        worth,
    )


def _semantic_row(semantic: SemanticReport) -> LayerRow:
    at = next(t for t in semantic.thresholds if t.threshold == READ_AT)
    left = at.left / semantic.lookups
    labels = semantic.labels[0]
    return LayerRow(
        Layer.SEMANTIC,
        left,
        "different queries",
        f"{at.left:,} of {semantic.lookups:,} different queries have a candidate at {READ_AT} that"
        f" the guards let pass; how many answers would be right is not known",
        f"False hits. {labels.labels} labels without an error certify {labels.target:.0%} at 95 %",
        "Shadow the line and review: surehit audit LOG --to-review --url URL"
        if left >= WORTH_REPEATS
        else "Not here: too few near questions",
        left >= WORTH_REPEATS,
    )


def _prefix_row(prefix: PrefixReport) -> LayerRow:
    best = prefix.best
    assert best is not None  # noqa: S101 # asked by the caller
    risk = "None for the answers"
    if prefix.tenants > 1:
        risk += "; without a salt per tenant, timing tells tenants of each other's prompts"
    worth = best.reused_share >= WORTH_TOKENS
    enough = min(
        (
            p.capacity_blocks
            for p in prefix.pools
            if p.salt_per_tenant and p.reused_tokens >= 0.95 * best.reused_tokens
        ),
        default=best.capacity_blocks,
    )
    return LayerRow(
        Layer.PREFIX,
        best.reused_share,
        "prompt tokens",
        f"{best.reused_tokens:,} of {prefix.prompt_tokens:,} prompt tokens need not be computed",
        risk,
        f"Turn on prefix caching; {enough:,} blocks of {prefix.block_tokens} hold nearly all of it"
        if worth
        else "Little is shared: see why it breaks",
        worth,
    )


def _why_row(why: WhyReport, prefix: PrefixReport | None) -> LayerRow:
    total = prefix.prompt_tokens if prefix is not None else 0
    share = why.lost_tokens / total if total else None
    if not why.causes:
        saves, step = "No avoidable break found", "Nothing to mend"
    else:
        worst = why.causes[0]
        saves = (
            f"{why.lost_tokens:,} prompt tokens are lost to avoidable breaks,"
            f" {worst.lost_tokens:,} of them to {worst.cause.value}"
        )
        step = worst.mending
    return LayerRow(
        Layer.WHY,
        share,
        "prompt tokens",
        saves,
        "The model sees the prompt in another order: compare answers once",
        step,
        share is not None and share >= WORTH_TOKENS,
    )


def _prompt_cache_row(costs: EconomicsReport) -> LayerRow:
    options = {"5m": costs.cost_perfect_5m}
    if costs.cost_perfect_1h is not None:
        options["1h"] = costs.cost_perfect_1h
    lifetime, best = min(options.items(), key=lambda item: item[1])
    share = (costs.cost_as_is - best) / costs.cost_as_is if costs.cost_as_is else 0.0
    worth = share >= WORTH_TOKENS
    places = [p.place for p in costs.placements if p.is_worth_it]
    where = " and ".join(dict.fromkeys(places)) or "nowhere"
    return LayerRow(
        Layer.PROMPT_CACHE,
        share,
        "input cost",
        f"Input costs {costs.cost_as_is:,.2f} {costs.currency} as is"
        f" ({costs.cost_without_cache:,.2f} without a cache); {best:,.2f} at best ({lifetime})",
        f"Writes that nobody reads cost more than none. List prices of {costs.as_of}: check them",
        f"Breakpoints after: {where}" if worth else "As good as it gets, or too short to be cached",
        worth,
    )


def _kv_row(kv: KvReport) -> LayerRow:
    row = kv.rows[0]
    fits = dict(row.fitting_sequences)
    fitting = [pool for pool in row.pools if pool[2] > 0]
    if fitting:
        blocks, size, left = fitting[-1]
        pool = f"; a pool of {blocks:,} blocks takes {size / GIB:,.1f} GiB and leaves {left:,}"
    elif row.pools:
        pool = f"; a pool of {row.pools[0][0]:,} blocks leaves none"
    else:
        pool = ""
    return LayerRow(
        Layer.KV,
        None,
        "",
        f"{row.bytes_per_token:,.0f} bytes a token ({row.precision}); {fits.get('p50', 0):,} median"
        f" sequences fit at a time, {fits.get('p95', 0):,} at p95{pool}",
        "A pool that is too large lowers the number of sequences that run together",
        "8-bit keys and values double the room; check the quality of answers first",
        False,
    )
