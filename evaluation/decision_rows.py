"""The rows of decisions, of what happened to them, of the tuner's looks and of the monitor; always of one tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, insert, select
from sqlalchemy.dialects import postgresql

from service.storage.database import Database, Row, Transaction
from service.storage.models import (
    Decision,
    DecisionEvent,
    LineChange,
    Monitor,
    ReviewItem,
    TuningRun,
)
from service.storage.query import Query


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision."""

    id: int
    line: str
    created_ms: int
    by: str
    threshold: float
    target_false_hit_rate: float
    confidence: float
    score_version: str
    policy_version: str
    evidence_json: str


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a decision: applied, alarm or void."""

    id: int
    decision_id: int | None
    act: str
    at_ms: int
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Run:
    """A look of the tuner."""

    id: int
    line: str
    at_ms: int
    by: str
    score_version: str
    policy_version: str
    since_ms: int
    until_ms: int
    target_false_hit_rate: float
    confidence: float
    look: int
    labels_hash: bytes
    outcome: str
    decision_id: int | None
    report_json: str


def _insert(table: Any, name: str) -> Query:
    columns = table.__table__.columns
    return Query(name, insert(table).values({c.name: bindparam(c.name) for c in columns}))


def _columns(table: Any, kind: Any) -> list[Any]:
    return [getattr(table, name) for name in kind.__dataclass_fields__]


_ADD_DECISION = _insert(Decision, "add_decision")
_ADD_EVENT = _insert(DecisionEvent, "add_decision_event")
_ADD_RUN = _insert(TuningRun, "add_tuning_run")
_ONE = Query(
    "one_decision",
    select(*_columns(Decision, Decided)).where(
        Decision.id == bindparam("decision_id"), Decision.tenant_id == bindparam("tenant")
    ),
)
_OF_LINE = Query(
    "decisions_of_line",
    select(*_columns(Decision, Decided))
    .where(Decision.tenant_id == bindparam("tenant"), Decision.line == bindparam("of_line"))
    .order_by(Decision.id.desc())
    .limit(200),
)
_EVENTS = Query(
    "decision_events_of_line",
    select(*_columns(DecisionEvent, Event))
    .where(
        DecisionEvent.tenant_id == bindparam("tenant"), DecisionEvent.line == bindparam("of_line")
    )
    .order_by(DecisionEvent.id.desc())
    .limit(500),
)
_RUNS = Query(
    "tuning_runs_of_line",
    select(*_columns(TuningRun, Run))
    .where(TuningRun.tenant_id == bindparam("tenant"), TuningRun.line == bindparam("of_line"))
    .order_by(TuningRun.id.desc())
    .limit(200),
)
_monitor = postgresql.insert(Monitor.__table__)  # type: ignore[arg-type]  # a Table at run time
_KEEP_MONITOR = Query(
    "keep_monitor",
    _monitor.values(
        {c.name: bindparam(c.name) for c in Monitor.__table__.columns}
    ).on_conflict_do_update(
        index_elements=["tenant_id", "line"],
        set_={n: _monitor.excluded[n] for n in ("decision_id", "state_json", "updated_ms")},
    ),
)
_MONITOR = Query(
    "monitor_of_line",
    select(Monitor.decision_id, Monitor.state_json).where(
        Monitor.tenant_id == bindparam("tenant"), Monitor.line == bindparam("of_line")
    ),
)
_SERVED = Query(
    "finished_served_items",
    select(
        ReviewItem.verdict,
        ReviewItem.certify_probability,
        ReviewItem.inclusion_probability,
    )
    .where(
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.state == "done",
        ReviewItem.kind == "sampled",
        ReviewItem.decision_id == bindparam("decision_id"),
        ReviewItem.was_served.is_(True),
    )
    .order_by(ReviewItem.done_ms, ReviewItem.id),
)
_CHANGES = Query(
    "changes_of_line",
    select(LineChange.at_ms, LineChange.before_json, LineChange.after_json)
    .where(LineChange.tenant_id == bindparam("tenant"), LineChange.line == bindparam("of_line"))
    .order_by(LineChange.id.desc())
    .limit(1_000),
)


def add(tx: Transaction, tenant: str, decision: Decided) -> None:
    """Keep a decision for ever."""
    values = {name: getattr(decision, name) for name in Decided.__dataclass_fields__}
    tx.run(_ADD_DECISION, {"tenant_id": tenant, **values})


def add_event(tx: Transaction, tenant: str, *, line: str, event: Event) -> None:
    """Record what happened to a decision."""
    values = {name: getattr(event, name) for name in Event.__dataclass_fields__}
    tx.run(_ADD_EVENT, {"tenant_id": tenant, "line": line, **values})


def add_run(tx: Transaction, tenant: str, run: Run) -> None:
    """Record a look of the tuner."""
    values = {name: getattr(run, name) for name in Run.__dataclass_fields__}
    tx.run(_ADD_RUN, {"tenant_id": tenant, **values})


def get_in(tx: Transaction, tenant: str, *, decision_id: int) -> Decided | None:
    """One decision, inside a transaction."""
    rows = tx.run(_ONE, {"decision_id": decision_id, "tenant": tenant})
    return Decided(*rows[0]) if rows else None


async def get(db: Database, tenant: str, *, decision_id: int) -> Decided | None:
    """One decision."""
    rows = await db.read(_ONE, {"decision_id": decision_id, "tenant": tenant})
    return Decided(*rows[0]) if rows else None


async def of_line(db: Database, tenant: str, *, line: str) -> list[Decided]:
    """Decisions of a line, newest first."""
    return [Decided(*r) for r in await db.read(_OF_LINE, {"tenant": tenant, "of_line": line})]


async def events(db: Database, tenant: str, *, line: str) -> list[Event]:
    """What happened to a line's decisions, newest first."""
    return [Event(*r) for r in await db.read(_EVENTS, {"tenant": tenant, "of_line": line})]


