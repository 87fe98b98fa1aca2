"""Routes that owners use: lines, entries, invalidation, erasure, figures."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response

from service import forget, ids, lines
from service.api import schemas
from service.api.dependencies import Admin, CacheDep, User
from service.cache import Cache, Caller
from service.errors import InvalidRequest, NotFound
from service.figures import figures
from service.policy import LineChange, describe
from service.storage import audit_events, entries
from service.storage import lines as line_rows
from service.storage.invalidation import Selector
from service.store import tag_form

router = APIRouter(tags=["manage"])


@router.get("/v1/lines")
async def get_lines(cache: CacheDep, caller: User) -> dict[str, list[dict[str, object]]]:
    """All lines of the tenant."""
    found = []
    for row in await line_rows.list_all(cache.db, caller.tenant):
        policy = await cache.policies.load(caller.tenant, row[0])
        if policy is not None:
            found.append(describe(policy))
    return {"lines": found}


@router.get("/v1/lines/{line}")
async def get_line(line: schemas.Text, cache: CacheDep, caller: User) -> dict[str, object]:
    """One line, with its last changes."""
    policy = await cache.policies.load(caller.tenant, line)
    if policy is None:
        raise NotFound(f"line {line!r} does not exist")
    history = await line_rows.history(cache.db, caller.tenant, line=line)
    changes = [
        {
            "at_ms": row[0],
            "by": row[1],
            "reason": row[2],
            "before": orjson.loads(row[3])["config"] if row[3] else None,
            "after": orjson.loads(row[4])["config"],
        }
        for row in history
    ]
    return {**describe(policy), "changes": changes}


@router.put("/v1/lines/{line}")
async def put_line(
    line: schemas.Text, body: dict[str, Any], cache: CacheDep, caller: Admin
) -> dict[str, object]:
    """Create or replace a line; fields that are not named take their defaults."""
    return await _change(
        cache, caller, line, LineChange(_without_reason(body), False, _reason(body))
    )


@router.patch("/v1/lines/{line}")
async def patch_line(
    line: schemas.Text, body: dict[str, Any], cache: CacheDep, caller: Admin
) -> dict[str, object]:
    """Change the named fields of a line."""
    return await _change(
        cache, caller, line, LineChange(_without_reason(body), True, _reason(body))
    )


async def _change(cache: Cache, caller: Caller, line: str, change: LineChange) -> dict[str, object]:
    if isinstance(change.settings, dict):
        cache.embedders.check(change.settings.get("embedder"))
        pinned = await asyncio.to_thread(cache.verifiers.pin, change.settings)
        change = replace(change, settings=pinned)
    policy = await cache.policies.change(
        caller.tenant,
        lines.check_line(line),
        change=change,
        change_id=cache.new_id(),
        by=caller.key_id,
        now=cache.clock_ms(),
    )
    if policy.config.mode in ("shadow", "serve"):
        cache.embedders.slot(
            cache.embedders.name_for(policy.config.language, policy.config.embedder)
        )
        if policy.config.verifier is not None:
            cache.verifiers.prepare(policy.config.verifier)
    return describe(policy)


def _reason(body: dict[str, Any]) -> str:
    reason = body.get("reason", "")
    if not isinstance(reason, str) or len(reason) > 1000:
        raise InvalidRequest.field("reason", "must be text of at most 1000 characters")
    return reason


def _without_reason(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "reason"}


@router.get("/v1/entries")
async def list_entries(
    cache: CacheDep,
    caller: User,
    line: schemas.Text,
    text: schemas.Text = "",
    before: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """Live entries of a line, newest first; `next` goes into `before` for the following page."""
    number = ids.MAX_ID if before is None else _entry_id(before)
    rows = await entries.search(
        cache.db,
        caller.tenant,
        line=line,
        text=text,
        before=number,
        limit=limit,
        now=cache.clock_ms(),
    )
    names = "line scope model created_ms expires_ms query hits quarantined response_bytes".split()
    found = [
        {
            "entry_id": ids.encode("ent", row[0]),
            **dict(zip(names, row[1:], strict=True)),
            "quarantined": bool(row[8]),
        }
        for row in rows
    ]
    return {"entries": found, "next": found[-1]["entry_id"] if len(found) == limit else None}


@router.get("/v1/entries/{entry_id}")
async def get_entry(entry_id: str, cache: CacheDep, caller: User) -> Response:
    """One entry with its request and answer."""
    number = _entry_id(entry_id)
    entry = await entries.get(cache.db, caller.tenant, entry_id=number, now=cache.clock_ms())
    if entry is None:
        raise NotFound("no live entry of this tenant has this id")
    found = {
        "entry_id": ids.encode("ent", entry.id),
        "line": entry.line,
        "scope": entry.scope,
        "policy_version": entry.policy_version,
        "model": entry.model,
        "created_ms": entry.created_ms,
        "expires_ms": entry.expires_ms,
        "query": entry.query,
        "embedder": entry.fingerprint,
        "quarantined": bool(entry.quarantined),
        "hits": entry.hits,
        "tags": await entries.tags(cache.db, caller.tenant, entry_id=number),
        "request": orjson.Fragment(entry.request),
        "response": orjson.Fragment(entry.response),
    }
    return Response(orjson.dumps(found), media_type="application/json")


@router.delete("/v1/entries/{entry_id}")
async def delete_entry(entry_id: str, cache: CacheDep, caller: User) -> schemas.InvalidateReply:
    """Drop one entry; 404 when the tenant has no such live one."""
    selector = Selector(entry_id=_entry_id(entry_id))
    dropped = await forget.invalidate(cache, caller, selector)
    if not dropped:
        raise NotFound("no live entry of this tenant has this id")
    return schemas.InvalidateReply(invalidated=dropped)


@router.post("/v1/invalidate")
async def post_invalidate(
    body: schemas.InvalidateRequest, cache: CacheDep, caller: User
) -> schemas.InvalidateReply:
    """Drop every entry that matches all given fields. When this has answered, no worker serves any of them."""
    selector = Selector(
        entry_id=None if body.entry_id is None else _entry_id(body.entry_id),
        tag=None if body.tag is None else tag_form(body.tag),
        scope=body.scope,
        line=body.line,
        model=body.model,
        stored_before_ms=_milliseconds(body.stored_before),
    )
    dropped = await forget.invalidate(cache, caller, selector, dry_run=body.dry_run)
    return schemas.InvalidateReply(invalidated=dropped)


@router.post("/v1/erase")
async def post_erase(
    body: schemas.EraseRequest, cache: CacheDep, caller: Admin
) -> schemas.EraseReply:
    """Remove everything of one scope: entries, log, review items with their labels, blocks, texts of feedback."""
    return schemas.EraseReply(**asdict(await forget.erase(cache, caller, body.scope)))


@router.get("/v1/events")
async def get_events(
    cache: CacheDep,
    caller: Admin,
    before: schemas.Text | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Administrative acts, newest first; `next` goes into `before` for the following page."""
    number = ids.MAX_ID if before is None else ids.decode("evt", before)
    if number is None:
        raise InvalidRequest.field("before", "must be the id of an event (evt_…)")
    rows = await audit_events.newest(cache.db, caller.tenant, before=number, limit=limit)
    found = [audit_events.described(row) for row in rows]
    return {"events": found, "next": found[-1]["id"] if len(found) == limit else None}


@router.get("/v1/stats")
async def get_stats(
    cache: CacheDep, caller: User, days: Annotated[int, Query(ge=1, le=3650)] = 30
) -> dict[str, Any]:
    """Figures per line and per layer. There is no total hit rate: the layers are different things."""
    await cache.journal.flush()
    return await figures(cache, caller.tenant, days=days)


def _entry_id(text: str) -> int:
    number = ids.decode("ent", text)
    if number is None:
        raise NotFound("no live entry of this tenant has this id")
    return number


def _milliseconds(value: float | str | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise InvalidRequest.field(
                "stored_before", "must be seconds since 1970 UTC or ISO 8601 with a zone"
            )
        return round(moment.timestamp() * 1000)
    return round(value * 1000)
