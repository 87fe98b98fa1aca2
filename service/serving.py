"""Starting uvicorn with our settings, after the checks that must come first."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn

from service import garbage, huge_pages
from service.app import create_app
from service.errors import SurehitError, Unavailable
from service.http_protocol import Protocol
from service.logs import configure
from service.settings import Settings
from service.storage import migrate, tenants
from service.storage.database import open_database
from service.tracing import traced


class NotSafe(SurehitError):
    """Without an API key the service only listens on loopback."""

    status, code, title = 403, "not-safe", "Not safe"


def run(settings: Settings) -> None:
    """Serve until told to stop. Raises NotSafe, Unavailable."""
    configure()
    check(settings)
    if settings.huge_pages:
        huge_pages.keep()
    app = application(settings)
    garbage.settle()
    try:
        uvicorn.run(app, **uvicorn_options(settings))
    except SystemExit as end:
        # uvicorn has a code of its own for an address that is taken, and has said so
        raise SystemExit(2 if end.code else 0) from end


def application(settings: Settings) -> Any:
    """What uvicorn serves: the service, traced where a collector is named. Raises Unavailable."""
    app = create_app(settings)
    return traced(app, endpoint=settings.otlp_endpoint) if settings.otlp_endpoint else app


def check(settings: Settings) -> None:
    """Migrate the embedded database; refuse an old schema, and an open address without a key."""
    if settings.is_embedded:
        if not settings.database_url:
            settings.data_dir.mkdir(parents=True, exist_ok=True)
        migrate.upgrade(settings.database)
    elif (current := migrate.current(settings.database)) != migrate.head():
        raise Unavailable(
            f"the database has schema {current or 'none'}, this code needs {migrate.head()}; "
            "run `surehit migrate`"
        )
    if not settings.is_loopback and not asyncio.run(_has_key(settings)):
        raise NotSafe(
            f"SUREHIT_HOST: {settings.host} can be reached from outside and no API key exists; "
            "make one with `surehit key create` or listen on 127.0.0.1"
        )


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    """How uvicorn is run: fast loop and parser where they exist, no access log unless asked for."""
    address: dict[str, Any] = {"host": settings.host, "port": settings.port}
    if settings.uds:
        address = {"uds": settings.uds}
    return {
        **address,
        "http": Protocol,
        "access_log": settings.access_log,
        "log_level": "warning",
        "timeout_keep_alive": 75,
        "backlog": 4096,
        "proxy_headers": False,  # no client address is used anywhere
        "server_header": False,
        "timeout_graceful_shutdown": 10,
    }


async def _has_key(settings: Settings) -> bool:
    db = open_database(settings.database, budget_ms=5_000)
    await db.open()
    try:
        return await tenants.count_keys(db) > 0
    finally:
        await db.close()
