"""The ledger's rows: added to in batches, read by period."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import bindparam, func, select
from sqlalchemy.dialects import postgresql

from service.storage.database import Database, Row, Transaction
from service.storage.models import LedgerRow
from service.storage.query import Query

RowKey = tuple[str, str, str, int, str]
"""Tenant, line, model, day, layer."""

COUNTS = (
    "requests",
    "without_usage",
    "input_tokens",
    "cached_read",
    "cache_write_5m",
    "cache_write_1h",
    "cache_write_other",
    "output_tokens",
    "embedded_tokens",
)

_KEY = ("tenant_id", "line", "model", "day", "layer")
_table = LedgerRow.__table__
_insert = postgresql.insert(_table)  # type: ignore[arg-type]  # the same text on both databases
_ADD = Query(
    "add_to_ledger",
    _insert.values({name: bindparam(name) for name in (*_KEY, *COUNTS)}).on_conflict_do_update(
        index_elements=list(_KEY),
        set_={name: _table.c[name] + _insert.excluded[name] for name in COUNTS},
    ),
)
_SINCE = Query(
    "ledger_since",
    select(
        LedgerRow.line,
        LedgerRow.model,
        LedgerRow.layer,
        *(func.sum(_table.c[name]) for name in COUNTS),
    )
    .where(LedgerRow.tenant_id == bindparam("tenant"), LedgerRow.day >= bindparam("since_day"))
    .group_by(LedgerRow.line, LedgerRow.model, LedgerRow.layer)
    .order_by(LedgerRow.line, LedgerRow.model, LedgerRow.layer),
)


def add(tx: Transaction, counts: Mapping[RowKey, tuple[int, ...]]) -> None:
    """Add counts, each in the order of COUNTS, to their rows; keys carry their own tenants."""
    # sorted: two processes that take the same rows in one order cannot deadlock
    for key, values in sorted(counts.items()):
        params = dict(zip(_KEY, key, strict=True)) | dict(zip(COUNTS, values, strict=True))
        tx.run(_ADD, params)


async def since(db: Database, tenant: str, *, day: int) -> list[Row]:
    """(line, model, layer, *COUNTS) from a day on (days since 1970 UTC)."""
    return await db.read(_SINCE, {"tenant": tenant, "since_day": day})
