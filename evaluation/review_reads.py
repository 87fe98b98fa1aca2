"""Reading the review queue: for lists, counts and the quality of reviewers; always of one tenant."""

from __future__ import annotations

from sqlalchemy import and_, bindparam, case, exists, func, or_, select

from evaluation.review_rows import (
    GIVEN,
    IS_OPEN,
    IS_VERDICT,
    ITEM_COLUMNS,
    OF_LINE,
    SEEN,
    Given,
    Item,
    read_given,
    read_item,
)
from service.storage.database import Database, Row
from service.storage.models import Entry, Label, Lookup, ReviewItem
from service.storage.query import Query

_RECENT = Query(
    "recent_labels",
    select(
        ReviewItem.id,
        ReviewItem.query,
        ReviewItem.entry_query,
        Label.verdict,
        Label.reason,
        ReviewItem.score,
        Label.at_ms,
    )
    .join(ReviewItem, ReviewItem.id == Label.item_id)
    .where(
        Label.tenant_id == bindparam("tenant"),
        Label.reviewer == bindparam("reviewer"),
        Label.superseded_ms.is_(None),
        IS_VERDICT,
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind != "imported",
    )
    .order_by(Label.at_ms.desc(), Label.id.desc())
    .limit(bindparam("n")),
)
_REMAINING = Query(
    "remaining_items",
    select(func.count()).select_from(
        select(ReviewItem.id)
        .where(*OF_LINE, IS_OPEN, ReviewItem.kind == "sampled", ~SEEN)
        .limit(1_000)
        .subquery()
    ),
)
_LABELS_SINCE = Query(
    "labels_since",
    select(Label.reviewer, func.count())
    .join(ReviewItem, ReviewItem.id == Label.item_id)
    .where(
        Label.tenant_id == bindparam("tenant"),
        Label.at_ms >= bindparam("since"),
        Label.superseded_ms.is_(None),
        IS_VERDICT,
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind != "imported",
    )
    .group_by(Label.reviewer)
    .order_by(Label.reviewer),
)
_STATES = Query(
    "items_by_state",
    select(ReviewItem.state, func.count())
    .where(*OF_LINE, ReviewItem.kind == "sampled")
    .group_by(ReviewItem.state),
)
_CONTESTED = Query(
    "contested_items",
    select(*ITEM_COLUMNS)
    .where(
        *OF_LINE,
        ReviewItem.kind != "imported",
        or_(
            ReviewItem.state == "disputed",
            and_(
                or_(ReviewItem.state == "open", ReviewItem.state == "second"),
                exists().where(
                    Label.item_id == ReviewItem.id,
                    Label.superseded_ms.is_(None),
                    Label.verdict == "flag",
                ),
            ),
        ),
    )
    .order_by(case((ReviewItem.state == "disputed", 0), else_=1), ReviewItem.id)
    .limit(200),
)
_JUDGED_TWICE = Query(
    "items_judged_twice",
    select(Label.item_id, Label.reviewer, Label.verdict, ReviewItem.kind, ReviewItem.gold_verdict)
    .join(ReviewItem, ReviewItem.id == Label.item_id)
    .where(
        Label.tenant_id == bindparam("tenant"),
        Label.superseded_ms.is_(None),
        Label.adjudicates.is_(False),
        IS_VERDICT,
        *OF_LINE,
        or_(
            ReviewItem.kind == "gold",
            Label.item_id.in_(
                select(Label.item_id)
                .where(
                    Label.tenant_id == bindparam("tenant"),
                    Label.superseded_ms.is_(None),
                    IS_VERDICT,
                )
                .group_by(Label.item_id)
                .having(func.count() > 1)
            ),
        ),
        ReviewItem.kind != "imported",
    )
    .order_by(Label.item_id, Label.id),
)
_GOLD_DONE = Query(
    "finished_gold",
    select(ReviewItem.gold_verdict, ReviewItem.verdict).where(
        *OF_LINE, ReviewItem.kind == "gold", ReviewItem.state == "done"
    ),
)
_LINE_OF = Query(
    "line_of_item",
    select(ReviewItem.line).where(
        ReviewItem.id == bindparam("item_id"), ReviewItem.tenant_id == bindparam("tenant")
    ),
)
_FRESH = Query(
    "fresh_answer",
    select(Entry.response).where(
        Entry.exact_key == bindparam("key"),
        Entry.tenant_id == bindparam("tenant"),
        Entry.created_ms >= bindparam("since"),
    ),
)
_AGE = Query(
    "entry_age_at_lookup",
    select(Lookup.entry_age_ms).where(
        Lookup.id == bindparam("lookup_id"), Lookup.tenant_id == bindparam("tenant")
    ),
)


