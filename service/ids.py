"""Identifiers: made by whoever creates the row, ordered by time, saying nothing about how many rows there are.

A sequence would let one tenant count another's entries, and would need a round trip before a batch is written.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base 32: no i, l, o, u
_VALUE = {c: i for i, c in enumerate(_ALPHABET)}
_EPOCH_MS = 1_767_225_600_000  # 2026-01-01T00:00Z: 41 bits of milliseconds last 69 years
_RANDOM_BITS = 22
MAX_ID = 2**63 - 1


class IdSource:
    """Hands out positive 63-bit ids, 41 bits of milliseconds then 22 random bits, rising within one process."""

    def __init__(self, clock_ms: Callable[[], int] | None = None) -> None:
        self._clock_ms = clock_ms or (lambda: time.time_ns() // 1_000_000)
        self._last = 0

    def __call__(self) -> int:
        since = max(0, self._clock_ms() - _EPOCH_MS)
        fresh = (since << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        self._last = max(self._last + 1, fresh) & MAX_ID
        return self._last


def encode(kind: str, number: int) -> str:
    """The public spelling: `ent_` or `lkp_` and 13 base-32 characters."""
    digits = []
    for _ in range(13):
        digits.append(_ALPHABET[number & 31])
        number >>= 5
    return f"{kind}_{''.join(reversed(digits))}"


def decode(kind: str, text: str) -> int | None:
    """The number behind a public id, or None when it is not one of this kind."""
    if len(text) != len(kind) + 14 or not text.startswith(kind + "_"):
        return None
    number = 0
    for c in text[len(kind) + 1 :]:
        value = _VALUE.get(c)
        if value is None:
            return None
        number = (number << 5) | value
    return number if number <= MAX_ID else None
