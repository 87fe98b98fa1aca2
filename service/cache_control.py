"""What a request's `Cache-Control` asks of the cache (RFC 9111 §5.2.1), for sidecar and proxy alike.

`max-stale` is not heard, which the RFC allows: whether an answer past its end may be served is for the owner of its
line to say (`stale_while_revalidate_s`, `stale_if_error_s`). `no-transform` forbids nothing that a cache of ours does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CacheControl:
    """The directives that count; unknown ones are harmless (§5.2.3), and one without a usable number is unknown."""

    no_cache: bool = False
    """Ask the model, whatever is stored."""
    no_store: bool = False
    """Keep nothing of request and answer."""
    only_if_cached: bool = False
    max_age_s: float | None = None
    min_fresh_s: float | None = None


_NOTHING = CacheControl()


def read(header: str | None) -> CacheControl:
    """The directives of a header, several of one name joined by commas; of a repeated one the first counts."""
    if not header:
        return _NOTHING
    found: dict[str, str] = {}
    for part in header.lower().split(","):
        name, _, value = part.strip().partition("=")
        found.setdefault(name.strip(), value.strip().strip('"'))
    return CacheControl(
        no_cache="no-cache" in found,
        no_store="no-store" in found,
        only_if_cached="only-if-cached" in found,
        max_age_s=_seconds(found.get("max-age", "")),
        min_fresh_s=_seconds(found.get("min-fresh", "")),
    )


def is_wanted(
    created_ms: int,
    expires_ms: int | None,
    now: int,
    *,
    max_age_s: float | None,
    min_fresh_s: float | None,
) -> bool:
    """Whether a stored answer is young enough (`max-age`; 0 takes none) and will live long enough (`min-fresh`)."""
    if max_age_s is not None and now - created_ms >= max_age_s * 1000:
        return False
    return min_fresh_s is None or expires_ms is None or expires_ms - now >= min_fresh_s * 1000


def _seconds(value: str) -> float | None:
    # delta-seconds (§1.2.2): digits alone, and what is too large to count is as good as for ever
    return float(value[:12]) if value.isascii() and value.isdigit() else None
