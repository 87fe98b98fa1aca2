"""Reading an answer off a stream, without ever being in the way of the stream.

An assembler is fed the same bytes that go to the client. It never raises: whatever is wrong with
the stream is a reason not to store it. `complete` is a response only after the terminal event of
that API, so a cut stream, a client that left and an error in the middle cannot give one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

from service.wire.json_text import NotJson, parse
from service.wire.sse import SseEvent, SseParser

DEFAULT_MAX_BYTES = (
    16 * 1024 * 1024
)  # far above any text answer; bounds what a runaway upstream can make us hold

StreamFailure = Literal[
    "no_terminal_event",  # cut off
    "no_finish_reason",  # ended without saying why
    "error_event",  # the upstream reported an error in the stream
    "not_json",  # an event that cannot be read
    "malformed",  # an event that can be read and makes no sense
    "unknown_delta",  # a kind of content that we could not put together again
    "too_large",  # over `max_bytes`
]


class StreamFailed(Exception):
    """Raised inside an assembler to give the stream up; callers of `feed` never see it."""

    def __init__(self, reason: StreamFailure) -> None:
        self.reason: StreamFailure = reason
        super().__init__(reason)


class StreamAssembler(ABC):
    """Feed raw bytes, `finish` when the upstream ends; then `complete` or `failure` is set."""

    def __init__(self, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._parser = SseParser()
        self._bytes_left = max_bytes
        self._complete: dict[str, Any] | None = None
        self._failure: StreamFailure | None = None

    @property
    def complete(self) -> dict[str, Any] | None:
        """The whole response, once the terminal event has been seen; None before, or on failure."""
        return self._complete

    @property
    def failure(self) -> StreamFailure | None:
        """Why there will be no response, as soon as that is known."""
        return self._failure

    @property
    def is_over(self) -> bool:
        """Whether further bytes can no longer change the outcome."""
        return self._complete is not None or self._failure is not None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes. What follows the terminal event is ignored, as clients do."""
        if self.is_over:
            return
        self._bytes_left -= len(chunk)
        if self._bytes_left < 0:
            self._fail("too_large")
            return
        self._take(self._parser.feed(chunk))

    def finish(self) -> None:
        """The upstream has ended the stream, properly or not."""
        if self.is_over:
            return
        self._take(self._parser.finish())
        if not self.is_over:
            self._fail("no_terminal_event")

    def _take(self, events: list[SseEvent]) -> None:
        try:
            for event in events:
                if self.is_over:
                    return
                self._complete = self._on_event(event)
        except StreamFailed as failed:
            self._fail(failed.reason)
        except NotJson:
            self._fail("not_json")

    def _fail(self, reason: StreamFailure) -> None:
        self._failure = reason
        self._complete = None
        self._parser = SseParser()  # lets go of what was buffered

    @abstractmethod
    def _on_event(self, event: SseEvent) -> dict[str, Any] | None:
        """Take one event; give the response if it was the last. Raises StreamFailed or NotJson."""


def json_object(event: SseEvent) -> dict[str, Any]:
    """The object in an event. Raises NotJson, or StreamFailed when it is another JSON value."""
    return as_object(parse(event.data))


def as_object(value: Any) -> dict[str, Any]:
    """The value, which has to be an object. Raises StreamFailed."""
    if not isinstance(value, dict):
        raise StreamFailed("malformed")
    return value


def as_index(value: Any) -> int:
    """The value, which has to be a position in a list. Raises StreamFailed."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise StreamFailed("malformed")
    return value


def as_text(value: Any) -> str:
    """The value, which has to be a string. Raises StreamFailed."""
    if not isinstance(value, str):
        raise StreamFailed("malformed")
    return value