async def fresh_answer(db: Database, tenant: str, item: Item) -> bytes | None:
    """What was stored for the new request itself, for an item that was written after that store."""
    if item.was_served or item.exact_key is None:
        return None
    params = {"key": item.exact_key, "tenant": tenant, "since": item.created_ms}
    rows = await db.read(_FRESH, params)
    return bytes(rows[0][0]) if rows else None


async def entry_age_ms(db: Database, tenant: str, item: Item) -> int | None:
    """How old the answer was when it was proposed."""
    if item.lookup_id is None:
        return None
    rows = await db.read(_AGE, {"lookup_id": item.lookup_id, "tenant": tenant})
    return rows[0][0] if rows else None


async def line_of(db: Database, tenant: str, *, item_id: int) -> str | None:
    """The line of an item."""
    rows = await db.read(_LINE_OF, {"item_id": item_id, "tenant": tenant})
    return rows[0][0] if rows else None


async def recent(db: Database, tenant: str, *, line: str, reviewer: str, n: int) -> list[Row]:
    """(item id, query, entry query, verdict, reason, score, at_ms), newest first."""
    params = {"tenant": tenant, "of_line": line, "reviewer": reviewer, "n": n}
    return await db.read(_RECENT, params)


async def remaining(db: Database, tenant: str, *, line: str, reviewer: str, now: int) -> int:
    """Items that this reviewer could still judge; at most 1,000 are counted."""
    params = {"tenant": tenant, "of_line": line, "reviewer": reviewer, "now": now}
    return int((await db.read(_REMAINING, params))[0][0])


async def labels_since(db: Database, tenant: str, *, line: str, since: int) -> dict[str, int]:
    """Labels of a line since a time, by reviewer."""
    rows = await db.read(_LABELS_SINCE, {"tenant": tenant, "of_line": line, "since": since})
    return {row[0]: int(row[1]) for row in rows}


async def states(db: Database, tenant: str, *, line: str) -> dict[str, int]:
    """Sampled items by state."""
    rows = await db.read(_STATES, {"tenant": tenant, "of_line": line})
    return {row[0]: int(row[1]) for row in rows}


async def contested(db: Database, tenant: str, *, line: str) -> list[Item]:
    """Disputed items, then unfinished ones that somebody flagged; at most 200."""
    return [
        read_item(row) for row in await db.read(_CONTESTED, {"tenant": tenant, "of_line": line})
    ]


async def labels_of(db: Database, tenant: str, *, item_id: int) -> list[Given]:
    """Labels of an item that count, oldest first."""
    rows = await db.read(GIVEN, {"item_id": item_id, "tenant": tenant})
    return [read_given(row) for row in rows]


async def judged_twice(db: Database, tenant: str, *, line: str) -> list[Row]:
    """(item, reviewer, verdict, kind, gold verdict) of gold items and of items with several labels."""
    return await db.read(_JUDGED_TWICE, {"tenant": tenant, "of_line": line})


async def finished_gold(db: Database, tenant: str, *, line: str) -> list[Row]:
    """(known verdict, verdict that the whole review came to) of finished gold items."""
    return await db.read(_GOLD_DONE, {"tenant": tenant, "of_line": line})
