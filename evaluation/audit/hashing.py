"""64-bit hashes of the audit. Nothing is served by them; collisions only shift a count (n²/2⁶⁵
pairs among n)."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson


def hash64(*parts: bytes) -> int:
    """BLAKE2b over the length-prefixed parts, as an unsigned number of 64 bits."""
    h = blake2b(digest_size=8)
    for part in parts:
        h.update(len(part).to_bytes(8, "little"))
        h.update(part)
    return int.from_bytes(h.digest(), "little")


def sorted_json(value: Any) -> bytes:
    """JSON in which the order of fields does not show."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
