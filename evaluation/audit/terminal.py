"""The report in a terminal: the layers first, then the figures behind each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evaluation.audit.economics import EconomicsReport
from evaluation.audit.exact import ExactReport
from evaluation.audit.kv_memory import GIB, KvReport
from evaluation.audit.prefix import PrefixReport
from evaluation.audit.report import AuditReport
from evaluation.audit.semantic import SemanticReport
from evaluation.audit.why import WhyReport

_SHOWN_LINES = 10


def render(report: AuditReport) -> RenderableType:
    """Everything a person should see, as one renderable. Text of the log is never read as
    markup."""
    parts: list[RenderableType] = [_head(report), _layers(report)]
    found = report.findings
    if found.exact is not None and found.exact.overall.rows:
        parts += _exact(found.exact)
    if found.prefix is not None and found.prefix.requests:
        parts += _prefix(found.prefix)
    if found.why is not None and found.why.causes:
        parts += _why(found.why)
    if found.prompt_cache is not None and found.prompt_cache.requests:
        parts += _prompt_cache(found.prompt_cache)
    if found.semantic is not None and found.semantic.lookups:
        parts += _semantic(found.semantic)
    if found.kv is not None:
        parts.append(_kv(found.kv))
    parts += [Text(f"note: {note}") for note in report.notes]
    return Group(*parts)


def _head(report: AuditReport) -> Text:
    text = f"{report.source}: {report.rows:,} requests in {report.seconds:.1f} s"
    if report.bad_lines:
        text += f"; {report.bad_lines:,} lines could not be read"
        text += "".join(f"\n  line {b.number}: {b.why}" for b in report.bad_examples)
    if report.tokenizer:
        text += f"\ntokens by {report.tokenizer}"
        if report.token_counts_are_approximate:
            text += " (bundled: exact for models that use it, else approximate; name yours)"
    if report.lengths is not None:
        n = report.lengths
        text += f"\nlengths in tokens: median {n.p50:,}, p95 {n.p95:,}, longest {n.longest:,}"
    return Text(text)


def _layers(report: AuditReport) -> Table | Text:
    if not report.layers:
        return Text("No layer can be judged from this log.")
    table = _table("Which layer? (shares are of different things and never add up)")
    table.show_lines = True
    for name in ("layer", "share", "what it saves, its risk, its next step"):
        table.add_column(name, overflow="fold")
    for row in report.layers:
        share = "" if row.share is None else f"{row.share:.1%} of\n{row.unit}"
        table.add_row(
            Text(row.layer.value, style="bold green" if row.is_worth_it else "bold"),
            Text(share),
            Text(f"{row.saves}.\nRisk: {row.risk}.\nNext: {row.next_step}"),
        )
    return table


def _exact(exact: ExactReport) -> Iterator[RenderableType]:
    table = _table("Exact repeats (hits within a time to live)")
    for name in ("line", "requests", "the same by", "repeats", "share", "1 h", "1 d", "7 d"):
        table.add_column(name, justify="left" if name in ("line", "the same by") else "right")
    lines = exact.lines[:_SHOWN_LINES] if len(exact.lines) > 1 else ()
    for line in (exact.overall, *lines):
        for form in line.forms:
            ttl = [f"{n:,}" for _, n in form.by_ttl_s] if form.by_ttl_s else ["-"] * 3
            table.add_row(
                Text(line.line or "all"),
                f"{line.rows:,}",
                form.form,
                f"{form.repeats:,}",
                f"{form.share:.2%}",
                *ttl,
            )
    yield table
    if exact.fields:
        fields = _table("Fields that break repeats")
        for name in ("field", "repeats lost", "in Surehit's key"):
            fields.add_column(name)
        for f in exact.fields[:_SHOWN_LINES]:
            fields.add_row(Text(f.field), f"{f.broken_repeats:,}", "no" if f.ignored else "yes")
        yield fields


def _prefix(prefix: PrefixReport) -> Iterator[RenderableType]:
    table = _table(f"Prefix reuse in an engine (blocks of {prefix.block_tokens} tokens)")
    for name in ("pool, blocks", "tenants kept apart", "reused tokens", "share", "evicted"):
        table.add_column(name, justify="right")
    for p in prefix.pools:
        table.add_row(
            f"{p.capacity_blocks:,}",
            "yes" if p.salt_per_tenant else "no",
            f"{p.reused_tokens:,}",
            f"{p.reused_share:.1%}",
            f"{p.evicted_blocks:,}",
        )
    yield table
    if len(prefix.lines) > 1:
        lines = _table("Prefix reuse by line (largest pool)")
        for name in ("line", "requests", "prompt tokens", "share"):
            lines.add_column(name)
        for line in prefix.lines[:_SHOWN_LINES]:
            lines.add_row(
                Text(line.line),
                f"{line.requests:,}",
                f"{line.prompt_tokens:,}",
                f"{line.reused_share:.1%}",
            )
        yield lines


def _why(why: WhyReport) -> Iterator[RenderableType]:
    table = _table(f"Why prefixes break ({why.pairs:,} pairs of requests)")
    for name in ("cause", "times", "tokens lost", "example", "mend"):
        table.add_column(name, overflow="fold")
    for c in why.causes:
        where = c.example.where
        example = (
            f"rows {c.example_rows[0]} and {c.example_rows[1]}, {where.path_b}:"
            f" …{where.before[-24:]!r} then {where.after_a[:24]!r} / {where.after_b[:24]!r}"
        )
        mend = c.mending
        if c.chunk_tokens:
            mend += f" (sorting {c.sorted_tokens:,}, chunks {c.chunk_tokens:,} tokens)"
        table.add_row(
            c.cause.value, f"{c.times:,}", f"{c.lost_tokens:,}", Text(example), Text(mend)
        )
    yield table


def _prompt_cache(costs: EconomicsReport) -> Iterator[RenderableType]:
    table = _table(f"Prompt-cache economics ({costs.currency}, input only, prices {costs.as_of})")
    for name in ("without a cache", "as is", "best, 5 m", "best, 1 h", "tokens read", "written"):
        table.add_column(name, justify="right")
    hour = "-" if costs.cost_perfect_1h is None else f"{costs.cost_perfect_1h:,.4f}"
    table.add_row(
        f"{costs.cost_without_cache:,.4f}",
        f"{costs.cost_as_is:,.4f} ({costs.as_is_from})",
        f"{costs.cost_perfect_5m:,.4f}",
        hour,
        f"{costs.read_tokens:,}",
        f"{costs.written_tokens:,}",
    )
    yield table
    for e in costs.break_even:
        text = f"{e.lifetime}: a write at {e.write:g}x pays from {e.reads:.2f} reads at {e.read:g}x"
        yield Text(text)
    places = _table("Where breakpoints belong")
    for name in ("line", "after", "mean tokens", "reads per write", "worth it"):
        places.add_column(name)
    for p in costs.placements[: 3 * _SHOWN_LINES]:
        places.add_row(
            Text(p.line),
            p.place,
            f"{p.mean_tokens:,.0f}",
            f"{p.reads_per_write:.2f}",
            "yes" if p.is_worth_it else "no",
        )
    if costs.placements:
        yield places


def _semantic(semantic: SemanticReport) -> Iterator[RenderableType]:
    table = _table(
        f"Semantic candidates by {semantic.embedder} ({semantic.lookups:,} different queries;"
        " nothing here says that an answer is right)"
    )
    for name in ("threshold", "with a candidate", "share", "refused by guards", "left", "example"):
        table.add_column(name, overflow="fold")
    for t in semantic.thresholds:
        example = ""
        if t.examples:
            e = t.examples[0]
            example = f"{e.score:.3f} {e.earlier[:60]!r} / {e.query[:60]!r} {e.guard or ''}"
        table.add_row(
            f"{t.threshold:.2f}",
            f"{t.with_candidate:,}",
            f"{t.share:.1%}",
            f"{t.refused_by_guards:,}",
            f"{t.left:,}",
            Text(example),
        )
    yield table
    needed = ", ".join(f"{n.labels} for {n.target:.0%}" for n in semantic.labels)
    text = f"labels for a certificate, none of them a false hit: {needed}"
    if semantic.break_even_share is not None:
        text += f"; embeddings pay from {semantic.break_even_share:.4%} hits (hosted, list prices)"
    yield Text(f"{text}; embedded here in {semantic.embedding_ms:.2f} ms a query")


def _kv(kv: KvReport) -> Table:
    table = _table(f"KV memory ({kv.attention}, {kv.gpu.memory_gib:g} GiB GPU)")
    for name in ("precision", "bytes a token", "length", "tokens", "GiB each", "fit at a time"):
        table.add_column(name, justify="right")
    for row in kv.rows:
        fits = dict(row.fitting_sequences)
        for name, tokens, size in row.sequence_bytes:
            table.add_row(
                row.precision,
                f"{row.bytes_per_token:,.0f}",
                name,
                f"{tokens:,}",
                f"{size / GIB:,.3f}",
                f"{fits[name]:,}",
            )
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", show_lines=False, header_style="bold")
