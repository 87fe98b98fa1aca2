"""The proxy as an ASGI application: `/openai/…` and `/anthropic/…`.

Four routes are answered from the cache where it can. Everything else below the two prefixes passes through, bytes in
both directions untouched.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import httpx2
import structlog

from service.auth import Keys
from service.cache import Cache
from service.errors import SurehitError
from service.ledger import Ledger
from service.proxy import cached, controls, credentials, replies
from service.proxy.exchange import (
    ClientGone,
    Exchange,
    Incoming,
    Message,
    Out,
    Receive,
    Send,
    upstream_path,
    while_connected,
)
from service.proxy.filling import Filler
from service.proxy.flight import Flights
from service.proxy.headers import HeaderList, to_caller, to_upstream, value_of
from service.proxy.measures import Measures
from service.proxy.parts import Parts, target_of
from service.proxy.upstream import Upstreams
from service.wire.api import JsonObject, Provider
from service.wire.json_text import NotJson, parse
from service.wire.registry import api_for

PREFIXES = ("/openai/", "/anthropic/")

_BODY = (b"content-length", b"transfer-encoding")

log = structlog.get_logger("surehit.proxy")


@dataclass(frozen=True, slots=True)
class Crossing:
    """A request that passes through as it is."""

    provider: Provider
    method: str
    path: str
    query: bytes
    headers: HeaderList
    content: AsyncIterator[bytes] | None
    added: HeaderList = field(default_factory=list)
    """Headers of our own for the reply, on a cached route."""


class Proxy:
    """The application and what it holds: connections to upstreams, calls in the air."""

    def __init__(self, cache: Cache, keys: Keys, ledger: Ledger, measures: Measures) -> None:
        upstreams, flights = Upstreams(cache.settings), Flights()
        filler = Filler(cache, upstreams, flights, ledger, measures)
        self._parts = Parts(cache, keys, upstreams, flights, filler, ledger, measures)
        self._max_body = cache.settings.max_body_mb << 20

    async def close(self) -> None:
        """End all calls and connections."""
        await self._parts.filler.close()
        await self._parts.upstreams.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        out, incoming = Out(send), Incoming(receive)
        provider = cast(Provider, scope["path"].split("/", 2)[1])
        exchange: Exchange | None = None
        try:
            _, path = upstream_path(scope.get("raw_path") or scope["path"].encode())
            headers: HeaderList = list(scope["headers"])
            query = scope.get("query_string", b"")
            api = api_for(provider, path) if scope["method"] == "POST" else None
            if api is None:
                has_body = any(n in _BODY for n, _ in headers)
                content = incoming.rest() if has_body else None
                crossing = Crossing(provider, scope["method"], path, query, headers, content)
                await self._cross(crossing, incoming, out)
                return
            exchange = Exchange(api, provider, path, query, headers, incoming, out)
            outcome = await self._cached(exchange)
        except ClientGone:
            outcome = "client_gone"
        except SurehitError as error:
            outcome = "error"
            await _refuse(provider, error, out, exchange)
        except Exception:
            log.exception("proxy_failed", path=scope["path"])
            outcome = "error"
            failure = SurehitError("the service failed; its log says more")
            await _refuse(provider, failure, out, exchange)
        if exchange is not None:
            self._parts.measures.requests.labels(exchange.api.NAME, outcome).inc()

    async def _cached(self, exchange: Exchange) -> str:
        exchange.controls = controls.read(exchange.headers)
        body, is_whole = await exchange.incoming.read(self._max_body)
        if not is_whole:
            return await self._too_long(exchange, body)
        exchange.raw = body
        exchange.body = _object(body)
        bypass = cached.why_bypassed(exchange)
        # a lookup's own read proves that the key still lives; what passes by has none
        identity = await credentials.identify(
            self._parts.keys, exchange.headers, verify=bypass is not None
        )
        return await cached.answer(self._parts, exchange, identity, bypass)

    async def _too_long(self, exchange: Exchange, begun: bytes) -> str:
        """A body over our limit is for the provider to judge: it goes on while it comes in."""
        if exchange.controls.only_if_cached:
            raise replies.NotCached("requests as long as this one are never cached")
        crossing = Crossing(
            exchange.provider,
            "POST",
            exchange.path,
            exchange.query,
            exchange.headers,
            _chain(begun, exchange.incoming),
            replies.bypass_headers("too-large"),
        )
        await self._cross(crossing, exchange.incoming, exchange.out)
        return "bypass"

    async def _cross(self, crossing: Crossing, incoming: Incoming, out: Out) -> None:
        parts, headers, provider = self._parts, crossing.headers, crossing.provider
        identity = await credentials.identify(parts.keys, headers, verify=True)
        line = value_of(headers, b"x-surehit-line") or controls.DEFAULT_LINE
        policy = None
        if identity.caller is not None:
            policy = await cached.policy_of(parts, identity.caller, line)
        target = target_of(parts, provider, policy)
        sent = to_upstream(headers, cached_route=False)
        sent += credentials.for_upstream(identity, target)

        async def relay() -> None:
            async with parts.upstreams.call(
                target, crossing.method, crossing.path, crossing.query, sent, crossing.content
            ) as response:
                await _relay_raw(response, out, crossing.added)

        if crossing.content is None:
            await incoming.read(0)
        await while_connected(incoming, relay())


async def _chain(begun: bytes, incoming: Incoming) -> AsyncIterator[bytes]:
    yield begun
    async for part in incoming.rest():
        yield part


async def _relay_raw(response: httpx2.Response, out: Out, added: HeaderList) -> None:
    """Bytes as they come, compressed or not; a reply that breaks off is left without an end."""
    try:
        head = [(n.lower(), v) for n, v in response.headers.raw]
        headers = to_caller(head, cached_route=bool(added)) + added
        await out.head(response.status_code, headers)
        async for chunk in response.aiter_raw():
            await out.body(chunk)
    except httpx2.HTTPError as error:
        log.warning("upstream_broke_off", error=type(error).__name__)
        return
    await out.end()


async def _refuse(
    provider: Provider, error: SurehitError, out: Out, exchange: Exchange | None
) -> None:
    if not out.is_begun:
        headers, body = replies.error(
            provider, error, None if exchange is None else exchange.looked
        )
        await out.whole(error.status, headers, body)


def _object(body: bytes) -> JsonObject | None:
    try:
        value = parse(body)
    except NotJson:
        return None
    return value if isinstance(value, dict) else None
