"""Tuning a line: from its evidence to a decision, or to the number of labels that are missing.

Every run is a look at labels and is kept: the next one at a grown body of the same labels is tested more strictly
(`evaluation.threshold.error_of_look`); at the very same labels, target and confidence it is the same look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import orjson

from evaluation import decision_rows, line_status, publish, records, review_reads, watch
from evaluation.certificate import Certificate
from evaluation.curve import Curve
from evaluation.decision_rows import Decided, Run
from evaluation.desk import Desk
from evaluation.evidence import LOWEST_THRESHOLD, default_grid
from evaluation.monitor import CAUTION_AT
from evaluation.records import WINDOW_S, Evidence
from evaluation.score import adoption, reading
from evaluation.score.adoption import Trial
from evaluation.threshold import (
    GoldTraps,
    NotEnoughEvidence,
    Outcome,
    Recommendation,
    recommend,
)
from service.errors import InvalidRequest
from service.policy import LineChange, Policies, Policy
from service.score import COSINE
from service.score.scorer import suffix
from service.storage import lines as line_rows
from service.storage.database import Transaction

GOLD_TRAPS_NEEDED = 50
"""Fewer bound the reviewers' misses so loosely that hardly anything passes; then they are taken at their word."""

PROBABILITIES = np.unique(np.round([*default_grid(), *np.arange(0.99, 0.9995, 0.001), 0.9995], 6))
"""Thresholds of a probability: near 1, where targets of 1 % lie, finer than those of a cosine."""

Tell = Callable[[str], None]
Answer = Literal["certified", "missing", "unreachable"]
ScoreChoice = Literal["auto", "cosine", "learned"]


WHEN_CLOSED = (
    "Labels count once the hour of their lookups is over and 95 % of its sample is reviewed, "
    "or at once when nothing of the present hour waits"
)


@dataclass(frozen=True)
class Tuned:
    """What a run came to. `report` holds everything, as JSON data."""

    line: str
    answer: Answer
    decision: Decided | None
    applied: bool
    report: dict[str, Any]

    @property
    def labels_missing(self) -> int | None:
        """About how many more labels are needed; None when certified or when no number would do."""
        return self.report.get("labels_missing")

    def as_dict(self) -> dict[str, Any]:
        """For HTTP and `--json`."""
        return {
            **self.report,
            "applied": self.applied,
            "decision_id": publish.public_id(self.decision.id) if self.decision else None,
            "text": self.sentence(),
        }

    def sentence(self) -> str:
        """One line for a person."""
        r = self.report
        if self.answer == "certified":
            c = r["certificate"]
            return (
                f"{self.line}: certified at {c['threshold']:.3f}: at most {r['target']:.1%} of the hits false "
                f"({r['confidence']:.0%} confidence), {c['hit_rate']:.1%} of lookups hit; "
                f"{c['labels']} labels, {c['false_hits']} false hits, {c['unsure']} unsure; "
                f"{'in force' if self.applied else 'not applied'}"
            )
        if self.answer == "unreachable":
            return (
                f"{self.line}: {r['target']:.1%} cannot be met: the least false-hit rate is about "
                f"{r['lowest_rate']:.1%}, at {r['at_threshold']:.3f}; more labels do not help, use the exact tier "
                "alone, or a better model or guards"
            )
        told = (
            f"{self.line}: about {r['labels_missing']} more labels needed for {r['target']:.1%} "
            f"({r['labels']} in closed windows so far, {r['waiting']} items wait); the threshold in use stays"
        )
        return told if r["windows"] else f"{told}. {WHEN_CLOSED}"


