"""A request on a cached route, top to bottom: passed by, answered from the cache, or missed."""

from __future__ import annotations

from service.cache import Caller
from service.errors import InvalidRequest, Unavailable
from service.outcome import Hit, Miss
from service.policy import Policy
from service.proxy import missed, replies
from service.proxy.asking import Found, ask
from service.proxy.credentials import Identity
from service.proxy.exchange import ClientGone, Exchange, while_connected
from service.proxy.filling import Keep
from service.proxy.flight import Reader
from service.proxy.headers import HeaderList, to_caller
from service.proxy.parts import Parts, book, call_of, rendered
from service.proxy.relay import failure_of, relay_stream, relay_whole
from service.wire.json_text import repeats_a_name


def why_bypassed(exchange: Exchange) -> str | None:
    """Why the cache has no part in this request; None when it has."""
    if exchange.controls.passes_by:
        return "requested"
    if exchange.body is None:
        return "malformed"
    try:
        return exchange.api.bypass_reason(exchange.body)
    except (AttributeError, TypeError, ValueError):  # fields of other types than theirs
        return "malformed"


async def answer(parts: Parts, exchange: Exchange, identity: Identity, bypass: str | None) -> str:
    """Reply; what the caller got: exact_hit, semantic_hit, stale, miss or bypass.

    Raises SurehitError while nothing of the reply was sent, ClientGone when nobody waits for it any more.
    """
    caller = identity.caller
    if bypass is not None or caller is None:
        return await _pass_by(parts, exchange, identity, bypass)
    found = await ask(parts.cache, caller, exchange)
    if isinstance(found.outcome, Hit):
        if await _serve(parts, exchange, caller, found.outcome):
            return f"{found.outcome.tier}_hit"
        found = Found(found.policy, why="degraded", is_trouble=True)
    if exchange.controls.only_if_cached:
        await _give_up(parts, caller, found)
        reason = found.outcome.reason if isinstance(found.outcome, Miss) else found.why
        exchange.looked = replies.not_cached_headers(reason)
        raise replies.NotCached("nothing stored answers this request")
    if isinstance(found.outcome, Miss) and found.key is not None and found.policy is not None:
        if not repeats_a_name(exchange.raw):
            return await _fill(parts, exchange, identity, caller, found)
        # the upstream may have read another request than the one that the answer would be stored for
        await _give_up(parts, caller, found)
    return await _not_kept(parts, exchange, identity, found)


async def _serve(parts: Parts, exchange: Exchange, caller: Caller, hit: Hit) -> bool:
    """Reply with a stored answer; False when what is stored cannot be replayed."""
    try:
        found = rendered(parts, exchange, hit.response)
    except replies.NotReplayable:
        return False
    headers = replies.hit_headers(exchange.provider, hit, found)
    await exchange.out.whole(200, headers, found.body)
    book(parts, exchange, caller.tenant, hit.tier, found.answer)
    return True


async def _fill(
    parts: Parts, exchange: Exchange, identity: Identity, caller: Caller, found: Found
) -> str:
    """Ask the upstream, alone for all identical requests, and store its answer."""
    if found.policy is None or found.key is None or not isinstance(found.outcome, Miss):
        raise TypeError("only a miss that was recorded can be filled")
    miss, controls = found.outcome, exchange.controls
    keep = Keep(
        lookup_id=miss.lookup_id,
        exact_key=found.key[1],
        config=found.policy.config,
        tags=controls.tags,
        ttl_s=controls.ttl_s,
        embedded_tokens=found.embedded_tokens,
    )
    try:
        call = call_of(parts, exchange, identity, found.policy, keep)
        work = missed.answer(
            missed.Missed(parts, exchange, caller, found.policy, miss, found.key, call)
        )
        return await while_connected(exchange.incoming, work)
    except ClientGone:
        if not parts.flights.is_led_here(found.key):  # nobody else will give the lease back
            await _give_up(parts, caller, found)
        raise


async def _not_kept(parts: Parts, exchange: Exchange, identity: Identity, found: Found) -> str:
    """The upstream's answer, not to be stored: `no-store`, a line that is off, a body of two readings, our trouble."""
    miss = found.outcome
    if isinstance(miss, Miss):
        is_passed_by = miss.is_off
        headers = replies.miss_headers(
            miss, forward=None if is_passed_by or exchange.controls.may_serve else "request"
        )
    else:
        is_passed_by = not found.is_trouble
        headers = replies.bypass_headers(found.why, forward="bypass" if is_passed_by else "miss")
    await _call_alone(parts, exchange, identity, found.policy, headers)
    return "bypass" if is_passed_by else "miss"


async def _pass_by(parts: Parts, exchange: Exchange, identity: Identity, why: str | None) -> str:
    """The upstream's answer to a request that the cache must not touch, or whose caller it cannot check."""
    if exchange.controls.only_if_cached:
        exchange.looked = replies.not_cached_headers(why or "degraded")
        raise replies.NotCached("requests like this one are never cached")
    policy = None
    if identity.caller is not None:
        policy = await policy_of(parts, identity.caller, exchange.controls.line)
        parts.cache.journal.count(
            identity.caller.tenant, exchange.controls.line, "none", "bypass", why or "degraded"
        )
    outcome = "bypass" if why else "miss"
    headers = replies.bypass_headers(why or "degraded", forward="bypass" if why else "miss")
    await _call_alone(parts, exchange, identity, policy, headers)
    return outcome


async def policy_of(parts: Parts, caller: Caller, line: str) -> Policy | None:
    """The line as it is in force, else as it was last known; new lines are made, as a lookup does."""
    policies, cache = parts.cache.policies, parts.cache
    try:
        return await policies.load(caller.tenant, line) or await policies.get_or_create(
            caller.tenant, line, change_id=cache.new_id(), now=cache.clock_ms()
        )
    except (Unavailable, InvalidRequest):
        return policies.held(caller.tenant, line)


async def _call_alone(
    parts: Parts,
    exchange: Exchange,
    identity: Identity,
    policy: Policy | None,
    headers: HeaderList,
) -> None:
    exchange.looked = headers
    reader = parts.filler.start(call_of(parts, exchange, identity, policy)).join()
    try:
        await while_connected(exchange.incoming, _relay(exchange, reader, headers))
    finally:
        reader.leave()


async def _relay(exchange: Exchange, reader: Reader, headers: HeaderList) -> None:
    await reader.head(None)
    head = reader.flight.head
    if head is None:
        raise failure_of(reader)
    headers = to_caller(head.headers, cached_route=True) + headers
    if head.is_good and head.is_stream:
        await relay_stream(exchange, reader, headers)
    else:
        await relay_whole(exchange, reader, lambda _: headers, grace_s=0)


async def _give_up(parts: Parts, caller: Caller, found: Found) -> None:
    if isinstance(found.outcome, Miss) and found.outcome.fill and found.key is not None:
        await parts.filler.give_up(
            caller, lookup_id=found.outcome.lookup_id, exact_key=found.key[1]
        )
