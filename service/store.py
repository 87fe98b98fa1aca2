"""A store: what may be stored, under which key and for how long, answered after its commit."""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import orjson

from index.types import EmbeddingError, TextRefused
from service import caps, ids, key, lines, storable
from service.ask import Ask
from service.cache import Cache, Caller
from service.errors import (
    FillCovered,
    InvalidRequest,
    NotFound,
    NotStorable,
    TooLarge,
    Unavailable,
)
from service.lookup import FillPayload, read_exact
from service.outcome import Stored
from service.policy import Policy
from service.semantic import ineligible, partition_of, slot_of
from service.storage import entries, fills, invalidation, lookups
from service.storage.database import DuplicateKey, Transaction
from service.wire import storing

MAX_TTL_S = 315_360_000.0
MAX_TAGS = 64
MAX_SCOPE = 512

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_decode_payload = msgspec.msgpack.Decoder(FillPayload).decode


@dataclass(frozen=True, slots=True)
class Put:
    """A store as the caller put it: by lookup id, or with the request itself. `response` is JSON text."""

    response: bytes
    lookup_id: str | None = None
    line: str = ""
    scope: str = ""
    request: Any = None
    ttl_s: float | None = None
    tags: tuple[str, ...] = ()
    is_checked: bool = False
    """True when the caller has judged the answer by the rules of its API and its line (the proxy)."""


@dataclass(frozen=True, slots=True)
class _Fill:
    payload: FillPayload
    exact_key: bytes
    lookup_id: int | None
    fence_seen: int | None
    started_ms: int


async def store(cache: Cache, caller: Caller, put: Put) -> Stored:
    """Store an answer.

    Raises NotStorable, InvalidRequest, NotFound (the lookup id), FillCovered, TooLarge, Unavailable; then nothing
    was written.
    """
    ttl_s = check_ttl(put.ttl_s)
    check_tags(put.tags)
    try:
        answer = orjson.loads(put.response)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest.field("response", f"is not JSON that can be kept: {error}") from error
    now = cache.clock_ms()
    fill, policy = await _fill(cache, caller, put, now)
    try:
        return await _checked_and_stored(cache, caller, put, answer, fill, policy, ttl_s, now)
    except (NotStorable, TooLarge, FillCovered):
        await _give_up(cache, caller, fill)
        raise


async def _give_up(cache: Cache, caller: Caller, fill: _Fill) -> None:
    """This answer cannot be kept: whoever waits for it, or asks next, may get another one."""
    number = fill.lookup_id
    if number is not None:
        with contextlib.suppress(Unavailable):  # then the lease ends by itself
            await cache.db.write(
                lambda tx: fills.give_up(tx, caller.tenant, key=fill.exact_key, lookup_id=number)
            )


