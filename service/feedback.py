"""A user's or application's own verdict on a hit: kept apart from sampled labels, and in force at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from service import ids
from service.cache import Cache, Caller
from service.errors import NotFound
from service.forget import invalidate
from service.storage import blocks, entries, lookups
from service.storage import lines as line_rows
from service.storage.database import Transaction
from service.storage.invalidation import Selector

Verdict = Literal["reusable", "not_reusable", "unsure"]

_TRIES = 4
_PAUSE_S = 0.15
"""The log of another worker is at most a flush behind."""


@dataclass(frozen=True, slots=True)
class Given:
    """A verdict as it was sent."""

    lookup_id: str
    verdict: Verdict
    reason: str | None = None
    note: str | None = None
    evict: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """The query and the entry that a lookup brought together."""

    line: str
    scope: str
    query: str
    context_hash: bytes
    entry_id: int | None
    entry_query: str | None
    response_hash: bytes | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a verdict brought about."""

    blocked: bool
    """The pair of query and entry is not served again. An exact hit has no pair: evict its entry."""
    evicted: bool


async def give(cache: Cache, caller: Caller, given: Given) -> Effect:
    """Record a verdict; `not_reusable` blocks the pair before this returns.

    Raises NotFound when no lookup of this tenant has the id.
    """
    pair, number = await _pair(cache, caller, given.lookup_id)
    now = cache.clock_ms()
    row = {
        "id": cache.new_id(),
        "line": pair.line,
        "scope": pair.scope,
        "lookup_id": number,
        "verdict": given.verdict,
        "reason": given.reason,
        "note": given.note,
        "query": pair.query,
        "entry_query": pair.entry_query,
        "score": pair.score,
        "at_ms": now,
        "by": caller.key_id,
    }
    block_id = cache.new_id()

    def write(tx: Transaction) -> bool:
        lookups.add_feedback(tx, caller.tenant, row=row)
        return given.verdict == "not_reusable" and block(
            tx,
            caller.tenant,
            pair,
            block_id=block_id,
            source="feedback",
            by=caller.key_id,
            now=now,
        )

    blocked = await cache.db.write(write, durable=True)
    evict = given.evict and given.verdict == "not_reusable" and pair.entry_id is not None
    if evict:
        await invalidate(cache, caller, Selector(entry_id=pair.entry_id))
    return Effect(blocked, evict)


def block(
    tx: Transaction, tenant: str, pair: Pair, *, block_id: int, source: str, by: str, now: int
) -> bool:
    """Block a pair for good, on every worker from their next lookup on (the line's revision rises).

    False where there is no pair: nothing was found, or it was the same text.
    """
    if pair.entry_query is None or pair.response_hash is None or pair.query == pair.entry_query:
        return False  # an exact hit: the answer itself is bad, which evicting it mends
    blocks.add(
        tx,
        tenant,
        block_id=block_id,
        line=pair.line,
        scope=pair.scope,
        context_hash=pair.context_hash,
        query=pair.query,
        entry_query=pair.entry_query,
        response_hash=pair.response_hash,
        source=source,
        by=by,
        now=now,
    )
    line_rows.bump(tx, tenant, line=pair.line)
    return True


async def _pair(cache: Cache, caller: Caller, lookup_id: str) -> tuple[Pair, int]:
    """What a lookup brought together. The id of an exact hit names its entry; others are in the log."""
    public, _, entry_part = lookup_id.partition(".")
    number = ids.decode("lkp", public)
    entry_number = ids.decode("ent", f"ent_{entry_part}") if entry_part else None
    if number is not None and entry_number is not None:
        entry = await entries.get(
            cache.db, caller.tenant, entry_id=entry_number, now=cache.clock_ms()
        )
        if entry is not None:
            text = entry.query or ""
            return Pair(
                entry.line,
                entry.scope,
                text,
                entry.context_hash,
                entry.id,
                text,
                entry.response_hash,
                None,
            ), number
    elif number is not None:
        await cache.journal.flush()
        for attempt in range(_TRIES):
            row = await lookups.get(cache.db, caller.tenant, lookup_id=number)
            if row is not None:
                line, scope, query, context, entry_id, entry_query, response_hash, score, _ = row
                hash_or_none = None if response_hash is None else bytes(response_hash)
                return Pair(
                    line, scope, query, bytes(context), entry_id, entry_query, hash_or_none, score
                ), number
            if attempt < _TRIES - 1:
                await asyncio.sleep(_PAUSE_S)
    raise NotFound(
        "lookup_id: no lookup of this tenant that found a candidate has it, or it was erased or is "
        "older than the log"
    )
