"""The rows of the review queue: items and labels, always of one tenant. Nothing here decides anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, bindparam, delete, exists, insert, or_, select, update

from service.storage.database import Row, Transaction
from service.storage.models import Block, Entry, Label, ReviewItem
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


ITEM_COLUMNS = [getattr(ReviewItem, name) for name in Item.__dataclass_fields__]
_LABEL = [getattr(Label, name) for name in Given.__dataclass_fields__]
OF_LINE = (
    ReviewItem.tenant_id == bindparam("tenant"),
    ReviewItem.line == bindparam("of_line"),
)
IS_VERDICT = or_(*(Label.verdict == v for v in VERDICTS))
IS_OPEN = or_(*(ReviewItem.state == s for s in ("open", "second", "disputed")))
SEEN = exists().where(
    Label.item_id == ReviewItem.id,
    Label.reviewer == bindparam("reviewer"),
    Label.superseded_ms.is_(None),
    or_(IS_VERDICT, Label.verdict == "skip"),
)
_IS_FREE = or_(
    ReviewItem.lease_by.is_(None),
    ReviewItem.lease_until_ms <= bindparam("now"),
    ReviewItem.lease_by == bindparam("reviewer"),
)

_HELD = Query(
    "held_item",
    select(ReviewItem.id).where(
        *OF_LINE,
        ReviewItem.lease_by == bindparam("reviewer"),
        ReviewItem.lease_until_ms > bindparam("now"),
        or_(IS_OPEN, and_(ReviewItem.kind == "gold", ReviewItem.state == "done")),
        ~SEEN,
    ),
)
_NEXT = Query(
    "next_item",
    select(ReviewItem.id)
    .where(
        *OF_LINE,
        ReviewItem.state == bindparam("in_state"),
        ReviewItem.kind == "sampled",
        _IS_FREE,
        ~SEEN,
    )
    .order_by(ReviewItem.id)
    .limit(1)
    .with_for_update(skip_locked=True),
)
_NEXT_GOLD = Query(
    "next_gold_item",
    select(ReviewItem.id)
    .where(
        *OF_LINE,
        ReviewItem.kind == "gold",
        or_(IS_OPEN, ReviewItem.state == "done"),
        _IS_FREE,
        ~SEEN,
    )
    .order_by(ReviewItem.id)
    .limit(1)
    .with_for_update(skip_locked=True),
)
_GET = Query(
    "review_item",
    select(*ITEM_COLUMNS)
    .where(ReviewItem.id == bindparam("item_id"), ReviewItem.tenant_id == bindparam("tenant"))
    .with_for_update(),
)
GIVEN = Query(
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
        or_(IS_VERDICT, Label.verdict == bindparam("or_verdict")),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind != "imported",
        ReviewItem.state != "withdrawn",
    )
    .order_by(Label.at_ms.desc(), Label.id.desc())
    .limit(bindparam("n")),
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
    return read_item(rows[0]) if rows else None


def given(tx: Transaction, tenant: str, *, item_id: int) -> list[Given]:
    """Labels that count, oldest first."""
    return [read_given(row) for row in tx.run(GIVEN, {"item_id": item_id, "tenant": tenant})]


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
    return [read_given(row) for row in rows]


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


def read_item(row: Row) -> Item:
    values = dict(zip(Item.__dataclass_fields__, row, strict=True))
    for name in ("exact_key", "context_hash", "entry_response", "response_hash", "fresh_response"):
        values[name] = None if values[name] is None else bytes(values[name])
    values["was_served"] = bool(values["was_served"])
    return Item(**values)


def read_given(row: Row) -> Given:
    label_id, item_id, reviewer, verdict, reason, note, adjudicates, at_ms = row
    return Given(label_id, item_id, reviewer, verdict, reason, note, bool(adjudicates), at_ms)
