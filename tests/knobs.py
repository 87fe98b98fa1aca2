"""`surehit` with smaller numbers, another clock or another model: `python -m tests.knobs serve --port N`.

FAULT_KNOBS   JSON: dotted name of a module's constant → its value here
FAULT_CLOCK   a file with seconds that the clock is ahead (a jump: write another number)
FAULT_MODEL   a file; `hash` is a quick stand-in of the models, `stuck` lets it hang, `broken` lets it fail, `absent`
              lets it not be loaded
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# what the command imports when it serves: a fork of this process has it already
from evaluation import audit_cli, cli, http  # noqa: F401
from evaluation.bench import cli as bench_cli  # noqa: F401
from index.embedding import catalog
from index.testing import HashEmbedder
from index.types import EmbedderUnavailable, Vectors
from review_ui import command  # noqa: F401
from service import app, serving
from service.cli import main


class SteeredEmbedder(HashEmbedder):
    """A model that hangs or fails while its file says so."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        while (state := self._file.read_text()) == "stuck":
            time.sleep(0.02)
        if state == "broken":
            raise RuntimeError("the model has died")
        return super().embed(texts)


def turn() -> None:
    """Set what the environment asks for."""
    for name, value in json.loads(os.environ.get("FAULT_KNOBS", "{}")).items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    options: dict[str, Any] = {}
    if clock := os.environ.get("FAULT_CLOCK"):
        ahead = Path(clock)
        options["clock_ms"] = lambda: app.wall_clock_ms() + 1000 * int(ahead.read_text())
    if model := os.environ.get("FAULT_MODEL"):
        _steer(Path(model))
    create = serving.create_app
    serving.create_app = lambda settings: create(settings, **options)  # type: ignore[assignment]


def _steer(file: Path) -> None:
    """Load this instead of the installed models."""

    def load(name: str, models_dir: Path) -> SteeredEmbedder:
        if file.read_text() == "absent":
            raise EmbedderUnavailable(f"{name} is not there")
        return SteeredEmbedder(file)

    catalog.load = load  # type: ignore[assignment]


def run() -> None:
    """The command."""
    turn()
    main()


if __name__ == "__main__":
    run()
