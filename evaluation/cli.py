"""`surehit tune`, `decisions`, `labels` and `backtest`, joined to the command through `surehit.commands`.

Exit code 0 is yes, 1 is «the answer is no» (nothing certified, a decision is void), 2 is misuse.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import structlog
import typer

from evaluation.score.cli import score_app
from service.cli import Json, Tenant, fail, show, with_database
from service.errors import Conflict, InvalidRequest, NotFound, SurehitError
from service.settings import Settings

decisions_app = typer.Typer(
    help="Decisions of a line: list, apply (rolls back too).", no_args_is_help=True
)
labels_app = typer.Typer(help="Labels of reviewers: import, export.", no_args_is_help=True)
Line = Annotated[str, typer.Option("--line", help="Business line.")]
Form = Annotated[str, typer.Option("--format", help="jsonl or csv; default by the file's name.")]


def register(app: typer.Typer) -> None:
    """Join the `surehit` command."""
    app.command("tune")(tune)
    app.command("plan")(plan)
    app.command("backtest")(backtest)
    app.add_typer(score_app, name="score")
    app.add_typer(decisions_app, name="decisions")
    app.add_typer(labels_app, name="labels")


def tune(
    line: Annotated[
        str | None, typer.Option(help="One line; default all that are sampled.")
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            min=0.0001, max=0.5, help="False hits of all hits, as 0.03; default the line's own."
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(min=0.5, max=0.9999, help="As 0.95; default the line's own."),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Put what is certified in force.")] = False,
    score: Annotated[
        str,
        typer.Option(
            help="auto: learn a score, adopt it where it is shown to be better and no certificate is lost; "
            "learned: adopt it also from a line that serves; cosine: learn none, go back from a learned one."
        ),
    ] = "auto",
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    report: Annotated[
        Path | None, typer.Option(help="Folder for one HTML report per line.", file_okay=False)
    ] = None,
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Certify a threshold from reviewed lookups, or say how many labels are missing (exit code 1)."""
    from rich.console import Console

    from evaluation import report as reports
    from evaluation import tuning
    from index.types import EmbeddingError

    console = Console(stderr=True)
    if score not in get_args(tuning.ScoreChoice):
        raise typer.BadParameter("--score is auto, cosine or learned")
    choice = cast(tuning.ScoreChoice, score)

    untuned: list[str] = []

    async def work(db: Any) -> list[tuning.Tuned]:
        desk = desk_for(db)
        names = [line] if line is not None else await tuning.lines_to_tune(desk, tenant)
        found = []
        with console.status("tuning") as status:
            for name in names:
                try:
                    found.append(
                        await tuning.tune(
                            desk,
                            tenant,
                            line=name,
                            target=target,
                            confidence=confidence,
                            apply=apply,
                            by="cli",
                            reason=reason,
                            score=choice,
                            tell=status.update,
                        )
                    )
                except (SurehitError, EmbeddingError) as error:
                    if line is not None:
                        raise
                    untuned.append(f"{name}: {error}")  # the others are not to wait for it
        return found

    done = answering(work)
    if report is not None:
        report.mkdir(parents=True, exist_ok=True)
        for tuned in done:
            path = report / f"{file_name(tuned.line)}.html"
            path.write_text(reports.as_html(tuned), encoding="utf-8")
            typer.echo(f"wrote {path}", err=True)
    show(
        [tuned.as_dict() for tuned in done],
        as_json=as_json,
        text=lambda _: "\n\n".join(map(reports.as_text, done)) or "no line is sampled",
    )
    if untuned:
        fail("\n".join(untuned))
    raise typer.Exit(0 if done and all(t.answer == "certified" for t in done) else 1)


