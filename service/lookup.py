"""A lookup, top to bottom: exact tier, eligibility, embedding, nearest live entries, the serving rule, the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from index.embedding.pool import EmbeddingPool
from index.types import EmbeddingError, Neighbor, TextRefused, Vector
from service import eligibility, ids, key, waiting
from service.cache import Cache, Caller
from service.cache_control import is_wanted
from service.candidates import Partition
from service.decision import Candidate, Choice, Judge, MissReason, Refused, decide
from service.embedders import Slot
from service.errors import Unauthorized, Unavailable
from service.guards import analyse
from service.guards import judge as guard_judge
from service.journal import Observed
from service.key import CanonicalRequest
from service.outcome import Hit, Miss, Tier
from service.policy import BlockedPair, Policy
from service.score import COSINE
from service.scoring import MOST_SCORED, rescore
from service.storage import entries, fills, tenants
from service.storage.database import DuplicateKey, Row

BOTH: tuple[Tier, ...] = ("exact", "semantic")
_FIRST = 2


@dataclass(frozen=True, slots=True)
class Ask:
    """A lookup as the caller put it."""

    line: str
    request: Any
    scope: str = ""
    tiers: Sequence[Tier] = BOTH
    wait_ms: int = 0
    max_age_s: float | None = None
    """Only entries younger than this; 0 accepts none."""
    min_fresh_s: float | None = None
    """Only entries that live for at least so long."""
    may_serve: bool = True
    """False: don't serve (`no-cache`), but let the answer be stored."""
    may_record: bool = True
    """False (`no-store`): nothing of the request is kept, in log, review or fills; its outcome is counted."""
    lease_s: float | None = None
    """Shorter than the settings' where the caller renews its lease while it lives (the proxy)."""


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


@dataclass(slots=True)
class _Semantic:
    """What the semantic tier came to."""

    choice: Choice
    ineligible: str | None = None
    partition: bytes | None = None
    fingerprint: str | None = None
    vector: Vector | None = None
    hit: entries.LiveEntry | None = None
    neighbors: tuple[tuple[int, float], ...] = ()
    cosines: tuple[tuple[int, float], ...] = ()
    was_asked: bool = False
    """True when candidates were looked for: such lookups are what hit rates are counted over."""


async def lookup(cache: Cache, caller: Caller, ask: Ask) -> Hit | Miss:
    """Answer from the cache, or say why not. Trouble of the cache's own is a miss (`degraded`), never an error."""
    lookup_id = cache.new_id()
    try:
        try:
            return await _lookup(cache, caller, ask, lookup_id)
        except DuplicateKey:  # another process made the same id in the same millisecond
            lookup_id = cache.new_id()
            return await _lookup(cache, caller, ask, lookup_id)
    except Unavailable as error:
        cache.journal.count(caller.tenant, ask.line, "none", "miss", MissReason.DEGRADED)
        return Miss(ids.encode("lkp", lookup_id), MissReason.DEGRADED, detail=error.detail)


async def _lookup(cache: Cache, caller: Caller, ask: Ask, lookup_id: int) -> Hit | Miss:
    now = cache.clock_ms()
    policy, canonical, exact_key, row = await read_exact(cache, caller, ask, now=now)
    if policy.config.mode == "off":
        cache.journal.count(caller.tenant, ask.line, "none", "miss", MissReason.MODE)
        return Miss(ids.encode("lkp", lookup_id), MissReason.MODE, is_off=True)
    if ask.may_serve and "exact" in ask.tiers:
        hit = _exact_hit(cache, ask, row, lookup_id, now)
        if hit is not None:
            cache.journal.exact_hit(caller.tenant, ask.line, hit.entry_id)
            return hit
    found = await _semantic(cache, caller, policy, ask, canonical, now)
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