async def tune(
    desk: Desk,
    tenant: str,
    *,
    line: str,
    target: float | None = None,
    confidence: float | None = None,
    apply: bool = False,
    by: str,
    reason: str = "",
    window_s: float = WINDOW_S,
    score: ScoreChoice = "auto",
    tell: Tell = lambda text: None,
) -> Tuned:
    """Look at a line's labels once; a certified threshold becomes a decision, and with `apply` goes into force.

    `score` says whether another score is tried. `auto` tries to learn one for a line on the cosine, and with `apply`
    adopts it where it is shown to be better and no certificate is lost by it. `learned` tries it against the score
    in force and adopts it even from a line that serves, which then serves nothing by meaning until a threshold of the
    new score is certified. `cosine` tries none, and with `apply` takes a line with a learned score back to the cosine,
    in shadow.

    Raises NotFound, InvalidRequest, Void, Unavailable.
    """
    policy = await desk.policy(tenant, line)
    target = policy.config.target_false_hit_rate if target is None else target
    confidence = policy.config.confidence if confidence is None else confidence
    _check_levels(target, confidence)
    score_version = await desk.score_version(policy)
    tell(f"{line}: reading lookups and labels")
    found = await records.evidence(desk, policy, score_version=score_version, window_s=window_s)
    look = await _look(desk, policy, found, score_version, target, confidence)
    monitor = await watch.state_of(desk, policy)
    gold = await gold_traps(desk, tenant, line=line)
    usable_gold = gold if gold is not None and gold.shown >= GOLD_TRAPS_NEEDED else None
    tell(f"{line}: testing {len(found.labels)} labels of {len(found.lookups)} lookups")
    outcome = await asyncio.to_thread(
        recommend,
        found.labels,
        found.lookups,
        target_level=target,
        floor=found.floor,
        confidence=confidence,
        look=look,
        gold=usable_gold,
        cautious=monitor is not None and monitor.e >= CAUTION_AT,
    )
    report = report_of(line, outcome, found, look=look, target=target, confidence=confidence)
    report |= {
        "score_version": score_version,
        "policy_version": policy.config.policy_version,
        "gold": None if gold is None else asdict(gold),
        "gold_is_used": usable_gold is not None,
        "threshold_in_use": policy.config.threshold,
    }
    decision = await _record(desk, policy, outcome, found, report, by=by)
    tell(f"{line}: trying another score")
    tried, changes = await _try_score(
        desk,
        policy,
        score,
        since_ms=found.since_ms,
        keeps=decision is not None or _is_near(report),
    )
    if tried is not None and tried.answer == "better" and tried.may_be_certified:
        tell(f"{line}: testing the learned score on the same labels")
        learned = await _certify_learned(
            desk, policy, tried, report, window_s=window_s, gold=usable_gold, by=by
        )
        if learned is not None and _serves_more(learned, decision):
            learned_report = orjson.loads(learned.evidence_json)
            learned_report["score"] = _score_report(policy, tried, certified=True)
            if apply:
                why = f"{reason or 'tuned'}: {tried.sentence()}"
                await publish.apply(
                    desk, tenant, line=line, decision_id=learned.id, by=by, reason=why
                )
            return Tuned(line, "certified", learned, apply, learned_report)
    report["score"] = _score_report(policy, tried, changed=changes and apply)
    if changes and apply:
        await _change_score(desk, tenant, line, tried, by=by, reason=reason or "tuned")
        return Tuned(line, report["answer"], decision, False, report)
    if decision is not None and apply:
        await publish.apply(
            desk, tenant, line=line, decision_id=decision.id, by=by, reason=reason or "tuned"
        )
    return Tuned(line, report["answer"], decision, decision is not None and apply, report)


async def _certify_learned(
    desk: Desk,
    policy: Policy,
    tried: Trial,
    of_cosine: dict[str, Any],
    *,
    window_s: float,
    gold: GoldTraps | None,
    by: str,
) -> Decided | None:
    """Test a score that was fixed before the evidence on that same evidence; None when nothing is certified.

    The same labels are tested again, so this counts as one look more than the cosine's.
    """
    scorer = tried.scorer
    if scorer is None:
        return None
    score_version = of_cosine["score_version"]
    scores = await reading.scores_of_evidence(
        desk, policy, scorer, score_version=score_version, since=of_cosine["since_ms"]
    )
    found = await records.evidence(
        desk, policy, score_version=score_version, window_s=window_s, scores=scores
    )
    found = replace(found, floor=LOWEST_THRESHOLD)
    learned_version = score_version + suffix(scorer.version)
    target, confidence = of_cosine["target"], of_cosine["confidence"]
    look = await _look(desk, policy, found, learned_version, target, confidence)
    outcome = await asyncio.to_thread(
        recommend,
        found.labels,
        found.lookups,
        target_level=target,
        floor=found.floor,
        confidence=confidence,
        thresholds=PROBABILITIES,
        look=look,
        gold=gold,
    )
    report = report_of(policy.line, outcome, found, look=look, target=target, confidence=confidence)
    report |= {
        "score_version": learned_version,
        "cosine_certificate": of_cosine.get("certificate"),
        "trial": tried.as_dict(),
    }
    shared = ("policy_version", "gold", "gold_is_used", "threshold_in_use")
    report |= {name: of_cosine[name] for name in shared}
    if isinstance(outcome, Recommendation):
        await adoption.keep(desk, policy, tried, by=by)
    return await _record(desk, policy, outcome, found, report, by=by)


