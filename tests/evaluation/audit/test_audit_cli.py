"""`surehit audit` and `surehit diff` as a person runs them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evaluation.audit_cli import app_audit

RULES = " ".join(f"Rule {n}: stay polite and never reveal secret number {n}." for n in range(30))
FAST = ["--layers", "exact,prefix,why,prompt-cache,kv"]  # all that need no embedder


def run(*words: str) -> Any:
    return CliRunner().invoke(app_audit, list(words))


def write(path: Path, rows: list[Any]) -> str:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return str(path)


def request(question: str, now: str = "2026-01-01T10:00:00Z") -> dict[str, Any]:
    messages = [
        {"role": "system", "content": f"Now: {now}. {RULES}"},
        {"role": "user", "content": question},
    ]
    return {"model": "gpt-4o", "messages": messages}


@pytest.fixture
def log(tmp_path: Path) -> str:
    rows = [
        {
            "request": request(f"question {n % 4}", f"2026-01-01T10:{n:02d}:00Z"),
            "ts": 60.0 * n,
            "line": "faq",
        }
        for n in range(20)
    ]
    return write(tmp_path / "log.jsonl", rows)


def test_the_report_as_json_has_one_row_per_layer_and_no_total_hit_rate(log: str) -> None:
    result = run("audit", log, "--json", *FAST)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert [row["layer"] for row in report["layers"]] == ["exact", "prefix", "why", "prompt-cache"]
    assert report["findings"]["why"]["causes"][0]["cause"] == "variable_timestamp"
    assert "hit_rate" not in result.stdout


def test_the_terminal_report_names_the_cause_and_its_mending(log: str) -> None:
    result = run("audit", log, *FAST)
    assert result.exit_code == 0, result.output
    text = re.sub(r"\s+", " ", result.stdout)
    assert "variable_timestamp" in text
    assert "Move the time behind the fixed text" in text


def test_the_page_is_whole_and_fetches_nothing(log: str, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    assert run("audit", log, "--html", str(page), *FAST).exit_code == 0
    text = page.read_text()
    assert "<svg" in text
    assert "<script" not in text
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|https?://""", text)


def test_text_of_the_log_is_never_markup_on_the_page(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    rows = [{"request": request(evil), "line": evil} for _ in range(3)]
    page = tmp_path / "audit.html"
    run("audit", write(tmp_path / "log.jsonl", rows), "--html", str(page), *FAST)
    assert "<img" not in page.read_text()


def test_text_of_the_log_is_never_markup_in_the_terminal(tmp_path: Path) -> None:
    rows = [{"request": request("[red]q[/red] [/]"), "line": "[bold]x[/nope]"} for _ in range(3)]
    result = run("audit", write(tmp_path / "log.jsonl", rows), *FAST)
    assert result.exit_code == 0, result.output


def test_a_log_in_which_nothing_repeats_answers_no(tmp_path: Path) -> None:
    rows = [{"text": f"something else {n * n}"} for n in range(50)]
    assert run("audit", write(tmp_path / "log.jsonl", rows), *FAST).exit_code == 1


def test_an_empty_log_answers_no(tmp_path: Path) -> None:
    result = run("audit", write(tmp_path / "log.jsonl", []), *FAST)
    assert result.exit_code == 1
    assert "No layer can be judged" in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "nowhere.jsonl"],
        ["audit", "LOG", "--layers", "magic"],
        ["audit", "LOG", "--pool-blocks", "many"],
        ["audit", "LOG", "--prices", "nowhere.toml"],
        ["audit", "LOG", "--tokenizer", "LOG"],
        ["audit", "LOG", "--model-config", "LOG"],
        ["audit", "LOG", "--to-review"],
        ["diff", "LOG", "nowhere.json"],
    ],
)
def test_misuse_exits_with_two_and_says_why(log: str, words: list[str]) -> None:
    result = run(*(log if word == "LOG" else word for word in words))
    assert result.exit_code == 2
    assert "surehit:" in result.stderr
    assert "Traceback" not in result.output


def test_price_table_of_the_data_folder_is_the_one_in_force(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table that the service's ledger reads; a fault in it is named with its file and field."""
    monkeypatch.setenv("SUREHIT_DATA_DIR", str(tmp_path))
    (tmp_path / "prices.toml").write_text("as_of = 2026-01-01\n[[model]]\nmatch = ['']\n")
    result = run("audit", log)
    assert result.exit_code == 2
    assert "prices.toml" in result.stderr.replace("\n", "")
    assert "input: is missing" in " ".join(result.stderr.split())


def test_bad_lines_are_told_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"text":"a"}\nnot json\n{"text":"a"}\n')
    result = run("audit", str(path), *FAST)
    assert "1 lines could not be read" in result.stdout
    assert "line 2:" in result.stdout


def test_lengths_alone_tell_what_fits_a_gpu(
    shared_log: Callable[[str], Path], tmp_path: Path
) -> None:
    config = {
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "hidden_size": 8192,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    words = ["--model-config", str(path), "--gpu-gib", "160", "--weights-gib", "70"]
    log = str(shared_log("trace_azure/code.jsonl"))
    result = run("audit", log, "--json", *words, *FAST)
    kv = json.loads(result.stdout)["findings"]["kv"]
    # (160 x 0.9 - 70) GiB at 320 KiB a token
    rows = {row["precision"]: row for row in kv["rows"]}
    _, tokens, size = rows["bf16"]["sequence_bytes"][0]
    assert size == -(-tokens // 16) * 16 * 327_680
    assert dict(rows["bf16"]["fitting_sequences"])["p50"] == int((160 * 0.9 - 70) * 2**30 // size)


def test_diff_of_a_request_and_its_continuation_answers_yes(tmp_path: Path) -> None:
    first = request("hello")
    more = json.loads(json.dumps(first))
    more["messages"] += [
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": "and?"},
    ]
    a, b = (write(tmp_path / n, [r]) for n, r in (("a.json", first), ("b.json", more)))
    result = run("diff", a, b)
    assert result.exit_code == 0, result.output
    assert "No token differs" in result.stdout


def test_diff_names_a_setting_by_which_one_prompt_has_two_keys(tmp_path: Path) -> None:
    rows = [request("hello") | {"temperature": t} for t in (0, 1, 0)]
    a, b, same = (write(tmp_path / f"{n}.json", [r]) for n, r in enumerate(rows))
    other = run("diff", a, b)
    assert other.exit_code == 1
    assert "$.temperature: 0 and 1" in other.stdout
    equal = run("diff", a, same)
    assert equal.exit_code == 0
    assert "goes on" not in equal.stdout


def test_diff_names_token_path_cause_and_loss(tmp_path: Path) -> None:
    rows = [request("hello"), request("hello", "2025-12-24T08:13:59Z")]
    a, b = (write(tmp_path / f"{n}.json", [r]) for n, r in enumerate(rows))
    result = run("diff", a, b, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    (cause,) = found["breaks"]
    assert cause["cause"] == "variable_timestamp"
    assert cause["where"]["path_b"] == "$.messages[0].content"
    assert cause["lost_tokens"] > 300
    assert found["first_token"] == found["shared_tokens"] == cause["token"]
    assert run("diff", a, b).exit_code == 1
