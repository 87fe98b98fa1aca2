"""`surehit bench all`: the machine figures in one go, kept as JSON and as tables of a document.

A table stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; what is written by hand around it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evaluation.bench import embed, http, index, proxy, restart
from evaluation.bench.machine import sentence

Tell = Callable[[str], None]
Found = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """One benchmark: how it is run in full and in short, and its table."""

    run: Callable[[Path, bool, Tell], Found]
    table: Callable[[Found], str]


def _embed(models_dir: Path, is_quick: bool, tell: Tell) -> Found:
    rounds, texts = (1, 40) if is_quick else (3, 200)
    models = ["minilm", "e5-small", "use"]
    return embed.run(models=models, rounds=rounds, texts=texts, models_dir=models_dir, tell=tell)


def _index(models_dir: Path, is_quick: bool, tell: Tell) -> Found:
    sizes = (1_000, 10_000) if is_quick else (1_000, 10_000, 100_000, 300_000)
    return index.run(sizes=sizes, queries=500 if is_quick else 2_000, tell=tell)


def _http(models_dir: Path, is_quick: bool, tell: Tell) -> Found:
    entries, rounds = (10_000, 1) if is_quick else (100_000, 3)
    return http.run(entries=entries, rounds=rounds, seconds=1.0, models_dir=models_dir, tell=tell)


def _restart(models_dir: Path, is_quick: bool, tell: Tell) -> Found:
    return restart.run(entries=5_000 if is_quick else 100_000, models_dir=models_dir, tell=tell)


def _proxy(models_dir: Path, is_quick: bool, tell: Tell) -> Found:
    return proxy.run(rounds=1 if is_quick else 3, seconds=1.0, tell=tell)


BENCHES: dict[str, Bench] = {
    "embed": Bench(_embed, embed.table),
    "index": Bench(_index, index.table),
    "http": Bench(_http, http.table),
    "restart": Bench(_restart, restart.table),
    "proxy": Bench(_proxy, proxy.table),
}
"""What needs no labelled data. `replay`, `guards`, `loop` and `score` take files and hours, and are run by name."""


def run(
    names: Sequence[str], *, models_dir: Path, out: Path, document: Path, is_quick: bool, tell: Tell
) -> dict[str, Found]:
    """Run each; write ``out/NAME.json`` and the document's tables as soon as one is done."""
    results = {}
    for name in names:
        tell(name)
        found = BENCHES[name].run(models_dir, is_quick, tell)
        keep(name, found, BENCHES[name].table(found), out=out, document=document)
        results[name] = found
    return results


def keep(name: str, found: Found, table: str, *, out: Path | None, document: Path | None) -> None:
    """Write ``out/NAME.json``, and the table with its machine into the document; where None, or no file, nothing."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.json").write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
    if document is not None and document.exists():
        text = f"On {sentence(found)}.\n\n{table}"
        document.write_text(put(document.read_text(encoding="utf-8"), name, text), "utf-8")


def put(document: str, name: str, table: str) -> str:
    """The document with this table in its place; unchanged if it has no such place."""
    opening, closing = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    head, found, rest = document.partition(opening)
    _, closed, tail = rest.partition(closing)
    if not found or not closed:
        return document
    return f"{head}{opening}\n{table}\n{closing}{tail}"
