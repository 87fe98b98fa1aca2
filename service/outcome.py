"""What a lookup and a store come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from service import ids
from service.decision import MissReason

Tier = Literal["exact", "semantic"]


@dataclass(frozen=True, slots=True)
class Hit:
    """An answer from the cache. `response` is the stored JSON text, byte for byte."""

    lookup_id: str
    tier: Tier
    entry_id: int
    response: bytes
    created_ms: int
    expires_ms: int | None
    now_ms: int
    score: float | None = None
    threshold: float | None = None

    @property
    def age_s(self) -> int:
        """Whole seconds since the entry was stored."""
        return max(0, self.now_ms - self.created_ms) // 1000

    @property
    def ttl_s(self) -> int | None:
        """Whole seconds that it may still be served, rounded up; None without an end."""
        return None if self.expires_ms is None else -(-(self.expires_ms - self.now_ms) // 1000)

    def body(self) -> bytes:
        """The JSON reply, with the stored bytes as they are."""
        ttl = self.ttl_s
        return b"".join(
            (
                b'{"outcome":"hit","tier":"',
                self.tier.encode(),
                b'","lookup_id":"',
                self.lookup_id.encode(),
                b'","entry_id":"',
                ids.encode("ent", self.entry_id).encode(),
                b'","response":',
                self.response,
                b',"score":',
                _number(self.score),
                b',"threshold":',
                _number(self.threshold),
                b',"age_s":',
                str(self.age_s).encode(),
                b',"ttl_s":',
                b"null" if ttl is None else str(ttl).encode(),
                b"}",
            )
        )

    def cache_status(self) -> str:
        """The RFC 9211 header value."""
        ttl = self.ttl_s
        return f"surehit; hit{'' if ttl is None else f'; ttl={ttl}'}; detail={self.tier}"


@dataclass(frozen=True, slots=True)
class Miss:
    """The caller is to ask the model. `score` and `guard` belong to the nearest candidate, if one was looked at."""

    lookup_id: str
    reason: MissReason
    score: float | None = None
    guard: str | None = None
    detail: str | None = None
    fill: bool = True
    collapsed: bool = False

    def body(self) -> bytes:
        """The JSON reply."""
        return b"".join(
            (
                b'{"outcome":"miss","lookup_id":"',
                self.lookup_id.encode(),
                b'","reason":"',
                self.reason.encode(),
                b'","score":',
                _number(self.score),
                b',"entry_id":null,"guard":',
                b"null" if self.guard is None else b'"' + self.guard.encode() + b'"',
                b',"fill":true}' if self.fill else b',"fill":false}',
            )
        )

    def cache_status(self) -> str:
        """The RFC 9211 header value."""
        forward = "bypass" if self.reason in _BYPASS else "miss"
        detail = f"guard-{self.guard}" if self.guard else self.reason.replace("_", "-")
        return f"surehit; fwd={forward}{'; collapsed' if self.collapsed else ''}; detail={detail}"


_BYPASS = frozenset({MissReason.MODE, MissReason.BYPASS})


@dataclass(frozen=True, slots=True)
class Stored:
    """A store that was carried out; `entry_id` is None where the line does not store such an answer."""

    entry_id: int | None
    replaced: bool

    def body(self) -> bytes:
        """The JSON reply."""
        if self.entry_id is None:
            return b'{"entry_id":null,"replaced":false}'
        entry_id = ids.encode("ent", self.entry_id).encode()
        return b'{"entry_id":"%s","replaced":%s}' % (
            entry_id,
            b"true" if self.replaced else b"false",
        )


def _number(value: float | None) -> bytes:
    return b"null" if value is None else repr(value).encode()
