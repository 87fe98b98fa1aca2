"""Liveness, readiness and metrics."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from index.embedding.pool import EmbeddingPool
from service.api.dependencies import CacheDep, get_keys
from service.errors import Unavailable
from service.metrics import Metrics
from service.storage import tenants

router = APIRouter(tags=["health"])


# load balancers and monitors ask by HEAD as well (RFC 9110, 9.1: both are to be supported)
@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process lives."""
    return {"status": "ok"}


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def readyz(cache: CacheDep, response: Response) -> dict[str, Any]:
    """200 when the database answers. `semantic` is `ready`, `loading` or `degraded`; exact hits need none of it."""
    try:
        await tenants.count_keys(cache.db)
        database = "ready"
    except Unavailable as error:
        database = error.detail
        response.status_code = 503
    states = cache.embedders.states()
    semantic = "ready"
    if any(state not in ("ready", "loading") for state in states.values()):
        semantic = "degraded"
    elif "loading" in states.values():
        semantic = "loading"
    status = "ready" if response.status_code != 503 else "unavailable"
    return {
        "status": status,
        "database": database,
        "semantic": semantic,
        "embedders": states,
        "verifiers": cache.verifiers.states(),
    }


@router.head("/metrics", include_in_schema=False)
@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, cache: CacheDep) -> Response:
    """Prometheus text. A tenant's key sees its own series; the metrics token, or loopback without keys, sees all."""
    found: Metrics = request.app.state.metrics
    cache.journal.tell()
    found.gauges["index_partitions"] = cache.partitions.count
    found.gauges["index_bytes"] = cache.partitions.memory_bytes
    found.gauges["journal_dropped"] = cache.journal.dropped
    found.gauges |= embedding_figures(cache.embedders.pools)
    authorization = request.headers.get("authorization")
    token = cache.settings.metrics_token.get_secret_value()
    given = (authorization or "").encode()
    if token and hmac.compare_digest(given, f"Bearer {token}".encode()):
        tenant = None
    else:
        caller = await get_keys(request).caller(authorization)
        tenant = None if caller.key_hash is None else caller.tenant
    return Response(found.render(tenant=tenant), media_type="text/plain; version=0.0.4")


def embedding_figures(pools: Sequence[EmbeddingPool]) -> dict[str, float]:
    """What the embedding models of this process have done, all of them together."""
    counters = [pool.counters for pool in pools]
    return {
        "embedding_queue": float(sum(pool.queued for pool in pools)),
        "embedded_texts": float(sum(c.embedded for c in counters)),
        "embedding_remembered": float(sum(c.remembered + c.joined for c in counters)),
        "embedding_timeouts": float(sum(c.timed_out for c in counters)),
        "embedding_refused": float(sum(c.refused_busy for c in counters)),
        "embedding_failures": float(sum(c.failed for c in counters)),
    }
