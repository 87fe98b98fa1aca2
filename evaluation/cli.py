"""`surehit tune` and `surehit labels`, joined to the command through `surehit.commands`."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Join the `surehit` command."""