async def read_exact(
    cache: Cache, caller: Caller, ask: Ask, *, now: int
) -> tuple[Policy, CanonicalRequest, bytes, Row]:
    """The line as it is in force, the request's key under it, and the exact tier's row, all of one moment.

    The read also proves that the API key was not revoked. Raises Unauthorized, InvalidRequest, Unavailable.
    """
    policy = cache.policies.held(caller.tenant, ask.line)
    for _ in range(4):
        if policy is None:
            await _check_key(cache, caller)  # nothing is made for a key that is no longer good
            policy = await cache.policies.get_or_create(
                caller.tenant, ask.line, change_id=cache.new_id(), now=now
            )
        canonical = key.canonicalize(ask.request, inert=policy.inert)
        exact_key = key.exact_key(
            tenant=caller.tenant,
            scope=ask.scope,
            line=ask.line,
            policy_version=policy.config.policy_version,
            body=canonical.body,
        )
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
            return policy, canonical, exact_key, row
    raise Unavailable("the line changes faster than it can be read")


async def _check_key(cache: Cache, caller: Caller) -> None:
    if caller.key_hash is None:
        return
    if await tenants.key_by_hash(cache.db, key_hash=caller.key_hash) is None:
        raise Unauthorized("this API key was revoked")


def _exact_hit(cache: Cache, ask: Ask, row: Row, lookup_id: int, now: int) -> Hit | None:
    _, entry_id, response, created_ms, expires_ms = row[:5]
    if entry_id is None or not _is_wanted(ask, created_ms, expires_ms, now):
        return None
    # the id names the entry: exact hits are not logged one by one, and feedback must find what was served
    public = f"{ids.encode('lkp', lookup_id)}.{ids.encode('ent', entry_id)[4:]}"
    return Hit(public, "exact", entry_id, response, created_ms, expires_ms, now)


def _is_wanted(ask: Ask, created_ms: int, expires_ms: int | None, now: int) -> bool:
    return is_wanted(
        created_ms, expires_ms, now, max_age_s=ask.max_age_s, min_fresh_s=ask.min_fresh_s
    )


async def _semantic(
    cache: Cache, caller: Caller, policy: Policy, ask: Ask, canonical: CanonicalRequest, now: int
) -> _Semantic:
    """Candidates for the query and the choice among them."""
    is_exact_only = policy.config.mode == "exact"
    if canonical.query is None:
        why = MissReason.MODE if is_exact_only else MissReason.BYPASS
        return _none(why, ineligible=canonical.no_query)
    refused = ineligible(policy, ask.request, canonical.query)
    if is_exact_only:  # what is said of the request steers its store in every mode
        return _none(MissReason.MODE, ineligible=refused.reason if refused else None)
    if refused is not None:
        return _none(MissReason(refused.reason), ineligible=refused.reason)
    if "semantic" not in ask.tiers or not ask.may_serve:
        return _none(MissReason.MODE if "semantic" not in ask.tiers else MissReason.BYPASS)
    try:
        return await _search(cache, caller, policy, ask, canonical, canonical.query, now)
    except TextRefused as error:
        # «???» is blank to a model, yet a text that somebody can see: its answer may be stored under its key
        reason = str(error.readability.reason or "blank").replace("blank", "bypass")
        return _none(MissReason(reason), ineligible=reason)
    except (EmbeddingError, TimeoutError) as error:
        return _none(MissReason.DEGRADED, detail=f"embedder: {error}")


