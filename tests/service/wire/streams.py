"""Streams for tests: answers out of hypothesis, and small helpers to send them through an API."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import strategies as st

from service.wire.api import WireApi
from service.wire.assembling import StreamAssembler

NOW = 1_767_225_600.5
NEW_ID = "new"


def texts(*, min_size: int = 0) -> st.SearchStrategy[str]:
    """Any text that JSON can carry (no lone surrogates), some of it long enough to be cut."""
    one = st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size)
    tricky = st.sampled_from(
        ["👩‍👩‍👧", "\r\n", "e\u0301", "🇩🇪🇫🇷", "  ", "\n\n", "第二段：", "नि", "x" * 60]
    )
    return one | st.lists(tricky | one, min_size=1, max_size=30).map("".join).filter(
        lambda text: len(text) >= min_size
    )


def assembled(api: WireApi, chunks: Iterable[bytes]) -> StreamAssembler:
    """An assembler that has been fed these chunks and told that this was all."""
    assembler = api.assembler()
    for chunk in chunks:
        assembler.feed(chunk)
    assembler.finish()
    return assembler


def replayed(api: WireApi, stored: dict[str, Any], body: dict[str, Any]) -> list[bytes]:
    """The events of a replay that keeps the original usage."""
    return list(api.render_stream(stored, body, now=NOW, new_id=NEW_ID, usage="original"))


def cut_into(raw: bytes, ends: Iterable[int]) -> Iterator[bytes]:
    """The bytes cut at these positions."""
    marks = sorted({0, len(raw), *(end % (len(raw) + 1) for end in ends)})
    for start, end in itertools.pairwise(marks):
        yield raw[start:end]


def events(chunks: Iterable[bytes]) -> list[tuple[str, Any]]:
    """Name and data of each event, read in the plainest way there is (LF, one data line)."""
    read = []
    for raw in b"".join(chunks).decode().split("\n\n"):
        if raw:
            fields = dict(line.split(": ", 1) for line in raw.split("\n"))
            data = fields["data"]
            read.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return read
