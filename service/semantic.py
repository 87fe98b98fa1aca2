"""The semantic tier: eligibility, embedding, the nearest live entries of one partition, the serving rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from index.embedding.pool import EmbeddingPool
from index.types import EmbeddingError, Neighbor, TextRefused, Vector
from service import eligibility, key
from service.ask import Ask
from service.cache import Cache, Caller
from service.candidates import Partition
from service.decision import Candidate, Choice, Judge, MissReason, Refused, decide
from service.embedders import Slot
from service.guards import analyse_new
from service.guards import judge as guard_judge
from service.key import CanonicalRequest
from service.policy import BlockedPair, Policy
from service.score import COSINE
from service.scoring import MOST_SCORED, judged_once, rescore, to_verify, verified
from service.storage import aliases, entries

_FIRST = 2
"""Candidates over the threshold whose rows are read at first: nearly always one of them is served."""

_BESIDE = 2
"""Texts before a model, this one among them, from which on other requests want the time in which it is at work."""


@dataclass(slots=True)
class Found:
    """What the semantic tier came to."""

    choice: Choice
    ineligible: str | None = None
    partition: bytes | None = None
    fingerprint: str | None = None
    vector: Vector | None = None
    hit: entries.LiveEntry | None = None
    neighbors: tuple[tuple[int, float], ...] = ()
    cosines: tuple[tuple[int, float], ...] = ()
    verified: float | None = None
    """What the verifier said of the winner; None where it was not asked or did not answer."""
    near_miss: entries.LiveEntry | None = None
    """The row, just read, of the best candidate where it is under the threshold."""
    was_asked: bool = False
    """True when candidates were looked for: such lookups are what hit rates are counted over."""


async def search(
    cache: Cache, caller: Caller, policy: Policy, ask: Ask, canonical: CanonicalRequest, now: int
) -> Found:
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
) -> Found:
    if policy.config.score != COSINE and policy.scorer is None:
        return _none(MissReason.DEGRADED, detail=f"score: {policy.config.score} cannot be used")
    budget_s = cache.settings.embed_budget_ms / 1000
    slot = await slot_of(cache, policy, timeout_s=budget_s)
    embedder, pool = slot.embedder, slot.pool
    if embedder is None or pool is None:  # `ready` has made sure of it
        return _none(MissReason.DEGRADED)
    partition_key = partition_of(policy, ask.scope, embedder.fingerprint, canonical)
    # a partition that had entries a moment ago nearly always has some: the model begins while others' are read
    early = pool.ask(query, timeout_s=budget_s) if cache.partitions.holds(partition_key) else None
    partition = await cache.partitions.refresh(
        caller.tenant,
        partition_key,
        fingerprint=embedder.fingerprint,
        dimensions=embedder.dimensions,
    )
    found = Found(Choice(None, MissReason.EMPTY, None), partition=partition_key, was_asked=True)
    found.fingerprint = embedder.fingerprint
    if partition.is_empty:
        return found
    embedding = early or pool.ask(query, timeout_s=budget_s)
    if pool.queued < _BESIDE:
        # remembered: the guards will want it, and beside the model it costs nobody's time
        analyse_new(query)
    found.vector = await embedding
    judge = await _judge(policy, ask, canonical, found.vector, pool, budget_s)
    await _choose(cache, caller, policy, partition, found, query, judge, ask, now)
    if policy.config.promote and policy.config.mode == "serve" and found.near_miss is not None:
        await _serve_promoted(cache, caller, policy, ask, canonical, found, judge)
    return found


async def _serve_promoted(
    cache: Cache,
    caller: Caller,
    policy: Policy,
    ask: Ask,
    canonical: CanonicalRequest,
    found: Found,
    judge: Judge,
) -> None:
    """Serve a near miss that was reviewed as reusable for this very request. Guards and blocks come first, as ever.

    Only where the reviewed entry is the best candidate: the log then says of this lookup what any threshold would do.
    """
    row, nearest = found.near_miss, found.choice.nearest
    if row is None or nearest is None:
        return
    exact_key = key.exact_key(
        tenant=caller.tenant,
        scope=ask.scope,
        line=ask.line,
        policy_version=policy.config.policy_version,
        body=canonical.body,
    )
    if await aliases.leads_to(
        cache.db,
        caller.tenant,
        exact_key=exact_key,
        entry_id=row.id,
        response_hash=row.response_hash,
    ):
        again = decide(canonical.query or "", [nearest], threshold=-math.inf, judge=judge)
        if again.candidate is not None:
            found.hit, found.choice = row, again


async def _choose(
    cache: Cache,
    caller: Caller,
    policy: Policy,
    partition: Partition,
    found: Found,
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
    scorer, rule = policy.scorer, policy.config.verifier
    if rule is not None:
        judge = judged_once(judge)
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
            if ask.wants(rows[n.label].created_ms, rows[n.label].expires_ms, now)
        ]
        candidates += [Candidate(n.label, n.similarity, "", b"") for n in under]
        if scorer is not None:
            ages_s = {i: (now - row.created_ms) / 1000 for i, row in rows.items()}
            candidates = rescore(scorer, query, candidates, ages_s, vector)
        if rule is not None:
            winner = to_verify(rule, query, candidates, judge)
            if winner is not None:
                found.verified = await cache.verifiers.ask(rule, winner.query, query)
                candidates = verified(rule, candidates, winner, found.verified)
        found.neighbors = tuple((c.entry_id, c.score) for c in candidates)
        return decide(query, candidates, threshold=threshold, judge=judge)

    live: dict[int, entries.LiveEntry] = {}
    choice: Choice | None = None
    while choice is None:
        neighbors = await cache.partitions.search(partition, vector, k)
        if scorer is not None or rule is not None:  # the likeliest may be another than the nearest
            choice = await judged(neighbors[:MOST_SCORED], [])
            continue
        over = [n for n in neighbors if n.similarity >= threshold]
        under = neighbors[len(over) : len(over) + 1]
        # a near miss must be live as well, or it would tell of what was erased
        choice = await judged(over[:_FIRST], under) if over else await judged(under, [])
        if choice is not None and choice.candidate is None and len(over) > _FIRST:
            choice = await judged(over, under)
    found.cosines = tuple((n.label, n.similarity) for n in neighbors)
    if scorer is None and rule is None:
        found.neighbors = found.cosines
    if choice.candidate is not None:
        if policy.config.mode == "serve":
            found.hit = live[choice.candidate.entry_id]
        else:
            choice = Choice(None, MissReason.SHADOW, choice.score, nearest=choice.candidate)
    elif choice.reason is MissReason.BELOW_THRESHOLD and choice.nearest is not None:
        found.near_miss = live.get(choice.nearest.entry_id)
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


def _none(reason: MissReason, *, ineligible: str | None = None, detail: str | None = None) -> Found:
    return Found(Choice(None, reason, None, detail=detail), ineligible=ineligible)
