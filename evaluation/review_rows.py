"""The rows of the review queue: items and labels, always of one tenant. Nothing here decides anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, bindparam, case, delete, exists, func, insert, or_, select, update

from service.storage.database import Database, Row, Transaction
from service.storage.models import Block, Entry, Label, Lookup, ReviewItem
from service.storage.query import Query

VERDICTS = ("reusable", "not_reusable", "unsure")


@dataclass(frozen=True, slots=True)
class Item:
    """A review item as the queue works with it."""

    id: int
    line: str
    scope: str
    kind: str
    created_ms: int
    lookup_id: int | None
    exact_key: bytes | None
    context_hash: bytes | None
    entry_id: int | None
    query: str
    entry_query: str
    entry_response: bytes
    response_hash: bytes
    fresh_response: bytes | None
    score: float | None
    guard: str | None
    guard_detail: str | None
    was_served: bool
    threshold: float | None
    decision_id: int | None
    gold_verdict: str | None
    state: str
    verdict: str | None
    reason: str | None
    done_ms: int | None
    lease_by: str | None
    lease_until_ms: int


@dataclass(frozen=True, slots=True)
class Given:
    """A label as given. `verdict` may be one of `VERDICTS`, or skip, flag, lapsed."""

    id: int
    item_id: int
    reviewer: str
    verdict: str
    reason: str | None
    note: str | None
    adjudicates: bool
    at_ms: int

    @property
    def is_verdict(self) -> bool:
        """True for a judgement, false for a skip, a flag or a lapsed lease."""
        return self.verdict in VERDICTS


_ITEM = [getattr(ReviewItem, name) for name in Item.__dataclass_fields__]
_LABEL = [getattr(Label, name) for name in Given.__dataclass_fields__]
_OF_LINE = (
    ReviewItem.tenant_id == bindparam("tenant"),
    ReviewItem.line == bindparam("of_line"),
)
_IS_VERDICT = or_(*(Label.verdict == v for v in VERDICTS))
_IS_OPEN = or_(*(ReviewItem.state == s for s in ("open", "second", "disputed")))
_SEEN = exists().where(
    Label.item_id == ReviewItem.id,
    Label.reviewer == bindparam("reviewer"),
    Label.superseded_ms.is_(None),
    or_(_IS_VERDICT, Label.verdict == "skip"),
)
_IS_FREE = or_(
    ReviewItem.lease_by.is_(None),
    ReviewItem.lease_until_ms <= bindparam("now"),
    ReviewItem.lease_by == bindparam("reviewer"),
)

_HELD = Query(
    "held_item",
    select(ReviewItem.id).where(
        *_OF_LINE,
        ReviewItem.lease_by == bindparam("reviewer"),
        ReviewItem.lease_until_ms > bindparam("now"),
        or_(_IS_OPEN, and_(ReviewItem.kind == "gold", ReviewItem.state == "done")),
        ~_SEEN,
    ),
)
_NEXT = Query(
    "next_item",
    select(ReviewItem.id)
    .where(
        *_OF_LINE,
        ReviewItem.state == bindparam("in_state"),
        ReviewItem.kind == "sampled",
        _IS_FREE,
        ~_SEEN,
    )
    .order_by(ReviewItem.id)
    .limit(1)
    .with_for_update(skip_locked=True),
)
_NEXT_GOLD = Query(
    "next_gold_item",
    select(ReviewItem.id)
    .where(
        *_OF_LINE,
        ReviewItem.kind == "gold",
        or_(_IS_OPEN, ReviewItem.state == "done"),
        _IS_FREE,
        ~_SEEN,
    )
    .order_by(ReviewItem.id)
    .limit(1)
    .with_for_update(skip_locked=True),
)
_GET = Query(
    "review_item",
    select(*_ITEM)
    .where(ReviewItem.id == bindparam("item_id"), ReviewItem.tenant_id == bindparam("tenant"))
    .with_for_update(),
)
_GIVEN = Query(
    "labels_of_item",
    select(*_LABEL)
    .where(
        Label.item_id == bindparam("item_id"),
        Label.tenant_id == bindparam("tenant"),
        Label.superseded_ms.is_(None),
    )
    .order_by(Label.id),
)
_ADD = Query(
    "add_label", insert(Label).values({c.name: bindparam(c.name) for c in Label.__table__.columns})
)
_SUPERSEDE = Query(
    "supersede_label",
    update(Label)
    .where(Label.id == bindparam("label_id"), Label.tenant_id == bindparam("tenant"))
    .values(superseded_ms=bindparam("now")),
)
_LEASE = Query(
    "lease_item",
    update(ReviewItem)
    .where(ReviewItem.id == bindparam("item_id"), ReviewItem.tenant_id == bindparam("tenant"))
    .values(lease_by=bindparam("reviewer"), lease_until_ms=bindparam("until")),
)
_SETTLE = Query(
    "settle_item",
    update(ReviewItem)
    .where(ReviewItem.id == bindparam("item_id"), ReviewItem.tenant_id == bindparam("tenant"))
    .values(
        state=bindparam("new_state"),
        verdict=bindparam("new_verdict"),
        reason=bindparam("new_reason"),
        done_ms=bindparam("new_done_ms"),
    ),
)
_LATEST = Query(
    "latest_labels_of_reviewer",
    select(*_LABEL)
    .join(ReviewItem, ReviewItem.id == Label.item_id)
    .where(
        Label.tenant_id == bindparam("tenant"),
        Label.reviewer == bindparam("reviewer"),
        Label.superseded_ms.is_(None),
        or_(_IS_VERDICT, Label.verdict == bindparam("or_verdict")),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind != "imported",
        ReviewItem.state != "withdrawn",
    )
    .order_by(Label.at_ms.desc(), Label.id.desc())
    .limit(bindparam("n")),
)
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
        _IS_VERDICT,
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
        .where(*_OF_LINE, _IS_OPEN, ReviewItem.kind == "sampled", ~_SEEN)
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
        _IS_VERDICT,
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind != "imported",
    )
    .group_by(Label.reviewer)
    .order_by(Label.reviewer),
)
_STATES = Query(
    "items_by_state",
    select(ReviewItem.state, func.count())
    .where(*_OF_LINE, ReviewItem.kind == "sampled")
    .group_by(ReviewItem.state),
)
_CONTESTED = Query(
    "contested_items",
    select(*_ITEM)
    .where(
        *_OF_LINE,
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
        _IS_VERDICT,
        *_OF_LINE,
        or_(
            ReviewItem.kind == "gold",
            Label.item_id.in_(
                select(Label.item_id)
                .where(
                    Label.tenant_id == bindparam("tenant"),
                    Label.superseded_ms.is_(None),
                    _IS_VERDICT,
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
        *_OF_LINE, ReviewItem.kind == "gold", ReviewItem.state == "done"
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
_UNBLOCK = Query(
    "unblock_reviewed_pair",
    delete(Block).where(
        Block.tenant_id == bindparam("tenant"),
        Block.line == bindparam("of_line"),
        Block.scope == bindparam("of_scope"),
        Block.context_hash == bindparam("context"),
        Block.query == bindparam("of_query"),
        Block.entry_query == bindparam("of_entry_query"),
        Block.source == "review",
    ),
)
_RELEASE = Query(
    "end_quarantine",
    update(Entry)
    .where(
        Entry.id == bindparam("entry_id"),
        Entry.tenant_id == bindparam("tenant"),
        Entry.response_hash == bindparam("answer_hash"),
    )
    .values(quarantined=False),
)


def choose(
    tx: Transaction, tenant: str, *, line: str, reviewer: str, gold: bool, now: int
) -> int | None:
    """The item that this reviewer is to see: the one he holds, a gold one if asked for, else the oldest begun one."""
    params: dict[str, Any] = {"tenant": tenant, "of_line": line, "reviewer": reviewer, "now": now}
    held = tx.run(_HELD, params)
    if held:
        return int(held[0][0])
    found = tx.run(_NEXT_GOLD, params) if gold else []
    for state in ("disputed", "second", "open"):
        found = found or tx.run(_NEXT, {**params, "in_state": state})
    return int(found[0][0]) if found else None


def get(tx: Transaction, tenant: str, *, item_id: int) -> Item | None:
    """The item, locked until the transaction ends."""
    rows = tx.run(_GET, {"item_id": item_id, "tenant": tenant})
    return _item(rows[0]) if rows else None


def given(tx: Transaction, tenant: str, *, item_id: int) -> list[Given]:
    """Labels that count, oldest first."""
    return [_given(row) for row in tx.run(_GIVEN, {"item_id": item_id, "tenant": tenant})]


def add_label(tx: Transaction, tenant: str, label: Given) -> None:
    """Keep a label."""
    values = {name: getattr(label, name) for name in Given.__dataclass_fields__}
    tx.run(_ADD, {"tenant_id": tenant, "superseded_ms": None, **values})


def supersede(tx: Transaction, tenant: str, *, label_id: int, now: int) -> None:
    """Take a label back; the row stays."""
    tx.run(_SUPERSEDE, {"label_id": label_id, "tenant": tenant, "now": now})


def lease(tx: Transaction, tenant: str, *, item_id: int, reviewer: str | None, until: int) -> None:
    """Give an item to a reviewer until a time, or to nobody."""
    tx.run(_LEASE, {"item_id": item_id, "tenant": tenant, "reviewer": reviewer, "until": until})


def settle(
    tx: Transaction,
    tenant: str,
    *,
    item_id: int,
    state: str,
    verdict: str | None,
    reason: str | None,
    done_ms: int | None,
) -> None:
    """Write what the labels of an item come to."""
    tx.run(
        _SETTLE,
        {
            "item_id": item_id,
            "tenant": tenant,
            "new_state": state,
            "new_verdict": verdict,
            "new_reason": reason,
            "new_done_ms": done_ms,
        },
    )


def latest(
    tx: Transaction, tenant: str, *, line: str, reviewer: str, n: int, or_skips: bool = False
) -> list[Given]:
    """A reviewer's last labels of a line, newest first."""
    rows = tx.run(
        _LATEST,
        {
            "tenant": tenant,
            "of_line": line,
            "reviewer": reviewer,
            "n": n,
            "or_verdict": "skip" if or_skips else "",
        },
    )
    return [_given(row) for row in rows]


