"""How far each reviewer can be trusted, and how far a line's queue has come."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from evaluation import line_status, review_reads
from evaluation.agreement import Agreement, Share, agreement, gold_accuracy
from evaluation.desk import Desk
from service.storage.database import Row

_DAY_MS = 86_400_000


@dataclass(frozen=True)
class Judged:
    """One reviewer's verdicts: on gold items with the known answer, and beside somebody else's on the same item."""

    gold: list[tuple[str, str]]
    beside: list[tuple[str, str]]


async def progress(desk: Desk, tenant: str, *, line: str) -> dict[str, Any]:
    """The queue by state, today's labels, the state of the promise, and each reviewer's quality."""
    policy = await desk.policy(tenant, line)
    states = await review_reads.states(desk.db, tenant, line=line)
    today = desk.clock_ms() // _DAY_MS * _DAY_MS
    labels_today = await review_reads.labels_since(desk.db, tenant, line=line, since=today)
    labels_ever = await review_reads.labels_since(desk.db, tenant, line=line, since=0)
    judged = by_reviewer(await review_reads.judged_twice(desk.db, tenant, line=line))
    state = await line_status.state_of(desk, policy)
    none = Judged([], [])
    return {
        **{
            name: states.get(name, 0)
            for name in ("open", "second", "disputed", "done", "withdrawn")
        },
        "labels_today": sum(labels_today.values()),
        "state": state.state,
        "state_text": str(state),
        "labels": state.labels,
        "labels_needed": state.labels_needed,
        "by_reviewer": [
            {
                "reviewer": name,
                "labels": n,
                "today": labels_today.get(name, 0),
                **quality(judged.get(name, none)),
            }
            for name, n in labels_ever.items()
        ],
    }


def by_reviewer(rows: list[Row]) -> dict[str, Judged]:
    """Sort (item, reviewer, verdict, kind, gold verdict) rows, those of one item together, by reviewer."""
    items: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        items[row[0]].append(row)
    found: dict[str, Judged] = defaultdict(lambda: Judged([], []))
    for labels in items.values():
        for _, reviewer, verdict, kind, known in labels:
            if kind == "gold":
                found[reviewer].gold.append((verdict, known))
            others = [row[2] for row in labels if row[1] != reviewer]
            if others:
                found[reviewer].beside.append((verdict, others[0]))
    return dict(found)


def quality(judged: Judged) -> dict[str, Any]:
    """Accuracy on gold items, and agreement with others; kappa only where it does not mislead."""
    gold = gold_accuracy([v for v, _ in judged.gold], [k == "not_reusable" for _, k in judged.gold])
    both: Agreement = agreement([a for a, _ in judged.beside], [b for _, b in judged.beside])
    return {
        "gold": {
            "n": len(judged.gold),
            "sensitivity": _rate(gold.sensitivity),
            "false_alarm": _rate(gold.false_alarm),
        },
        "judged_with_others": both.items,
        "agreed": both.agreed.count,
        "kappa": both.kappa,
        "kappa_withheld": both.kappa_withheld,
    }


def _rate(share: Share) -> float | None:
    return share.rate if share.total else None
