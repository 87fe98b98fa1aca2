"""Reviewed pairs, texts and lookups of a line, read for a trial of another score."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlalchemy import and_, bindparam, func, select

from evaluation.desk import Desk
from evaluation.score.pairs import Pair
from service.policy import Policy
from service.score import COSINE, Context, Scorer
from service.score.scorer import split
from service.storage.models import Lookup, ReviewItem
from service.storage.query import Query

MOST_TEXTS = 10_000
MOST_LOOKUPS = 5_000

_PAIRS = Query(
    "reviewed_pairs",
    select(
        ReviewItem.created_ms,
        ReviewItem.entry_query,
        ReviewItem.query,
        ReviewItem.cosine,
        ReviewItem.score,
        ReviewItem.score_version,
        ReviewItem.verdict,
        ReviewItem.inclusion_probability,
        Lookup.second_score,
        Lookup.entry_age_ms,
        Lookup.id,
    )
    .outerjoin(
        Lookup,
        and_(Lookup.id == ReviewItem.lookup_id, Lookup.tenant_id == ReviewItem.tenant_id),
    )
    .where(
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind == "sampled",
        ReviewItem.state == "done",
        ReviewItem.guard.is_(None),
        ReviewItem.verdict.is_not(None),
        # such a verdict is about the stored answer, not about the pair
        func.coalesce(ReviewItem.reason, "") != "answer_bad",
        ReviewItem.inclusion_probability > 0.0,
    )
    .order_by(ReviewItem.created_ms, ReviewItem.id),
)
_TEXTS = Query(
    "texts_of_line",
    select(Lookup.query, Lookup.entry_query)
    .where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms <= bindparam("until"),
    )
    .order_by(Lookup.at_ms.desc())
    .limit(MOST_TEXTS),
)
_COUNT = Query(
    "lookups_after",
    select(func.count()).where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms > bindparam("after"),
    ),
)
_CANDIDATES = Query(
    "candidates_after",
    select(
        Lookup.entry_query,
        Lookup.query,
        Lookup.cosine,
        Lookup.score,
        Lookup.score_version,
        Lookup.second_score,
        Lookup.entry_age_ms,
        Lookup.guard,
    )
    .where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms > bindparam("after"),
        Lookup.entry_query.is_not(None),
    )
    .order_by(Lookup.at_ms.desc())
    .limit(MOST_LOOKUPS),
)


async def pairs(desk: Desk, policy: Policy) -> list[Pair]:
    """Reviewed, unguarded pairs of a line under its present embedding model, oldest first, whatever their score was.

    Labels of earlier scores are about the same texts, so they can be learned from; they certify nothing.
    """
    fingerprint = await desk.fingerprint(policy)
    found = []
    for row in await desk.db.read(_PAIRS, {"tenant": policy.tenant, "of_line": policy.line}):
        cosine = cosine_of(row[3], row[4], row[5], fingerprint)
        if cosine is None:
            continue
        other = _number(row[8], -math.inf if row[10] is not None else math.nan)
        age_s = _number(row[9], math.nan) / 1000
        found.append(
            Pair(
                at_ms=row[0],
                entry_query=row[1],
                query=row[2],
                cosine=cosine,
                other_cosine=other,
                age_s=age_s,
                is_bad=row[6] == "not_reusable",
                is_unsure=row[6] == "unsure",
                inclusion_probability=float(row[7]),
            )
        )
    return found


async def texts(desk: Desk, policy: Policy, *, until: int) -> list[str]:
    """Distinct queries, asked and stored, that were logged up to a time."""
    params = {"tenant": policy.tenant, "of_line": policy.line, "until": until}
    rows = await desk.db.read(_TEXTS, params)
    return list(dict.fromkeys(text for row in rows for text in row if text))


async def lookups_after(desk: Desk, policy: Policy, *, after: int) -> int:
    """How many lookups were logged after a time."""
    params = {"tenant": policy.tenant, "of_line": policy.line, "after": after}
    return int((await desk.db.read(_COUNT, params))[0][0])


async def candidates_after(
    desk: Desk, policy: Policy, *, after: int
) -> list[tuple[str, str, Context, bool]]:
    """(stored query, query, context, whether a guard refused) of the newest lookups since a time."""
    fingerprint = await desk.fingerprint(policy)
    params = {"tenant": policy.tenant, "of_line": policy.line, "after": after}
    found = []
    for row in await desk.db.read(_CANDIDATES, params):
        cosine = cosine_of(row[2], row[3], row[4], fingerprint)
        if cosine is not None:
            context = Context(cosine, _number(row[5], -math.inf), _number(row[6], math.nan) / 1000)
            found.append((row[0], row[1], context, row[7] is not None))
    return found


def cosine_of(
    cosine: float | None, score: float | None, score_version: str, fingerprint: str
) -> float | None:
    """The cosine of a logged candidate; None when it is not known or of another embedding model."""
    rest, score_name, _ = split(score_version)
    if not rest.startswith(f"{fingerprint}+guards-"):
        return None
    if cosine is not None:
        return float(cosine)
    return float(score) if score is not None and score_name == COSINE else None


def scored(
    scorer: Scorer, rows: Sequence[tuple[str, str, Context, bool]]
) -> list[tuple[float, bool]]:
    """(probability, whether a guard refused) of candidates under a scorer."""
    return [(scorer.probability(a, b, c), guarded) for a, b, c, guarded in rows]


def _number(value: float | None, absent: float) -> float:
    return absent if value is None else float(value)