async def _checked_and_stored(
    cache: Cache,
    caller: Caller,
    put: Put,
    answer: Any,
    fill: _Fill,
    policy: Policy,
    ttl_s: float | None,
    now: int,
) -> Stored:
    config = policy.config
    if not put.is_checked:
        storing.check(
            answer,
            orjson.loads(fill.payload.body),
            allow_truncated=config.store_truncated,
            allow_filtered=config.store_filtered,
            allow_tool_calls=config.reuse_tool_calls,
        )
    if config.mode == "off":
        return Stored(None, replaced=False, reason="mode")
    if _is_somebodys(policy, fill.payload):
        return Stored(None, replaced=False, reason=str(fill.payload.ineligible))
    if len(put.response) > config.limits.max_response_bytes:
        raise TooLarge(
            f"response: {len(put.response)} bytes; the line takes {config.limits.max_response_bytes}"
        )
    if fill.payload.ineligible == "blank":
        raise NotStorable("request: its last user message is blank")
    partition, fingerprint, vector = await _semantic(cache, caller, policy, fill, answer)
    expires_ms = _expires(policy, fill.payload, ttl_s, now)
    payload = fill.payload
    entry = entries.NewEntry(
        id=cache.new_id(),
        exact_key=fill.exact_key,
        tenant=caller.tenant,
        line=payload.line,
        scope=payload.scope,
        policy_version=payload.policy_version,
        model=payload.model,
        created_ms=now,
        expires_ms=expires_ms,
        response=put.response,
        request=payload.body,
        query=None if payload.query is None else payload.query.replace("\x00", "\u2400"),
        partition=partition,
        fingerprint=fingerprint,
        context_hash=payload.context_hash,
        vector=None if vector is None else vector.tobytes(),
        tags=check_tags(put.tags),
        quarantined=config.quarantine,
        stored_by=caller.key_id,
    )

    def write(tx: Transaction) -> tuple[int, bool]:
        if fill.fence_seen is not None and invalidation.covering_fence(
            tx,
            caller.tenant,
            seen=fill.fence_seen,
            exact_key=fill.exact_key,
            tags=entry.tags,
            scope=payload.scope,
            line=payload.line,
            model=payload.model,
            started_ms=fill.started_ms,
        ):
            raise FillCovered
        stored = entries.put(tx, caller.tenant, entry)
        caps.count_store(tx, caller.key_id, caller.max_stores_per_hour, now=now)
        fills.end(tx, caller.tenant, key=fill.exact_key)
        if fill.lookup_id is not None:
            lookups.pair_fresh_answer(
                tx, caller.tenant, lookup_id=fill.lookup_id, answer=put.response
            )
        return stored

    try:
        entry_id, replaced = await cache.db.write(write)
    except DuplicateKey:  # another process made the same id in the same millisecond
        entry = replace(entry, id=cache.new_id())
        entry_id, replaced = await cache.db.write(write)
    if vector is not None and partition is not None:
        cache.partitions.added(partition, entry_id, vector)
    cache.journal.count(caller.tenant, payload.line, "none", "store", "")
    return Stored(entry_id, replaced)


async def _fill(cache: Cache, caller: Caller, put: Put, now: int) -> tuple[_Fill, Policy]:
    """What is to be stored: from the lookup that missed, or from the request itself."""
    if put.lookup_id is not None:
        number = ids.decode("lkp", put.lookup_id)
        row = None
        if number is not None:
            row = await fills.get(cache.db, caller.tenant, lookup_id=number, now=now)
        if number is None or row is None:
            raise NotFound(
                "lookup_id: no miss of this tenant has it, or it is older than "
                f"{cache.settings.fill_ttl_s} s; store with line and request instead"
            )
        payload = _decode_payload(row[3])
        policy = await cache.policies.load(caller.tenant, payload.line)
        if policy is None:
            raise NotFound(f"line {payload.line!r} does not exist")
        return _Fill(payload, bytes(row[0]), number, row[1], row[2]), policy
    ask = Ask(line=put.line, request=put.request, scope=put.scope)
    begun = await read_exact(cache, caller, ask)
    policy, canonical = begun.policy, begun.canonical
    reason = canonical.no_query
    if reason is None and canonical.query is not None:
        refused = ineligible(policy, put.request, canonical.query)
        reason = refused.reason if refused else None
    payload = FillPayload(
        line=put.line,
        scope=put.scope,
        policy_version=policy.config.policy_version,
        model=canonical.model,
        body=canonical.body,
        context_hash=canonical.context_hash,
        query=canonical.query,
        ineligible=reason,
    )
    return _Fill(payload, begun.exact_key, None, None, now), policy


