"""The guard scorecard: its counts, its forms of input, and the figures the product promises."""

import gzip
import json
import random
from pathlib import Path

import pytest

from evaluation.bench.guards import Share, render_text, run, scorecard
from tests.harness import shared

ROWS = [
    {"a": "How do I mute it?", "b": "How do I unmute it?", "reusable": False, "kind": "negation"},
    {"a": "What is 3 plus 4?", "b": "What is 3 + 4?", "reusable": True, "kind": "number"},
    {
        "id": "x",
        "a": "怎么开启定位？",
        "b": "如何打开定位？",
        "label": 1,
        "lang": "zh",
        "kind": "synonym",
    },
    {
        "id": "y",
        "a": [{"role": "user", "content": "hi"}],
        "b": "hi",
        "label": 0,
        "lang": "en",
        "kind": "c",
    },
    {"id": "z", "a": "hi", "b": "hello", "label": "ambiguous", "lang": "en", "kind": "c"},
]


MOST_PAIRS = 400
"""Of one kind of a data set: the standard error of a share of 95 % is then a hundredth."""


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.jsonl.gz"])
def test_both_forms_of_rows_are_counted_and_conversations_are_skipped(
    tmp_path: Path, name: str
) -> None:
    """Labels, kinds and languages are counted apart; what cannot be judged is named."""
    (score,) = scorecard([write(tmp_path / name, ROWS)]).files
    assert score.total == Share(wrong=1, wrong_refused=1, right=2, right_kept=2)
    assert score.kinds["negation"].refused_share == 1.0
    assert score.kinds["negation"].kept_share is None
    assert score.languages["zh"] == Share(right=1, right_kept=1)
    assert score.guards["antonym"].only_false_hits_stopped == 1
    assert sum(score.skipped.values()) == 2


def test_text_and_json_say_the_same(tmp_path: Path) -> None:
    """The table shows the counts that the JSON carries."""
    path = write(tmp_path / "pairs.jsonl", ROWS)
    data = json.loads(run([path], as_json=True))
    text = render_text(scorecard([path]))
    assert data["files"][0]["total"]["kept_share"] == 1.0
    assert "2/2 100.0 %" in text
    assert "skipped: 1 context pairs" in text
    again = run([path], as_json=False)
    assert without_times(text) == without_times(again)
    cost = data["files"][0]["costs"]["up to 100"]
    assert cost["pairs"] == 3
    assert 0 < cost["comparing_p50_us"] <= cost["comparing_p99_us"]
    assert "up to 100 (3 pairs)" in text


def without_times(text: str) -> list[str]:
    """The lines that do not tell how long something took."""
    return [line for line in text.splitlines() if "µs" not in line]


def test_a_broken_row_is_named_by_file_and_line(tmp_path: Path) -> None:
    """A typing slip in a file of pairs is found at once."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(ROWS[0]) + '\n{"a": "x"}\n', "utf-8")
    with pytest.raises(ValueError, match=r"pairs\.jsonl, line 2"):
        scorecard([path])


def test_reported_pairs_are_judged_right_in_nineteen_of_twenty() -> None:
    """Both kinds of error stay under 5 % on the pairs gathered from other people's reports."""
    total = scorecard([shared("cases", "guard_pairs.jsonl")]).files[0].total
    assert (total.refused_share or 0) >= 0.95
    assert (total.kept_share or 0) >= 0.95


@pytest.mark.parametrize(
    ("name", "kinds", "refused"),
    [
        (
            "data/snips/slot_pairs.jsonl.gz",
            ("swap_number", "swap_time_date", "swap_entity", "swap_place"),
            0.95,
        ),
        ("data/slurp/slot_pairs.jsonl", ("swap_number", "swap_time_date", "swap_place"), 0.80),
        ("data/crosswoz_zh/pairs.jsonl.gz", ("swap_number",), 0.80),
        ("data/massive/en_number_pairs.jsonl", ("swap_number_or_time",), 0.95),
        ("data/massive/zh_number_pairs.jsonl", ("swap_number_or_time",), 0.95),
        ("data/negation_en/pairs.jsonl.gz", ("antonym_or_negation", "negation"), 0.80),
        ("data/fow_cache/pairs.jsonl", ("number_date", "entity_swap", "negation"), 0.80),
    ],
)
def test_swapped_values_of_the_data_sets_are_refused(
    tmp_path: Path, name: str, kinds: tuple[str, ...], refused: float
) -> None:
    """Numbers, dates, negations and swapped values, by kind: all of a kind, or 400 drawn by chance."""
    path = shared(*name.split("/"))
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chosen = []
    for kind in kinds:
        own = [row for row in rows if row["kind"] == kind]
        chosen += random.Random(kind).sample(own, min(MOST_PAIRS, len(own)))
    (score,) = scorecard([write(tmp_path / "pairs.jsonl", chosen)]).files
    for kind in kinds:
        assert (score.kinds[kind].refused_share or 0) >= refused, kind
