"""JSON without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.wire.json_text import NotJson, dump, is_json_or_blank, parse, readable

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
