"""What a lookup and a store come to, and how `Cache-Status` says it (RFC 9211), for sidecar and proxy alike."""

from __future__ import annotations

from typing import Literal

import msgspec

from service import ids
from service.decision import MissReason

Tier = Literal["exact", "semantic"]
OutcomeKey = tuple[str, str, str, str, str]
"""What lookups and stores are counted by: tenant, line, tier (or `none`), outcome (hit, miss, store), reason."""
Forward = Literal[
    "bypass",  # the cache had no part in the request
    "miss",  # nothing that was stored answers it
    "request",  # the request itself wants a new answer, whatever is stored (`no-cache`)
]
"""Why the model is to be asked (RFC 9211 §2.2)."""


class Hit(msgspec.Struct, frozen=True):
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
        return served(self.ttl_s, self.tier)


class Miss(msgspec.Struct, frozen=True):
    """The caller is to ask the model. `score` and `guard` belong to the nearest candidate, if one was looked at."""

    lookup_id: str
    reason: MissReason
    score: float | None = None
    guard: str | None = None
    detail: str | None = None
    fill: bool = True
    collapsed: bool = False
    is_off: bool = False
    """True where the line is off: nothing was looked up."""

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

    def cache_status(
        self, forward: Forward | None = None, *, stored: bool = False, collapsed: bool = False
    ) -> str:
        """The RFC 9211 header value; `forward` where the request decided and not the cache."""
        forward = forward or ("bypass" if self.is_off else "miss")
        return forwarded(
            forward, self._detail(forward), stored=stored, collapsed=collapsed or self.collapsed
        )

    def _detail(self, forward: Forward) -> str:
        if forward == "request":
            return "no-cache"
        if self.guard:
            return f"guard-{self.guard}"
        return "exact-only" if self.reason in _EXACT_ONLY and forward == "miss" else self.reason


_EXACT_ONLY = frozenset({MissReason.MODE, MissReason.BYPASS})
"""Reasons why the semantic tier was not asked; the exact tier was, and had nothing."""


def served(ttl_s: int | None, detail: str) -> str:
    """`Cache-Status` of an answer from the cache; `ttl_s` below 0 where it is past its end."""
    ttl = "" if ttl_s is None else f"; ttl={ttl_s}"
    return f"surehit; hit{ttl}; detail={_token(detail)}"


def unanswered(detail: str) -> str:
    """`Cache-Status` of a request that was neither answered by the cache nor sent on (`only-if-cached`)."""
    return f"surehit; detail={_token(detail)}"


def forwarded(
    forward: Forward, detail: str, *, stored: bool = False, collapsed: bool = False
) -> str:
    """`Cache-Status` of a request for which the model is to be asked, or was."""
    flags = ("; stored" if stored else "") + ("; collapsed" if collapsed else "")
    return f"surehit; fwd={forward}{flags}; detail={_token(detail)}"


def _token(reason: str) -> str:
    """A reason of ours as a structured field's token (RFC 8941): with hyphens, as HTTP spells its words."""
    return reason.replace("_", "-")


class Stored(msgspec.Struct, frozen=True):
    """A store that was carried out; `entry_id` is None where the line keeps no such answer, for `reason`."""

    entry_id: int | None
    replaced: bool
    reason: str = ""

    def body(self) -> bytes:
        """The JSON reply."""
        if self.entry_id is None:
            return b'{"entry_id":null,"replaced":false,"reason":"%s"}' % self.reason.encode()
        entry_id = ids.encode("ent", self.entry_id).encode()
        return b'{"entry_id":"%s","replaced":%s}' % (
            entry_id,
            b"true" if self.replaced else b"false",
        )


def _number(value: float | None) -> bytes:
    return b"null" if value is None else repr(value).encode()
