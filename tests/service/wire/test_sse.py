"""The event stream: where the bytes are cut makes no difference, and what is written can be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.wire.sse import SseEvent, SseParser, write
from tests.service.wire.streams import cut_into

_LINES = st.sampled_from(
    [
        *(b"data: a", b"data:b", b"data:  c", b"event: e", b": note", b"", b"", b"id: 3", b"data"),
        *(b"x", "data: 第二段👩‍👩‍👧".encode(), b"\xef\xbb\xbfdata: bom"),
    ]
)
_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(lines=st.lists(st.tuples(_LINES, _ENDS), max_size=20), ends=st.lists(st.integers(0, 10**6)))
def test_events_do_not_depend_on_where_chunks_end(lines, ends):
    raw = b"".join(line + end for line, end in lines)
    whole = SseParser()
    pieces = SseParser()

    expected = whole.feed(raw) + whole.finish()
    found = [event for chunk in cut_into(raw, ends) for event in pieces.feed(chunk)]

    assert expected == found + pieces.finish()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_bytes_one_by_one_give_the_same_events(end):
    """A CRLF cut in half must not count as two line ends."""
    raw = end.join([b"data: a", b"data: b", b"", b"data: c", b"", b""])
    parser = SseParser()

    found = [event for at in range(len(raw)) for event in parser.feed(raw[at : at + 1])]

    assert [SseEvent("", b"a\nb"), SseEvent("", b"c")] == found


def test_a_line_feed_behind_a_cut_line_ends_that_line():
    """The CR that ended the line before has nothing to do with it."""
    parser = SseParser()

    found = parser.feed(b"data: a\rdata: b") + parser.feed(b"\n\n")

    assert [SseEvent("", b"a\nb")] == found


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-z._]{0,20}", fullmatch=True),
            st.binary().map(lambda data: data.replace(b"\r", b"")),
        )
    )
)
def test_written_events_are_read_back(given_events):
    parser = SseParser()

    raw = b"".join(write(data, name) for name, data in given_events)

    assert [SseEvent(name, data) for name, data in given_events] == parser.feed(raw)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"data: a\ndata: b\n\n", [SseEvent("", b"a\nb")]),
        (b"event: e\n\ndata: a\n\n", [SseEvent("", b"a")]),  # an event without data is none
        (b"event: e\ndata: a\n\ndata: b\n\n", [SseEvent("e", b"a"), SseEvent("", b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [SseEvent("", b"a")]),
        (b": ping\n\ndata: a\n\n", [SseEvent("", b"a")]),
        (b"data: a\n", []),
    ],
)
def test_the_standard_is_kept(raw, expected):
    assert expected == SseParser().feed(raw)


def test_a_last_event_without_its_blank_line_is_found_at_the_end():
    parser = SseParser()

    assert parser.feed(b"data: [DONE]") == []
    assert [SseEvent("", b"[DONE]")] == parser.finish()


def test_a_line_of_many_chunks_is_read_in_linear_time():
    """A line of 8 MB in chunks of 8 bytes: a million joins of the whole line would take minutes."""
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(1_000_000):
        parser.feed(b"12345678")

    (event,) = parser.feed(b"\n\n")

    assert len(event.data) == 8_000_000
