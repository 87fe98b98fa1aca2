"""The table of docs/faults.md from what the tests measured.

`FAULT_TABLE=rows.jsonl pytest tests/faults && python -m tests.faults.table rows.jsonl`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"
START, END = "<!-- faults -->\n", "<!-- /faults -->\n"
COLUMNS = {
    "fault": "fault",
    "saw": "what clients saw",
    "lost": "lost of what was answered",
    "recovery": "time to recover",
    "test": "test",
}


def rows(text: str) -> list[dict[str, str]]:
    """The newest row of each test and fault, by test."""
    newest = {}
    for line in text.splitlines():
        row = json.loads(line)
        if row["case"] in ("sqlite", "postgresql"):
            row["fault"] += {"sqlite": ", SQLite", "postgresql": ", PostgreSQL"}[row["case"]]
        newest[row["test"], row["fault"]] = row
    return [newest[key] for key in sorted(newest)]


def render(found: list[dict[str, str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(COLUMNS.values())} |", "|" + "---|" * len(COLUMNS)]
    for row in found:
        cells = [row[name].replace("|", "\\|") for name in COLUMNS]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def named(document: str) -> set[str]:
    """The tests that a document's table names."""
    table = document.split(START)[1].split(END)[0]
    return {line.split("|")[-2].strip() for line in table.splitlines()[2:]}


if __name__ == "__main__":
    document = DOCUMENT.read_text(encoding="utf-8")
    before, rest = document.split(START)
    table = render(rows(Path(sys.argv[1]).read_text(encoding="utf-8")))
    DOCUMENT.write_text(before + START + table + END + rest.split(END)[1], encoding="utf-8")
