"""The application: the only place that builds the parts and wires them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import entry_points, version
from pathlib import Path

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.routing import Route

from service import candidates
from service.api import health, manage, openapi, problem, proxy, use
from service.api.dependencies import known_parameters
from service.api.hot import ASGIApp, HotPath
from service.auth import DEFAULT_TENANT, Keys
from service.cache import Cache
from service.embedders import Embedders
from service.errors import FieldError, InvalidRequest, SurehitError
from service.ids import IdSource
from service.journal import Journal
from service.ledger import Ledger
from service.maintenance import Maintenance
from service.metrics import Metrics
from service.policy import Policies
from service.proxy.measures import Measures
from service.proxy.serve import Proxy
from service.rate import RateLimit
from service.remote_embedding import RemoteModels
from service.settings import Settings
from service.storage import tenants
from service.storage.database import open_database
from service.verifiers import Verifiers


def wall_clock_ms() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def build_cache(
    settings: Settings,
    metrics: Metrics,
    clock_ms: Callable[[], int],
    *,
    models_dir: Path | None = None,
) -> Cache:
    """The parts, not yet connected."""
    db = open_database(settings.database, budget_ms=settings.database_budget_ms)
    new_id = IdSource(clock_ms)
    journal = Journal(
        db,
        new_id=new_id,
        clock_ms=clock_ms,
        sampling_key=settings.sampling_secret(),
        on_count=metrics.count,
    )
    return Cache(
        settings=settings,
        db=db,
        policies=Policies(db),
        embedders=Embedders(
            models_dir=models_dir or settings.models_dir,
            threads=settings.workers,
            remote=RemoteModels(settings, db, clock_ms) if settings.embed_url else None,
        ),
        verifiers=Verifiers(
            settings.verifiers_folder,
            budget_ms=settings.verify_budget_ms,
            registry=metrics.registry,
        ),
        partitions=candidates.build(settings, db, clock_ms=clock_ms),
        journal=journal,
        clock_ms=clock_ms,
        new_id=new_id,
    )


def create_app(
    settings: Settings,
    *,
    clock_ms: Callable[[], int] = wall_clock_ms,
    prepare: Callable[[Cache], None] | None = None,
) -> ASGIApp:
    """The ASGI application. `prepare` may replace parts before anything starts (tests, embedders of one's own)."""
    metrics = Metrics(version("surehit"))
    measures = Measures(metrics.registry)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        cache = build_cache(settings, metrics, clock_ms)
        await cache.db.open()
        await cache.partitions.open()
        if prepare is not None:
            prepare(cache)
        await cache.db.write(lambda tx: tenants.add_tenant(tx, DEFAULT_TENANT, now=clock_ms()))
        cache.journal.start()
        upkeep = Maintenance(cache, on_evict=metrics.evict)
        upkeep.start()
        app.state.cache = cache
        app.state.keys = Keys(cache.db, rate=RateLimit(settings.max_requests_per_minute))
        ledger = app.state.ledger = Ledger(cache.db, clock_ms=clock_ms)
        ledger.start()
        app.state.proxy = Proxy(cache, app.state.keys, ledger, measures)
        await upkeep.warm()
        try:
            yield
        finally:
            await app.state.proxy.close()
            await upkeep.close()
            await ledger.close()
            await cache.partitions.close()
            await cache.journal.close()
            await cache.verifiers.close()
            await cache.embedders.close()
            await cache.db.close()

    app = FastAPIOffline(  # its /docs takes nothing from the network
        title="Surehit",
        version=version("surehit"),
        summary="A response cache for LLM applications whose hits can be trusted.",
        lifespan=lifespan,
        dependencies=[Depends(known_parameters)],
        redoc_url=None,  # it would take its fonts from elsewhere
    )
    app.state.metrics = metrics
    for router in (use.router, proxy.router, manage.router, health.router):
        app.include_router(router)
    for point in sorted(entry_points(group="surehit.routers"), key=lambda p: p.name):
        app.include_router(point.load())
    openapi.complete(app)
    app.add_exception_handler(SurehitError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_crash)
    return HotPath(
        app,
        cache=lambda: app.state.cache,
        keys=lambda: app.state.keys,
        metrics=metrics,
        max_body=settings.max_body_mb << 20,
        proxy=lambda: app.state.proxy,
    )


async def _on_error(_: Request, error: Exception) -> Response:
    found = error if isinstance(error, SurehitError) else problem.Internal()
    headers = {name.decode(): value.decode() for name, value in problem.headers(found)}
    return Response(problem.body(found), found.status, headers=headers)


async def _on_validation(request: Request, error: Exception) -> Response:
    fields = []
    for item in error.errors() if isinstance(error, RequestValidationError) else ():
        place = [str(p) for p in item["loc"] if p not in ("body", "query", "path")]
        fields.append(FieldError(".".join(place) or "body", str(item["msg"])))
    sent = request.headers.get("content-type", "")
    if fields and "json" not in sent and [f.field for f in fields] == ["body"]:
        # `curl -d` alone says that it sends a form
        said = f"must be sent with Content-Type: application/json, not {sent or 'none'}"
        fields = [FieldError("body", said)]
    detail = "; ".join(f"{f.field}: {f.message}" for f in fields)
    return await _on_error(request, InvalidRequest(detail, errors=tuple(fields)))


async def _on_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    found = problem.plain(status, str(getattr(error, "detail", "")))
    headers = getattr(error, "headers", None)
    if status == 405:  # Starlette names the methods of one route alone; a path may have several
        headers = {"allow": ", ".join(sorted(_methods(request)))}
    return Response(found, status, headers=headers, media_type=problem.CONTENT_TYPE)


def _methods(request: Request) -> set[str]:
    """All methods that some route answers on this path."""
    found: set[str] = set()
    for route in request.app.router.routes:
        if isinstance(route, Route) and route.path_regex.match(request.url.path):
            found |= route.methods or set()
    return found


async def _on_crash(request: Request, _: Exception) -> Response:
    return await _on_error(request, problem.Internal())