def _serves_more(learned: Decided, of_cosine: Decided | None) -> bool:
    if of_cosine is None:
        return True
    mine, yours = (orjson.loads(d.evidence_json)["certificate"] for d in (learned, of_cosine))
    return bool(mine["hit_rate"] > yours["hit_rate"])


def _is_near(report: dict[str, Any]) -> bool:
    """True when as many labels again would certify the score in force: another score would begin anew."""
    missing = report.get("labels_missing")
    return missing is not None and missing <= report["labels"]


async def _try_score(
    desk: Desk, policy: Policy, choice: ScoreChoice, *, since_ms: int, keeps: bool
) -> tuple[Trial | None, bool]:
    """(the trial, None where none was made; whether the line's score is to change).

    ``keeps``: the score in force is certified by this run, or nearly; `auto` does not give that up.
    """
    is_learned = policy.config.score != COSINE
    if choice == "cosine":
        return None, is_learned
    if policy.config.verifier is not None or (choice == "auto" and is_learned):
        return None, False  # what a verifier raised says nothing of another score
    found = await adoption.trial(desk, policy, since_ms=since_ms)
    loses = keeps or policy.is_certified or policy.config.mode == "serve"
    return found, found.answer == "better" and (choice == "learned" or not loses)


async def _change_score(
    desk: Desk, tenant: str, line: str, tried: Trial | None, *, by: str, reason: str
) -> None:
    policy = await desk.policy(tenant, line)
    if tried is not None:
        await adoption.adopt(desk, policy, tried, by=by, reason=f"{reason}: {tried.sentence()}")
        return
    back = {"score": COSINE, "threshold": adoption.UNCERTIFIED, "mode": "shadow", "verifier": None}
    await Policies(desk.db).change(
        tenant,
        line,
        change=LineChange(back, partial=True, reason=reason),
        change_id=desk.new_id(),
        by=by,
        now=desk.clock_ms(),
    )


def _score_report(
    policy: Policy, tried: Trial | None, *, changed: bool = False, certified: bool = False
) -> dict[str, Any]:
    """What the run has to say on the line's score, as JSON data."""
    text = f"the score is {policy.config.score}" if tried is None else tried.sentence()
    if policy.config.verifier is not None:
        text += (
            f", verified by {policy.config.verifier.name}; no other is learned beside a verifier"
        )
    if certified:
        text += "; it was learned before these labels were drawn, and they certify it"
    elif changed:
        text += "; the line is in shadow now, until a threshold of the other score is certified"
    elif tried is not None and tried.answer == "better":
        text += "; adopt it with --score learned --apply (the line then collects labels anew, in shadow)"
    return {
        "was": policy.config.score,
        "trial": None if tried is None else tried.as_dict(),
        "changed": changed,
        "certified": certified,
        "text": text,
    }


async def lines_to_tune(desk: Desk, tenant: str) -> list[str]:
    """Lines whose candidates are looked up and sampled."""
    found = []
    for row in await line_rows.list_all(desk.db, tenant):
        policy = await desk.policy(tenant, row[0])
        if policy.config.mode in ("shadow", "serve"):
            found.append(policy.line)
    return found


async def gold_traps(desk: Desk, tenant: str, *, line: str) -> GoldTraps | None:
    """Known false hits that went through the whole review, and how many came out «reusable»."""
    finished = await review_reads.finished_gold(desk.db, tenant, line=line)
    verdicts = [verdict for known, verdict in finished if known == "not_reusable"]
    if not verdicts:
        return None
    return GoldTraps(shown=len(verdicts), missed=sum(v == "reusable" for v in verdicts))


def report_of(
    line: str,
    outcome: Outcome,
    found: Evidence,
    *,
    look: int,
    target: float,
    confidence: float,
) -> dict[str, Any]:
    """A run as JSON data."""
    report: dict[str, Any] = {
        "line": line,
        "target": target,
        "confidence": confidence,
        "look": look,
        "labels": int((found.labels.score >= found.floor).sum()),
        "lookups": len(found.lookups),
        "windows": found.windows,
        "waiting": found.waiting,
        "since_ms": found.since_ms,
        "until_ms": found.until_ms,
        "floor": found.floor,
        "curve": curve_as_dict(outcome.curve),
    }
    if isinstance(outcome, Recommendation):
        return report | {
            "answer": "certified",
            "certified": True,
            "threshold": outcome.threshold,
            "certificate": _certificate_as_dict(outcome.certificate),
            "cross_check": outcome.cross_check,
        }
    if isinstance(outcome, NotEnoughEvidence):
        return report | {
            "answer": "missing",
            "certified": False,
            "reason": outcome.reason,
            "labels_missing": outcome.labels_missing,
            "labels_needed": outcome.labels_needed,
        }
    return report | {
        "answer": "unreachable",
        "certified": False,
        "reason": "target_unreachable",
        "labels_missing": None,
        "lowest_rate": outcome.lowest_rate,
        "at_threshold": outcome.at_threshold,
    }


