"""A line's sampling plan: proposed from what was logged and labelled before, put in force as a change of the line.

Another plan starts a new body of evidence: what its floor and rates were chosen from must not be tested with it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from evaluation import records
from evaluation.desk import Desk
from evaluation.evidence import LOWEST_THRESHOLD, Labels, make_labels
from evaluation.planning import expected_labels, first_plan, next_plan
from service.policy import LineChange, Policies, Policy
from service.sampling import SamplingPlan

LOOKUPS_GUESSED = 10_000
"""Of a line with no log yet."""


@dataclass(frozen=True)
class Proposal:
    """A plan, with the number of labels that traffic like the logged one would bring."""

    plan: SamplingPlan
    is_first: bool
    labels_expected: float
    lookups: int

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "plan": asdict(self.plan)}


async def propose(
    desk: Desk,
    policy: Policy,
    *,
    label_budget: int,
    traffic_ratio: float = 1.0,
    lookups_guessed: int = LOOKUPS_GUESSED,
) -> Proposal:
    """A plan for the next window, from all earlier labels (imported ones too) and the line's log.

    ``traffic_ratio`` is how many lookups are expected for each logged one. A line without a log gets the first of two
    stages, for ``lookups_guessed`` candidates: a constant rate from the lowest threshold up, for a part of the budget.
    """
    score_version = await desk.score_version(policy)
    found = await records.evidence(desk, policy, score_version=score_version, whole=True)
    earlier = _joined(
        found.labels, await records.pilot_labels(desk, policy, score_version=score_version)
    )
    logged = found.lookups.score
    guarded = await records.guarded_scores(desk, policy, score_version=score_version)
    is_first = not (logged >= LOWEST_THRESHOLD).any()
    if is_first:
        plan = first_plan(lookups_expected=float(lookups_guessed), label_budget=label_budget)
    else:
        plan = next_plan(
            earlier,
            logged,
            guarded_score=guarded,
            target_level=policy.config.target_false_hit_rate,
            label_budget=label_budget,
            traffic_ratio=traffic_ratio,
        )
    expected = traffic_ratio * expected_labels(plan, logged, guarded_score=guarded)
    return Proposal(plan, is_first, expected, len(found.lookups))


async def put_in_force(
    desk: Desk, tenant: str, *, line: str, plan: SamplingPlan, by: str, reason: str
) -> Policy:
    """Sample by a plan from the next lookup on."""
    sampling = asdict(plan)
    return await Policies(desk.db).change(
        tenant,
        line,
        change=LineChange({"sampling": sampling}, partial=True, reason=reason),
        change_id=desk.new_id(),
        by=by,
        now=desk.clock_ms(),
    )


def _joined(a: Labels, b: Labels) -> Labels:
    return make_labels(
        np.concatenate([a.score, b.score]),
        np.concatenate([a.false_hit, b.false_hit]),
        unsure=np.concatenate([a.unsure, b.unsure]),
        original_bad=np.concatenate([a.original_bad, b.original_bad]),
        inclusion_probability=np.concatenate([a.inclusion_probability, b.inclusion_probability]),
    )
