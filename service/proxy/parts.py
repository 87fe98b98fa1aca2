"""The parts of a running proxy, wired once and handed to the functions that use them; and what a call is made of."""

from __future__ import annotations

from dataclasses import dataclass

from service.auth import Keys
from service.cache import Cache
from service.errors import Unavailable
from service.ledger import Layer, Ledger, Spent
from service.policy import Policy
from service.proxy import credentials
from service.proxy.exchange import Exchange
from service.proxy.filling import Call, Filler, Keep
from service.proxy.flight import Flights
from service.proxy.headers import to_upstream
from service.proxy.measures import Measures
from service.proxy.replies import Rendered, render
from service.proxy.upstream import Target, Upstreams
from service.wire.api import JsonObject, Provider


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that a proxied request needs."""

    cache: Cache
    keys: Keys
    upstreams: Upstreams
    flights: Flights
    filler: Filler
    ledger: Ledger
    measures: Measures


def target_of(parts: Parts, provider: Provider, policy: Policy | None) -> Target:
    """The upstream of a line.

    Raises UnknownUpstream, and Unavailable where the line cannot be read and may have an upstream of its own: what was
    meant for one's own machine must not go to a provider because a database is down.
    """
    if policy is None and parts.cache.settings.upstreams:
        raise Unavailable("the line's upstream cannot be read from the database")
    return parts.upstreams.target(provider, policy.config.upstream if policy else None)


def call_of(
    parts: Parts,
    exchange: Exchange,
    identity: credentials.Identity,
    policy: Policy | None,
    keep: Keep | None = None,
) -> Call:
    """The upstream call of a request. Raises as `target_of` does."""
    target = target_of(parts, exchange.provider, policy)
    headers = to_upstream(exchange.headers, cached_route=True)
    return Call(
        api=exchange.api,
        target=target,
        caller=identity.caller,
        line=exchange.controls.line,
        model=exchange.model,
        path=exchange.path,
        query=exchange.query,
        headers=headers + credentials.for_upstream(identity, target),
        content=exchange.raw,
        is_streaming=exchange.is_streaming,
        body=exchange.body or {},
        keep=keep,
    )


def rendered(parts: Parts, exchange: Exchange, stored: bytes | JsonObject) -> Rendered:
    """A stored answer as this request asks for it. Raises NotReplayable."""
    return render(
        exchange.api,
        exchange.body or {},
        stored,
        now=parts.cache.clock_ms() / 1000,
        usage=parts.cache.settings.usage_on_hit,
    )


def book(parts: Parts, exchange: Exchange, tenant: str, layer: Layer, answer: JsonObject) -> None:
    """Book a request that one of our layers answered."""
    spent = Spent.of(exchange.api.usage(answer))
    parts.ledger.note(tenant, exchange.controls.line, exchange.model, layer, spent)
