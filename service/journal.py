"""What happened, kept without slowing it down: a buffer that is written every fifth of a second.

Exact hits are counted. Every lookup that looked for candidates is logged with its score, the rule it was decided under
and the draws that decide whether reviewers see it. If the database is down or the buffer full, records are dropped and
counted: the cache goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from service import sampling
from service.decision import Candidate, Choice, MissReason, Refused, decide
from service.errors import Unavailable
from service.guards import GUARD_VERSION
from service.guards import judge as guard_judge
from service.ids import IdSource, encode
from service.outcome import OutcomeKey
from service.policy import Policy
from service.score import verifier
from service.score.scorer import suffix
from service.storage import entries, lookups
from service.storage.database import Database, Transaction

FLUSH_S = 0.2
TOUCH_S = 5.0
"""Hits per entry are only read by eviction and people; each costs an update of its row."""

MAX_BUFFERED = 20_000
"""Records in memory; at the flush interval this is 100,000 lookups a second."""

_DAY_MS = 86_400_000
log = structlog.get_logger("surehit.journal")


@dataclass(frozen=True, slots=True)
class Observed:
    """A lookup that looked for candidates."""

    lookup_id: int
    policy: Policy
    scope: str
    query: str
    exact_key: bytes
    context_hash: bytes
    at_ms: int
    choice: Choice
    served: entries.LiveEntry | None
    fingerprint: str
    partition: bytes
    neighbors: tuple[tuple[int, float], ...] = ()
    """(entry id, score) of all that were scored, best first."""
    cosines: tuple[tuple[int, float], ...] = ()
    """(entry id, cosine) of all that the search proposed, nearest first."""
    verified: float | None = None
    """What the verifier said of the winner; None where it was not asked or did not answer."""


class Journal:
    """The buffer and its writer."""

    def __init__(
        self,
        db: Database,
        *,
        new_id: IdSource,
        clock_ms: Callable[[], int],
        sampling_key: bytes,
        on_count: Callable[[OutcomeKey, int], None] | None = None,
    ) -> None:
        self._db = db
        self._new_id = new_id
        self._clock_ms = clock_ms
        self._sampling_key = sampling_key
        self._on_count = on_count
        self._observed: list[Observed] = []
        self._counts: Counter[OutcomeKey] = Counter()
        self._unwritten: Counter[OutcomeKey] = Counter()  # told to the metrics already
        self._touched: Counter[tuple[str, int]] = Counter()
        self._touched_ms = 0
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self.dropped = 0

    def start(self) -> None:
        """Begin writing in the background."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Write what is left and stop."""
        if self._task is not None:
            async with self._writing:  # not in the middle of a batch, which would be lost
                self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self.flush(closing=True)

    def count(self, tenant: str, line: str, tier: str, outcome: str, reason: str) -> None:
        """Count one outcome; `tier` is exact, semantic or none."""
        self._counts[tenant, line, tier, outcome, reason] += 1

    def exact_hit(self, tenant: str, line: str, entry_id: int) -> None:
        """Count a hit of the exact tier."""
        self.count(tenant, line, "exact", "hit", "")
        self._touched[tenant, entry_id] += 1

    def observe(self, record: Observed) -> None:
        """Log a lookup that looked for candidates, and count its outcome."""
        tenant, line = record.policy.tenant, record.policy.line
        if record.served is not None:
            self.count(tenant, line, "semantic", "hit", "")
            self._touched[tenant, record.served.id] += 1
        else:
            reason = record.choice.reason or MissReason.EMPTY
            self.count(tenant, line, "semantic", "miss", reason)
        if len(self._observed) >= MAX_BUFFERED:
            self.dropped += 1
            return
        self._observed.append(record)

    def tell(self) -> None:
        """Hand the counts of the last moments to the metrics."""
        counts, self._counts = self._counts, Counter()
        self._unwritten.update(counts)
        if self._on_count is not None:
            for outcome, n in counts.items():
                self._on_count(outcome, n)

    async def flush(self, *, closing: bool = False) -> None:
        """Write what has been buffered, hits per entry only now and then.

        On trouble of the database it is dropped and counted.
        """
        async with self._writing:
            observed, self._observed = self._observed, []
            self.tell()
            counts, self._unwritten = self._unwritten, Counter()
            touched: Counter[tuple[str, int]] = Counter()
            since_ms = self._clock_ms() - self._touched_ms
            if closing or not 0 <= since_ms < TOUCH_S * 1000:  # below 0: the clock was set back
                touched, self._touched = self._touched, touched
                self._touched_ms = self._clock_ms()
            if not (observed or counts or touched):
                return
            try:
                await self._write(observed, counts, touched)
            except Unavailable as error:
                self.dropped += len(observed)
                self._unwritten.update(counts)  # counters are small: keep them for the next try
                log.warning("journal_dropped", records=len(observed), error=error.detail)
            except Exception:
                self.dropped += len(observed)
                raise

    async def _write(
        self,
        observed: list[Observed],
        counts: Counter[OutcomeKey],
        touched: Counter[tuple[str, int]],
    ) -> None:
        rows: list[dict[str, Any]] = []
        items: list[dict[str, Any]] = []
        for record in observed:
            row, item = await self._rows(record)
            rows.append(row)
            if item is not None:
                items.append(item)
            await asyncio.sleep(
                0
            )  # lookups go first: the guards take a tenth of a millisecond each
        now = self._clock_ms()
        by_tenant: dict[str, dict[int, int]] = {}
        for (tenant, entry_id), n in touched.items():
            by_tenant.setdefault(tenant, {})[entry_id] = n

        def write(tx: Transaction) -> None:
            lookups.add(tx, rows)
            lookups.add_items(tx, items)
            lookups.count(tx, now // _DAY_MS, counts)
            for tenant, hits in sorted(by_tenant.items()):
                entries.touch(tx, tenant, hits=hits, now=now)

        await self._db.write(write)

    async def _rows(self, record: Observed) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """The log row of a lookup and, when it was drawn, its review item.

        A near miss was not compared by the guards while its caller waited; that is done here, since a curve must know
        which candidates a lower threshold would really have served.
        """
        policy, choice = record.policy, record.choice
        entry, guard, detail = record.served, choice.guard, choice.detail
        score = choice.score
        plan = policy.sampling
        if entry is None and choice.nearest is not None and choice.nearest.score >= plan.floor:
            live = await entries.live_in_partition(
                self._db,
                policy.tenant,
                partition=record.partition,
                ids=[choice.nearest.entry_id],
                now=record.at_ms,
            )
            entry = live.get(choice.nearest.entry_id)
            if entry is not None and guard is None and choice.reason is MissReason.BELOW_THRESHOLD:
                refusal = guard_judge(entry.query, record.query, enabled=policy.guards)
                if refusal is not None:
                    guard, detail = refusal.guard, refusal.detail
        if guard is not None and guard != "quarantine" and record.served is None:
            behind = await self._servable_behind(record)
            if behind is not None:
                (entry, score), guard, detail = behind, None, None
        cosine = dict(record.cosines).get(entry.id) if entry is not None else None
        others = [c for i, c in record.cosines if entry is None or i != entry.id]
        has_candidate = entry is not None and score is not None
        draw = sampling.sample(
            plan,
            self._sampling_key,
            lookup_id=encode("lkp", record.lookup_id),
            score=score if has_candidate and score is not None else -math.inf,
            guarded=guard is not None,
        )
        row = {
            "id": record.lookup_id,
            "tenant_id": policy.tenant,
            "line": policy.line,
            "scope": record.scope,
            "at_ms": record.at_ms,
            "outcome": "hit" if record.served is not None else "miss",
            "reason": choice.reason,
            "query": _column(record.query),
            "exact_key": record.exact_key,
            "context_hash": record.context_hash,
            "entry_id": entry.id if entry else None,
            "entry_query": _column(entry.query) if entry else None,
            "response_hash": entry.response_hash if entry else None,
            "entry_age_ms": record.at_ms - entry.created_ms if entry else None,
            "score": score,
            "cosine": score if cosine is None else cosine,
            "second_score": max(others, default=None),
            "verified": record.verified,
            "guard": guard,
            "guard_detail": detail,
            "threshold": policy.config.threshold,
            "decision_id": policy.decision_id,
            "mode": policy.config.mode,
            "policy_version": policy.config.policy_version,
            "score_version": score_version(record.fingerprint, policy),
            "certify_probability": draw.certify_probability,
            "inclusion_probability": draw.inclusion_probability,
            "certify_draw": draw.certify_draw,
            "explore_draw": draw.explore_draw,
        }
        if not draw.included or entry is None:
            return row, None
        copied = (
            "tenant_id line scope exact_key context_hash entry_id query entry_query response_hash "
            "score cosine guard guard_detail threshold decision_id policy_version score_version "
            "certify_probability inclusion_probability"
        )
        item = {name: row[name] for name in copied.split()}
        item |= {
            "id": self._new_id(),
            "kind": "sampled",
            "created_ms": record.at_ms,
            "lookup_id": record.lookup_id,
            "entry_response": entry.response,
            "fresh_response": None,
            "was_served": record.served is not None,
            "streams": ",".join(draw.streams),
            "gold_verdict": None,
            "state": "open",
            "verdict": None,
            "reason": None,
            "done_ms": None,
            "lease_by": None,
            "lease_until_ms": 0,
        }
        return row, item

    async def _servable_behind(self, record: Observed) -> tuple[entries.LiveEntry, float] | None:
        """The candidate that a lower threshold would serve in place of a refused nearest one, if it can be certified.

        Serving goes on to the next candidate when a guard refuses one; a curve that stopped at the refusal would not
        know the hits of lower thresholds, and a certificate would be silent about them.
        """
        policy = record.policy
        floor, threshold = policy.sampling.certify_floor, policy.config.threshold
        nearest = record.choice.nearest.entry_id if record.choice.nearest else None
        near = [(i, s) for i, s in record.neighbors if floor <= s < threshold and i != nearest]
        if not near:
            return None
        live = await entries.live_in_partition(
            self._db,
            policy.tenant,
            partition=record.partition,
            ids=[i for i, _ in near],
            now=record.at_ms,
        )
        pairs = policy.blocks.get((record.scope, record.context_hash), ())
        blocked = [p for p in pairs if p.query == record.query]

        def judge(candidate: Candidate, query: str) -> Refused | None:
            for pair in blocked:
                if pair.entry_query == candidate.query or (
                    pair.response_hash == candidate.response_hash
                ):
                    return Refused("blocked", "")
            refusal = guard_judge(candidate.query, query, enabled=policy.guards)
            return None if refusal is None else Refused(refusal.guard, refusal.detail)

        candidates = [
            Candidate(i, s, live[i].query, live[i].response_hash, live[i].quarantined)
            for i, s in near
            if i in live
        ]
        found = decide(record.query, candidates, threshold=floor, judge=judge).candidate
        return None if found is None else (live[found.entry_id], found.score)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            try:
                await self.flush()
            except Exception:  # the journal must outlive whatever one record does to it
                log.exception("journal_failed")


def score_version(fingerprint: str, policy: Policy) -> str:
    """What a score depends on: model, guards, the line's choice among them, its verifier, and what it has learned.

    A label counts for one version only.
    """
    off = sorted(name for name, on in policy.config.guards.items() if not on)
    without = f"-without-{','.join(off)}" if off else ""
    verifying = verifier.suffix(policy.config.verifier)
    return f"{fingerprint}+guards-{GUARD_VERSION}{without}{verifying}{suffix(policy.config.score)}"


def _column(text: str) -> str:
    """Text as a column can hold it: PostgreSQL has no NUL."""
    return text.replace("\x00", "\u2400")
