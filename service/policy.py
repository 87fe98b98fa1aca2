"""The rules in force for a line, as this process last read them.

Every lookup reads the line's revision in the same statement as its entry (`storage.entries.exact`); when it differs
from what is held here the line is read again first. So a change is in force everywhere once it has been committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import structlog

from service import lines
from service.errors import InvalidRequest, NotFound
from service.lines import LineConfig, LineRecord
from service.sampling import SamplingPlan
from service.score import COSINE, Scorer, UnusableScorer
from service.score.scorer import load as load_scorer
from service.storage import blocks as block_rows
from service.storage import lines as line_rows
from service.storage import scorers as scorer_rows
from service.storage.database import Database, Transaction

MAX_IMPLICIT_LINES = 200
"""Lines of one tenant that appear by being used; more must be created, so that a typing slip in a loop stays small."""


log = structlog.get_logger("surehit.policy")


@dataclass(frozen=True, slots=True)
class BlockedPair:
    """A query and an answer that must not meet again."""

    query: str
    entry_query: str
    response_hash: bytes


@dataclass(frozen=True)
class Policy:
    """A line as it is in force."""

    tenant: str
    line: str
    revision: int
    config: LineConfig
    decision_id: int | None
    updated_ms: int
    updated_by: str
    guards: frozenset[str]
    rules: frozenset[str]
    inert: frozenset[str]
    sampling: SamplingPlan
    blocks: dict[tuple[str, bytes], tuple[BlockedPair, ...]] = field(default_factory=dict)
    """Blocked pairs by scope and context hash."""
    scorer: Scorer | None = None
    """Of a line whose score is learned; None there means that it can't be used, and nothing is served by meaning."""

    @property
    def is_certified(self) -> bool:
        """True when the threshold rests on a decision; set by hand it is uncertified."""
        return self.decision_id is not None


class Policies:
    """Lines by tenant and name; unknown ones are created in shadow mode when first used."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._held: dict[tuple[str, str], Policy] = {}

    def held(self, tenant: str, line: str) -> Policy | None:
        """What this process holds, without looking whether it is still in force."""
        return self._held.get((tenant, line))

    async def load(self, tenant: str, line: str) -> Policy | None:
        """Read a line; None when there is none."""
        row = await line_rows.get(self._db, tenant, line=line)
        if row is None:
            self._held.pop((tenant, line), None)
            return None
        record = lines.record_from_json(row[1])
        found: dict[tuple[str, bytes], list[BlockedPair]] = {}
        for scope, context, query, entry_query, response_hash in await block_rows.of_line(
            self._db, tenant, line=line
        ):
            pair = BlockedPair(query, entry_query, bytes(response_hash))
            found.setdefault((scope, bytes(context)), []).append(pair)
        policy = Policy(
            tenant=tenant,
            line=line,
            revision=row[0],
            config=record.config,
            decision_id=record.decision_id,
            updated_ms=row[2],
            updated_by=row[3],
            guards=record.config.enabled_guards,
            rules=record.config.enabled_rules,
            inert=frozenset(record.config.inert_fields),
            sampling=lines.plan_of(record.config.sampling),
            blocks={key: tuple(pairs) for key, pairs in found.items()},
            scorer=await self._scorer(tenant, line, record.config.score),
        )
        self._held[tenant, line] = policy
        return policy

    async def _scorer(self, tenant: str, line: str, score: str) -> Scorer | None:
        """The line's learned score, read once for as long as it is in force."""
        if score == COSINE:
            return None
        held = self._held.get((tenant, line))
        if held is not None and held.scorer is not None and held.scorer.version == score:
            return held.scorer
        blob = await scorer_rows.blob(self._db, tenant, line=line, version=score)
        try:
            return None if blob is None else load_scorer(blob)
        except UnusableScorer as error:
            log.error("scorer_unusable", tenant=tenant, line=line, score=score, reason=str(error))
            return None

    async def get_or_create(self, tenant: str, line: str, *, change_id: int, now: int) -> Policy:
        """The line, made with the defaults when this is its first use."""
        policy = self.held(tenant, line) or await self.load(tenant, line)
        if policy is not None:
            return policy
        lines.check_line(line)

        def create(tx: Transaction) -> None:
            line_rows.lock(tx, tenant)
            if line_rows.get_in(tx, tenant, line=line) is not None:
                return
            if line_rows.count(tx, tenant) >= MAX_IMPLICIT_LINES:
                raise InvalidRequest.field(
                    "line", f"is unknown, and {MAX_IMPLICIT_LINES} lines exist; create it with PUT"
                )
            _save(
                tx,
                tenant,
                line,
                LineRecord(config=LineConfig()),
                None,
                change_id,
                "first use",
                "",
                now,
            )

        await self._db.write(create, durable=True)
        policy = await self.load(tenant, line)
        if policy is None:  # pragma: no cover - lines are never deleted
            raise NotFound(f"line {line!r} does not exist")
        return policy

    async def change(
        self,
        tenant: str,
        line: str,
        *,
        change: LineChange,
        change_id: int,
        by: str,
        now: int,
    ) -> Policy:
        """Put a new configuration in force and record who did it."""
        lines.check_line(line)

        def write(tx: Transaction) -> None:
            line_rows.lock(tx, tenant)
            row = line_rows.get_in(tx, tenant, line=line)
            before = lines.record_from_json(row[1]) if row else None
            after = change.apply(before)
            _check_score(tx, tenant, line, after.config.score)
            _save(
                tx, tenant, line, after, row[1] if row else None, change_id, by, change.reason, now
            )

        await self._db.write(write, durable=True)
        policy = await self.load(tenant, line)
        if policy is None:
            raise NotFound(f"line {line!r} does not exist")
        return policy


