"""`surehit bench …`: everything that this repository claims in figures, measured again by one command each."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

bench_app = typer.Typer(
    help="Measure. Ratios hold within one run on one machine; `all` runs what needs no labelled data.",
    no_args_is_help=True,
)
_PEERS = Path(tempfile.gettempdir()) / "surehit-peers"
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
EmptyDatabase = Annotated[str, typer.Option(help="An empty PostgreSQL database; default SQLite.")]


def register(app: typer.Typer) -> None:
    """Join the `surehit` command."""
    app.add_typer(bench_app, name="bench")


def _models_dir() -> Path:
    from service.settings import Settings

    return Settings().models_dir


def _tell(text: str) -> None:
    """Progress, beside the output."""
    typer.echo(text, err=True)


def _emit(value: Any, text: str, as_json: bool) -> None:
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() if as_json else text)


@bench_app.command()
def replay(
    file: Annotated[Path, typer.Argument(exists=True, help="Traffic from make_traffic.py.")],
    language: Annotated[str, typer.Option(help="en, zh or multi.")] = "en",
    thresholds: Annotated[str, typer.Option(help="Comma-separated.")] = "",
    guards: Annotated[str, typer.Option(help="on, off or both.")] = "both",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first requests.")] = None,
    as_json: Json = False,
) -> None:
    """Labelled traffic through the real cache: hits and false hits per threshold, next to the best possible."""
    from rich.console import Console
    from rich.progress import Progress

    from evaluation.bench import replay as bench

    if language not in ("en", "zh", "multi") or guards not in ("on", "off", "both"):
        raise typer.BadParameter("--language is en, zh or multi; --guards is on, off or both")
    if not file.stat().st_size:
        raise typer.BadParameter(f"FILE: {file.name} holds no request")
    values = tuple(float(t) for t in thresholds.split(",")) if thresholds else bench.THRESHOLDS
    wanted = {"on": (True,), "off": (False,), "both": (True, False)}[guards]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("replay", total=None)
        found = bench.run(
            file,
            language=language,
            thresholds=values,
            guards=wanted,
            limit=limit,
            models_dir=_models_dir(),
            tell=lambda done, total: progress.update(task, completed=done, total=total),
        )
    _emit(found.as_dict(), bench.render(found), as_json)


@bench_app.command()
def guards(
    files: Annotated[list[Path], typer.Argument(exists=True, help="Labelled pairs, JSONL or .gz.")],
    as_json: Json = False,
) -> None:
    """Guard scorecard: false hits stopped and good hits lost, per kind, language and guard."""
    from evaluation.bench import guards as bench

    typer.echo(bench.run(files, as_json=as_json))


@bench_app.command()
def http(
    entries: Annotated[
        int, typer.Option(min=10_000, help="More than the 4,096 vectors that are remembered.")
    ] = 20_000,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    seconds: Annotated[float, typer.Option(min=0.2, help="Per workload and round.")] = 2.0,
    database_url: EmptyDatabase = "",
    as_json: Json = False,
) -> None:
    """The service over HTTP: exact hit, semantic hit, miss, store at c = 1, 8, 32, against a bare ASGI route."""
    from evaluation.bench import http as bench

    found = bench.run(
        entries=entries,
        rounds=rounds,
        seconds=seconds,
        models_dir=_models_dir(),
        database_url=database_url,
        tell=_tell,
    )
    _emit(found, bench.render(found), as_json)


@bench_app.command()
def embed(
    model: Annotated[
        list[str] | None, typer.Option(help="Several times; default minilm, e5-small, use.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    texts: Annotated[int, typer.Option(min=8, help="Texts per length and round.")] = 200,
    as_json: Json = False,
) -> None:
    """Milliseconds per text of each model, alone and in batches, against sentence-transformers."""
    from evaluation.bench import embed as bench
    from index.types import ModelNotInstalled

    try:
        found = bench.run(
            models=model or ["minilm", "e5-small", "use"],
            rounds=rounds,
            texts=texts,
            models_dir=_models_dir(),
            tell=_tell,
        )
    except ModelNotInstalled as error:
        raise typer.BadParameter(str(error)) from error
    _emit(found, bench.render(found), as_json)


@bench_app.command()
def index(
    size: Annotated[
        list[int] | None, typer.Option(min=1, help="Several times; default 1k, 10k, 100k, 300k.")
    ] = None,
    queries: Annotated[int, typer.Option(min=10)] = 2_000,
    as_json: Json = False,
) -> None:
    """Search time, recall of would-be hits, memory and snapshots of the index, against exact search."""
    from evaluation.bench import index as bench

    found = bench.run(
        sizes=size or (1_000, 10_000, 100_000, 300_000),
        queries=queries,
        tell=_tell,
    )
    _emit(found, bench.render(found), as_json)


@bench_app.command(name="all")
def everything(
    only: Annotated[
        list[str] | None, typer.Option(help="embed, index, http, restart, proxy; several times.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the JSON files.")] = Path("docs/bench"),
    document: Annotated[
        Path, typer.Option(help="Its tables between <!-- bench:NAME --> marks are replaced.")
    ] = Path("docs/figures.md"),
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, one round.")] = False,
    as_json: Json = False,
) -> None:
    """The benchmarks that need no labelled data, kept as JSON and as tables (half an hour)."""
    from evaluation.bench import everything as bench

    names = only or list(bench.BENCHES)
    if unknown := set(names) - set(bench.BENCHES):
        raise typer.BadParameter(
            f"--only: unknown {', '.join(sorted(unknown))}; there are {', '.join(bench.BENCHES)}"
        )
    found = bench.run(
        names,
        models_dir=_models_dir(),
        out=out,
        document=document,
        is_quick=quick,
        tell=_tell,
    )
    text = "\n\n".join(f"{name}\n{bench.BENCHES[name].table(f)}" for name, f in found.items())
    _emit(found, text, as_json)


@bench_app.command()
def restart(
    entries: Annotated[int, typer.Option(min=1_000)] = 100_000,
    database_url: EmptyDatabase = "",
    as_json: Json = False,
) -> None:
    """Seconds from start to the first exact and the first semantic hit, without and with a snapshot."""
    from evaluation.bench import restart as bench

    found = bench.run(
        entries=entries,
        models_dir=_models_dir(),
        database_url=database_url,
        tell=_tell,
    )
    _emit(found, bench.render(found), as_json)


@bench_app.command()
def loop(
    line: Annotated[
        list[str] | None, typer.Option(help="faq, search or code; several times; default all.")
    ] = None,
    requests: Annotated[
        int, typer.Option(min=200, help="In shadow, and as many again served.")
    ] = 20_000,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per line, each with other traffic.")] = 1,
    target: Annotated[float, typer.Option(min=0.001, max=0.5)] = 0.03,
    labels: Annotated[int, typer.Option(min=50, help="Label budget of a run, about.")] = 1_500,
    as_json: Json = False,
) -> None:
    """From an empty database to a certified threshold, and how the promise held on what was served."""
    import structlog

    from evaluation.bench import loop as bench

    wanted = line or list(bench.LANGUAGES)
    if unknown := set(wanted) - set(bench.LANGUAGES):
        raise typer.BadParameter(f"unknown line {', '.join(sorted(unknown))}")
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())  # the table alone
    found = bench.run(
        wanted,
        seeds=range(1, seeds + 1),
        requests=requests,
        target=target,
        label_budget=labels,
        models_dir=_models_dir(),
        tell=_tell,
    )
    _emit([r.as_dict() for r in found], bench.render(found), as_json)


@bench_app.command()
def proxy(
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    seconds: Annotated[float, typer.Option(min=0.2, help="Per workload and round.")] = 1.5,
    database_url: EmptyDatabase = "",
    as_json: Json = False,
) -> None:
    """Added latency of the proxy: a miss against the direct call, a hit against the sidecar's."""
    from evaluation.bench import proxy as bench

    found = bench.run(
        rounds=rounds,
        seconds=seconds,
        database_url=database_url,
        tell=_tell,
    )
    _emit(found, bench.render(found), as_json)


