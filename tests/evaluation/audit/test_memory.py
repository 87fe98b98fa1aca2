"""Memory of the streaming layers does not grow with the log."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

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


def peak_bytes(rows: int) -> int:
    tracemalloc.start()
    try:
        audit_records(different_rows(rows), STREAMING)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_four_times_the_rows_take_little_more_memory() -> None:
    """44 bytes a row go to a file (the first 16 MB of it stay in memory); no text is kept."""
    peak_bytes(500)  # what is loaded once
    small, large = peak_bytes(1_500), peak_bytes(6_000)
    assert large - small < 4_500 * 400
