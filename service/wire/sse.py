"""Server-sent events as bytes: a reader that does not care where chunks end, and a writer.

Reference: WHATWG HTML Living Standard, section 9.2.6, "Interpreting an event stream". `id` and
`retry` are ignored; none of the providers uses them.
"""

from __future__ import annotations

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event. `name` is empty if it has none; `data` is undecoded, lines joined by LF."""

    name: str
    data: bytes


class SseParser:
    """Feed it bytes as they come; where they were cut makes no difference to the events."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # the pieces of a line that has not ended yet
        self._name = b""
        self._data: list[bytes] = []
        self._is_first_line = True
        self._ended_in_cr = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes, in order."""
        if not chunk:
            return []
        if self._ended_in_cr and chunk.startswith(b"\n"):  # the second half of a CRLF
            chunk = chunk[1:]
        self._ended_in_cr = False
        events: list[SseEvent] = []
        for piece in chunk.splitlines(keepends=True):
            if not piece.endswith((b"\n", b"\r")):
                self._line.append(piece)
                self._ended_in_cr = False
                continue
            self._line.append(piece.rstrip(b"\r\n"))
            line = b"".join(self._line) if len(self._line) > 1 else self._line[0]
            self._line.clear()
            self._take(line, events)
            self._ended_in_cr = piece.endswith(b"\r")
        return events

    def finish(self) -> list[SseEvent]:
        """What the end of the stream completes.

        The standard drops an event without its closing blank line. Some providers end on
        `data: [DONE]` without one, and clients read it; a cut event does not get past the JSON
        parser, so nothing is lost by looking.
        """
        events: list[SseEvent] = []
        if self._line:
            self._take(b"".join(self._line), events)
            self._line.clear()
        self._take(b"", events)
        return events

    def _take(self, line: bytes, events: list[SseEvent]) -> None:
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                name = self._name.decode("utf-8", errors="replace")
                events.append(SseEvent(name, b"\n".join(self._data)))
            self._name = b""
            self._data = []
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value


def write(data: bytes, name: str = "") -> bytes:
    """One event as bytes. `data` must not hold a CR, which no event can carry (JSON escapes it)."""
    head = b"event: " + name.encode() + b"\n" if name else b""
    if b"\n" in data:
        data = data.replace(b"\n", b"\ndata: ")
    return head + b"data: " + data + b"\n\n"


DONE = write(b"[DONE]")
"""The last event of a stream of chat completions."""
