"""The benchmarks run, count what they say they count, and keep their figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from evaluation.bench import embed, everything, http, index
from evaluation.bench.cli import bench_app

run = CliRunner().invoke


def test_index_figures() -> None:
    found = index.run(sizes=(300, 4_000), queries=60)
    small, large = found["rows"]
    assert small["recall"] == 1.0  # exact search under the crossing
    assert large["recall"] >= 0.98
    assert 0 < large["would_be_hits"] <= 60
    assert large["search_ms"] < large["exact_search_ms"] * 3
    assert found["tenants"]["bytes"] < 100e6
    assert all(str(row["vectors"]) in index.render(found) for row in found["rows"])


def test_embedding_figures(models_dir: Path) -> None:
    found = embed.run(models=["minilm"], rounds=1, texts=8, models_dir=models_dir)
    by_length = {row["words"]: row["alone_ms"] for row in found["rows"]}
    assert by_length[150] > by_length[10] > 0
    assert found["min_cosine_alone_and_in_batch"]["minilm"] > 0.9999
    assert embed.table(found).count("\n") == len(embed.WORDS) + 1


def test_figures_are_kept_as_json_and_as_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(models_dir: Path, is_quick: bool, tell: Any) -> dict[str, Any]:
        return index.run(sizes=(100,), queries=10)

    monkeypatch.setitem(everything.BENCHES, "index", everything.Bench(small, index.table))
    document = tmp_path / "figures.md"
    document.write_text("before\n<!-- bench:index -->\nold\n<!-- /bench:index -->\nafter\n")
    command = ["all", "--only", "index", "--out", str(tmp_path / "out")]
    done = run(bench_app, [*command, "--document", str(document), "--json"])
    assert done.exit_code == 0, done.output
    kept = orjson.loads((tmp_path / "out" / "index.json").read_bytes())
    assert kept["rows"][0]["vectors"] == 100
    text = document.read_text()
    assert text.startswith("before\n<!-- bench:index -->\nOn ")
    assert text.endswith("<!-- /bench:index -->\nafter\n")
    assert "old" not in text


def test_a_document_without_the_place_stays() -> None:
    assert everything.put("text", "index", "table") == "text"


def test_an_unknown_benchmark_is_refused() -> None:
    done = run(bench_app, ["all", "--only", "indx"])
    assert done.exit_code == 2
    assert "indx" in done.output


def test_questions_of_the_load_test_are_all_different() -> None:
    assert len({http._question(n) for n in range(50_000)}) == 50_000
