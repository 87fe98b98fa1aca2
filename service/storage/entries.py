"""Entries: found by key, by partition or by id, always for one tenant and always live."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql

from service.storage import vectors
from service.storage.database import Database, ReadsAtOnce, Row, Transaction
from service.storage.models import ApiKey, ChangeCounter, Entry, EntryTag, Line
from service.storage.query import Query, checked
from service.storage.worth import weight

CANDIDATE_IDS = 8
"""Ids that one re-read takes; shorter lists are padded with an id that no row has."""

PENDING = "pending"
"""Fingerprint of an entry whose vector could not be had when it was stored; maintenance embeds it."""

_NO_ID = -1


def _is_live() -> Any:
    return or_(Entry.expires_ms.is_(None), Entry.expires_ms > bindparam("now"))


@dataclass(frozen=True, slots=True)
class LiveEntry:
    """What serving an entry needs, read from its live row."""

    id: int
    response: bytes
    created_ms: int
    expires_ms: int | None
    query: str
    response_hash: bytes
    quarantined: bool
    hits: int


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to be written."""

    id: int
    exact_key: bytes
    tenant: str
    line: str
    scope: str
    policy_version: str
    model: str
    created_ms: int
    expires_ms: int | None
    response: bytes
    request: bytes
    query: str | None
    partition: bytes | None
    fingerprint: str | None
    context_hash: bytes
    vector: bytes | None
    tags: tuple[str, ...]
    quarantined: bool
    stored_by: str


# The exact tier's one read: is the key still good, is the line still as we know it, and is there a live answer?
_EXACT_COLUMNS = (
    Entry.id,
    Entry.response,
    Entry.created_ms,
    Entry.expires_ms,
)
_EXACT = Query(
    "exact",
    select(Line.revision, *_EXACT_COLUMNS)
    .select_from(Line)
    .outerjoin(
        Entry,
        and_(
            Entry.exact_key == bindparam("key"),
            checked(Entry.tenant_id) == bindparam("tenant"),
            _is_live(),
        ),
    )
    .where(Line.tenant_id == bindparam("tenant"), Line.name == bindparam("line")),
    reads_few=True,
)
_EXACT_WITH_KEY = Query(
    "exact_with_key",
    select(Line.revision, *_EXACT_COLUMNS, ApiKey.revoked_ms)
    .select_from(Line)
    .join(ApiKey, ApiKey.key_hash == bindparam("api_key"))
    .outerjoin(
        Entry,
        and_(
            Entry.exact_key == bindparam("key"),
            checked(Entry.tenant_id) == bindparam("tenant"),
            _is_live(),
        ),
    )
    .where(
        Line.tenant_id == bindparam("tenant"),
        Line.name == bindparam("line"),
        ApiKey.revoked_ms.is_(None),
    ),
    reads_few=True,
)


async def exact(
    db: Database, tenant: str, *, line: str, key: bytes, now: int, api_key: bytes | None
) -> Row | None:
    """(revision, id | None, response, created_ms, expires_ms); None when the line or the API key is gone."""
    params = {"tenant": tenant, "line": line, "key": key, "now": now, "api_key": api_key}
    rows = await db.read(_EXACT if api_key is None else _EXACT_WITH_KEY, params)
    return rows[0] if rows else None


def exact_now(
    db: ReadsAtOnce, tenant: str, *, line: str, key: bytes, now: int, api_key: bytes | None
) -> Row | None:
    """`exact`, where that needs no waiting."""
    params = {"tenant": tenant, "line": line, "key": key, "now": now, "api_key": api_key}
    rows = db.read_now(_EXACT if api_key is None else _EXACT_WITH_KEY, params)
    return rows[0] if rows else None


_STALE = Query(
    "stale",
    select(*_EXACT_COLUMNS).where(
        Entry.exact_key == bindparam("key"),
        checked(Entry.tenant_id) == bindparam("tenant"),
        Entry.expires_ms + 0 <= bindparam("now"),  # found by its key, not by when it ended
        Entry.expires_ms + 0 > bindparam("expired_after"),
    ),
    reads_few=True,
)


async def stale(
    db: Database, tenant: str, *, key: bytes, now: int, expired_after: int
) -> Row | None:
    """(id, response, created_ms, expires_ms) of an entry that ended after a time and was not invalidated since."""
    params = {"tenant": tenant, "key": key, "now": now, "expired_after": expired_after}
    rows = await db.read(_STALE, params)
    return rows[0] if rows else None


