"""Reading logs: every accepted shape, and no crash on the others."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.audit.reading import ReadingTally, read_records
from evaluation.audit.records import Record, UnreadableRow, Usage, parse_record, parse_usage

MESSAGES = [{"role": "user", "content": "hi"}]


def read(path: Path) -> tuple[list[Record], ReadingTally]:
    tally = ReadingTally()
    return list(read_records(path, tally)), tally


@pytest.mark.parametrize(
    ("row", "request_"),
    [
        ("hello", "hello"),
        ({"text": "hello", "geo": "x"}, "hello"),
        ({"prompt": "hello"}, "hello"),
        ({"prompt": "hello", "model": "m"}, {"prompt": "hello", "model": "m"}),
        ({"messages": MESSAGES, "ts": 1, "line": "faq"}, {"messages": MESSAGES}),
        ({"input": "hi", "model": "m"}, {"input": "hi", "model": "m"}),
        ({"request": {"messages": MESSAGES}, "ts": 1}, {"messages": MESSAGES}),
        ({"custom_id": "1", "url": "/v1", "body": {"messages": MESSAGES}}, {"messages": MESSAGES}),
    ],
)
def test_the_request_is_found_in_every_accepted_shape(row: object, request_: object) -> None:
    assert request_ == parse_record(row, 1).request


@pytest.mark.parametrize("row", [None, 3, [], {}, {"foo": 1}, {"messages": "x"}])
def test_a_row_without_a_request_is_refused_with_a_reason(row: object) -> None:
    with pytest.raises(UnreadableRow, match=r"."):
        parse_record(row, 1)


def test_times_are_read_in_seconds_milliseconds_and_iso() -> None:
    at = 1_767_225_600.0
    rows = [
        {"text": "a", "ts": at},
        {"text": "a", "ts": at * 1000},
        {"text": "a", "ts_ms": at * 1000},
        {"text": "a", "timestamp": "2026-01-01T00:00:00Z"},
        {"text": "a", "ts": "2026-01-01"},
        {"text": "a", "ts": "2026-01-01T01:00:00+01:00"},
    ]
    assert [at] * 6 == [parse_record(row, 1).ts_s for row in rows]


def test_usage_of_all_providers_comes_out_under_one_meaning() -> None:
    anthropic = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "output_tokens": 7,
    }
    chat = {
        "prompt_tokens": 140,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 30},
    }
    responses = {
        "input_tokens": 140,
        "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 30},
    }
    assert Usage(140, 7, 100, 10, 20, True) == parse_usage(anthropic)
    assert Usage(140, 7, 100, 30, 0, True) == parse_usage(chat) == parse_usage(responses)


def test_bad_lines_are_counted_and_shown_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"text":"a"}\n\nnot json\n{"foo":1}\n\xff\xfe\n{"text":"b"}\n{"text":')
    records, tally = read(path)
    assert [r.number for r in records] == [1, 6]
    assert (tally.bad_lines, [b.number for b in tally.shown]) == (4, [3, 4, 5, 7])


def test_a_gzip_log_is_read_without_its_name_saying_so(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(b'{"text":"a"}\n{"text":"b"}\n'))
    assert [r.request for r in read(path)[0]] == ["a", "b"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_byte_order_mark_costs_no_row(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(pack(b'\xef\xbb\xbf{"text":"a"}\r\n{"text":"b"}\r\n'))
    records, tally = read(path)
    assert ([r.request for r in records], tally.bad_lines) == (["a", "b"], 0)


def test_a_gzip_log_that_is_cut_off_gives_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    rows = b"".join(json.dumps({"text": f"{n} {n * n}"}).encode() + b"\n" for n in range(5000))
    path.write_bytes(gzip.compress(rows)[:-2000])
    records, tally = read(path)
    assert records
    assert tally.bad_lines >= 1
    assert "damaged" in tally.shown[-1].why


@settings(deadline=None)  # it writes files, which a busy disk may hold up
@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_make_the_reader_crash(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(b"\n".join(lines))
    records, tally = read(path)
    assert len(records) == tally.rows
