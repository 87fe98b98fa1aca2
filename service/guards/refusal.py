"""What a guard says when it refuses."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which guard refused a pair, and what it saw."""

    guard: str
    detail: str
