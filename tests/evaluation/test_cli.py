"""The commands beside a service, on its database: answers, exit codes, files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
import typer
from typer.testing import CliRunner, Result

from evaluation import cli, tuning
from index.types import EmbedderUnavailable
from service.errors import SurehitError
from tests.evaluation.desks import logged
from tests.evaluation.test_tuning import ALL, judged
from tests.harness import REAL_MODELS, Client, running

app = typer.Typer()
cli.register(app)


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """A command sends its log to standard error; the runner's ends with the test."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def folder(
    tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, sqlite_url: str
) -> Path:
    """A data directory with models, and the environment that names it."""
    (tmp_path / "models").symlink_to(models_dir)
    monkeypatch.setenv("SUREHIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SUREHIT_DATABASE_URL", sqlite_url)
    return tmp_path


def prepare(url: str, folder: Path, labels: int) -> None:
    """A line in shadow with so many labels, by the service itself."""

    async def work() -> None:
        async with running(url, folder, embedder=REAL_MODELS) as client:
            await line(client)
            await logged(client, *judged(labels, seed=1))

    asyncio.run(work())


async def line(client: Client) -> None:
    await client.line(mode="shadow", threshold=0.95, sampling=ALL, target_false_hit_rate=0.02)
    await client.settled()


def run(*arguments: str) -> Result:
    """A command as the shell would run it; refusals end it with their exit code."""
    found = CliRunner().invoke(app, arguments)
    if found.exception is not None and not isinstance(found.exception, SystemExit | SurehitError):
        raise found.exception
    return found


def test_too_few_labels_exit_with_1_and_say_how_many(sqlite_url: str, folder: Path) -> None:
    prepare(sqlite_url, folder, 8)
    found = run("tune", "--line", "faq")
    assert found.exit_code == 1
    assert "more labels needed" in found.stdout
    assert run("decisions", "list", "--line", "faq").stdout.strip() == "no decisions"


def test_tune_applies_reports_and_rolls_back(sqlite_url: str, folder: Path) -> None:
    prepare(sqlite_url, folder, 500)
    found = run("tune", "--json", "--report", str(folder / "out"))
    assert found.exit_code == 0
    (answer,) = read(found)
    assert (answer["line"], answer["certified"], answer["applied"]) == ("faq", True, False)
    assert (folder / "out" / "faq.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    applied = run("tune", "--line", "faq", "--apply", "--reason", "go", "--json")
    assert read(applied)[0]["applied"]
    decision_id = answer["decision_id"]
    (listed,) = read(run("decisions", "list", "--line", "faq", "--json"))
    assert (listed["decision_id"], listed["in_force"], listed["void"]) == (decision_id, True, None)
    again = run("decisions", "apply", decision_id, "--line", "faq", "--json")
    assert again.exit_code == 0
    assert read(again)["threshold"] == answer["threshold"]


def test_a_line_that_cannot_be_tuned_keeps_no_other_waiting(
    sqlite_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose model cannot be loaded; named alone it is refused as ever."""
    prepare(sqlite_url, folder, 8)
    tune = tuning.tune

    async def work() -> None:
        async with running(sqlite_url, folder) as client:
            await client.call("PUT", "/v1/lines/broken", {"mode": "serve"})

    async def fails(desk: Any, tenant: str, *, line: str, **more: Any) -> tuning.Tuned:
        if line == "broken":
            raise EmbedderUnavailable("no such model")
        return await tune(desk, tenant, line=line, **more)

    asyncio.run(work())
    monkeypatch.setattr(tuning, "tune", fails)
    found = run("tune")
    assert found.exit_code == 2
    assert "faq: about" in found.stdout
    assert "broken: no such model" in found.stderr
    with pytest.raises(EmbedderUnavailable):
        run("tune", "--line", "broken")


@pytest.mark.parametrize(
    "arguments",
    [
        ("backtest", "--line", "faq", "--threshold", "1.9"),
        ("tune", "--line", "nowhere"),
        ("tune", "--line", "faq", "--target", "3"),
        ("decisions", "apply", "dec_x", "--line", "faq"),
        ("backtest", "--line", "faq", "--without", "horoscope"),
        ("labels", "export", "--line", "faq", "--format", "xml"),
    ],
)
def test_misuse_exits_with_2_or_is_refused_by_name(
    sqlite_url: str, folder: Path, arguments: tuple[str, ...]
) -> None:
    """A `SurehitError` is what `surehit` itself turns into exit code 2."""
    prepare(sqlite_url, folder, 3)
    found = run(*arguments)
    assert isinstance(found.exception, SurehitError) or found.exit_code == 2


def test_labels_go_out_and_in_by_file(sqlite_url: str, folder: Path) -> None:
    prepare(sqlite_url, folder, 3)
    rows = folder / "in.csv"
    rows.write_text("query,entry_query,verdict\nHow do I pay?,How can I pay?,reusable\n")
    taken = run("labels", "import", str(rows), "--line", "faq", "--json")
    assert read(taken) == {"added": 1, "changed": 0, "unchanged": 0}
    out = folder / "out.jsonl"
    assert run("labels", "export", str(out), "--line", "faq").exit_code == 0
    (row,) = [json.loads(r) for r in out.read_text(encoding="utf-8").splitlines()]
    assert (row["kind"], row["verdict"]) == ("imported", "reusable")
    assert 0.8 < row["score"] <= 1.0


def test_labels_keep_the_line_ends_of_their_texts_on_the_way_through_a_file(
    sqlite_url: str, folder: Path
) -> None:
    """Of what went out nothing is new when it comes back, and each label is counted once."""
    prepare(sqlite_url, folder, 3)
    rows = [
        {"query": f"one\r\ntwo\rthree\n{n}\u2028", "entry_query": "\x85x\r", "verdict": "reusable"}
        for n in range(2)
    ]
    given = folder / "in.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(run("labels", "import", str(given), "--line", "other", "--json"))["added"] == 2
    for name in ("out.csv", "out.jsonl"):
        out = folder / name
        told = run("labels", "export", str(out), "--line", "other")
        assert f"2 labels in {out}" in told.stderr.replace("\n", "")
        again = read(run("labels", "import", str(out), "--line", "other", "--json"))
        assert again == {"added": 0, "changed": 0, "unchanged": 2}
    given.write_bytes("query,entry_query,verdict\n多少钱,多少钱,reusable\n".encode("gb18030"))
    refused = run("labels", "import", str(given), "--line", "other", "--format", "csv")
    assert isinstance(refused.exception, SurehitError)


def test_plan_and_backtest_answer(sqlite_url: str, folder: Path) -> None:
    prepare(sqlite_url, folder, 300)
    planned = read(run("plan", "--line", "faq", "--labels", "100", "--json"))
    assert planned["labels_expected"] == pytest.approx(100, rel=0.1)
    (tested,) = read(run("backtest", "--line", "faq", "--threshold", "0.9", "--json"))
    assert tested["lookups"] == 300


def test_a_line_name_makes_a_harmless_file_name() -> None:
    assert cli.file_name("../../etc/pass wd") == "_.._etc_pass_wd"
    assert cli.file_name("...") == "line"


def read(found: Result) -> Any:
    """What was printed, as JSON."""
    return json.loads(found.stdout)
