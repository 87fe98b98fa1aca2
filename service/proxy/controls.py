"""What a caller asks of the cache in the headers of a proxied request: ours, and RFC 9111's `Cache-Control`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from service import cache_control, lines
from service.errors import InvalidRequest
from service.proxy.headers import HeaderList, value_of
from service.store import check_scope, check_tags, check_ttl

DEFAULT_LINE = "default"


@dataclass(frozen=True, slots=True)
class Controls:
    """How one request wants to be treated."""

    line: str = DEFAULT_LINE
    scope: str = ""
    tags: tuple[str, ...] = ()
    ttl_s: float | None = None
    may_serve: bool = True
    """False after `no-cache`: ask the upstream, whatever is stored."""
    may_store: bool = True
    """False after `no-store`: keep nothing of request and answer."""
    only_if_cached: bool = False
    max_age_s: float | None = None
    min_fresh_s: float | None = None

    def takes(self, created_ms: int, expires_ms: int | None, now: int) -> bool:
        """Whether a stored answer of this age and remaining life is wanted."""
        return cache_control.is_wanted(
            created_ms, expires_ms, now, max_age_s=self.max_age_s, min_fresh_s=self.min_fresh_s
        )

    @property
    def passes_by(self) -> bool:
        """Neither served nor stored: the cache has no part in it."""
        return not self.may_serve and not self.may_store and not self.only_if_cached


def read(headers: HeaderList) -> Controls:
    """Read the headers. Raises InvalidRequest naming the header and its range."""
    line = value_of(headers, b"x-surehit-line")
    tags = value_of(headers, b"x-surehit-tags")
    control = cache_control.read(value_of(headers, b"cache-control"))
    controls = Controls(
        line=DEFAULT_LINE if line is None else line,
        scope=value_of(headers, b"x-surehit-scope") or "",
        tags=tuple(t for t in (part.strip() for part in (tags or "").split(",")) if t),
        ttl_s=_seconds(value_of(headers, b"x-surehit-ttl")),
        may_serve=not control.no_cache,
        may_store=not control.no_store,
        only_if_cached=control.only_if_cached,
        max_age_s=control.max_age_s,
        min_fresh_s=control.min_fresh_s,
    )
    _renamed("X-Surehit-Line", lambda: lines.check_line(controls.line))
    _renamed("X-Surehit-Scope", lambda: check_scope(controls.scope))
    _renamed("X-Surehit-Tags", lambda: check_tags(controls.tags))
    return controls


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        if not text.isascii() or "_" in text:  # what else Python takes for a number
            raise ValueError(text)
        return check_ttl(float(text))
    except (ValueError, InvalidRequest) as error:
        message = (
            "must be a number of seconds over 0; to store nothing send Cache-Control: no-store"
        )
        raise InvalidRequest.field("X-Surehit-TTL", message) from error


def _renamed(header: str, check: Callable[[], object]) -> None:
    try:
        check()
    except InvalidRequest as error:
        message = error.errors[0].message if error.errors else error.detail
        raise InvalidRequest.field(header, message) from error
