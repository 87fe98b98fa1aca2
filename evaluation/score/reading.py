"""Reviewed pairs, texts and lookups of a line, read for a trial of another score."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import and_, bindparam, func, select

from evaluation.desk import Desk
from evaluation.evidence_rows import PAGE
from evaluation.score.pairs import Pair
from service.policy import Policy
from service.score import COSINE, Context, Scorer
from service.score.scorer import split
from service.storage.database import Row
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
_OF_EVIDENCE = Query(
    "candidates_of_evidence",
    select(Lookup.id, Lookup.entry_query, Lookup.query, Lookup.score, Lookup.second_score)
    .where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms >= bindparam("since"),
        Lookup.score_version == bindparam("of_scores"),
        Lookup.score >= bindparam("floor"),
        Lookup.entry_query.is_not(None),
        Lookup.guard.is_(None),
        Lookup.id > bindparam("after"),
    )
    .order_by(Lookup.id)
    .limit(PAGE),
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


async def lifts(
    desk: Desk, policy: Policy, scorer: Scorer | None, queries: Iterable[str]
) -> dict[str, float]:
    """What the place of each query adds; nothing for a score that asks for no place.

    A text that the model cannot read is missing, so that such a score gives it probability 0.
    """
    if scorer is None or not scorer.needs_vector:
        return {}
    vectors = await desk.vectors(policy, list(dict.fromkeys(queries)))
    lift = scorer.lift

    def work() -> dict[str, float]:
        return {text: lift(vector) for text, vector in vectors.items()}

    return await asyncio.to_thread(work)


def probability(
    scorer: Scorer, entry_query: str, query: str, context: Context, lifts: Mapping[str, float]
) -> float:
    """A scorer's probability with the lift of `lifts`."""
    return scorer.probability(entry_query, query, replace(context, lift=lifts.get(query, math.nan)))


async def scored(
    desk: Desk, policy: Policy, scorer: Scorer, rows: Sequence[tuple[str, str, Context, bool]]
) -> list[tuple[float, bool]]:
    """(probability, whether a guard refused) of candidates under a scorer."""
    known = await lifts(desk, policy, scorer, (row[1] for row in rows))

    def work() -> list[tuple[float, bool]]:
        return [(probability(scorer, a, b, c, known), guarded) for a, b, c, guarded in rows]

    return await asyncio.to_thread(work)


async def scores_of_evidence(
    desk: Desk, policy: Policy, scorer: Scorer, *, score_version: str, since: int
) -> dict[int, float]:
    """What a scorer says of the lookups of a body of evidence of the cosine, by lookup id.

    Only for a scorer that keeps the order of candidates: then the logged candidate is the one that it would take.
    """
    params = {"tenant": policy.tenant, "of_line": policy.line, "since": since}
    params |= {"of_scores": score_version, "floor": policy.sampling.certify_floor}
    rows: list[Row] = []
    after = -1
    while True:
        page = await desk.db.read(_OF_EVIDENCE, {**params, "after": after})
        rows += page
        if len(page) < PAGE:
            break
        after = page[-1][0]
    contexts = [
        (row[1], row[2], Context(float(row[3]), _number(row[4], -math.inf)), False) for row in rows
    ]
    found = await scored(desk, policy, scorer, contexts)
    return {row[0]: p for row, (p, _) in zip(rows, found, strict=True)}


def _number(value: float | None, absent: float) -> float:
    return absent if value is None else float(value)