def plan(
    line: Line,
    labels: Annotated[int, typer.Option(min=1, help="Labels wanted, about.")] = 500,
    traffic: Annotated[
        float, typer.Option(min=0.001, help="Lookups expected for each one logged so far.")
    ] = 1.0,
    apply: Annotated[bool, typer.Option("--apply", help="Sample by it from now on.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Propose how many lookups of which scores go to review, from earlier labels and the log."""
    from evaluation import plans

    async def work(db: Any) -> plans.Proposal:
        desk = desk_for(db)
        policy = await desk.policy(tenant, line)
        found = await plans.propose(desk, policy, label_budget=labels, traffic_ratio=traffic)
        if apply:
            await plans.put_in_force(
                desk, tenant, line=line, plan=found.plan, by="cli", reason=reason or "planned"
            )
        return found

    found = answering(work)
    show(
        {**found.as_dict(), "applied": apply},
        as_json=as_json,
        text=lambda _: (
            f"{line}: certify {found.plan.certify_rate:.2%} from {found.plan.certify_floor:.3f} up, guarded "
            f"{found.plan.guarded_rate:.2%}, about {found.labels_expected:.0f} labels for "
            f"{found.lookups * traffic:.0f} lookups{'; in force' if apply else '; not applied'}"
        ),
    )


@decisions_app.command("list")
def list_decisions(line: Line, tenant: Tenant = "default", as_json: Json = False) -> None:
    """Decisions of a line, newest first; the one in force is marked, void ones say why."""
    from evaluation import decision_rows, publish

    async def work(db: Any) -> list[dict[str, Any]]:
        desk = desk_for(db)
        policy = await desk.policy(tenant, line)
        score_version = await desk.score_version(policy)
        events = await decision_rows.events(db, tenant, line=line)
        return [
            publish.as_dict(
                d,
                void=publish.void_because(d, policy, score_version=score_version, events=events),
                applied=d.id == policy.decision_id,
            )
            for d in await decision_rows.of_line(db, tenant, line=line)
        ]

    show(
        answering(work),
        as_json=as_json,
        text=lambda v: "\n".join(map(_decision_row, v)) or "no decisions",
    )


@decisions_app.command("apply")
def apply_decision(
    decision_id: str,
    line: Line,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Serve by a decision, everywhere from the next lookup on; an older one rolls back."""
    from evaluation import publish

    async def work(db: Any) -> dict[str, Any]:
        decision = await publish.apply(
            desk_for(db),
            tenant,
            line=line,
            decision_id=publish.read_id(decision_id),
            by="cli",
            reason=reason,
        )
        return publish.as_dict(decision, applied=True)

    show(answering(work), as_json=as_json, text=_decision_row)


@labels_app.command("export")
def export_labels(
    line: Line,
    output: Annotated[Path | None, typer.Argument(help="File; default standard output.")] = None,
    form: Form = "",
    tenant: Tenant = "default",
) -> None:
    """All labels of a line that count, one row each."""
    from evaluation import labels_io

    chosen = _form(form, output)
    text = answering(
        lambda db: labels_io.export_labels(desk_for(db), tenant, line=line, form=chosen)
    )
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_bytes(text.encode())  # line ends inside of texts stay as they are
        typer.echo(f"{labels_io.count_rows(text, chosen)} labels in {output}", err=True)


@labels_app.command("import")
def import_labels(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL or CSV.")],
    line: Line,
    form: Form = "",
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Labels from elsewhere: query, entry_query, verdict. They feed the pilot curve, never a certificate."""
    from evaluation import labels_io
    from service.ids import IdSource
    from service.policy import Policies

    async def work(db: Any) -> labels_io.Imported:
        desk = desk_for(db)
        policy = await Policies(db).get_or_create(
            tenant, line, change_id=IdSource()(), now=desk.clock_ms()
        )
        return await labels_io.import_labels(
            desk,
            tenant,
            line=line,
            text=labels_io.decoded(file.read_bytes()),
            form=_form(form, file),
            score_pairs=lambda pairs: desk.cosines(policy, pairs),
        )

    done = answering(work)
    show(
        {"added": done.added, "changed": done.changed, "unchanged": done.unchanged},
        as_json=as_json,
        text=lambda v: (
            f"{v['added']} added, {v['changed']} changed, {v['unchanged']} known already"
        ),
    )


def backtest(
    line: Line,
    threshold: Annotated[
        list[float] | None,
        typer.Option(min=-1, max=1, help="May be given several times; default the line's own."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="A guard to leave out; may be given several times.")
    ] = None,
    embedder: Annotated[str | None, typer.Option(help="Score the texts with this model.")] = None,
    days: Annotated[int, typer.Option(min=1, help="How far back.")] = 30,
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Logged lookups once more through the serving rule, with another threshold, guard set or model."""
    from evaluation import backtest as tests
    from evaluation.pair_scores import scorer

    settings = Settings()

    async def work(db: Any) -> list[tests.Backtest]:
        desk = desk_for(db)
        policy = await desk.policy(tenant, line)
        unknown = set(without or ()) - policy.guards
        if unknown:
            raise InvalidRequest.field(
                "without", f"no such guard is on: {', '.join(sorted(unknown))}"
            )
        guards = policy.guards - set(without or ())
        rules = [tests.Rule(t, guards, embedder) for t in threshold or [policy.config.threshold]]
        return await tests.backtest(
            desk,
            policy,
            rules,
            since_ms=desk.clock_ms() - days * 86_400_000,
            score_pairs=scorer(embedder, settings.models_dir) if embedder else None,
        )

    done = answering(work)
    show(
        [b.as_dict() for b in done],
        as_json=as_json,
        text=lambda _: "\n".join(b.sentence() for b in done),
    )


def file_name(line: str) -> str:
    """A line's name as a file can bear it."""
    return re.sub(r"[^\w.-]+", "_", line).strip(".") or "line"


def desk_for(db: Any) -> Any:
    """The desk of a command."""
    from evaluation.desk import desk_beside
    from service.app import wall_clock_ms

    return desk_beside(db, Settings(), wall_clock_ms)


def answering(work: Any) -> Any:
    """The work's value; a refusal by the state of things is «no» (1), everything else misuse (2)."""
    # standard output is for the answer
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        return with_database(work)
    except (Conflict, NotFound) as error:
        fail(error.detail, 1 if isinstance(error, Conflict) else 2)


def _form(given: str, path: Path | None) -> Literal["jsonl", "csv"]:
    name = given or ("csv" if path is not None and path.suffix == ".csv" else "jsonl")
    if name == "csv":
        return "csv"
    if name == "jsonl":
        return "jsonl"
    raise InvalidRequest.field("format", "must be jsonl or csv")


def _decision_row(d: dict[str, Any]) -> str:
    mark = "in force" if d["in_force"] else f"void: {d['void']}" if d["void"] else ""
    return (
        f"{d['decision_id']}  threshold {d['threshold']:.3f}  target {d['target']:.1%} at {d['confidence']:.0%}  "
        f"by {d['by']}  {mark}"
    )
