"""Making entries go: invalidate (by selector), erase (everything of one scope), expire, and the upkeep of old rows.

Four different verbs with four different meanings. After `invalidate` has answered no worker serves what it dropped:
every hit re-reads its row, and a fill that began earlier is refused (`storage.invalidation`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import bindparam, delete, update

from service import ids
from service.cache import Cache, Caller
from service.errors import InvalidRequest
from service.storage import audit_events, invalidation
from service.storage.database import Transaction
from service.storage.invalidation import Selector
from service.storage.models import Block, Entry, Feedback, Fill, Lookup, ReviewItem
from service.storage.query import Query


async def invalidate(
    cache: Cache, caller: Caller, selector: Selector, *, dry_run: bool = False
) -> int:
    """Drop every entry that matches all given fields; how many live ones went. At least one field is needed."""
    if all(getattr(selector, f.name) is None for f in fields(selector)):
        raise InvalidRequest.field(
            "body", "name at least one of entry_id, tag, scope, line, model, stored_before"
        )
    now = cache.clock_ms()
    if dry_run:
        return await cache.db.write(
            lambda tx: invalidation.count(tx, caller.tenant, selector=selector, now=now)
        )
    fence_id = cache.new_id()
    subject, detail = _described(selector)

    def fence(tx: Transaction) -> int:
        raised = selector
        if selector.entry_id is not None:
            key = tx.run(_KEY_OF, {"entry_id": selector.entry_id, "tenant": caller.tenant})
            if not key:
                return 0
            raised = Selector(exact_key=bytes(key[0][0]))
        invalidation.raise_fence(tx, caller.tenant, fence_id=fence_id, selector=raised, now=now)
        alive = invalidation.count(tx, caller.tenant, selector=selector, now=now)
        audit_events.record(
            tx,
            caller.tenant,
            event_id=fence_id,
            by=caller.key_id,
            act="invalidate",
            subject=subject,
            now=now,
            **detail,
            entries=alive,
        )
        return alive

    alive = await cache.db.write(fence, durable=True)
    while True:
        dropped = await cache.db.write(
            lambda tx: invalidation.drop_batch(tx, caller.tenant, selector=selector), durable=True
        )
        cache.partitions.forget(dropped)
        if len(dropped) < invalidation.BATCH:
            return alive


def _described(selector: Selector) -> tuple[str, dict[str, Any]]:
    """(what was dropped, in a word; the whole selector) for the log of administrative acts."""
    named = {
        f.name: value for f in fields(selector) if (value := getattr(selector, f.name)) is not None
    }
    if "scope" in named:
        named["scope"] = audit_events.pseudonym(selector.scope or "")
    if selector.entry_id is not None:
        named["entry_id"] = ids.encode("ent", selector.entry_id)
    return ", ".join(named), named


_KEY_OF = Query(
    "key_of_entry",
    Entry.__table__.select()
    .with_only_columns(Entry.__table__.c.exact_key)
    .where(
        Entry.__table__.c.id == bindparam("entry_id"),
        Entry.__table__.c.tenant_id == bindparam("tenant"),
    ),
)


@dataclass(frozen=True, slots=True)
class Erased:
    """How many rows of each kind an erasure removed or blanked."""

    entries: int
    lookups: int
    review_items: int
    fills: int
    feedback: int
    blocks: int


_ERASED_TABLES: dict[str, Any] = {
    "lookups": Lookup,
    "review_items": ReviewItem,
    "blocks": Block,
    "fills": Fill,
}


async def erase(cache: Cache, caller: Caller, scope: str) -> Erased:
    """Remove everything of one scope (a user): requests, answers, vectors, log, queue items with labels, blocks."""
    if not scope:
        raise InvalidRequest.field("scope", "must name a scope; the common one is not a person's")
    await cache.journal.flush()
    dropped = await invalidate(cache, caller, Selector(scope=scope))
    counts: dict[str, int] = {}

    def remove(tx: Transaction) -> None:
        params = {"tenant": caller.tenant, "of_scope": scope}
        counts["feedback"] = tx.count(_BLANK_FEEDBACK, params)
        for name, query in _ERASE.items():
            counts[name] = tx.count(query, params)
        audit_events.record(
            tx,
            caller.tenant,
            event_id=cache.new_id(),
            by=caller.key_id,
            act="erase",
            subject=audit_events.pseudonym(scope),
            now=cache.clock_ms(),
            entries=dropped,
            **counts,
        )

    await cache.db.write(remove, durable=True)
    return Erased(
        entries=dropped,
        lookups=counts["lookups"],
        review_items=counts["review_items"],
        fills=counts["fills"],
        feedback=counts["feedback"],
        blocks=counts["blocks"],
    )


_ERASE = {
    name: Query(
        f"erase_{name}",
        delete(table).where(
            table.tenant_id == bindparam("tenant"), table.scope == bindparam("of_scope")
        ),
    )
    for name, table in _ERASED_TABLES.items()
}
_BLANK_FEEDBACK = Query(
    "blank_feedback",
    update(Feedback)
    .where(Feedback.tenant_id == bindparam("tenant"), Feedback.scope == bindparam("of_scope"))
    .values(query=None, entry_query=None, note=None),
)