def events_in(tx: Transaction, tenant: str, *, line: str) -> list[Event]:
    """The same inside a transaction."""
    return [Event(*r) for r in tx.run(_EVENTS, {"tenant": tenant, "of_line": line})]


def decisions_in(tx: Transaction, tenant: str, *, line: str) -> list[Decided]:
    """Decisions of a line, newest first, inside a transaction."""
    return [Decided(*r) for r in tx.run(_OF_LINE, {"tenant": tenant, "of_line": line})]


async def runs(db: Database, tenant: str, *, line: str) -> list[Run]:
    """Looks of the tuner at a line, newest first."""
    found = await db.read(_RUNS, {"tenant": tenant, "of_line": line})
    return [_run(row) for row in found]


def _run(row: Row) -> Run:
    values = dict(zip(Run.__dataclass_fields__, row, strict=True))
    return Run(**{**values, "labels_hash": bytes(values["labels_hash"])})


def keep_monitor(
    tx: Transaction, tenant: str, *, line: str, decision_id: int, state_json: str, now: int
) -> None:
    """Store what the monitor knows."""
    tx.run(
        _KEEP_MONITOR,
        {
            "tenant_id": tenant,
            "line": line,
            "decision_id": decision_id,
            "state_json": state_json,
            "updated_ms": now,
        },
    )


async def monitor(db: Database, tenant: str, *, line: str) -> tuple[int, str] | None:
    """(decision, state) as last stored."""
    rows = await db.read(_MONITOR, {"tenant": tenant, "of_line": line})
    return (int(rows[0][0]), rows[0][1]) if rows else None


async def served_verdicts(db: Database, tenant: str, *, line: str, decision_id: int) -> list[Row]:
    """(verdict, certify probability, inclusion probability) of finished served hits, in the order of finishing."""
    params = {"tenant": tenant, "of_line": line, "decision_id": decision_id}
    return await db.read(_SERVED, params)


async def line_changes(db: Database, tenant: str, *, line: str) -> list[Row]:
    """(at_ms, before, after) of a line's records, newest first."""
    return await db.read(_CHANGES, {"tenant": tenant, "of_line": line})