async def _search(
    cache: Cache,
    caller: Caller,
    policy: Policy,
    ask: Ask,
    canonical: CanonicalRequest,
    query: str,
    now: int,
) -> _Semantic:
    if policy.config.score != COSINE and policy.scorer is None:
        return _none(MissReason.DEGRADED, detail=f"score: {policy.config.score} cannot be used")
    budget_s = cache.settings.embed_budget_ms / 1000
    slot = await slot_of(cache, policy, timeout_s=budget_s)
    embedder, pool = slot.embedder, slot.pool
    if embedder is None or pool is None:  # `ready` has made sure of it
        return _none(MissReason.DEGRADED)
    partition_key = partition_of(policy, ask.scope, embedder.fingerprint, canonical)
    partition = await cache.partitions.refresh(
        caller.tenant,
        partition_key,
        fingerprint=embedder.fingerprint,
        dimensions=embedder.dimensions,
    )
    found = _Semantic(Choice(None, MissReason.EMPTY, None), partition=partition_key, was_asked=True)
    found.fingerprint = embedder.fingerprint
    if partition.is_empty:
        return found
    embedding = asyncio.create_task(pool.embed_one(query, timeout_s=budget_s))
    await asyncio.sleep(
        0
    )  # the text is with the model now, which runs without the interpreter's lock
    analyse(query)  # remembered: the guards will want it, and here it costs nobody's time
    found.vector = await embedding
    judge = await _judge(policy, ask, canonical, found.vector, pool, budget_s)
    await _choose(cache, caller, policy, partition, found, query, judge, ask, now)
    return found


async def _choose(
    cache: Cache,
    caller: Caller,
    policy: Policy,
    partition: Partition,
    found: _Semantic,
    query: str,
    judge: Judge,
    ask: Ask,
    now: int,
) -> None:
    """Search, re-read what was proposed, decide; dead proposals are dropped and the search goes on."""
    vector = found.vector
    if vector is None:
        return
    threshold = policy.config.threshold
    scorer = policy.scorer
    k = policy.config.limits.max_candidates

    async def judged(some: list[Neighbor], under: list[Neighbor]) -> Choice | None:
        """The choice among some neighbours; None when dead ones among them had to be dropped."""
        rows: dict[int, entries.LiveEntry] = {}
        if some:
            rows = await entries.live_in_partition(
                cache.db,
                caller.tenant,
                partition=partition.key,
                ids=[n.label for n in some],
                now=now,
            )
        dead = [n.label for n in some if n.label not in rows]
        if dead:
            cache.partitions.drop(partition, dead)
            return None
        live.update(rows)
        candidates = [
            _candidate(n, rows[n.label])
            for n in some
            if _is_wanted(ask, rows[n.label].created_ms, rows[n.label].expires_ms, now)
        ]
        candidates += [Candidate(n.label, n.similarity, "", b"") for n in under]
        if scorer is not None:
            ages_s = {i: (now - row.created_ms) / 1000 for i, row in rows.items()}
            candidates = rescore(scorer, query, candidates, ages_s)
            found.neighbors = tuple((c.entry_id, c.score) for c in candidates)
        return decide(query, candidates, threshold=threshold, judge=judge)

    live: dict[int, entries.LiveEntry] = {}
    choice: Choice | None = None
    while choice is None:
        neighbors = await cache.partitions.search(partition, vector, k)
        if scorer is not None:  # the likeliest may be another than the nearest
            choice = await judged(neighbors[:MOST_SCORED], [])
            continue
        over = [n for n in neighbors if n.similarity >= threshold]
        under = neighbors[len(over) : len(over) + 1]
        # nearly always one of the first two is served, so the others' rows are read only when needed;
        # a near miss must be live as well, or it would tell of what was erased
        choice = await judged(over[:_FIRST], under) if over else await judged(under, [])
        if choice is not None and choice.candidate is None and len(over) > _FIRST:
            choice = await judged(over, under)
    found.cosines = tuple((n.label, n.similarity) for n in neighbors)
    if scorer is None:
        found.neighbors = found.cosines
    if choice.candidate is not None:
        if policy.config.mode == "serve":
            found.hit = live[choice.candidate.entry_id]
        else:
            choice = Choice(None, MissReason.SHADOW, choice.score, nearest=choice.candidate)
    found.choice = choice


