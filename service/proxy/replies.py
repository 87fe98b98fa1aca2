"""Replies of the proxy: what its headers say, hits in the provider's form, errors in the provider's shape."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from service import ids
from service.errors import SurehitError, TooManyRequests
from service.outcome import Forward, Hit, Miss, forwarded, served, unanswered
from service.proxy.headers import HeaderList
from service.storage.database import Row
from service.wire import anthropic_messages, openai_chat
from service.wire.api import JsonObject, Provider, UsageOnHit, WireApi
from service.wire.json_text import dump, parse

_NO_RETRY = frozenset({400, 401, 403, 404, 413, 422})
_PRIVATE = (b"cache-control", b"private, no-store")
_REQUEST_ID: dict[Provider, bytes] = {"openai": b"x-request-id", "anthropic": b"request-id"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A stored answer as it is sent."""

    content_type: bytes
    body: bytes
    answer: JsonObject


class NotReplayable(Exception):
    """What is stored is no answer of this API."""


def render(
    api: WireApi, body: JsonObject, stored: bytes | JsonObject, *, now: float, usage: UsageOnHit
) -> Rendered:
    """A stored answer, streamed or whole as this request asks. Raises NotReplayable."""
    try:
        answer = parse(stored) if isinstance(stored, bytes) else stored
        if not isinstance(answer, dict) or api.storable(answer) in ("malformed", "error_in_200"):
            raise NotReplayable
        new_id = uuid.uuid4().hex
        if api.is_streaming(body):
            events = api.render_stream(answer, body, now=now, new_id=new_id, usage=usage)
            return Rendered(b"text/event-stream; charset=utf-8", b"".join(events), answer)
        whole = api.render_json(answer, body, now=now, new_id=new_id, usage=usage)
        return Rendered(b"application/json", whole, answer)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotReplayable from error


def hit_headers(provider: Provider, hit: Hit, rendered: Rendered) -> HeaderList:
    """Headers of an answer from the cache."""
    return [
        (b"content-type", rendered.content_type),
        *_common(hit.cache_status(), hit.lookup_id, hit.score),
        (_REQUEST_ID[provider], hit.lookup_id.encode()),
        (b"x-surehit-entry-id", ids.encode("ent", hit.entry_id).encode()),
        (b"age", str(hit.age_s).encode()),
    ]


def stale_headers(
    provider: Provider, row: Row, miss: Miss, rendered: Rendered, *, now_ms: int, why: str
) -> HeaderList:
    """Headers of an answer past its end (a row of `storage.entries.stale`); its `ttl` is below zero (RFC 9211)."""
    status = served(-((now_ms - row[3]) // 1000), why)
    return [
        (b"content-type", rendered.content_type),
        *_common(status, miss.lookup_id, miss.score),
        (_REQUEST_ID[provider], miss.lookup_id.encode()),
        (b"x-surehit-entry-id", ids.encode("ent", row[0]).encode()),
        (b"age", str(max(0, now_ms - row[2]) // 1000).encode()),
    ]


def miss_headers(
    miss: Miss,
    *,
    forward: Forward | None = None,
    collapsed: bool = False,
    stored: bool = False,
) -> HeaderList:
    """Headers that go with the upstream's own; `forward` where the request decided and not the cache."""
    status = miss.cache_status(forward, stored=stored, collapsed=collapsed)
    return _common(status, miss.lookup_id, miss.score)


def bypass_headers(reason: str, *, forward: Forward = "bypass") -> HeaderList:
    """Headers of an upstream's answer in which the cache had no part."""
    return _common(forwarded(forward, reason), None, None)


def not_cached_headers(reason: str) -> HeaderList:
    """Headers of the refusal that `only-if-cached` asks for."""
    return _common(unanswered(reason), None, None)


def error(
    provider: Provider, failure: SurehitError, looked: HeaderList | None = None
) -> tuple[HeaderList, bytes]:
    """(headers, body) of an error of ours in the provider's shape. Clients retry unless told not to.

    `looked`: what the cache had said about the request before.
    """
    shape = anthropic_messages if provider == "anthropic" else openai_chat
    body = dump(shape.error_body(failure.status, f"Surehit: {failure.detail}", code=failure.code))
    headers = [(b"content-type", b"application/json"), *(looked or [_PRIVATE])]
    if isinstance(failure, TooManyRequests) and failure.retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % failure.retry_after_s))
    if failure.status in _NO_RETRY or isinstance(failure, NotCached):
        headers.append((b"x-should-retry", b"false"))
    return headers, body


class NotCached(SurehitError):
    """`only-if-cached` was asked, and nothing stored answers this request."""

    status, code, title = 504, "not-cached", "Not cached"


def _common(status: str, lookup_id: str | None, score: float | None) -> HeaderList:
    headers = [(b"cache-status", status.encode()), _PRIVATE]
    if lookup_id is not None:
        headers.append((b"x-surehit-lookup-id", lookup_id.encode()))
    if score is not None:
        headers.append((b"x-surehit-score", repr(score).encode()))
    return headers
