"""Memory of the streaming layers does not grow with the log."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from evaluation.audit import tokens
from evaluation.audit.options import AuditOptions, Layer
from evaluation.audit.records import Record
from evaluation.audit.run import audit_records

STREAMING = AuditOptions(
    layers=frozenset({Layer.EXACT, Layer.PREFIX, Layer.WHY, Layer.PROMPT_CACHE}),
    pool_blocks=(64,),
    max_pairs=200,
)


def different_rows(n: int) -> Iterator[Record]:
    """Every row is another question, so whatever kept one of each would grow."""
    for number in range(n):
        text = f"question number {number} about topic {number * 7919 % 100_003}"
        yield Record(number, text, ts_s=10.0 * number)


def peaks(n: int) -> tuple[int, int]:
    """Most bytes in use at one time while n rows came, and then while they were counted."""
    came = 0

    def rows() -> Iterator[Record]:
        nonlocal came
        tracemalloc.reset_peak()  # the tokenizer, unpacked by now, took more than all the rows will
        yield from different_rows(n)
        came = tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        audit_records(rows(), STREAMING)
        return came, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_four_times_the_rows_take_little_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """52 bytes a row go to files (the first 16 MB stay in memory) and are counted at the end; no text is kept."""
    monkeypatch.setattr(tokens, "_MAX_REMEMBERED_TOKENS", 10_000)  # full after 200 rows
    peaks(300)  # what is loaded once
    small, large = peaks(500), peaks(2_000)
    assert large[0] - small[0] < 1_500 * 100
    assert large[1] - small[1] < 1_500 * 400
