"""`surehit audit` and `surehit diff`: offline, nothing is sent anywhere unless `--to-review` asks
for it.

Exit codes: 0 when a layer is worth its trouble (`audit`) or nothing keeps b from reusing a
(`diff`), 1 when the answer is no, 2 for misuse.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import httpx2
import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from evaluation.audit import html, terminal
from evaluation.audit.comparison import Comparison, RequestUnreadable, compare, read_request
from evaluation.audit.kv_memory import Gpu, ModelConfigUnusable
from evaluation.audit.options import AuditOptions, Layer
from evaluation.audit.prices import PricesUnusable
from evaluation.audit.prompt import ChatFormat, Renderer
from evaluation.audit.reading import ReadingTally, read_records
from evaluation.audit.replay import DEFAULT_LIMIT, ReplayRefused, ReplayReport, replay
from evaluation.audit.run import audit_records
from evaluation.audit.tokens import TokenizerUnusable, load_tokenizer
from index.types import Language

NO, MISUSE = 1, 2

app_audit = typer.Typer(help="What would each layer of caching do for logged traffic?")

TokenizerFile = Annotated[
    Path | None,
    typer.Option("--tokenizer", help="A `tokenizers` JSON file; else o200k_base (approximate)."),
]
Format = Annotated[ChatFormat, typer.Option("--chat-format", help="How messages become a prompt.")]
DefaultSystem = Annotated[
    str | None,
    typer.Option("--default-system", help="System message that the chat template puts in."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


@app_audit.command()
def audit(
    log: Annotated[Path, typer.Argument(help="JSON Lines, plain or gzip.")],
    as_json: AsJson = False,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write a page with plots here.")
    ] = None,
    layers: Annotated[
        str, typer.Option(help="Comma-separated: exact,semantic,prefix,why,prompt-cache,kv.")
    ] = ",".join(Layer),
    line: Annotated[str | None, typer.Option(help="Business line of rows that name none.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Read only so many rows.")] = None,
    tokenizer: TokenizerFile = None,
    chat_format: Format = "chatml",
    default_system: DefaultSystem = None,
    block_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a block.")] = 16,
    pool_blocks: Annotated[
        str, typer.Option(help="Pool sizes to simulate, in blocks.")
    ] = "4096,32768,262144",
    running: Annotated[int, typer.Option(min=1, help="Requests that run at a time.")] = 1,
    max_pairs: Annotated[int, typer.Option(min=0, help="Pairs compared for breaks.")] = 20_000,
    max_queries: Annotated[int, typer.Option(min=0, help="Queries embedded.")] = 50_000,
    embedder: Annotated[str | None, typer.Option(help="minilm, e5-small, use, st:NAME.")] = None,
    language: Annotated[Language | None, typer.Option(help="Else told from the text.")] = None,
    models_dir: Annotated[
        Path | None, typer.Option(help="Where models are kept; else the data folder's.")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="Your own price table (TOML); else the data folder's prices.toml."),
    ] = None,
    model_config: Annotated[
        Path | None, typer.Option(help="A model's config.json, for the KV memory.")
    ] = None,
    gpu_gib: Annotated[float, typer.Option(min=1, help="Memory of the GPU(s).")] = 80.0,
    weights_gib: Annotated[float, typer.Option(min=0, help="Memory of the weights.")] = 0.0,
    to_review: Annotated[
        bool, typer.Option("--to-review", help="Replay the log into shadow lines at --url.")
    ] = False,
    url: Annotated[str | None, typer.Option(help="Address of a Surehit service.")] = None,
    review_limit: Annotated[int, typer.Option(min=1, help="Rows replayed.")] = DEFAULT_LIMIT,
) -> None:
    """Say for each layer of caching what it would do for the traffic in LOG, before it is turned
    on."""
    if not log.is_file():
        raise _misuse(f"{log}: no such file")
    if to_review:
        if url is None:
            raise _misuse("--to-review needs --url")
        _replay(log, url, line, review_limit, as_json=as_json)
        return
    options = AuditOptions(
        layers=_layers(layers),
        tokenizer=tokenizer,
        chat_format=chat_format,
        default_system=default_system,
        block_tokens=block_tokens,
        pool_blocks=_sizes(pool_blocks),
        running=running,
        max_pairs=max_pairs,
        max_queries=max_queries,
        embedder=embedder,
        language=language,
        models_dir=models_dir or _models_dir(),
        prices=prices or _prices_file(),
        kv_config=_config(model_config),
        gpu=Gpu(gpu_gib, weights_gib) if model_config is not None else None,
    )
    tally = ReadingTally()
    with _progress() as progress:
        reading = progress.add_task("reading", total=log.stat().st_size)
        embedding = progress.add_task("embedding", total=None, visible=False)
        records = read_records(
            log,
            tally,
            line=line,
            limit=limit,
            on_bytes=lambda at: progress.update(reading, completed=at),
        )
        try:
            report = audit_records(
                records,
                options,
                source=log.name,
                tally=tally,
                on_embedded=lambda done, total: progress.update(
                    embedding, completed=done, total=total, visible=True
                ),
            )
        except (TokenizerUnusable, PricesUnusable, ModelConfigUnusable, OSError) as error:
            raise _misuse(str(error)) from error
    if html_file is not None:
        html_file.write_text(html.page(report), "utf-8")
    if as_json:
        typer.echo(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode())
    else:
        Console().print(terminal.render(report))
    if not report.is_worth_it:
        raise typer.Exit(NO)


@app_audit.command()
def diff(
    a: Annotated[Path, typer.Argument(help="A request as JSON.")],
    b: Annotated[Path, typer.Argument(help="The request that should have reused it.")],
    as_json: AsJson = False,
    tokenizer: TokenizerFile = None,
    chat_format: Format = "chatml",
    default_system: DefaultSystem = None,
    block_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a block.")] = 16,
) -> None:
    """Say where two requests part, why, and how many tokens each cause costs."""
    try:
        renderer = Renderer(load_tokenizer(tokenizer), chat_format, default_system)
        result = compare(read_request(a), read_request(b), renderer, block_tokens=block_tokens)
    except (TokenizerUnusable, RequestUnreadable) as error:
        raise _misuse(str(error)) from error
    if as_json:
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        _show(result)
    if not result.is_prefix or result.key_difference is not None:
        raise typer.Exit(NO)


def _show(result: Comparison) -> None:
    console = Console()
    console.print(
        Text(
            f"a has {result.tokens_a:,} tokens, b {result.tokens_b:,}; they share"
            f" {result.shared_tokens:,}, which is {result.shared_blocks:,} whole blocks of"
            f" {result.block_tokens}. Exact key: {'the same' if result.same_key else 'another'}."
        )
    )
    if result.where is None:
        if result.tokens_a != result.tokens_b:
            console.print("No token differs: one goes on where the other ends.")
        elif result.key_difference is None:
            console.print("No token differs.")
        else:
            console.print(Text(f"No token differs, but {result.key_difference}: two answers."))
        return
    where = result.where
    console.print(Text(f"First difference at token {result.first_token}, after …{where.before!r}"))
    console.print(Text(f"  a {where.path_a}: {where.after_a!r} (token id {where.token_a})"))
    console.print(Text(f"  b {where.path_b}: {where.after_b!r} (token id {where.token_b})"))
    if not result.breaks:
        console.print("No avoidable cause: the questions are different from here on.")
        return
    table = Table(title="Why", title_justify="left")
    for name in ("cause", "at token", "where", "tokens lost", "mend"):
        table.add_column(name, overflow="fold")
    for found in result.breaks:
        regain = (
            f" Sorting regains {found.sorted_tokens:,} tokens, chunk reuse {found.chunk_tokens:,}."
            if found.chunk_tokens is not None
            else ""
        )
        table.add_row(
            found.cause.value,
            f"{found.token:,}",
            Text(found.where.path_b),
            f"{found.lost_tokens:,}",
            Text(found.mending + regain),
        )
    console.print(table)


def _replay(log: Path, url: str, line: str | None, limit: int, *, as_json: bool) -> None:
    key = os.environ.get("SUREHIT_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    tally = ReadingTally()
    with (
        httpx2.Client(base_url=url, headers=headers, timeout=30.0) as client,
        _progress() as progress,
    ):
        task = progress.add_task("replaying", total=limit)
        try:
            report = replay(
                read_records(log, tally, line=line),
                client,
                limit=limit,
                on_row=lambda done: progress.update(task, completed=done),
            )
        except ReplayRefused as error:
            raise _misuse(str(error)) from error
    if as_json:
        typer.echo(orjson.dumps(report).decode())
    else:
        Console().print(Text(_replayed(report)))
    if not report.near:
        raise typer.Exit(NO)


def _replayed(report: ReplayReport) -> str:
    text = (
        f"{report.looked_up:,} requests looked up on {', '.join(report.lines)} (shadow),"
        f" {report.stored:,} stored, {report.exact_hits:,} exact hits, {report.near:,} with a"
        " candidate that may be sampled for review"
    )
    if report.without_answer:
        text += f"; {report.without_answer:,} not stored: the log holds no answer for them"
    if report.refused:
        text += f"; {report.refused:,} refused by the service, first {report.first_refusal}"
    return text


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _layers(text: str) -> frozenset[Layer]:
    try:
        return frozenset(Layer(name.strip()) for name in text.split(",") if name.strip())
    except ValueError as error:
        raise _misuse(f"--layers: {error}; there are {', '.join(Layer)}") from error


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(size) for size in text.split(",")}))
    except ValueError as error:
        raise _misuse(f"--pool-blocks: {error}") from error
    if not sizes or sizes[0] < 1:
        raise _misuse(f"--pool-blocks: {text!r} must hold numbers above 0")
    return sizes


def _config(path: Path | None) -> dict[str, object] | None:
    if path is None:
        return None
    try:
        config = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise _misuse(f"{path}: {error}") from error
    if not isinstance(config, dict):
        raise _misuse(f"{path}: not a JSON object")
    return config


def _models_dir() -> Path:
    # here, not at the top: settings need pydantic, which a diff of two files should not wait for
    from service.settings import Settings

    return Settings().models_dir


def _prices_file() -> Path | None:
    """The data folder's own price table, which the service's ledger uses too."""
    from service.prices import FILE_NAME
    from service.settings import Settings

    path = Settings().data_dir / FILE_NAME
    return path if path.is_file() else None


def _misuse(message: str) -> typer.Exit:
    Console(stderr=True).print(Text(f"surehit: {message}", style="red"))
    return typer.Exit(MISUSE)


def register(app: typer.Typer) -> None:
    """Join the `surehit` command."""
    app.command()(audit)
    app.command()(diff)
