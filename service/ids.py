"""Identifiers: made by whoever creates the row, ordered by time, saying nothing about how many rows there are.

A sequence would let one tenant count another's entries, and would need a round trip before a batch is written.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

_EPOCH_MS = 1_767_225_600_000  # 2026-01-01T00:00Z: 41 bits of milliseconds last 69 years
_RANDOM_BITS = 22
MAX_ID = 2**63 - 1
_DIGITS = re.compile("[0-9a-f]{16}")


class IdSource:
    """Hands out positive 63-bit ids, 41 bits of milliseconds then 22 random bits, rising within one process."""

    def __init__(self, clock_ms: Callable[[], int] | None = None) -> None:
        self._clock_ms = clock_ms or (lambda: time.time_ns() // 1_000_000)
        seed = random.SystemRandom().getrandbits(128)
        self._bits = random.Random(seed).getrandbits  # noqa: S311 - unique, not secret
        self._last = 0

    def __call__(self) -> int:
        since = max(0, self._clock_ms() - _EPOCH_MS)
        fresh = (since << _RANDOM_BITS) | self._bits(_RANDOM_BITS)
        self._last = max(self._last + 1, fresh) & MAX_ID
        return self._last


def encode(kind: str, number: int) -> str:
    """The public spelling: `ent_` or `lkp_` and 16 hexadecimal digits."""
    return f"{kind}_{number:016x}"


def decode(kind: str, text: str) -> int | None:
    """The number behind a public id, or None when it is not one of this kind."""
    digits = text[len(kind) + 1 :]
    if not text.startswith(f"{kind}_") or not _DIGITS.fullmatch(digits):
        return None
    number = int(digits, 16)
    return number if number <= MAX_ID else None
