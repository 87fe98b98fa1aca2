"""The state of a line's promise, read from its rows: what `evaluation.status` decides, fed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson

from evaluation import decision_rows, records
from evaluation.decision_rows import Decided, Event
from evaluation.desk import Desk
from evaluation.drift import population_stability_index
from evaluation.evidence import FloatArray
from evaluation.power import ASSUMED_SHARE, labels_above
from evaluation.status import InForce, LineState, line_state
from evaluation.threshold import error_of_look
from service.policy import Policy

QUANTILES = 200
LOOKUPS_FOR_DRIFT = 1_000
"""Fewer say too little: ten bins of pure noise alone come to about 0.02."""
NEWEST = 5_000


async def state_of(desk: Desk, policy: Policy) -> LineState:
    """The state of a line now."""
    score_version = await desk.score_version(policy)
    labels = await records.labels_so_far(desk, policy, score_version=score_version)
    events = await decision_rows.events(desk.db, policy.tenant, line=policy.line)
    decision = await in_force(desk, policy)
    standing = None
    if decision is not None or is_alarmed(events):
        standing = InForce(
            decided_at=_time(decision.created_ms if decision else events[0].at_ms),
            score_version=decision.score_version if decision else score_version,
            stability_index=await _stability(desk, policy, decision, score_version),
            alarmed=is_alarmed(events),
        )
    plan = policy.sampling
    return line_state(
        standing,
        now=_time(desk.clock_ms()),
        score_version=score_version,
        is_sampling=policy.config.mode in ("shadow", "serve")
        and max(plan.certify_rate, *plan.explore_rates, plan.guarded_rate) > 0.0,
        labels=labels,
        labels_needed=await _labels_needed(desk, policy, score_version),
    )


async def in_force(desk: Desk, policy: Policy) -> Decided | None:
    """The decision that the line serves by."""
    if policy.decision_id is None:
        return None
    return await decision_rows.get(desk.db, policy.tenant, decision_id=policy.decision_id)


def is_alarmed(events: list[Event]) -> bool:
    """True from an alarm until a person applies a decision. `events` come newest first."""
    for event in events:
        if event.act == "alarm":
            return True
        if event.act == "applied" and event.by != "monitor":
            return False
    return False


def as_dict(state: LineState) -> dict[str, Any]:
    """For HTTP and command line; `text` is what a person reads."""
    return {**asdict(state), "text": str(state)}


def sketch(score: FloatArray) -> dict[str, Any]:
    """Enough of a window's scores to compare another with: 201 quantiles and the share without a score."""
    finite = score[np.isfinite(score)]
    quantiles = np.quantile(finite, np.linspace(0, 1, QUANTILES + 1)) if finite.size else finite
    return {
        "quantiles": quantiles.tolist(),
        "share_without": float(1.0 - finite.size / score.size) if score.size else 0.0,
    }


def scores_of(kept: dict[str, Any]) -> FloatArray:
    """Scores that spread as the sketched ones did."""
    finite = np.asarray(kept["quantiles"], dtype=np.float64)
    share = min(float(kept["share_without"]), 0.999)
    without = round(finite.size * share / (1.0 - share))
    return np.concatenate([finite, np.full(without, -np.inf)])


async def _stability(
    desk: Desk, policy: Policy, decision: Decided | None, score_version: str
) -> float | None:
    if decision is None:
        return None
    kept = orjson.loads(decision.evidence_json).get("scores")
    since = await records.evidence_since(desk.db, policy)
    newest = await records.latest_scores(
        desk.db, policy, score_version=score_version, since=since, n=NEWEST
    )
    if not kept or newest.size < LOOKUPS_FOR_DRIFT:
        return None
    return population_stability_index(scores_of(kept), newest)


async def _labels_needed(desk: Desk, policy: Policy, score_version: str) -> int | None:
    """The last run's figure for this evidence, or the planning figure of a line of which nothing is known.

    Never a fresh test: showing whether the labels would pass would be one more look at them.
    """
    since = await records.evidence_since(desk.db, policy)
    for run in await decision_rows.runs(desk.db, policy.tenant, line=policy.line):
        if run.score_version == score_version and run.since_ms == since:
            needed = orjson.loads(run.report_json).get("labels_needed")
            if needed is not None:
                return int(needed)
            break
    target = policy.config.target_false_hit_rate
    error = error_of_look(1.0 - policy.config.confidence, 1)
    return labels_above(ASSUMED_SHARE * target, target_level=target, confidence=1.0 - error)


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
