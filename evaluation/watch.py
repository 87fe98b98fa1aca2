"""The monitor at work: after each finished label of a served hit it looks whether the promise still holds.

An alarm acts before this returns: the line goes to its last certified stricter threshold, or to the exact tier alone.
Loosening is never done here; that takes a certificate.
"""

from __future__ import annotations

from dataclasses import asdict

import orjson

from evaluation import decision_rows as rows
from evaluation import publish
from evaluation.decision_rows import Decided
from evaluation.desk import Desk, log
from evaluation.monitor import MonitorState, start_monitor, update_monitor
from evaluation.reviews import Labelled
from service.policy import Policy
from service.sampling import SamplingPlan, inclusion_probability
from service.storage.database import Row, Transaction


async def after_label(desk: Desk, tenant: str, labelled: Labelled) -> MonitorState | None:
    """Look at the line of a label, if that label finished (or took back) the verdict on a served hit."""
    item = labelled.changed
    if item is None or item.kind != "sampled" or not item.was_served or item.decision_id is None:
        return None
    return await check(desk, tenant, line=item.line)


async def check(desk: Desk, tenant: str, *, line: str) -> MonitorState | None:
    """Bring the monitor of a line up to date; raises its alarm if it is due. None without a decision in force.

    The state is computed from all finished labels under the decision, since a verdict can be taken back; that an alarm
    was raised is an event and stays.
    """
    policy = await desk.policy(tenant, line)
    if policy.decision_id is None:
        return None
    decision = await rows.get(desk.db, tenant, decision_id=policy.decision_id)
    if decision is None:
        return None
    served = await rows.served_verdicts(desk.db, tenant, line=line, decision_id=decision.id)
    state = _replay(decision, policy.sampling, served)
    await _keep(desk, policy, decision, state)
    return state


async def state_of(desk: Desk, policy: Policy) -> MonitorState | None:
    """What the monitor last knew of the decision in force; None before its first label."""
    kept = await rows.monitor(desk.db, policy.tenant, line=policy.line)
    if kept is None or kept[0] != policy.decision_id:
        return None
    return read_state(kept[1])


def least_rate(plan: SamplingPlan, threshold: float) -> float:
    """The smallest rate that a plan gives to any score that the threshold serves."""
    edges = [threshold, *(e for e in plan.bin_edges if e > threshold), plan.certify_floor]
    servable = [e for e in edges if e >= threshold]
    return min(inclusion_probability(plan, e, guarded=False) for e in servable)


def read_state(text: str) -> MonitorState:
    """A state as stored."""
    values = orjson.loads(text)
    for name in ("alternatives", "log_capital"):
        values[name] = tuple(values[name])
    return MonitorState(**values)


def _replay(decision: Decided, plan: SamplingPlan, served: list[Row]) -> MonitorState:
    """The monitor's state after these labels, in the order in which they were finished."""
    bad, probabilities, least = [], [], []
    of_plan = least_rate(plan, decision.threshold)
    for verdict, certify, included in served:
        bad.append(verdict != "reusable")
        probabilities.append(float(included))
        # under an earlier plan of the same line the certify rate alone is a lower bound for every servable score
        same_plan = certify == plan.certify_rate and 0.0 < of_plan <= included
        least.append(of_plan if same_plan else min(float(certify) or float(included), included))
    return update_monitor(
        start_monitor(decision.target_false_hit_rate),
        bad,
        inclusion_probability=probabilities,
        smallest_probability=least,
    )


async def _keep(desk: Desk, policy: Policy, decision: Decided, state: MonitorState) -> None:
    text = orjson.dumps(asdict(state)).decode()
    now = desk.clock_ms()
    is_alarm = state.status == "alarm"
    score_version = await desk.score_version(policy) if is_alarm else ""
    reason = (
        f"{state.false_hits} false hits among {state.labels} reviewed hits, "
        f"{decision.target_false_hit_rate:.1%} were promised (e = {state.highest_e:.0f})"
    )
    event_ids, change_id = (desk.new_id(), desk.new_id()), desk.new_id()

    def work(tx: Transaction) -> Decided | None:
        rows.keep_monitor(
            tx, policy.tenant, line=policy.line, decision_id=decision.id, state_json=text, now=now
        )
        if not is_alarm:
            return None
        return publish.tighten(
            tx,
            policy,
            now=now,
            reason=reason,
            score_version=score_version,
            event_ids=event_ids,
            change_id=change_id,
        )

    stricter = await desk.db.write(work, durable=is_alarm)
    if is_alarm:
        desk.on_alarm(policy.tenant, policy.line)
        log.error(
            "threshold_alarm",
            tenant=policy.tenant,
            line=policy.line,
            decision=publish.public_id(decision.id),
            false_hits=state.false_hits,
            labels=state.labels,
            now="exact tier alone" if stricter is None else f"threshold {stricter.threshold}",
        )
