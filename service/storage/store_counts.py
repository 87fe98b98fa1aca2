"""Stores per capped API key and hour, counted in the store's own transaction, so that all workers count together."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects import postgresql

from service.storage.database import Transaction
from service.storage.models import StoreCount
from service.storage.query import Query

_count = postgresql.insert(StoreCount.__table__)  # type: ignore[arg-type]
_ADD = Query(
    "count_store",
    _count.values(key_id=bindparam("key_id"), hour=bindparam("hour"), count=1)
    .on_conflict_do_update(
        index_elements=["key_id", "hour"], set_={"count": StoreCount.__table__.c.count + 1}
    )
    .returning(StoreCount.__table__.c.count),
)
_OF_HOUR = Query(
    "stores_of_hour",
    select(StoreCount.count).where(
        StoreCount.key_id == bindparam("key_id"), StoreCount.hour == bindparam("hour")
    ),
)
_DROP_OLD = Query(
    "drop_old_store_counts", delete(StoreCount).where(StoreCount.hour < bindparam("before"))
)


def add(tx: Transaction, *, key_id: str, hour: int) -> tuple[int, int]:
    """Count one store: (stores of this hour with it, stores of the hour before)."""
    now = tx.run(_ADD, {"key_id": key_id, "hour": hour})[0][0]
    before = tx.run(_OF_HOUR, {"key_id": key_id, "hour": hour - 1})
    return int(now), int(before[0][0]) if before else 0


def drop_old(tx: Transaction, *, before: int) -> None:
    """Forget the counts of hours before one."""
    tx.run(_DROP_OLD, {"before": before})
