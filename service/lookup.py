"""A lookup, top to bottom: the exact tier, the semantic tier, who fills a miss, the log."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from service import ids, key, semantic, waiting
from service.ask import Ask
from service.cache import Cache, Caller
from service.decision import MissReason
from service.errors import Unauthorized, Unavailable
from service.journal import Observed
from service.key import CanonicalRequest
from service.outcome import Hit, Miss
from service.policy import Policy
from service.semantic import Found
from service.storage import entries, fills, tenants
from service.storage.database import DuplicateKey, ReadsAtOnce, Row


class FillPayload(msgspec.Struct, array_like=True, frozen=True):
    """What a later store needs of a lookup that missed."""

    line: str
    scope: str
    policy_version: str
    model: str
    body: bytes
    context_hash: bytes
    query: str | None
    ineligible: str | None
    """Why the answer must not be reused by meaning; None when it may."""
    partition: bytes | None = None
    fingerprint: str | None = None
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """A lookup whose exact tier has been read: the line as it is in force, the request's key under it, the row.

    All of one moment, at which the API key was good as well.
    """

    policy: Policy
    canonical: CanonicalRequest
    exact_key: bytes
    row: Row
    """See `storage.entries.exact`."""
    now: int


KEPT_BYTES = 16_384
"""Longest answer that is kept with its request; longer ones are read each time."""


class Asked:
    """A lookup as its caller put it, and what was worked out for it: used again for as long as it holds.

    That is its key, until the line changes, and the row of its exact hit, until anything is committed.
    """

    __slots__ = ("_keyed", "_policy", "_row", "_version", "ask", "caller")

    def __init__(self, caller: Caller, ask: Ask) -> None:
        self.caller = caller
        self.ask = ask
        self._policy: Policy | None = None
        self._keyed: tuple[CanonicalRequest, bytes] | None = None
        self._row: Row | None = None
        self._version: bytes | None = None

    def under(self, policy: Policy) -> tuple[CanonicalRequest, bytes]:
        """The canonical request and its exact key."""
        if self._keyed is None or self._policy is not policy:
            self._keyed, self._policy = _keyed(policy, self.ask), policy
            self._row = None
        return self._keyed

    def row(self, near: ReadsAtOnce, key: bytes, now: int) -> Row | None:
        """The exact tier's row (see `storage.entries.exact`), read only if a commit may have changed it.

        Raises Unavailable.
        """
        version = near.version()
        row = self._row
        if row is not None and version == self._version and (row[4] is None or row[4] > now):
            return row
        caller, line = self.caller, self.ask.line
        row = entries.exact_now(
            near, caller.tenant, line=line, key=key, now=now, api_key=caller.key_hash
        )
        is_hit = row is not None and row[1] is not None and len(row[2]) <= KEPT_BYTES
        # a commit beside the read may have come before or after it
        self._row = row if is_hit and version is not None and near.version() == version else None
        self._version = version
        return row


def begin(cache: Cache, asked: Asked) -> Hit | Begun | None:
    """As much of a lookup as needs no waiting: its exact hit, or what `lookup` goes on from.

    None where the database lies behind a network or does not answer, or the line is not held as it is in force.
    Raises InvalidRequest.
    """
    caller, ask = asked.caller, asked.ask
    policy = cache.policies.held(caller.tenant, ask.line)
    near = cache.db.at_once
    if policy is None or near is None:
        return None
    now = cache.clock_ms()
    canonical, exact_key = asked.under(policy)
    try:
        row = asked.row(near, exact_key, now)
    except Unavailable:
        return None
    if row is None or row[0] != policy.revision:
        return None
    begun = Begun(policy, canonical, exact_key, row, now)
    return _exact_hit(cache, ask, begun, cache.new_id()) or begun


async def lookup(cache: Cache, caller: Caller, ask: Ask, begun: Begun | None = None) -> Hit | Miss:
    """Answer from the cache, or say why not. Trouble of the cache's own is a miss (`degraded`), never an error."""
    lookup_id = cache.new_id()
    try:
        if begun is None:
            begun = await read_exact(cache, caller, ask)
            hit = _exact_hit(cache, ask, begun, lookup_id)
            if hit is not None:
                return hit
        try:
            return await _beyond_exact(cache, caller, ask, begun, lookup_id)
        except DuplicateKey:  # another process made the same id in the same millisecond
            lookup_id = cache.new_id()
            return await _beyond_exact(cache, caller, ask, begun, lookup_id)
    except Unavailable as error:
        cache.journal.count(caller.tenant, ask.line, "none", "miss", MissReason.DEGRADED)
        return Miss(ids.encode("lkp", lookup_id), MissReason.DEGRADED, detail=error.detail)


