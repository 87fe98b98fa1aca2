"""The exact layer against independent counts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.audit.exact import ExactLayer, ExactReport
from evaluation.audit.reading import ReadingTally, read_records
from evaluation.audit.records import Record, parse_record


def count(records: Iterable[Record], **options: Any) -> ExactReport:
    layer = ExactLayer(**options)
    for record in records:
        layer.add(record)
    return layer.report()


def repeats(report: ExactReport) -> dict[str, int]:
    return {form.form: form.repeats for form in report.overall.forms}


def bodies(*requests: dict[str, Any]) -> list[Record]:
    return [parse_record({"request": r}, n) for n, r in enumerate(requests)]


def chat(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("bing_covid/log.jsonl.gz", "text"),
        ("so_sql_titles/log.jsonl.gz", "text"),
        ("arena_hard/log.jsonl.gz", "text"),
        ("prompts_chat/en_log.jsonl", "text"),
        ("prompts_chat/zh_log.jsonl", "text"),
        ("trace_excite1997/trace.jsonl", "q"),
    ],
)
def test_byte_repeats_of_shared_logs_equal_an_independent_count(
    shared_log: Callable[[str], Path], name: str, field: str
) -> None:
    path = shared_log(name)
    raw = path.read_bytes()
    rows = gzip.decompress(raw) if name.endswith(".gz") else raw
    values = [json.loads(line)[field] for line in rows.split(b"\n") if line.strip()]
    report = count(read_records(path, ReadingTally()))
    assert len(values) == report.overall.rows
    assert len(values) - len(set(values)) == report.overall.forms[0].repeats


rows_of_a_log = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xy"), st.integers(0, 20)), max_size=40
)


@given(rows_of_a_log, st.sampled_from([1, 3, 1000]))
def test_repeats_and_hits_within_a_ttl_equal_a_direct_simulation(
    rows: list[tuple[str, str, int]], rows_at_once: int
) -> None:
    """Also when the rows do not fit memory and are counted in parts."""
    hour = 1800.0  # steps of half an hour, so that the limit of 1 h is met exactly
    records = [
        Record(n, text, line=line, ts_s=at * hour) for n, (text, line, at) in enumerate(rows)
    ]
    seen: set[tuple[str, str]] = set()
    expected = 0
    for text, line, _ in rows:
        expected += (text, line) in seen
        seen.add((text, line))
    stored: dict[tuple[str, str], float] = {}
    hits = 0
    for text, line, at in sorted(rows, key=lambda row: row[2]):
        key, now = (text, line), at * hour
        if key in stored and now - stored[key] <= 3600:
            hits += 1
        else:
            stored[key] = now
    form = count(records, rows_at_once=rows_at_once).overall.forms[0]
    assert expected == form.repeats
    if rows:
        assert form.by_ttl_s is not None
        assert hits == dict(form.by_ttl_s)[3600.0]


def test_field_order_and_inert_fields_only_matter_byte_for_byte() -> None:
    first = chat(temperature=0)
    found = count(bodies(first, dict(reversed(first.items())), chat(temperature=0, user="u7")))
    assert repeats(found) == {"bytes": 0, "canonical": 2, "stable": 2}


def test_the_field_that_breaks_the_most_repeats_is_named_first() -> None:
    rows = [chat(f"q{n % 2}", seed=n, user=f"u{n % 3}", top_p=n // 9) for n in range(10)]
    found = count(bodies(*rows))
    assert repeats(found)["canonical"] == 0
    # without the seed: (q0, q1) x (top_p 0, 1) = 3 different ones of 10
    assert (
        found.fields[0].field,
        found.fields[0].broken_repeats,
        found.fields[0].ignored,
    ) == ("seed", 7, False)


def test_an_ignored_field_is_reported_as_harmless_to_the_cache() -> None:
    found = count(bodies(*(chat(user=f"u{n}") for n in range(5))))
    assert [(f.field, f.broken_repeats, f.ignored) for f in found.fields] == [("user", 4, True)]


def test_a_field_that_appears_late_is_counted_from_the_first_row() -> None:
    found = count(bodies(chat(), chat(), chat(seed=1), chat(seed=2)))
    assert [(f.field, f.broken_repeats) for f in found.fields] == [("seed", 2)]


def test_a_time_in_the_system_message_is_volatile_but_one_in_the_question_is_not() -> None:
    def row(now: str, question: str) -> dict[str, Any]:
        system = {"role": "system", "content": f"Now: {now}"}
        return {"model": "m", "messages": [system, {"role": "user", "content": question}]}

    found = count(
        bodies(
            row("2026-01-01 10:00:00", "what happened?"),
            row("2026-01-01 10:07:31", "what happened?"),
            row("2026-01-01 10:00:00", "what happened on 2024-05-06?"),
            row("2026-01-01 10:09:00", "what happened on 2024-05-07?"),
        )
    )
    assert repeats(found) == {"bytes": 0, "canonical": 0, "stable": 1}


def test_nothing_repeats_across_tenants_scopes_or_lines() -> None:
    records = [
        Record(1, "a"),
        Record(2, "a", tenant="t"),
        Record(3, "a", scope="s"),
        Record(4, "a", line="l"),
        Record(5, "a"),
    ]
    assert repeats(count(records))["bytes"] == 1


def test_dates_without_a_time_say_that_an_hour_cannot_be_told() -> None:
    report = count([Record(n, "a", ts_s=86400.0 * n) for n in range(3)])
    assert report.resolution_s == 86400.0


def test_tokens_of_repeats_are_added_up_from_the_usage() -> None:
    row = {"request": chat(), "usage": {"prompt_tokens": 10, "completion_tokens": 3}}
    found = count(parse_record(row, n) for n in range(4))
    assert (
        found.overall.forms[1].input_tokens,
        found.overall.forms[1].output_tokens,
    ) == (30, 9)


def test_an_empty_log_has_no_repeats() -> None:
    report = count([])
    assert (report.overall.rows, report.lines, report.fields) == (0, (), ())
