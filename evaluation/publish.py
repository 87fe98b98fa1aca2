"""Putting a decision in force, and taking it out: by a person, by the tuner, by the monitor.

Applying an older decision rolls back. A decision is void, and refused with the reason, when what its scores rest on has
changed since: embedding model, guards, policy version; and when the monitor raised an alarm under it. The score is part
of a decision: one made for another score of the line brings that score back with its threshold.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import orjson

from evaluation import decision_rows as rows
from evaluation.decision_rows import Decided, Event
from evaluation.desk import Desk, log
from evaluation.status import CERTIFICATE_LIFE
from service import ids, lines
from service.errors import Conflict, NotFound
from service.lines import LineRecord
from service.policy import Policy
from service.score import COSINE, FEATURES_VERSION
from service.score.scorer import split
from service.storage import lines as line_rows
from service.storage.database import Transaction


class Void(Conflict):
    """What this decision rests on has changed since; it cannot be applied. Tune again."""

    code, title = "decision-void", "Decision is void"


async def apply(
    desk: Desk, tenant: str, *, line: str, decision_id: int, by: str, reason: str
) -> Decided:
    """Serve by a decision, on every worker from its next lookup on. Raises NotFound, Void, Conflict."""
    policy = await desk.policy(tenant, line)
    decision = await rows.get(desk.db, tenant, decision_id=decision_id)
    if decision is None or decision.line != line:
        raise NotFound(f"line {line!r} has no such decision")
    score_version = await desk.score_version(policy)
    change_id, event_id, now = desk.new_id(), desk.new_id(), desk.clock_ms()

    def work(tx: Transaction) -> None:
        events = rows.events_in(tx, tenant, line=line)
        why = void_because(decision, policy, score_version=score_version, events=events)
        if why is not None:
            raise Void(why)
        row = line_rows.get_in(tx, tenant, line=line)
        if row is None or row[0] != policy.revision:
            raise Conflict("the line was changed at the same moment; look at it and try again")
        _serve(tx, policy, row[1], decision, change_id=change_id, by=by, reason=reason, now=now)
        event = Event(event_id, decision.id, "applied", now, by, reason)
        rows.add_event(tx, tenant, line=line, event=event)

    for attempt in range(5):
        try:
            await desk.db.write(work, durable=True)
            break
        except Void:
            raise
        except Conflict:
            # a block or a touched setting raised the revision in between: decide on what is there now
            if attempt == 4:
                raise
            policy = await desk.policy(tenant, line)
            score_version = await desk.score_version(policy)
    log.info("decision_applied", tenant=tenant, line=line, decision=public_id(decision.id), by=by)
    return decision


def tighten(
    tx: Transaction,
    policy: Policy,
    *,
    now: int,
    reason: str,
    score_version: str,
    event_ids: tuple[int, int],
    change_id: int,
) -> Decided | None:
    """After an alarm: go to the last certified stricter threshold, or to the exact tier alone; what was chosen.

    Runs inside the caller's transaction. Nothing is certified by this: the stricter decision was, when it was made.
    """
    tenant, line = policy.tenant, policy.line
    row = line_rows.get_in(tx, tenant, line=line)
    if row is None or lines.record_from_json(row[1]).decision_id != policy.decision_id:
        return None  # somebody was faster
    alarm = Event(event_ids[0], policy.decision_id, "alarm", now, "monitor", reason)
    rows.add_event(tx, tenant, line=line, event=alarm)
    events = rows.events_in(tx, tenant, line=line)
    stricter = next(
        (
            d
            for d in rows.decisions_in(tx, tenant, line=line)
            if d.score_version
            == score_version  # thresholds of two scores say nothing of each other
            and d.threshold > policy.config.threshold
            and void_because(d, policy, score_version=score_version, events=events) is None
            and now - d.created_ms < CERTIFICATE_LIFE.total_seconds() * 1000
        ),
        None,
    )
    why = f"alarm: {reason}"
    if stricter is None:
        record = lines.record_from_json(row[1])
        config = msgspec.structs.replace(record.config, mode="exact")
        _save(tx, policy, row[1], LineRecord(config=config), change_id, "monitor", why, now)
        return None
    _serve(tx, policy, row[1], stricter, change_id=change_id, by="monitor", reason=why, now=now)
    applied = Event(event_ids[1], stricter.id, "applied", now, "monitor", why)
    rows.add_event(tx, tenant, line=line, event=applied)
    return stricter


def void_because(
    decision: Decided, policy: Policy, *, score_version: str, events: list[Event]
) -> str | None:
    """Why a decision cannot be served by any more; None while it can."""
    rest, score, features_version = split(decision.score_version)
    if rest != split(score_version)[0]:
        return (
            f"it was made for scores of {decision.score_version}; the line's are now of {score_version} "
            "(another embedding model, guard set or verifier)"
        )
    if score != COSINE and features_version != FEATURES_VERSION:
        return f"its score was learned on features of version {features_version}, now {FEATURES_VERSION}"
    if decision.policy_version != policy.config.policy_version:
        return (
            f"it was made under policy version {decision.policy_version}; "
            f"the line is at {policy.config.policy_version}"
        )
    alarms = [e for e in events if e.act == "alarm" and e.decision_id == decision.id]
    if alarms:
        at = datetime.fromtimestamp(alarms[0].at_ms / 1000, UTC).isoformat(timespec="seconds")
        return f"the monitor raised an alarm under it at {at}"
    return None


def _serve(
    tx: Transaction,
    policy: Policy,
    before: str,
    decision: Decided,
    *,
    change_id: int,
    by: str,
    reason: str,
    now: int,
) -> None:
    config = lines.record_from_json(before).config
    score = split(decision.score_version)[1]
    if score != config.score:
        # the floor is on the scale of the score: that of the decision's own evidence comes with it
        floor = orjson.loads(decision.evidence_json).get("floor", config.sampling.certify_floor)
        edges = config.sampling.bin_edges
        sampling = msgspec.structs.replace(config.sampling, certify_floor=max(floor, edges[0]))
        config = msgspec.structs.replace(config, score=score, sampling=sampling)
    config = msgspec.structs.replace(config, mode="serve", threshold=decision.threshold)
    record = LineRecord(config=config, decision_id=decision.id)
    _save(tx, policy, before, record, change_id, by, reason, now)


def _save(
    tx: Transaction,
    policy: Policy,
    before: str,
    record: LineRecord,
    change_id: int,
    by: str,
    reason: str,
    now: int,
) -> None:
    line_rows.save(
        tx,
        policy.tenant,
        line=policy.line,
        config=lines.record_to_json(record),
        before=before,
        change_id=change_id,
        by=by,
        reason=reason,
        now=now,
    )


def as_dict(
    decision: Decided, *, void: str | None = None, applied: bool = False
) -> dict[str, object]:
    """A decision for HTTP and command line."""
    return {
        "decision_id": public_id(decision.id),
        "line": decision.line,
        "created_ms": decision.created_ms,
        "by": decision.by,
        "threshold": decision.threshold,
        "target": decision.target_false_hit_rate,
        "confidence": decision.confidence,
        "score": split(decision.score_version)[1],
        "score_version": decision.score_version,
        "policy_version": decision.policy_version,
        "in_force": applied,
        "void": void,
        "evidence": orjson.loads(decision.evidence_json),
    }


def event_as_dict(event: Event) -> dict[str, object]:
    """An event for HTTP and command line."""
    return {
        "decision_id": None if event.decision_id is None else public_id(event.decision_id),
        "act": event.act,
        "at_ms": event.at_ms,
        "by": event.by,
        "reason": event.reason,
    }


def public_id(decision_id: int) -> str:
    """How a decision is called outside."""
    return ids.encode("dec", decision_id)


def read_id(text: str) -> int:
    """The number behind a decision's name (or behind the number itself); raises NotFound."""
    number = ids.decode("dec", text)
    if number is None and text.isascii() and text.isdigit() and len(text) < 20:
        number = int(text)
    if number is None:
        raise NotFound("there is no such decision")
    return number