async def _beyond_exact(
    cache: Cache, caller: Caller, ask: Ask, begun: Begun, lookup_id: int
) -> Hit | Miss:
    policy, canonical, exact_key, now = begun.policy, begun.canonical, begun.exact_key, begun.now
    if policy.config.mode == "off":
        cache.journal.count(caller.tenant, ask.line, "none", "miss", MissReason.MODE)
        return Miss(ids.encode("lkp", lookup_id), MissReason.MODE, is_off=True)
    found = await semantic.search(cache, caller, policy, ask, canonical, now)
    chosen = found.choice.candidate
    if found.hit is not None and chosen is not None:
        _observe(cache, policy, ask, lookup_id, found, canonical, exact_key, now)
        return Hit(
            ids.encode("lkp", lookup_id),
            "semantic",
            chosen.entry_id,
            found.hit.response,
            found.hit.created_ms,
            found.hit.expires_ms,
            now,
            chosen.score,
            policy.config.threshold,
        )
    reason = found.choice.reason or MissReason.SHADOW
    miss = Miss(
        ids.encode("lkp", lookup_id),
        reason,
        found.choice.score,
        found.choice.guard,
        found.choice.detail,
    )
    fill = ask.may_record and await _begin_fill(
        cache, caller, policy, ask, canonical, exact_key, lookup_id, found, now
    )
    if not fill:
        miss = replace(miss, fill=False)
        if ask.wait_ms and ask.may_serve and "exact" in ask.tiers:
            waited = await _wait(cache, caller, ask, exact_key, lookup_id, miss)
            if isinstance(waited, Hit):
                cache.journal.exact_hit(caller.tenant, ask.line, waited.entry_id)
                return waited
            miss = waited
    if found.was_asked:
        _observe(cache, policy, ask, lookup_id, found, canonical, exact_key, now)
    else:
        cache.journal.count(caller.tenant, ask.line, "none", "miss", reason)
    return miss


async def read_exact(cache: Cache, caller: Caller, ask: Ask) -> Begun:
    """Read the exact tier, the line first where it is not held as it is in force.

    Raises Unauthorized, InvalidRequest, Unavailable.
    """
    now = cache.clock_ms()
    policy = cache.policies.held(caller.tenant, ask.line)
    for _ in range(4):
        if policy is None:
            await _check_key(cache, caller)  # nothing is made for a key that is no longer good
            policy = await cache.policies.get_or_create(
                caller.tenant, ask.line, change_id=cache.new_id(), now=now
            )
        canonical, exact_key = _keyed(policy, ask)
        row = await entries.exact(
            cache.db, caller.tenant, line=ask.line, key=exact_key, now=now, api_key=caller.key_hash
        )
        if row is None:
            if await cache.policies.load(caller.tenant, ask.line) is not None:
                raise Unauthorized("this API key was revoked")
            policy = None
        elif row[0] != policy.revision:
            policy = await cache.policies.load(caller.tenant, ask.line)
        else:
            return Begun(policy, canonical, exact_key, row, now)
    raise Unavailable("the line changes faster than it can be read")


def _keyed(policy: Policy, ask: Ask) -> tuple[CanonicalRequest, bytes]:
    canonical = key.canonicalize(ask.request, inert=policy.inert)
    exact_key = key.exact_key(
        tenant=policy.tenant,
        scope=ask.scope,
        line=policy.line,
        policy_version=policy.config.policy_version,
        body=canonical.body,
    )
    return canonical, exact_key


async def _check_key(cache: Cache, caller: Caller) -> None:
    if caller.key_hash is None:
        return
    if await tenants.key_by_hash(cache.db, key_hash=caller.key_hash) is None:
        raise Unauthorized("this API key was revoked")


