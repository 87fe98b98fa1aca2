"""What the fake upstream remembers: calls it got, faults it was asked for, prefixes of prompts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from service.fake.prompt_cache import PromptCache


class Fault(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How calls go wrong. Everything left out goes right."""

    times: int | None = 1
    """How many calls it is for; null for all until it is dropped."""
    match: str = ""
    """Only calls whose last user text contains this."""
    status: int | None = None
    retry_after_s: float | None = None
    error_in_200: bool = False
    first_byte_s: float = 0.0
    """Wait before anything is sent."""
    chunk_s: float = 0.0
    """Wait before each chunk of a stream."""
    stall_after: int | None = None
    """Send so many chunks, then nothing for `stall_s`."""
    stall_s: float = 3600.0
    cut_after: int | None = None
    """Send so many chunks, then drop the connection."""
    error_after: int | None = None
    """Send so many chunks, then an error event."""
    no_terminal: bool = False
    """Leave out the last event of the stream, and end as if all were well."""
    finish_reason: Literal["length"] | None = None
    empty: bool = False


@dataclass
class Call:
    """One call as it came in, and how it ended."""

    path: str
    text: str
    is_stream: bool
    headers: dict[str, str]
    status: int | None = None
    is_aborted: bool = False
    """The client left before the end."""


@dataclass
class DueFault:
    """A fault, and for how many calls it is still due (None: for all)."""

    fault: Fault
    times: int | None


@dataclass
class Upstream:
    """The state behind one app. One event loop uses it, so there is no lock."""

    clock: Callable[[], float]
    prompt_cache: PromptCache
    latency_s: float
    chunk_s: float
    calls: list[Call] = field(default_factory=list)
    faults: list[DueFault] = field(default_factory=list)

    def fault_for(self, text: str, header: str | None) -> Fault:
        """The fault of this call; a due one is used up. Raises msgspec.DecodeError."""
        if header:
            return msgspec.json.decode(header, type=Fault)
        for due in self.faults:
            if due.fault.match in text and due.times != 0:
                due.times = None if due.times is None else due.times - 1
                return due.fault
        return Fault()
