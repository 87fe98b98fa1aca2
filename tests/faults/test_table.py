"""docs/faults.md has a row from every fault test, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.faults import table


def _measured(path: Path) -> set[str]:
    """Tests of a file that note a row."""
    return {
        f"{path.name}::{node.name}"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and any(argument.arg == "row" for argument in node.args.args)
    }


def test_each_row_is_of_a_test_and_each_test_has_one() -> None:
    tests = set().union(*map(_measured, Path(__file__).parent.glob("test_*.py")))
    assert len(tests) > 15
    assert table.named(table.DOCUMENT.read_text(encoding="utf-8")) == tests


def test_the_newest_measurement_of_a_case_counts() -> None:
    line = '{{"fault":"f","case":"{}","saw":"{}","lost":"0 of 1","recovery":"–","test":"t.py::test_t"}}'
    text = "\n".join(
        [line.format("sqlite", "a"), line.format("x", "b"), line.format("sqlite", "c")]
    )
    assert [(row["fault"], row["saw"]) for row in table.rows(text)] == [
        ("f", "b"),
        ("f, SQLite", "c"),
    ]