@bench_app.command()
def pgvector(
    entries: Annotated[int, typer.Option(min=3_000)] = 300_000,
    queries: Annotated[int, typer.Option(min=20, help="Per tenant size.")] = 500,
    database_url: Annotated[
        str, typer.Option(help="An empty PostgreSQL database; default: one is started.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Search in PostgreSQL against search in memory: recall and time for tenants of 100 to 100,000 entries."""
    from evaluation.bench import pgvector as bench

    found = bench.run(
        entries=entries,
        queries=queries,
        database_url=database_url,
        tell=_tell,
    )
    _emit(found, bench.render(found), as_json)


@bench_app.command()
def workers(
    rounds: Annotated[int, typer.Option(min=40)] = 10_000,
    search: Annotated[str, typer.Option(help="local or pgvector.")] = "local",
    database_url: EmptyDatabase = "",
    as_json: Json = False,
) -> None:
    """Two processes on one database: how soon a store of one is a hit of the other, and stale answers."""
    from evaluation.bench import workers as bench

    if search not in ("local", "pgvector"):
        raise typer.BadParameter("--search is local or pgvector")
    found = bench.run(
        rounds=rounds,
        models_dir=_models_dir(),
        database_url=database_url,
        search=search,
        tell=_tell,
    )
    _emit(found, bench.render(found), as_json)
    raise typer.Exit(0 if found["stale_answers"] == 0 else 1)


@bench_app.command()
def score(
    line: Annotated[
        list[str] | None,
        typer.Option(help="faq, search-en, search-zh or code; several times; default all."),
    ] = None,
    requests: Annotated[int, typer.Option(min=800)] = 16_000,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per line, each with other traffic.")] = 3,
    labels: Annotated[int, typer.Option(min=100, help="Labels of each rule, about.")] = 2_000,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Labelled pairs in place of traffic.")
    ] = False,
    work: Annotated[
        Path, typer.Option(file_okay=False, help="Folder that keeps embedded texts.")
    ] = Path("bench-score"),
    as_json: Json = False,
) -> None:
    """A learned score against the cosine at a certified rate, and against other caches' rules on the same traffic."""
    from evaluation.bench import loop as traffic
    from evaluation.bench import score as bench
    from evaluation.bench import score_outcomes, score_pairs

    options: dict[str, Any] = {
        "models_dir": _models_dir(),
        "folder": work,
        "tell": lambda text: typer.echo(text, err=True),
    }
    if pairs:
        recalls = score_pairs.run(
            list(score_pairs.SETS), data=traffic.shared_folder() / "data", **options
        )
        _emit([r.as_dict() for r in recalls], score_pairs.render(recalls), as_json)
        return
    wanted = line or list(bench.LINES)
    if unknown := set(wanted) - set(bench.LINES):
        raise typer.BadParameter(f"unknown line {', '.join(sorted(unknown))}")
    found = bench.run(
        wanted, seeds=range(1, seeds + 1), requests=requests, labels=labels, **options
    )
    _emit(found.as_dict(), score_outcomes.render(found), as_json)


@bench_app.command()
def peers(
    work: Annotated[
        Path,
        typer.Option(file_okay=False, help="Keeps a virtual environment per peer (6 GB)."),
    ] = _PEERS,
    only: Annotated[
        list[str] | None, typer.Option(help="Products by name; several times; default all.")
    ] = None,
    entries: Annotated[int, typer.Option(min=300)] = 2_000,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    seconds: Annotated[float, typer.Option(min=0.2, help="Per workload and round.")] = 1.5,
    out: Annotated[Path | None, typer.Option(help="Folder that keeps peers.json.")] = None,
    document: Annotated[
        Path | None, typer.Option(help="Its table between <!-- bench:peers --> marks is replaced.")
    ] = None,
    as_json: Json = False,
) -> None:
    """GPTCache, LiteLLM, mneme-cache and redisvl next to Surehit, interleaved, with the same embedding model."""
    from evaluation.bench import everything
    from evaluation.bench.rivals import bench
    from evaluation.bench.rivals.products import PRODUCTS

    wanted = only or [product.name for product in PRODUCTS]
    if unknown := set(wanted) - {product.name for product in PRODUCTS}:
        raise typer.BadParameter(f"--only: unknown {', '.join(sorted(unknown))}")
    found = bench.run(
        work=work,
        models_dir=_models_dir(),
        entries=entries,
        rounds=rounds,
        seconds=seconds,
        products=[product for product in PRODUCTS if product.name in wanted],
        tell=_tell,
    )
    everything.keep("peers", found, bench.table(found), out=out, document=document)
    _emit(found, bench.render(found), as_json)


@bench_app.command()
def soak(
    minutes: Annotated[float, typer.Option(min=0.05)] = 60.0,
    database_url: EmptyDatabase = "",
    seed: Annotated[int, typer.Option(help="Of the clients' choices.")] = 1,
    as_json: Json = False,
) -> None:
    """Mixed traffic against two workers, and a search of what clients were told for what can't be (exit code 1)."""
    from evaluation.bench import soak as bench

    found = bench.run(
        minutes=minutes,
        models_dir=_models_dir(),
        database_url=database_url,
        seed=seed,
        tell=_tell,
    )
    _emit(found, bench.render(found), as_json)
    raise typer.Exit(1 if found["violations"] else 0)
