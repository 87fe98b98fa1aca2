"""From rows to the arrays that statistics work on: the evidence of one line, for one version of its scores.

Evidence begins with the last change of the line that altered what is served or how it is sampled, since that makes
other traffic or lets rates follow labels (docs/certificate.md, «Feedback»). It is cut into windows by the clock, and
only closed ones are tested; the present window counts as closed when nothing sampled in it waits for a verdict any
more. Every drawn lookup of a closed window is in, one without a verdict as unsure. Imported labels never are.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from evaluation import decision_rows, evidence_rows
from evaluation.desk import Desk
from evaluation.evidence import (
    FloatArray,
    IntArray,
    Labels,
    Lookups,
    make_labels,
    make_lookups,
)
from evaluation.windows import closed_windows, window_of
from service.policy import Policy
from service.sampling import SamplingPlan, inclusion_probability
from service.score import COSINE
from service.storage.database import Database, Row

WINDOW_S = 3_600.0
NO_SCORE = -np.inf

_CUTS = (
    "mode",
    "threshold",
    "score",
    "language",
    "embedder",
    "policy_version",
    "guards",
    "rules",
    "inert_fields",
    "quarantine",
    "promote",
)
"""Settings whose change makes other traffic."""

_SAMPLING_CUTS = ("certify_rate", "certify_floor", "bin_edges", "explore_rates", "guarded_rate")
"""And those of `sampling`: rates and floor may follow earlier labels, so they must not be tested with them; and labels
of a low rate beside those of a high one would leave next to no weight to the latter."""


@dataclass(frozen=True)
class Evidence:
    """What may be tested, and what stands beside it.

    Attributes
    ----------
    labels, lookups
        Of the closed windows.
    since_ms, until_ms : int
        The evidence covers ``since_ms <= time < until_ms``.
    floor : float
        t_lo of the plan, which is the same since ``since_ms``.
    windows : int
        Closed windows in it.
    waiting : int
        Drawn lookups, of any window, that have no verdict yet.
    labels_hash : bytes
        Equal for equal labels: testing them again is the same look.
    """

    labels: Labels
    lookups: Lookups
    since_ms: int
    until_ms: int
    floor: float
    windows: int
    waiting: int
    labels_hash: bytes


async def evidence(
    desk: Desk,
    policy: Policy,
    *,
    score_version: str,
    window_s: float = WINDOW_S,
    whole: bool = False,
    scores: Mapping[int, float] | None = None,
) -> Evidence:
    """Everything that may be tested on a line now, for the given version of its scores.

    ``whole`` takes in the open windows too and leaves out what has no verdict yet: to look at, not to test. ``scores``
    are what another score says of the same candidates, by lookup id; lookups that it leaves out have none then.
    """
    since = await evidence_since(desk.db, policy)
    params: dict[str, Any] = {
        "tenant": policy.tenant,
        "of_line": policy.line,
        "since": since,
        "of_scores": score_version,
        "of_policy": policy.config.policy_version,
        "of_mode": policy.config.mode,
        "of_threshold": policy.config.threshold,
    }
    log = await evidence_rows.log(desk.db, params)
    items = {row[0]: row[1:] for row in await desk.db.read(evidence_rows.ITEMS, params)}
    return await asyncio.to_thread(
        _evidence,
        log,
        items,
        since_ms=since,
        now_ms=desk.clock_ms(),
        plan=policy.sampling,
        window_s=window_s,
        whole=whole,
        scores=scores,
    )


async def evidence_since(db: Database, policy: Policy) -> int:
    """When the present body of evidence began (ms since 1970)."""
    since = 0
    for at_ms, before, after in await decision_rows.line_changes(
        db, policy.tenant, line=policy.line
    ):
        since = int(at_ms)
        if before is None or _cuts(orjson.loads(before)["config"], orjson.loads(after)["config"]):
            break
    return since


async def pilot_labels(desk: Desk, policy: Policy, *, score_version: str) -> Labels:
    """Imported labels and those of earlier evidence: to plan and to look at, never to certify. Probability 1."""
    rows = await desk.db.read(
        evidence_rows.PILOT,
        {
            "tenant": policy.tenant,
            "of_line": policy.line,
            "of_scores": score_version,
            "before": await evidence_since(desk.db, policy),
        },
    )
    kept = [row for row in rows if row[3] is None]
    return _labels(
        np.asarray([row[0] for row in kept], dtype=np.float64),
        [row[1] for row in kept],
        [row[2] for row in kept],
        np.ones(len(kept)),
    )


async def labels_so_far(desk: Desk, policy: Policy, *, score_version: str) -> int:
    """Labels at or above the floor in the present evidence, whatever their window."""
    rows = await desk.db.read(
        evidence_rows.LABELLED,
        {
            "tenant": policy.tenant,
            "of_line": policy.line,
            "since": await evidence_since(desk.db, policy),
            "floor": policy.sampling.certify_floor,
            "of_scores": score_version,
            "of_threshold": policy.config.threshold,
        },
    )
    return int(rows[0][0])


async def guarded_scores(desk: Desk, policy: Policy, *, score_version: str) -> FloatArray:
    """What the guarded lookups of the present evidence would have scored: float64, shape (G,)."""
    since = await evidence_since(desk.db, policy)
    params = {"tenant": policy.tenant, "of_line": policy.line, "since": since}
    rows = await desk.db.read(evidence_rows.GUARDED, {**params, "of_scores": score_version})
    return np.asarray([row[0] for row in rows], dtype=np.float64)


async def latest_scores(
    db: Database, policy: Policy, *, score_version: str, since: int, n: int
) -> FloatArray:
    """Scores of the newest lookups since a time, -inf for guarded ones: float64, shape (at most n,)."""
    rows = await db.read(
        evidence_rows.LATEST_SCORES,
        {
            "tenant": policy.tenant,
            "of_line": policy.line,
            "since": since,
            "of_scores": score_version,
            "n": n,
        },
    )
    return np.asarray([_score(row[0], row[1]) for row in rows], dtype=np.float64)


def _evidence(
    log: list[Any],
    items: dict[int, Any],
    *,
    since_ms: int,
    now_ms: int,
    plan: SamplingPlan,
    window_s: float,
    whole: bool,
    scores: Mapping[int, float] | None,
) -> Evidence:
    log = [row for row in log if _is_of_plan(row, plan)]
    ids = np.asarray([row[0] for row in log], dtype=np.int64)
    time_s = np.asarray([row[1] for row in log], dtype=np.float64) / 1000.0
    # a candidate that was gone before it could be logged was never one that could be drawn
    score = np.asarray(
        [_score(row[2], row[3]) if row[5] is not None else NO_SCORE for row in log],
        dtype=np.float64,
    )
    if scores is not None:
        other = [scores.get(i, NO_SCORE) for i in ids.tolist()]
        score = np.where(score == NO_SCORE, NO_SCORE, np.asarray(other, dtype=np.float64))
    probability = np.asarray([row[4] for row in log], dtype=np.float64)
    drawn = np.asarray([i in items for i in ids.tolist()], dtype=np.bool_)
    judged = np.asarray(
        [i in items and _is_settled(items[i]) for i in ids.tolist()], dtype=np.bool_
    )
    origin = since_ms / 1000.0
    window = window_of(time_s, length_s=window_s, origin_s=origin)
    present = int(window_of([now_ms / 1000.0], length_s=window_s, origin_s=origin)[0])
    open_now = drawn & (window == present)
    if not np.any(open_now & ~judged):
        present += 1  # nothing in it waits: it may be tested as it stands
    closed = closed_windows(window, drawn, judged, now_window=present)
    inside = np.isin(window, _with_empty(closed, window, drawn, present)) | whole
    rows = np.flatnonzero(judged if whole else inside & drawn)
    verdicts = [_verdict(items[int(ids[i])]) for i in rows]
    reasons = [items[int(ids[i])][2] for i in rows]
    labels = _labels(score[rows], verdicts, reasons, probability[rows])
    digest = hashlib.sha256()
    for i, verdict, reason in sorted(zip(ids[rows].tolist(), verdicts, reasons, strict=True)):
        digest.update(f"{i} {verdict} {reason}\n".encode())
    until = max((int(time * 1000) for time in time_s[inside]), default=since_ms) + 1
    return Evidence(
        labels=labels,
        lookups=make_lookups(score[inside], probability[inside]),
        since_ms=since_ms,
        until_ms=until,
        floor=plan.certify_floor,
        windows=int(np.unique(window[inside]).size),
        waiting=int((drawn & ~judged).sum()),
        labels_hash=digest.digest(),
    )


def _is_of_plan(row: Row, plan: SamplingPlan) -> bool:
    """Whether a lookup was sampled by the plan in force.

    The clock alone cannot tell: a lookup under way while a change is committed may be later than the change and still
    sampled by the old plan. One such row with a lower rate would set the smallest rate of all.
    """
    score = row[2] if row[2] is not None and row[5] is not None else NO_SCORE
    expected = inclusion_probability(plan, score, guarded=row[3] is not None)
    return bool(abs(row[4] - expected) < 1e-12)


def _with_empty(closed: IntArray, window: IntArray, drawn: Any, present: int) -> IntArray:
    """The closed windows and the past ones in which nothing was drawn: those have lookups, and all of them count."""
    past = np.unique(window[window < present])
    with_draws = np.unique(window[drawn])
    return np.union1d(closed, np.setdiff1d(past, with_draws))


def _labels(
    score: FloatArray, verdicts: list[str], reasons: list[str | None], probability: FloatArray
) -> Labels:
    """«Answer bad» is shown apart and counts as unsure: bad in a certificate, since its user was served badly."""
    bad_answer = np.asarray(
        [v == "not_reusable" and r == "answer_bad" for v, r in zip(verdicts, reasons, strict=True)],
        dtype=np.bool_,
    )
    return make_labels(
        score,
        np.asarray([v == "not_reusable" for v in verdicts], dtype=np.bool_) & ~bad_answer,
        unsure=np.asarray([v == "unsure" for v in verdicts], dtype=np.bool_) | bad_answer,
        original_bad=bad_answer,
        inclusion_probability=probability,
    )


def _verdict(item: Any) -> str:
    """What an item counts as: overdue and withdrawn ones as unsure."""
    state, verdict, _ = item
    return str(verdict) if verdict is not None and state != "withdrawn" else "unsure"


def _is_settled(item: Any) -> bool:
    return item[1] is not None or item[0] == "withdrawn"


def _score(score: float | None, guard: str | None) -> float:
    return NO_SCORE if score is None or guard is not None else float(score)


def _cuts(before: dict[str, Any], after: dict[str, Any]) -> bool:
    # a line written before there were learned scores has none, and meant the cosine
    before, after = ({"score": COSINE} | config for config in (before, after))
    if any(before.get(name) != after.get(name) for name in _CUTS):
        return True
    old, new = before.get("sampling", {}), after.get("sampling", {})
    return any(old.get(name) != new.get(name) for name in _SAMPLING_CUTS)
