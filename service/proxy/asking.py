"""Asking the cache on behalf of a proxied request: never longer than its budget, never with an error of its own."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

import structlog

from service import ids
from service.ask import BOTH, Ask
from service.cache import Cache, Caller
from service.decision import MissReason
from service.errors import InvalidRequest, Unauthorized, Unavailable
from service.lookup import lookup
from service.outcome import Hit, Miss
from service.policy import Policy
from service.proxy import filling
from service.proxy.exchange import Exchange
from service.proxy.flight import FlightKey
from service.proxy.headers import as_text, value_of
from service.storage import fills
from service.wire.api import JsonObject
from service.wire.requests import WIRE_FIELD

log = structlog.get_logger("surehit.proxy")


@dataclass(frozen=True, slots=True)
class Found:
    """What the cache said. Without an outcome it said nothing (`why`), and the request passes by."""

    policy: Policy | None
    outcome: Hit | Miss | None = None
    key: FlightKey | None = None
    """Where identical requests meet; None where the answer cannot be stored."""
    embedded_tokens: int = 0
    """Estimated, at four bytes a token."""
    why: str = ""
    is_trouble: bool = False
    """True when the cache failed, not the request."""


async def ask(cache: Cache, caller: Caller, exchange: Exchange) -> Found:
    """Look up. Raises Unauthorized alone."""
    settings = cache.settings
    budget_s = (settings.embed_budget_ms + settings.database_budget_ms) / 1000
    line = exchange.controls.line
    try:
        async with asyncio.timeout(budget_s):
            return await _ask(cache, caller, exchange)
    except Unauthorized:
        raise
    except (
        InvalidRequest
    ) as error:  # of the body's contents; the provider's own error is the best reply
        is_line = any(field.field == "line" for field in error.errors)
        found = Found(
            cache.policies.held(caller.tenant, line), why="line" if is_line else "malformed"
        )
        cache.journal.count(caller.tenant, line, "none", "bypass", found.why)
        return found
    except (TimeoutError, Unavailable) as error:
        log.warning("cache_passed_by", line=line, error=str(error) or "over the time budget")
    except Exception:
        log.exception("cache_failed", line=line)
    cache.journal.count(caller.tenant, line, "none", "miss", MissReason.DEGRADED)
    return Found(cache.policies.held(caller.tenant, line), why="degraded", is_trouble=True)


async def _ask(cache: Cache, caller: Caller, exchange: Exchange) -> Found:
    controls = exchange.controls
    policies = cache.policies
    policy = policies.held(caller.tenant, controls.line)
    policy = policy or await policies.load(caller.tenant, controls.line)
    while True:
        upstream = policy.config.upstream if policy else None
        request = keyed(exchange, upstream, cache.settings.keyed_headers)
        outcome = await lookup(
            cache,
            caller,
            Ask(
                line=controls.line,
                request=request,
                scope=controls.scope,
                tiers=BOTH if exchange.api.IS_SEMANTIC else ("exact",),
                max_age_s=controls.max_age_s,
                min_fresh_s=controls.min_fresh_s,
                may_serve=controls.may_serve,
                may_record=controls.may_store,
                lease_s=filling.LEASE_S,
            ),
        )
        policy = policies.held(caller.tenant, controls.line)
        if policy is None or policy.config.upstream == upstream:
            break
        # the lookup learned of a change of the line: another upstream is another key
    key = None if isinstance(outcome, Hit) else await _flight_key(cache, caller, outcome)
    embedded = _query_bytes(exchange, request) // 4 if outcome.score is not None else 0
    return Found(policy, outcome, key, embedded)


def keyed(exchange: Exchange, upstream: str | None, key_headers: tuple[bytes, ...]) -> JsonObject:
    """The request as it is keyed: the API's form, with what query string, headers and the line's upstream add to it.

    Of a header only a digest: requests are kept with their entries, and some name an account.
    """
    request = exchange.api.as_request(exchange.body or {}, as_text(exchange.headers))
    if exchange.query:
        request[WIRE_FIELD]["query"] = exchange.query.decode("latin-1")
    routed = {
        name.decode(): hashlib.sha256(value.encode()).hexdigest()[:32]
        for name in key_headers
        if (value := value_of(exchange.headers, name)) is not None
    }
    if routed:
        request[WIRE_FIELD]["headers"] = routed
    if upstream is not None:
        request[WIRE_FIELD]["upstream"] = upstream
    return request


async def _flight_key(cache: Cache, caller: Caller, miss: Miss) -> FlightKey | None:
    number = ids.decode("lkp", miss.lookup_id)
    if number is None:
        return None
    row = await fills.get(cache.db, caller.tenant, lookup_id=number, now=cache.clock_ms())
    return None if row is None else (caller.tenant, bytes(row[0]), int(row[1]))


def _query_bytes(exchange: Exchange, request: JsonObject) -> int:
    path = exchange.api.query_text_location(request)
    if path is None:
        return 0
    value: object = request
    for step in path:
        value = value[step]  # type: ignore[index]  # the path comes from the same request
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0