_LIVE = Query(
    "live_entries",
    select(
        Entry.id,
        Entry.response,
        Entry.created_ms,
        Entry.expires_ms,
        Entry.query,
        Entry.response_hash,
        Entry.quarantined,
        Entry.hits,
    ).where(
        Entry.id.in_([bindparam(f"id{n}") for n in range(CANDIDATE_IDS)]),
        checked(Entry.tenant_id) == bindparam("tenant"),
        checked(Entry.partition) == bindparam("partition"),
        _is_live(),
    ),
    reads_few=True,
)


async def live_in_partition(
    db: Database, tenant: str, *, partition: bytes, ids: Sequence[int], now: int
) -> dict[int, LiveEntry]:
    """The live rows among `ids` (at most CANDIDATE_IDS): the re-check that every semantic hit passes."""
    params: dict[str, Any] = {"tenant": tenant, "partition": partition, "now": now}
    for n in range(CANDIDATE_IDS):
        params[f"id{n}"] = ids[n] if n < len(ids) else _NO_ID
    rows = await db.read(_LIVE, params)
    return {row[0]: LiveEntry(*row) for row in rows}


_entry = Entry.__table__
_insert = postgresql.insert(Entry)  # the same ON CONFLICT text on both databases
_REPLACED = (
    "created_ms",
    "expires_ms",
    "response",
    "response_hash",
    "request",
    "query",
    "partition",
    "fingerprint",
    "context_hash",
    "vector",
    "change_seq",
    "quarantined",
    "stored_by",
    "model",
    "size_bytes",
)
_UPSERT = Query(
    "upsert_entry",
    _insert.values({c.name: bindparam(c.name) for c in _entry.columns})
    .on_conflict_do_update(
        index_elements=["exact_key"], set_={name: _insert.excluded[name] for name in _REPLACED}
    )
    .returning(_entry.c.id),
)
_DROP_EXPIRED_KEY = Query(
    "drop_expired_key",
    delete(Entry).where(
        Entry.exact_key == bindparam("key"),
        Entry.tenant_id == bindparam("tenant"),
        Entry.expires_ms <= bindparam("now"),
    ),
)
_DROP_TAGS = Query(
    "drop_tags",
    delete(EntryTag).where(
        EntryTag.entry_id == bindparam("id"), EntryTag.tenant_id == bindparam("tenant")
    ),
)
_ADD_TAG = Query(
    "add_tag",
    insert(EntryTag).values(
        tenant_id=bindparam("tenant"), tag=bindparam("tag"), entry_id=bindparam("id")
    ),
)
_NEXT_CHANGE = Query(
    "next_change",
    update(ChangeCounter)
    .where(ChangeCounter.id == 1)
    .values(value=ChangeCounter.value + 1)
    .returning(ChangeCounter.value),
)


def next_change(tx: Transaction) -> int:
    """The `change_seq` of this transaction; see `query.change_horizon` for how readers use it."""
    if tx.is_postgresql:
        return int(tx.text("SELECT pg_current_xact_id()::text::bigint")[0][0])
    return int(tx.run(_NEXT_CHANGE)[0][0])


def put(tx: Transaction, tenant: str, entry: NewEntry) -> tuple[int, bool]:
    """Write an entry under its exact key: (id, whether a live one was replaced). A replaced one keeps its id."""
    now = entry.created_ms
    tx.run(_DROP_EXPIRED_KEY, {"key": entry.exact_key, "tenant": tenant, "now": now})
    change_seq = next_change(tx)
    rows = tx.run(
        _UPSERT,
        {
            "id": entry.id,
            "exact_key": entry.exact_key,
            "tenant_id": tenant,
            "line": entry.line,
            "scope": entry.scope,
            "policy_version": entry.policy_version,
            "model": entry.model,
            "created_ms": now,
            "expires_ms": entry.expires_ms,
            "response": entry.response,
            "response_hash": hashlib.sha256(entry.response).digest(),
            "request": entry.request,
            "query": entry.query,
            "partition": entry.partition,
            "fingerprint": entry.fingerprint,
            "context_hash": entry.context_hash,
            "vector": entry.vector,
            "change_seq": change_seq,
            "quarantined": entry.quarantined,
            "stored_by": entry.stored_by,
            "hits": 0,
            "last_hit_ms": None,
            "size_bytes": len(entry.response) + len(entry.request) + len(entry.vector or b""),
            "heat": weight(now),
        },
    )
    stored_id = int(rows[0][0])
    replaced = stored_id != entry.id
    if replaced:
        tx.run(_DROP_TAGS, {"id": stored_id, "tenant": tenant})
    if tx.keeps_vectors and entry.vector is not None and entry.partition is not None:
        vectors.put(
            tx,
            tenant,
            entry_id=stored_id,
            partition=entry.partition,
            expires_ms=entry.expires_ms,
            change_seq=change_seq,
            vector=entry.vector,
        )
    if entry.tags:
        tx.run_many(
            _ADD_TAG, [{"tenant": tenant, "tag": tag, "id": stored_id} for tag in entry.tags]
        )
    return stored_id, replaced


