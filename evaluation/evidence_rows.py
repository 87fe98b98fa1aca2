"""The statements that read a line's evidence: lookups in pages, items, labels. What they mean is in `records`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, func, or_, select

from service.storage.database import Database, Row
from service.storage.models import Lookup, ReviewItem
from service.storage.query import Query

PAGE = 2_000
"""Rows per read: a service that tunes goes on answering lookups in between."""

LOOKUPS = Query(
    "lookups_of_evidence",
    select(
        Lookup.id,
        Lookup.at_ms,
        Lookup.score,
        Lookup.guard,
        Lookup.inclusion_probability,
        Lookup.entry_id,
    )
    .where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms >= bindparam("since"),
        Lookup.score_version == bindparam("of_scores"),
        Lookup.policy_version == bindparam("of_policy"),
        # exact at the moment of a change, where the clock is not
        Lookup.mode == bindparam("of_mode"),
        Lookup.threshold == bindparam("of_threshold"),
        or_(Lookup.at_ms > bindparam("since"), Lookup.id > bindparam("after")),
    )
    .order_by(Lookup.at_ms, Lookup.id)
    .limit(PAGE),
)
ITEMS = Query(
    "items_of_evidence",
    select(ReviewItem.lookup_id, ReviewItem.state, ReviewItem.verdict, ReviewItem.reason).where(
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind == "sampled",
        ReviewItem.created_ms >= bindparam("since"),
        ReviewItem.score_version == bindparam("of_scores"),
        ReviewItem.policy_version == bindparam("of_policy"),
    ),
)
PILOT = Query(
    "pilot_labels",
    select(ReviewItem.score, ReviewItem.verdict, ReviewItem.reason, ReviewItem.guard).where(
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.state == "done",
        ReviewItem.score.is_not(None),
        ReviewItem.score_version == bindparam("of_scores"),
        or_(
            ReviewItem.kind == "imported",
            (ReviewItem.kind == "sampled") & (ReviewItem.created_ms < bindparam("before")),
        ),
    ),
)
LABELLED = Query(
    "labels_so_far",
    select(func.count()).where(
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind == "sampled",
        ReviewItem.verdict.is_not(None),
        ReviewItem.guard.is_(None),
        ReviewItem.created_ms >= bindparam("since"),
        ReviewItem.score >= bindparam("floor"),
        ReviewItem.score_version == bindparam("of_scores"),
        ReviewItem.threshold == bindparam("of_threshold"),
    ),
)
GUARDED = Query(
    "guarded_scores",
    select(Lookup.score).where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms >= bindparam("since"),
        Lookup.score_version == bindparam("of_scores"),
        Lookup.guard.is_not(None),
        Lookup.score.is_not(None),
    ),
)
LATEST_SCORES = Query(
    "latest_scores",
    select(Lookup.score, Lookup.guard)
    .where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms >= bindparam("since"),
        Lookup.score_version == bindparam("of_scores"),
    )
    .order_by(Lookup.at_ms.desc())
    .limit(bindparam("n")),
)


async def log(db: Database, params: dict[str, Any]) -> list[Row]:
    """All lookups of the evidence, (id, at_ms, score, guard, probability, entry id), oldest first."""
    found: list[Row] = []
    since, after = params["since"], -1
    while True:
        page = await db.read(LOOKUPS, {**params, "since": since, "after": after})
        found += page
        if len(page) < PAGE:
            return found
        after, since = page[-1][0], page[-1][1]