def _candidate(neighbor: Neighbor, row: entries.LiveEntry) -> Candidate:
    return Candidate(
        neighbor.label, neighbor.similarity, row.query, row.response_hash, row.quarantined
    )


async def _judge(
    policy: Policy,
    ask: Ask,
    canonical: CanonicalRequest,
    vector: Vector,
    pool: EmbeddingPool,
    budget_s: float,
) -> Judge:
    """Guards and blocked pairs as one judge."""
    context = canonical.context_hash
    pairs = policy.blocks.get((ask.scope, context), ())
    blocked: list[tuple[BlockedPair, Vector | None]] = []
    for pair in pairs:
        try:
            blocked.append((pair, await pool.embed_one(pair.query, timeout_s=budget_s)))
        except EmbeddingError:
            blocked.append((pair, None))
    enabled = policy.guards

    def judge(candidate: Candidate, new_query: str) -> Refused | None:
        for pair, blocked_vector in blocked:
            if _is_blocked(pair, blocked_vector, candidate, new_query, vector):
                return Refused(
                    "blocked", "this answer was judged wrong for this query or one like it"
                )
        refusal = guard_judge(candidate.query, new_query, enabled=enabled)
        return None if refusal is None else Refused(refusal.guard, refusal.detail)

    return judge


def _is_blocked(
    pair: BlockedPair, pair_vector: Vector | None, candidate: Candidate, query: str, vector: Vector
) -> bool:
    """True for the blocked query itself, and for one that is nearer to it than to the candidate.

    The answer counts as the same when entry or answer text is, so that a duplicate can't repeat the mistake.
    """
    if candidate.query != pair.entry_query and candidate.response_hash != pair.response_hash:
        return False
    if pair.query == query:
        return True
    return pair_vector is not None and float(np.dot(pair_vector, vector)) >= candidate.similarity


def ineligible(policy: Policy, request: Any, query: str) -> eligibility.Ineligible | None:
    """Why this request must not be answered by meaning, whatever is stored; None when it may."""
    temperature = request.get("temperature") if isinstance(request, dict) else None
    if isinstance(temperature, int | float) and temperature > policy.config.limits.max_temperature:
        return eligibility.Ineligible("creative", f"temperature {temperature}")
    return eligibility.classify(query, enabled=policy.rules, extra=policy.config.patterns or None)


async def slot_of(cache: Cache, policy: Policy, *, timeout_s: float) -> Slot:
    """The line's embedding model, loaded."""
    name = cache.embedders.name_for(policy.config.language, policy.config.embedder)
    return await cache.embedders.ready(name, timeout_s=timeout_s)


def partition_of(
    policy: Policy, scope: str, fingerprint: str, canonical: CanonicalRequest
) -> bytes:
    """The partition of a request under a line."""
    return key.partition_key(
        tenant=policy.tenant,
        scope=scope,
        line=policy.line,
        policy_version=policy.config.policy_version,
        fingerprint=fingerprint,
        context_hash=canonical.context_hash,
    )


async def _begin_fill(
    cache: Cache,
    caller: Caller,
    policy: Policy,
    ask: Ask,
    canonical: CanonicalRequest,
    exact_key: bytes,
    lookup_id: int,
    found: _Semantic,
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
    deadline = cache.clock_ms() + ask.wait_ms
    waited = await waiting.for_answer(
        cache,
        caller,
        line=ask.line,
        key=exact_key,
        lookup_id=lookup_id,
        lease_s=lease_s(cache, ask),
        take=lambda row, now: _exact_hit(cache, ask, row, lookup_id, now),
        is_over=lambda: cache.clock_ms() >= deadline,
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
    found: _Semantic,
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
            fingerprint=found.fingerprint or "",
            partition=found.partition or b"",
        )
    )


def _none(
    reason: MissReason, *, ineligible: str | None = None, detail: str | None = None
) -> _Semantic:
    return _Semantic(Choice(None, reason, None, detail=detail), ineligible=ineligible)