_ONE = Query(
    "one_entry",
    select(
        Entry.id,
        Entry.line,
        Entry.scope,
        Entry.policy_version,
        Entry.model,
        Entry.created_ms,
        Entry.expires_ms,
        Entry.query,
        Entry.request,
        Entry.response,
        Entry.response_hash,
        Entry.context_hash,
        Entry.exact_key,
        Entry.fingerprint,
        Entry.quarantined,
        Entry.hits,
    ).where(
        Entry.id == bindparam("id"), checked(Entry.tenant_id) == bindparam("tenant"), _is_live()
    ),
    reads_few=True,
)
_TAGS = Query(
    "tags_of_entry",
    select(EntryTag.tag)
    .where(EntryTag.entry_id == bindparam("id"), EntryTag.tenant_id == bindparam("tenant"))
    .order_by(EntryTag.tag),
    reads_few=True,
)


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry as its owner sees it."""

    id: int
    line: str
    scope: str
    policy_version: str
    model: str
    created_ms: int
    expires_ms: int | None
    query: str | None
    request: bytes
    response: bytes
    response_hash: bytes
    context_hash: bytes
    exact_key: bytes
    fingerprint: str | None
    quarantined: bool
    hits: int


async def get(db: Database, tenant: str, *, entry_id: int, now: int) -> EntryRow | None:
    """The live entry, or None; another tenant's is None too."""
    rows = await db.read(_ONE, {"id": entry_id, "tenant": tenant, "now": now})
    return EntryRow(*rows[0]) if rows else None


async def tags(db: Database, tenant: str, *, entry_id: int) -> list[str]:
    """The tags of an entry, sorted."""
    return [row[0] for row in await db.read(_TAGS, {"id": entry_id, "tenant": tenant})]


_LIST = Query(
    "list_entries",
    select(
        Entry.id,
        Entry.line,
        Entry.scope,
        Entry.model,
        Entry.created_ms,
        Entry.expires_ms,
        Entry.query,
        Entry.hits,
        Entry.quarantined,
        func.length(Entry.response),
    )
    .where(
        Entry.tenant_id == bindparam("tenant"),
        Entry.line == bindparam("line"),
        Entry.id < bindparam("before"),
        func.lower(func.coalesce(Entry.query, "")).like(bindparam("pattern"), escape="\\"),
        _is_live(),
    )
    .order_by(Entry.id.desc())
    .limit(bindparam("limit")),
)


async def search(
    db: Database, tenant: str, *, line: str, text: str, before: int, limit: int, now: int
) -> list[Row]:
    """Newest first, of one line, whose query contains `text` (any case)."""
    escaped = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return await db.read(
        _LIST,
        {
            "tenant": tenant,
            "line": line,
            "before": before,
            "pattern": f"%{escaped}%",
            "limit": limit,
            "now": now,
        },
    )


_COUNT = Query(
    "count_entries",
    select(
        Entry.line,
        Entry.policy_version,
        Entry.fingerprint,
        func.count(),
        func.count(Entry.partition),  # an entry has both or neither, and an index knows this one
    )
    .where(Entry.tenant_id == bindparam("tenant"), _is_live())
    .group_by(Entry.line, Entry.policy_version, Entry.fingerprint)
    .order_by(Entry.line),
)


async def count_by_line(db: Database, tenant: str, *, now: int) -> list[Row]:
    """(line, policy version, fingerprint, live entries, those with a vector), one row per combination."""
    return await db.read(_COUNT, {"tenant": tenant, "now": now})


_TOUCH = Query(
    "touch_entry",
    update(Entry)
    .where(Entry.id == bindparam("entry_id"), Entry.tenant_id == bindparam("tenant"))
    .values(
        hits=Entry.hits + bindparam("n"),
        last_hit_ms=bindparam("now"),
        heat=Entry.heat + bindparam("more_heat"),
    ),
)


def touch(tx: Transaction, tenant: str, *, hits: Mapping[int, int], now: int) -> None:
    """Count hits by entry, for eviction and the page; life times stay what they were.

    In the order of their ids, so that two workers don't wait for each other crosswise.
    """
    heat = weight(now)
    tx.run_many(
        _TOUCH,
        [
            {"tenant": tenant, "entry_id": i, "n": n, "now": now, "more_heat": n * heat}
            for i, n in sorted(hits.items())
        ],
    )
