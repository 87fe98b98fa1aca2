"""Which field breaks the most repeats: each field is left out of the key (or put in) with all
others unchanged.

The key of a request is a sum of one hash per field, so that the key without a field is the key
minus one term.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.audit.hashing import hash64, sorted_json
from evaluation.audit.spill import Spill
from service.key import INERT_FIELDS

MAX_FIELDS = 64
"""Fields whose effect is measured; a log with thousands of field names must not cost a file for
each."""

_KEY = np.dtype([("key", "<u8")])
_PACK = struct.Struct("<Q").pack
_QUERY = "messages[last]"


@dataclass(frozen=True, slots=True)
class FieldEffect:
    """Repeats that are lost because one field is part of the key; the other fields are as in the
    canonical form.

    `ignored` says that the cache leaves this field out already, so only a byte-wise cache loses
    these repeats.
    """

    field: str
    broken_repeats: int
    ignored: bool


class FieldEffects:
    """Collects, per field, the keys of all requests with this one field treated the other way."""

    def __init__(self) -> None:
        self._keys = Spill(_KEY)
        self._fields: dict[str, tuple[Spill, bool]] = {}

    def add(self, owner: bytes, request: dict[str, Any], kept: dict[str, Any]) -> None:
        """Note one request; `kept` is its canonical form, `owner` its line, tenant and scope."""
        terms = {name: hash64(name.encode(), sorted_json(value)) for name, value in _parts(kept)}
        whole = (hash64(owner) + sum(terms.values())) % 2**64
        other = {name: (whole - term) % 2**64 for name, term in terms.items() if name != _QUERY}
        for name, value in request.items():
            if name in INERT_FIELDS:
                other[name] = (whole + hash64(name.encode(), sorted_json(value))) % 2**64
        for name in other:
            if name not in self._fields and len(self._fields) < MAX_FIELDS:
                # requests before the field's first appearance did not have it: their key is the
                # same either way
                self._fields[name] = (self._keys.copy(), name in INERT_FIELDS)
        self._keys.append(_PACK(whole))
        for name, (spill, _) in self._fields.items():
            spill.append(_PACK(other.get(name, whole)))

    def report(self) -> tuple[FieldEffect, ...]:
        """Fields that break repeats, worst first. Closes the temporary files."""
        canonical = _count_repeats(self._keys)
        effects = []
        for name, (spill, ignored) in self._fields.items():
            repeats = _count_repeats(spill)
            spill.close()
            broken = canonical - repeats if ignored else repeats - canonical
            if broken > 0:
                effects.append(FieldEffect(name, broken, ignored))
        self._keys.close()
        return tuple(sorted(effects, key=lambda e: (-e.broken_repeats, e.field)))


def _parts(kept: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Fields of a canonical request, the turns split into system message, earlier turns and the
    last one."""
    for name, value in kept.items():
        if name in ("messages", "input") and isinstance(value, list):
            lead = 0
            while lead < len(value) - 1 and _role(value[lead]) in ("system", "developer"):
                lead += 1
            yield "system message", value[:lead]
            yield "earlier turns", value[lead:-1]
            yield _QUERY, value[-1:]
        elif name in ("input", "prompt"):
            yield _QUERY, value
        else:
            yield name, value


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _count_repeats(spill: Spill) -> int:
    return len(spill) - sum(len(np.unique(part["key"])) for part in spill.partitions("key"))
