"""What an index reads of a partition: its vectors, and which of them came since it last looked.

Every read tells the change horizon up to which it has seen the partition; the next one goes on from there.
"""

from __future__ import annotations

from sqlalchemy import bindparam, func, select

from service.storage.database import Database, Readable, Row
from service.storage.models import ChangeCounter, Entry
from service.storage.query import Query, change_horizon, checked

_SINCE = (
    Entry.partition == bindparam("partition"),
    Entry.change_seq >= bindparam("since"),
    checked(Entry.tenant_id) == bindparam("tenant"),
)
_IN_ORDER = (Entry.change_seq, Entry.id)
_CHANGED = Query(
    "changed_in_partition",
    select(Entry.id, change_horizon(Entry.change_seq)).where(*_SINCE).order_by(*_IN_ORDER),
    reads_few=True,
)
_OF_PARTITION = (
    select(Entry.id, Entry.vector, change_horizon(Entry.change_seq))
    .where(*_SINCE)
    .order_by(*_IN_ORDER)
)
_FEW = 64
_FEW_VECTORS = Query("few_vectors_of_partition", _OF_PARTITION.limit(_FEW), reads_few=True)
_VECTORS = Query("vectors_of_partition", _OF_PARTITION)


async def changed_in_partition(
    db: Database, tenant: str, *, partition: bytes, since: int
) -> list[Row]:
    """(id, horizon) of entries written since a horizon; the largest horizon is where to go on."""
    return await db.read(_CHANGED, {"tenant": tenant, "partition": partition, "since": since})


async def vectors_of_partition(
    db: Readable, tenant: str, *, partition: bytes, since: int
) -> list[Row]:
    """(id, vector bytes, horizon) of entries written since a horizon."""
    params = {"tenant": tenant, "partition": partition, "since": since}
    few = await db.read(_FEW_VECTORS, params)  # nearly always all: what came since the last look
    return few if len(few) < _FEW else await db.read(_VECTORS, params)


_SEARCHABLE = Query(
    "is_searchable",
    select(Entry.id)
    .where(
        Entry.partition == bindparam("partition"),
        checked(Entry.tenant_id) == bindparam("tenant"),
        Entry.vector.is_not(None),
    )
    .limit(1),
    reads_few=True,
)


async def is_searchable(db: Database, tenant: str, *, partition: bytes) -> bool:
    """True when the partition has an entry with a vector."""
    return bool(await db.read(_SEARCHABLE, {"tenant": tenant, "partition": partition}))


_HORIZON = Query(
    "horizon",
    select(change_horizon(func.coalesce(func.max(ChangeCounter.value), 0))).select_from(
        ChangeCounter
    ),
    reads_few=True,
)


async def horizon(db: Database) -> int:
    """The `change_seq` from which on everything is still to come."""
    return int((await db.read(_HORIZON, {}))[0][0])