@dataclass(frozen=True)
class LineChange:
    """A change of a line as its owner sent it: all settings (PUT) or some (PATCH)."""

    settings: object
    partial: bool
    reason: str = ""

    def apply(self, before: LineRecord | None) -> LineRecord:
        """The record after the change. Whatever a decision rested on voids it when it changes."""
        if self.partial and before is None:
            raise NotFound("the line does not exist; create it with PUT")
        base = before.config if self.partial and before else None
        config = lines.parse(self.settings, base=base)
        score_before = before.config.score if before else COSINE
        if config.score not in (score_before, COSINE) or (
            self.partial and config.score != score_before
        ):
            _check_threshold_given(self.settings, has_verifier=config.verifier is not None)
        keeps = before is not None and not _voids(before.config, config)
        return LineRecord(
            config=config, decision_id=before.decision_id if keeps and before else None
        )


_DECIDED_BY = (
    "threshold",
    "score",
    "verifier",
    "language",
    "embedder",
    "policy_version",
    "guards",
    "rules",
    "patterns",
)


def _check_threshold_given(settings: object, *, has_verifier: bool) -> None:
    for name in ("threshold", "verifier") if has_verifier else ("threshold",):
        if not isinstance(settings, dict) or name not in settings:
            raise InvalidRequest.field(
                name,
                "must be given with another `score`: the old one means something else there",
            )


def _check_score(tx: Transaction, tenant: str, line: str, score: str) -> None:
    if score != COSINE and scorer_rows.blob_in(tx, tenant, line=line, version=score) is None:
        raise InvalidRequest.field(
            "score",
            "is no score that this line has learned; `surehit tune --score learned` learns one",
        )


def _voids(before: LineConfig, after: LineConfig) -> bool:
    return any(getattr(before, name) != getattr(after, name) for name in _DECIDED_BY)


def _save(
    tx: Transaction,
    tenant: str,
    line: str,
    record: LineRecord,
    before: str | None,
    change_id: int,
    by: str,
    reason: str,
    now: int,
) -> None:
    line_rows.save(
        tx,
        tenant,
        line=line,
        config=lines.record_to_json(record),
        before=before,
        change_id=change_id,
        by=by,
        reason=reason,
        now=now,
    )


def describe(policy: Policy) -> dict[str, object]:
    """A line as HTTP and command line show it."""
    settings: dict[str, object] = msgspec.to_builtins(policy.config)
    return {
        "line": policy.line,
        **settings,
        "certified": policy.is_certified,
        "decision_id": policy.decision_id,
        "revision": policy.revision,
        "updated_ms": policy.updated_ms,
        "updated_by": policy.updated_by,
    }