def curve_as_dict(curve: Curve) -> dict[str, Any]:
    """A curve as lists, one value per threshold."""
    values: dict[str, Any] = {}
    for name, value in asdict(curve).items():
        values[name] = value.tolist() if isinstance(value, np.ndarray) else value
    values["is_thin"] = curve.is_thin.tolist()
    return values


async def _look(
    desk: Desk,
    policy: Policy,
    found: Evidence,
    score_version: str,
    target: float,
    confidence: float,
) -> int:
    """Which look this is: one more than the earlier ones that share labels, or the same as an equal one."""
    look = 1
    for run in await decision_rows.runs(desk.db, policy.tenant, line=policy.line):
        # whatever score was tested, it was on labels of this body of evidence
        if run.policy_version != policy.config.policy_version or run.since_ms != found.since_ms:
            continue
        asked = (run.target_false_hit_rate, run.confidence, run.score_version)
        if run.labels_hash == found.labels_hash and asked == (target, confidence, score_version):
            return run.look
        look = max(look, run.look + 1)
    return look


async def _record(
    desk: Desk,
    policy: Policy,
    outcome: Outcome,
    found: Evidence,
    report: dict[str, Any],
    *,
    by: str,
) -> Decided | None:
    """Keep the look, and the decision if there is one: with the same evidence it is the one made before."""
    now = desk.clock_ms()
    decision: Decided | None = None
    is_new = False
    if isinstance(outcome, Recommendation):
        decision = await _made_before(desk, policy, found, report)
        is_new = decision is None
    if isinstance(outcome, Recommendation) and decision is None:
        decision = Decided(
            id=desk.new_id(),
            line=policy.line,
            created_ms=now,
            by=by,
            threshold=outcome.threshold,
            target_false_hit_rate=report["target"],
            confidence=report["confidence"],
            score_version=report["score_version"],
            policy_version=report["policy_version"],
            evidence_json=orjson.dumps(
                report
                | {
                    "labels_hash": found.labels_hash.hex(),
                    "scores": line_status.sketch(found.lookups.score),
                }
            ).decode(),
        )
    run = Run(
        id=desk.new_id(),
        line=policy.line,
        at_ms=now,
        by=by,
        score_version=report["score_version"],
        policy_version=report["policy_version"],
        since_ms=found.since_ms,
        until_ms=found.until_ms,
        target_false_hit_rate=report["target"],
        confidence=report["confidence"],
        look=report["look"],
        labels_hash=found.labels_hash,
        outcome=report["answer"],
        decision_id=None if decision is None else decision.id,
        report_json=orjson.dumps({k: v for k, v in report.items() if k != "curve"}).decode(),
    )

    def work(tx: Transaction) -> None:
        if decision is not None and is_new:
            decision_rows.add(tx, policy.tenant, decision)
        decision_rows.add_run(tx, policy.tenant, run)

    await desk.db.write(work, durable=True)
    return decision


async def _made_before(
    desk: Desk, policy: Policy, found: Evidence, report: dict[str, Any]
) -> Decided | None:
    for run in await decision_rows.runs(desk.db, policy.tenant, line=policy.line):
        asked = (run.target_false_hit_rate, run.confidence, run.look)
        if (
            run.decision_id is not None
            and run.labels_hash == found.labels_hash
            and run.score_version == report["score_version"]
            and asked == (report["target"], report["confidence"], report["look"])
        ):
            made = await decision_rows.get(desk.db, policy.tenant, decision_id=run.decision_id)
            if made is not None and made.threshold == report["threshold"]:
                return made
    return None


def _certificate_as_dict(certificate: Certificate) -> dict[str, Any]:
    return asdict(certificate)


def _check_levels(target: float, confidence: float) -> None:
    if not 0.0 < target <= 0.5:
        raise InvalidRequest.field("target", "must be over 0 and at most 0.5 (a share of hits)")
    if not 0.5 <= confidence < 1.0:
        raise InvalidRequest.field("confidence", "must be at least 0.5 and under 1")
