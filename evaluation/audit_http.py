"""The route of the audit of live traffic: four layers of one line side by side, never one total."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from evaluation import audit_rows
from evaluation.audit import live
from evaluation.http_parts import desk, json_reply
from service import prices
from service.api.dependencies import CacheDep, User
from service.ledger import Ledger, four_rows
from service.lines import check_name
from service.storage import lookups

router = APIRouter(tags=["tuning"])

_DAY_MS = 86_400_000
_COVERS = (
    "exact: counters of all lookups; which requests repeated is not kept",
    "semantic: lookups of the log that reached the tier, with question and score; none of requests with `no-store`",
    "provider_prompt_cache: usage that the provider reported for calls of the proxy; none of the sidecar's callers",
    "prefix_kv: requests of stored answers in canonical form, each different one once; reordered or re-serialised "
    "fields cannot be seen in it",
)


@router.get("/v1/lines/{line}/audit")
async def get_audit(
    line: str,
    request: Request,
    cache: CacheDep,
    caller: User,
    days: Annotated[int, Query(ge=1, le=366)] = 30,
    lookups_read: Annotated[int, Query(ge=0, le=50_000)] = 5_000,
    requests_read: Annotated[int, Query(ge=0, le=5_000)] = 500,
) -> Response:
    """What each layer of caching does and could do for this line's recent traffic, from what the service keeps.

    One row per layer: exact, semantic, provider's prompt cache, prefix/KV. They save different things and are never
    added up. `covers` says what of the traffic each row rests on.
    """
    check_name("line", line)
    policy = await desk(request).policy(caller.tenant, line)
    await cache.journal.flush()
    now = cache.clock_ms()
    since_ms = now - days * _DAY_MS
    counters = await lookups.stats(cache.db, caller.tenant, since_day=now // _DAY_MS - days + 1)
    counts = live.count_outcomes((r[1], r[2], r[3], r[4]) for r in counters if r[0] == line)
    logged, near = await audit_rows.scores(
        cache.db, caller.tenant, line=line, since_ms=since_ms, most=lookups_read
    )
    records = await audit_rows.stored_requests(
        cache.db, caller.tenant, line=line, since_ms=since_ms, most=requests_read
    )
    table = await asyncio.to_thread(prices.load, cache.settings.data_dir)
    ledger: Ledger = request.app.state.ledger
    pays = bool(cache.settings.embed_url)
    booked = await ledger.report(caller.tenant, days=days, prices=table, pays_for_embedding=pays)
    rows = booked["lines"].get(line) or four_rows({}, table, pays_for_embedding=pays)
    at, found = await asyncio.to_thread(_work, near, records)
    rule = live.InForce(
        policy.config.mode,
        policy.config.threshold,
        policy.config.target_false_hit_rate,
        policy.decision_id is not None,
    )
    layers = live.layers_of(counts, at, logged, rows, found, rule, table.currency)
    return json_reply(
        {
            "line": line,
            "days": days,
            "currency": table.currency,
            "prices_as_of": table.as_of.isoformat(),
            "layers": [asdict(layer) for layer in layers],
            "thresholds": [asdict(a) for a in at],
            "threshold_in_force": policy.config.threshold,
            "causes": live.causes_of(found),
            "lookups_read": logged,
            "requests_read": len(records),
            "covers": list(_COVERS),
        }
    )


def _work(near: Any, records: Any) -> Any:
    """What takes time, in a thread: guards over logged pairs, tokens of stored requests."""
    return live.thresholds_of(near), live.prefix_findings(records)