def unblock(tx: Transaction, tenant: str, item: Item) -> bool:
    """Lift the block that a review of this pair made; False when there was none."""
    params = {
        "tenant": tenant,
        "of_line": item.line,
        "of_scope": item.scope,
        "context": item.context_hash,
        "of_query": item.query,
        "of_entry_query": item.entry_query,
    }
    return tx.count(_UNBLOCK, params) > 0


def end_quarantine(tx: Transaction, tenant: str, item: Item) -> None:
    """Let a new entry be served by meaning, if its answer is still the one that was reviewed."""
    tx.run(
        _RELEASE,
        {"entry_id": item.entry_id, "tenant": tenant, "answer_hash": item.response_hash},
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
    return [_item(row) for row in await db.read(_CONTESTED, {"tenant": tenant, "of_line": line})]


async def labels_of(db: Database, tenant: str, *, item_id: int) -> list[Given]:
    """Labels of an item that count, oldest first."""
    rows = await db.read(_GIVEN, {"item_id": item_id, "tenant": tenant})
    return [_given(row) for row in rows]


async def judged_twice(db: Database, tenant: str, *, line: str) -> list[Row]:
    """(item, reviewer, verdict, kind, gold verdict) of gold items and of items with several labels."""
    return await db.read(_JUDGED_TWICE, {"tenant": tenant, "of_line": line})


async def finished_gold(db: Database, tenant: str, *, line: str) -> list[Row]:
    """(known verdict, verdict that the whole review came to) of finished gold items."""
    return await db.read(_GOLD_DONE, {"tenant": tenant, "of_line": line})


def _item(row: Row) -> Item:
    values = dict(zip(Item.__dataclass_fields__, row, strict=True))
    for name in ("exact_key", "context_hash", "entry_response", "response_hash", "fresh_response"):
        values[name] = None if values[name] is None else bytes(values[name])
    values["was_served"] = bool(values["was_served"])
    return Item(**values)


def _given(row: Row) -> Given:
    label_id, item_id, reviewer, verdict, reason, note, adjudicates, at_ms = row
    return Given(label_id, item_id, reviewer, verdict, reason, note, bool(adjudicates), at_ms)
