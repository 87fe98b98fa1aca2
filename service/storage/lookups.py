"""The log of lookups and the outcome counters, written in batches; review items are made here when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql

from service.storage.database import Database, Row, Transaction
from service.storage.models import Counter, Feedback, Lookup, ReviewItem
from service.storage.query import Query, checked

_log_row = postgresql.insert(Lookup.__table__)  # type: ignore[arg-type]
_ADD = Query(
    "add_lookup",
    # two processes may make one id; losing that record is better than losing the batch
    _log_row.values(
        {c.name: bindparam(c.name) for c in Lookup.__table__.columns}
    ).on_conflict_do_nothing(),
)
_item_row = postgresql.insert(ReviewItem.__table__)  # type: ignore[arg-type]
_ADD_ITEM = Query(
    "add_review_item",
    _item_row.values(
        {c.name: bindparam(c.name) for c in ReviewItem.__table__.columns}
    ).on_conflict_do_nothing(),
)
_counter = postgresql.insert(Counter.__table__)  # type: ignore[arg-type]
_COUNT = Query(
    "count_outcome",
    _counter.values(
        {c.name: bindparam(c.name) for c in Counter.__table__.columns}
    ).on_conflict_do_update(
        index_elements=["tenant_id", "line", "day", "tier", "outcome", "reason"],
        set_={"count": Counter.__table__.c.count + _counter.excluded["count"]},
    ),
)
_GET = Query(
    "get_lookup",
    select(
        Lookup.line,
        Lookup.scope,
        Lookup.query,
        Lookup.context_hash,
        Lookup.entry_id,
        Lookup.entry_query,
        Lookup.response_hash,
        Lookup.score,
        Lookup.outcome,
    ).where(Lookup.id == bindparam("lookup_id"), checked(Lookup.tenant_id) == bindparam("tenant")),
    reads_few=True,
)
_STATS = Query(
    "stats",
    select(Counter.line, Counter.tier, Counter.outcome, Counter.reason, func.sum(Counter.count))
    .where(Counter.tenant_id == bindparam("tenant"), Counter.day >= bindparam("since_day"))
    .group_by(Counter.line, Counter.tier, Counter.outcome, Counter.reason)
    .order_by(Counter.line, Counter.tier, Counter.outcome, Counter.reason),
)
_DROP_OLD = Query(
    "drop_old_lookups",
    delete(Lookup).where(
        Lookup.id.in_(select(Lookup.id).where(Lookup.at_ms < bindparam("before")).limit(5_000))
    ),
)
_FRESH = Query(
    "pair_fresh_answer",
    update(ReviewItem)
    .where(
        ReviewItem.lookup_id == bindparam("of_lookup"),
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.fresh_response.is_(None),
    )
    .values(fresh_response=bindparam("answer")),
)
_ADD_FEEDBACK = Query(
    "add_feedback",
    insert(Feedback).values({c.name: bindparam(c.name) for c in Feedback.__table__.columns}),
)


def add(tx: Transaction, rows: list[dict[str, Any]]) -> None:
    """Append to the log; rows carry their own tenants."""
    tx.run_many(_ADD, rows)


def add_items(tx: Transaction, rows: list[dict[str, Any]]) -> None:
    """Put drawn candidates into the review queue; rows carry their own tenants."""
    tx.run_many(_ADD_ITEM, rows)


def count(tx: Transaction, day: int, counts: Mapping[tuple[str, str, str, str, str], int]) -> None:
    """Add to the counters of a day, by (tenant, line, tier, outcome, reason)."""
    # sorted: two processes that take the same rows in one order cannot deadlock
    for (tenant, line, tier, outcome, reason), n in sorted(counts.items()):
        tx.run(
            _COUNT,
            {
                "tenant_id": tenant,
                "line": line,
                "day": day,
                "tier": tier,
                "outcome": outcome,
                "reason": reason,
                "count": n,
            },
        )


async def get(db: Database, tenant: str, *, lookup_id: int) -> Row | None:
    """(line, scope, query, context hash, entry id, entry query, response hash, score, outcome)."""
    rows = await db.read(_GET, {"lookup_id": lookup_id, "tenant": tenant})
    return rows[0] if rows else None


async def stats(db: Database, tenant: str, *, since_day: int) -> list[Row]:
    """(line, tier, outcome, reason, count) since a day (days since 1970 UTC)."""
    return await db.read(_STATS, {"tenant": tenant, "since_day": since_day})


def drop_old(tx: Transaction, *, before: int) -> int:
    """Forget up to 5,000 lookups logged before a time, of all tenants; how many went."""
    return tx.count(_DROP_OLD, {"before": before})


def pair_fresh_answer(tx: Transaction, tenant: str, *, lookup_id: int, answer: bytes) -> None:
    """Show the reviewer of a near miss what the model answered in its place."""
    tx.run(_FRESH, {"of_lookup": lookup_id, "tenant": tenant, "answer": answer})


def add_feedback(tx: Transaction, tenant: str, *, row: dict[str, Any]) -> None:
    """Keep a user's own verdict."""
    tx.run(_ADD_FEEDBACK, {"tenant_id": tenant, **row})
