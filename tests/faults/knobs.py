"""`surehit serve` with smaller numbers, another clock or another model: `python -m tests.faults.knobs serve --port N`.

FAULT_KNOBS   JSON: dotted name of a module's constant → its value here
FAULT_CLOCK   a file with seconds that the clock is ahead (a jump: write another number)
FAULT_MODEL   a file; `hash` is a quick stand-in of the models, `stuck` lets it hang, `broken` lets it fail
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from index.testing import HashEmbedder
from index.types import Vectors
from service import app, serving
from service.cache import Cache
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
        embedder = SteeredEmbedder(Path(model))

        def prepare(cache: Cache) -> None:
            for name in ("minilm", "e5-small"):
                cache.embedders.put(name, embedder)

        options["prepare"] = prepare
    create = serving.create_app
    serving.create_app = lambda settings: create(settings, **options)  # type: ignore[assignment]


if __name__ == "__main__":
    turn()
    main()