async def _semantic(
    cache: Cache, caller: Caller, policy: Policy, fill: _Fill, answer: Any
) -> tuple[bytes | None, str | None, np.ndarray[Any, np.dtype[np.float32]] | None]:
    """Partition, fingerprint and vector of a new entry; none where it must not, or can't, be found by meaning.

    An entry whose vector could not be had in time is stored for the exact tier; maintenance embeds it later.
    """
    payload = fill.payload
    if payload.query is None or payload.ineligible is not None or storable.has_tool_calls(answer):
        return None, None, None
    config = policy.config
    if config.mode == "exact" or payload.policy_version != config.policy_version:
        # nobody looks for it by meaning now; a line that begins to, or goes back to this version, finds it waiting
        return None, entries.PENDING, None
    if payload.vector is not None and payload.partition is not None:
        return payload.partition, payload.fingerprint, np.frombuffer(payload.vector, dtype="<f4")
    budget_s = cache.settings.embed_budget_ms / 1000
    try:
        slot = await slot_of(cache, policy, timeout_s=budget_s)
        if slot.embedder is None or slot.pool is None:
            return None, None, None
        vector = await slot.pool.embed_one(payload.query, timeout_s=budget_s)
    except TextRefused:
        return None, None, None
    except (EmbeddingError, TimeoutError):
        return None, entries.PENDING, None
    canonical = key.canonicalize(key.parse(payload.body))
    partition = partition_of(policy, payload.scope, slot.embedder.fingerprint, canonical)
    return partition, slot.embedder.fingerprint, vector


def _is_somebodys(policy: Policy, payload: FillPayload) -> bool:
    """True for «my balance» without a scope: the same bytes from another person want another answer."""
    is_personal = payload.ineligible in ("personal", "acting")
    return is_personal and not payload.scope and policy.config.personal_needs_scope


def _expires(policy: Policy, payload: FillPayload, ttl_s: float | None, now: int) -> int | None:
    """When the entry ends: its own life time, else the line's, within the line's longest."""
    config = policy.config
    life = ttl_s if ttl_s is not None else config.ttl_s
    passes = payload.ineligible in (
        "volatile",
        "personal",
    )  # a balance passes with time as the weather does
    if passes and ttl_s is None and config.volatile_ttl_s is not None:
        life = config.volatile_ttl_s if life is None else min(life, config.volatile_ttl_s)
    if config.limits.max_ttl_s is not None:
        life = config.limits.max_ttl_s if life is None else min(life, config.limits.max_ttl_s)
    return None if life is None else now + max(1, round(life * 1000))


def check_ttl(ttl_s: Any) -> float | None:
    """A usable life time; 0 means «do not store» and is refused, never taken as «for ever»."""
    if ttl_s is None:
        return None
    if isinstance(ttl_s, bool) or not isinstance(ttl_s, int | float) or not math.isfinite(ttl_s):
        raise InvalidRequest.field("ttl_s", "must be a number of seconds")
    if not 0 < ttl_s <= MAX_TTL_S:
        raise InvalidRequest.field(
            "ttl_s",
            f"must be over 0 and at most {MAX_TTL_S:.0f} seconds (to store nothing, do not store)",
        )
    return float(ttl_s)


def check_tags(tags: tuple[Any, ...]) -> tuple[str, ...]:
    """Tags are names, at most MAX_TAGS of them; returned each once, in the form that invalidation looks for."""
    if len(tags) > MAX_TAGS:
        raise InvalidRequest.field("tags", f"must hold at most {MAX_TAGS} tags")
    for n, tag in enumerate(tags):
        lines.check_name(f"tags[{n}]", tag)
    return tuple(dict.fromkeys(map(tag_form, tags)))


def tag_form(tag: str) -> str:
    """A tag in one spelling (Unicode NFC): «café» with an accent of its own must end what «café» with é has tagged."""
    return unicodedata.normalize("NFC", tag)


def check_scope(scope: Any) -> str:
    """Any text without control characters, at most MAX_SCOPE characters; empty is the tenant's common scope."""
    if not isinstance(scope, str) or len(scope) > MAX_SCOPE or _CONTROL.search(scope):
        raise InvalidRequest.field(
            "scope", f"must be text of at most {MAX_SCOPE} characters, no control characters"
        )
    return scope
