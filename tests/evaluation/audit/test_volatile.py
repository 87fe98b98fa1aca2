"""What counts as a time or an id of the call, and what must not."""

from __future__ import annotations

import pytest

from evaluation.audit.volatile import is_volatile_field, mask


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-01",
        "2026-01-01T10:00:00Z",
        "2026-01-01 10:00:00.123+02:00",
        "March 3, 2026",
        "3 Mar 2026",
        "10:15",
        "9:05 PM",
        "1767225600",
        "1767225600123",
        "2026年1月5日",
    ],
)
def test_times_are_masked_whole(value: str) -> None:
    assert mask(f"now {value}, go") == "now <timestamp>, go"


@pytest.mark.parametrize(
    "value",
    [
        "9b2d3c1a-1111-4222-8333-abcdefabcdef",
        "req_8fk2Lq93",
        "trace-00ab12",
        "d41d8cd98f00b204e980",
    ],
)
def test_ids_are_masked_whole(value: str) -> None:
    assert mask(f"see {value}, go") == "see <id>, go"


@pytest.mark.parametrize(
    "text",
    ["call-center staff", "session-based login", "run_tests", "42 apples", "room 1010", "v1.2.3"],
)
def test_ordinary_words_and_numbers_stay(text: str) -> None:
    assert mask(text) == text


def test_fields_are_judged_by_their_name() -> None:
    assert all(map(is_volatile_field, ["request_id", "traceId", "trace_id", "timestamp", "nonce"]))
    assert not any(map(is_volatile_field, ["model", "seed", "temperature", "grid", "timeout"]))
