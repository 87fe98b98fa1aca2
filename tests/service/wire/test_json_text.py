"""JSON without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.wire.json_text import (
    NotJson,
    dump,
    is_json_or_blank,
    parse,
    readable,
    repeats_a_name,
)

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda below: st.lists(below) | st.dictionaries(st.text("abc"), below),
)


@given(_JSON)
def test_what_is_written_is_read_back_to_the_last_digit(value):
    assert repr(value) == repr(parse(dump(value)))
    assert repr(value) == repr(parse(readable(value)))


@given(_JSON)
def test_what_is_written_names_everything_once(value):
    assert not repeats_a_name(dump(value))


@pytest.mark.parametrize(
    "text",
    [b'{"a":1,"a":1}', b'[{"b":{"\\u0061":[],"a":2}}]', b'{"":1,"x":' + b"9" * 200 + b',"":2}'],
)
def test_a_name_given_twice_is_seen_at_any_depth_and_in_any_spelling(text):
    parse(text)  # which is JSON all the same
    assert repeats_a_name(text)


def test_what_nests_too_deeply_to_be_judged_counts_as_ambiguous():
    assert repeats_a_name(b"[" * 100_000 + b"]" * 100_000)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"NaN", b"1e999", b"-Infinity", b'"\\ud83d"', b'"\xff"', b"{} {}", b"[" * 100_000],
)
def test_what_is_no_strict_json_is_refused(text):
    with pytest.raises(NotJson):
        parse(text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("", True), ("{}", True), ('{ "a" :1}', True), ('{"a":', False), (None, False), ({}, False)],
)
def test_arguments_of_a_call_are_json_or_nothing(arguments, expected):
    assert expected == is_json_or_blank(arguments)