def _exact_hit(cache: Cache, ask: Ask, begun: Begun, lookup_id: int) -> Hit | None:
    """The hit that a lookup may be answered with, counted; None where there is none."""
    if begun.policy.config.mode == "off" or not ask.may_serve or "exact" not in ask.tiers:
        return None
    hit = _hit_of(ask, begun.row, lookup_id, begun.now)
    if hit is not None:
        cache.journal.exact_hit(begun.policy.tenant, ask.line, hit.entry_id)
    return hit


def _hit_of(ask: Ask, row: Row, lookup_id: int, now: int) -> Hit | None:
    _, entry_id, response, created_ms, expires_ms = row[:5]
    if entry_id is None or not ask.wants(created_ms, expires_ms, now):
        return None
    # the id names the entry: exact hits are not logged one by one, and feedback must find what was served
    public = f"lkp_{lookup_id:016x}.{entry_id:016x}"
    return Hit(public, "exact", entry_id, response, created_ms, expires_ms, now)


async def _begin_fill(
    cache: Cache,
    caller: Caller,
    policy: Policy,
    ask: Ask,
    canonical: CanonicalRequest,
    exact_key: bytes,
    lookup_id: int,
    found: Found,
    now: int,
) -> bool:
    """Record the miss so that its store needs no more than the lookup id; True for the one who should fill."""
    payload = msgspec.msgpack.encode(
        FillPayload(
            line=ask.line,
            scope=ask.scope,
            policy_version=policy.config.policy_version,
            model=canonical.model,
            body=canonical.body,
            context_hash=canonical.context_hash,
            query=canonical.query,
            ineligible=found.ineligible,
            partition=found.partition,
            fingerprint=found.fingerprint,
            vector=None if found.vector is None else found.vector.tobytes(),
        )
    )
    settings = cache.settings
    recorded = cache.db.write(
        lambda tx: fills.begin(
            tx,
            caller.tenant,
            lookup_id=lookup_id,
            scope=ask.scope,
            key=exact_key,
            payload=payload,
            now=now,
            lease_until=now + round(lease_s(cache, ask) * 1000),
            keep_until=now + settings.fill_ttl_s * 1000,
        )
    )
    try:
        return await asyncio.wait_for(recorded, settings.database_budget_ms / 1000)
    except TimeoutError as error:
        raise Unavailable("the database takes too long to record a miss") from error


async def _wait(
    cache: Cache, caller: Caller, ask: Ask, exact_key: bytes, lookup_id: int, miss: Miss
) -> Hit | Miss:
    """Wait for whoever fills the key; when that one gives up, this caller may fill."""
    deadline = time.monotonic() + ask.wait_ms / 1000  # not the wall clock, which may be set back
    waited = await waiting.for_answer(
        cache,
        caller,
        line=ask.line,
        key=exact_key,
        lookup_id=lookup_id,
        lease_s=lease_s(cache, ask),
        take=lambda row, now: _hit_of(ask, row, lookup_id, now),
        is_over=lambda: time.monotonic() >= deadline,
    )
    return waited.answer or replace(miss, fill=waited.has_lease, collapsed=True)


def lease_s(cache: Cache, ask: Ask) -> float:
    """How long this caller may fill a missed key alone."""
    longest = float(cache.settings.fill_lease_s)
    return longest if ask.lease_s is None else min(longest, ask.lease_s)


def _observe(
    cache: Cache,
    policy: Policy,
    ask: Ask,
    lookup_id: int,
    found: Found,
    canonical: CanonicalRequest,
    exact_key: bytes,
    now: int,
) -> None:
    if not ask.may_record:
        outcome, reason = ("hit", "") if found.hit else ("miss", str(found.choice.reason))
        cache.journal.count(policy.tenant, policy.line, "semantic", outcome, reason)
        return
    cache.journal.observe(
        Observed(
            lookup_id=lookup_id,
            policy=policy,
            scope=ask.scope,
            query=canonical.query or "",
            exact_key=exact_key,
            context_hash=canonical.context_hash,
            at_ms=now,
            choice=found.choice,
            served=found.hit,
            neighbors=found.neighbors,
            cosines=found.cosines,
            verified=found.verified,
            fingerprint=found.fingerprint or "",
            partition=found.partition or b"",
        )
    )
