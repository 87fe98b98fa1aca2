"""`surehit score`: verifiers of lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from service.cli import Json, Tenant, fail, show
from service.settings import Settings

score_app = typer.Typer(help="Scores of a line: train a verifier.", no_args_is_help=True)


@score_app.callback()
def _group() -> None:
    """A group also while it has one command."""


@score_app.command("train-verifier")
def train_verifier(
    line: Annotated[str, typer.Argument(help="Business line.")],
    name: Annotated[
        str | None, typer.Option(help="Folder that is made; default the line's name.")
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(min=0.0001, max=0.5, help="False hits of all hits; default the line's own."),
    ] = None,
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Train a small cross-encoder from a line's past labels (extra `models`); some minutes per thousand labels.

    Exit code 1 where labels are missing, or where held-out labels do not show it to be better.
    """
    from rich.console import Console

    from evaluation.cli import answering, desk_for, file_name
    from evaluation.score import verifier_trial
    from service.score.verifier import FOLDER_NAME

    chosen = file_name(line) if name is None else name
    if not re.fullmatch(FOLDER_NAME, chosen):
        raise typer.BadParameter("--name: 1 to 64 letters, digits, dots, hyphens, underscores")
    folder: Path = Settings().verifiers_folder / chosen
    console = Console(stderr=True)

    async def work(db: Any) -> verifier_trial.Trained:
        desk = desk_for(db)
        policy = await desk.policy(tenant, line)
        with console.status("training") as status:
            return await verifier_trial.train_for(
                desk, policy, folder=folder, target=target, tell=status.update
            )

    try:
        found = answering(work)
    except ImportError:
        fail("training needs torch and transformers: install surehit[models]", 2)
    show(found.as_dict(), as_json=as_json, text=lambda _: found.sentence())
    is_better = found.comparison is not None and found.comparison.is_better
    raise typer.Exit(0 if is_better else 1)
