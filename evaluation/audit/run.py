"""The audit itself: one pass over the records through all layers, then the report."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from evaluation.audit.economics import EconomicsLayer
from evaluation.audit.exact import ExactLayer
from evaluation.audit.kv_memory import Gpu, KvReport, KvShape, kv_report, kv_shape
from evaluation.audit.lengths import Lengths, LengthSample
from evaluation.audit.options import AuditOptions, Layer
from evaluation.audit.prefix import PrefixLayer, PrefixReport
from evaluation.audit.prices import PriceTable, load_prices
from evaluation.audit.prompt import Renderer
from evaluation.audit.reading import ReadingTally
from evaluation.audit.records import Record
from evaluation.audit.report import AuditReport, Findings, layer_rows
from evaluation.audit.semantic import SemanticLayer, SemanticReport
from evaluation.audit.tokens import Tokenizer, load_tokenizer
from evaluation.audit.why import WhyLayer
from index.embedding import catalog
from index.types import Embedder, Language, ModelNotInstalled


@dataclass
class _Layers:
    """The layers that were asked for; those that need text are None without."""

    exact: ExactLayer | None
    semantic: SemanticLayer | None
    prefix: PrefixLayer | None
    why: WhyLayer | None
    costs: EconomicsLayer | None
    lengths: LengthSample
    notes: list[str] = field(default_factory=list)


def audit_records(
    records: Iterable[Record],
    options: AuditOptions | None = None,
    *,
    source: str = "live traffic",
    tally: ReadingTally | None = None,
    embedder: Embedder | None = None,
    on_embedded: Callable[[int, int], object] = lambda done, total: None,
) -> AuditReport:
    """What each layer of caching would do for these requests, in their order.

    One pass; memory does not grow with the number of records. `tally` tells of lines that could not
    be read; `embedder` spares loading one. Nothing is sent anywhere.
    Raises TokenizerUnusable, PricesUnusable or ModelConfigUnusable for unusable files.
    """
    options = options or AuditOptions()
    began = time.perf_counter()
    prices = load_prices(options.prices)
    shape = kv_shape(options.kv_config) if options.kv_config is not None else None
    tokenizer = load_tokenizer(options.tokenizer) if _needs_tokens(options) else None
    layers = _build(options, tokenizer, prices)
    rows = 0
    renderer = (
        Renderer(tokenizer, options.chat_format, options.default_system) if tokenizer else None
    )
    for record in records:
        rows += 1
        _add(layers, record, renderer)
    found = Findings(
        exact=layers.exact.report() if layers.exact else None,
        semantic=_semantic(layers, options, prices, embedder, on_embedded),
        prefix=layers.prefix.report() if layers.prefix else None,
        why=layers.why.report() if layers.why else None,
        prompt_cache=layers.costs.report() if layers.costs else None,
    )
    lengths = layers.lengths.lengths()
    if shape is not None and options.gpu is not None and lengths is not None:
        found = replace(found, kv=_kv(options, shape, options.gpu, lengths, found.prefix))
    return AuditReport(
        source=source,
        rows=rows,
        bad_lines=tally.bad_lines if tally else 0,
        bad_examples=tuple(tally.shown) if tally else (),
        tokenizer=tokenizer.name if tokenizer else None,
        token_counts_are_approximate=bool(tokenizer and tokenizer.is_approximate),
        layers=tuple(layer_rows(found)),
        findings=found,
        lengths=lengths,
        notes=(*layers.notes, *_notes(found, lengths)),
        seconds=time.perf_counter() - began,
    )


def _build(options: AuditOptions, tokenizer: Tokenizer | None, prices: PriceTable) -> _Layers:
    asked = options.layers
    return _Layers(
        ExactLayer() if Layer.EXACT in asked else None,
        SemanticLayer(max_queries=options.max_queries) if Layer.SEMANTIC in asked else None,
        PrefixLayer(
            pool_blocks=options.pool_blocks,
            block_tokens=options.block_tokens,
            running=options.running,
        )
        if Layer.PREFIX in asked
        else None,
        WhyLayer(tokenizer, max_pairs=options.max_pairs)
        if Layer.WHY in asked and tokenizer
        else None,
        EconomicsLayer(prices) if Layer.PROMPT_CACHE in asked else None,
        # which 100,000 lengths are kept must not differ between two runs over one log
        LengthSample(random.Random(0)),  # noqa: S311 # a sample, not a secret
    )


def _add(layers: _Layers, record: Record, renderer: Renderer | None) -> None:
    if layers.exact is not None:
        layers.exact.add(record)
    prompt = None
    if renderer is not None and record.request is not None:
        prompt = renderer.render(record.request)
    if layers.prefix is not None:
        layers.prefix.add(record, prompt)
    if prompt is not None:
        if layers.why is not None:
            layers.why.add(record, prompt)
        if layers.costs is not None:
            layers.costs.add(record, prompt)
    counted = len(prompt.tokens) if prompt is not None else None
    if layers.semantic is not None:
        layers.semantic.add(record, counted)
    if record.usage is not None and record.usage.input_tokens:
        layers.lengths.add(record.usage.input_tokens + record.usage.output_tokens)
    elif counted is not None:
        layers.lengths.add(counted)


def _needs_tokens(options: AuditOptions) -> bool:
    return bool(options.layers & {Layer.PREFIX, Layer.WHY, Layer.PROMPT_CACHE, Layer.KV})


def _semantic(
    layers: _Layers,
    options: AuditOptions,
    prices: PriceTable,
    embedder: Embedder | None,
    on_embedded: Callable[[int, int], object],
) -> SemanticReport | None:
    if layers.semantic is None or not layers.semantic.sample:
        return None
    name = options.embedder or "given"
    if embedder is None:
        try:
            language = options.language or guess_language(layers.semantic.sample)
            name = options.embedder or catalog.default_for(language)
            embedder = catalog.load(name, options.models_dir)
        except ModelNotInstalled as error:
            layers.notes.append(f"No semantic layer: {error}")
            return None
    price = prices.of("")
    return layers.semantic.report(
        embedder,
        name,
        input_price=price.input,
        output_price=price.output,
        embedding_price=prices.embedding_per_million,
        on_done=on_embedded,
    )


def guess_language(texts: Sequence[str]) -> Language:
    """`en` when nearly all letters of the texts are Latin, else `multi` (which reads Chinese
    too)."""
    letters = [c for text in texts for c in text[:500] if c.isalpha()]
    foreign = sum(1 for c in letters if c > "\u024f")
    return "multi" if foreign > 0.05 * len(letters) else "en"


def _kv(
    options: AuditOptions, shape: KvShape, gpu: Gpu, lengths: Lengths, prefix: PrefixReport | None
) -> KvReport:
    block_tokens = prefix.block_tokens if prefix else options.block_tokens
    return kv_report(
        shape,
        gpu,
        {"p50": lengths.p50, "p95": lengths.p95, "p99": lengths.p99, "longest": lengths.longest},
        pool_blocks=options.pool_blocks,
        block_tokens=block_tokens,
    )


def _notes(found: Findings, lengths: Lengths | None) -> Iterator[str]:
    if lengths is not None and found.kv is None:
        yield "KV memory: name a model's config.json with --model-config to see what fits a GPU."
    exact = found.exact
    if exact is not None and exact.overall.rows:
        if exact.resolution_s is None:
            yield "No timestamps: repeats are counted without a time to live."
        elif exact.resolution_s >= 3600:
            step = exact.resolution_s / 3600
            yield f"Timestamps come in steps of {step:g} h: a shorter time to live cannot be told."
    if found.prompt_cache is not None and not found.prompt_cache.has_timestamps:
        yield "Prompt cache: rows without a time count as sent at once: costs are a lower bound."
    if found.semantic is not None and found.semantic.left_out:
        yield f"Semantic layer: {found.semantic.left_out:,} queries after the limit were left out."
    if found.why is not None and found.why.pairs_left_out:
        yield f"Why it breaks: {found.why.pairs_left_out:,} requests after the limit were left out."
