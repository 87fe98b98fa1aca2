"""A line's curve as the page and `GET …/curve` show it: looked at, never tested.

Whether the labels would pass the certificate is deliberately not computed here: each such glance would be one more
look at them. What is proposed is the newest decision that is not in force; what is missing, a planning figure.
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import orjson

from evaluation import decision_rows, line_status, publish, records
from evaluation.curve import Curve, estimate_curve, expected_value
from evaluation.desk import Desk
from evaluation.evidence import HIGHEST_THRESHOLD, LOWEST_THRESHOLD, FloatArray, default_grid
from service.policy import Policy

PILOT_BELOW = 30
"""With fewer labels of its own a line's curve is drawn from imported and earlier ones, and says so."""


async def curve_of_line(
    desk: Desk,
    tenant: str,
    *,
    line: str,
    points: int = 60,
    saved_per_hit: float = 1.0,
    cost_of_wrong: float = 10.0,
) -> dict[str, Any]:
    """Both rates over thresholds with intervals, what is in force and proposed, and the money they come to."""
    policy = await desk.policy(tenant, line)
    score_version = await desk.score_version(policy)
    found = await records.evidence(desk, policy, score_version=score_version, whole=True)
    pilot = await records.pilot_labels(desk, policy, score_version=score_version)
    is_pilot = len(found.labels) < PILOT_BELOW and len(pilot) > len(found.labels)
    curve = await asyncio.to_thread(
        estimate_curve,
        pilot if is_pilot else found.labels,
        found.lookups,
        thresholds=_grid(points),
        confidence=policy.config.confidence,
    )
    money = expected_value(curve, saved_per_hit=saved_per_hit, cost_of_wrong=cost_of_wrong)
    state = await line_status.state_of(desk, policy)
    proposed = await _proposed(desk, policy, score_version)
    missing = None
    if not policy.is_certified and proposed is None:
        missing = await _missing(desk, policy, state.labels, state.labels_needed)
    return {
        **_arrays(curve),
        "labelled": int(len(pilot) if is_pilot else len(found.labels)),
        "lookups": len(found.lookups),
        "waiting": found.waiting,
        "windows": found.windows,
        "since_ms": found.since_ms,
        "is_pilot": is_pilot,
        "pilot_labels": len(pilot),
        "target": policy.config.target_false_hit_rate,
        "confidence": policy.config.confidence,
        "floor": found.floor,
        "present": {
            "threshold": policy.config.threshold,
            "mode": policy.config.mode,
            "certified": policy.is_certified,
            "decision_id": None
            if policy.decision_id is None
            else publish.public_id(policy.decision_id),
        },
        "proposed": proposed,
        "state": line_status.as_dict(state),
        "not_certified": missing,
        "expected_value": _told(money.net, curve),
        "expected_value_pessimistic": _told(money.net_pessimistic, curve),
        "expected_saved": _told(money.saved, curve),
        "expected_lost": _told(money.lost, curve),
        "saved_per_hit": saved_per_hit,
        "cost_of_wrong": cost_of_wrong,
    }


async def _proposed(desk: Desk, policy: Policy, score_version: str) -> dict[str, Any] | None:
    """The newest decision that could be applied and is not in force."""
    events = await decision_rows.events(desk.db, policy.tenant, line=policy.line)
    for decision in await decision_rows.of_line(desk.db, policy.tenant, line=policy.line):
        if decision.id == policy.decision_id:
            return None  # what is in force is the newest one that stands
        if decision.score_version != score_version:
            continue  # of another score, say: to be looked at on its own scale, and applied on purpose
        why = publish.void_because(decision, policy, score_version=score_version, events=events)
        if why is None:
            evidence = orjson.loads(decision.evidence_json)
            return {
                "decision_id": publish.public_id(decision.id),
                "threshold": decision.threshold,
                "target": decision.target_false_hit_rate,
                "confidence": decision.confidence,
                "created_ms": decision.created_ms,
                "certificate": evidence.get("certificate"),
            }
    return None


async def _missing(desk: Desk, policy: Policy, labels: int, needed: int | None) -> dict[str, Any]:
    """The last run's answer for this evidence, or the planning figure."""
    since = await records.evidence_since(desk.db, policy)
    runs = await decision_rows.runs(desk.db, policy.tenant, line=policy.line)
    last = next((run for run in runs if run.since_ms == since), None)
    reason = orjson.loads(last.report_json).get("reason") if last else "not_tuned_yet"
    left = None if needed is None else max(needed - labels, 0)
    return {"reason": reason, "labels_missing": left, "labels": labels, "labels_needed": needed}


def _arrays(curve: Curve) -> dict[str, Any]:
    margin = 1.96 * curve.hit_rate_error
    return {
        "thresholds": curve.thresholds.tolist(),
        "hit_rate": curve.hit_rate.tolist(),
        "hit_rate_low": np.clip(curve.hit_rate - margin, 0.0, 1.0).tolist(),
        "hit_rate_high": np.clip(curve.hit_rate + margin, 0.0, 1.0).tolist(),
        "false_hit_rate": _told(curve.false_hit_rate, curve),
        "false_hit_rate_low": curve.false_hit_lower.tolist(),
        "false_hit_rate_high": curve.false_hit_upper.tolist(),
        "unsure_as_bad_rate": _told(curve.unsure_as_bad_rate, curve),
        "unsure_as_bad_high": curve.unsure_as_bad_upper.tolist(),
        "original_bad_rate": _told(curve.original_bad_rate, curve),
        "wrong_reuse_rate": _told(curve.wrong_reuse_rate, curve),
        "labels": curve.labels.tolist(),
        "false_hits": curve.false_hits.tolist(),
        "unsure": curve.unsure.tolist(),
        "effective_labels": curve.effective_labels.tolist(),
        "is_thin": curve.is_thin.tolist(),
    }


def _told(values: FloatArray, curve: Curve) -> list[float | None]:
    """The values at thresholds that labels tell of; None at the others, where only the bounds mean something."""
    return [
        value if labels else None
        for value, labels in zip(values.tolist(), curve.labels.tolist(), strict=True)
    ]


def _grid(points: int) -> FloatArray:
    grid = default_grid()
    if points == grid.size:
        return grid
    return np.unique(np.round(np.linspace(LOWEST_THRESHOLD, HIGHEST_THRESHOLD, points), 6))
