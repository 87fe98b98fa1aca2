"""What tests share: a clock that they turn, databases built by the migrations, and the whole application in process."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from index.testing import HashEmbedder
from index.types import Embedder
from service.api.hot import HotPath
from service.app import create_app
from service.auth import new_key
from service.cache import Cache
from service.settings import Settings
from service.storage import tenants

SHARED = Path(os.environ.get("SUREHIT_SHARED", Path(__file__).parents[2] / "shared"))


def shared(*parts: str) -> Path:
    """A file of the shared folder; the test is skipped where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs the shared data: {'/'.join(parts)} (set SUREHIT_SHARED)")
    return path


class Clock:
    """Milliseconds that only move when told to."""

    def __init__(self, now_ms: int = 1_790_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ms += round(seconds * 1000)


@dataclass
class Client:
    """The application and an HTTP client on it; `key` of a tenant goes with each call."""

    app: HotPath
    http: httpx2.AsyncClient
    cache: Cache
    keys: dict[str, str] = field(default_factory=dict)

    async def key(self, tenant: str, **settings: Any) -> dict[str, str]:
        """Headers with an API key of the tenant, made on first use."""
        name = f"{tenant}{sorted(settings.items())}"
        if name not in self.keys:
            text, key_hash, key_id = new_key()
            made: dict[str, Any] = {"role": "admin", "max_stores_per_hour": None} | settings
            await self.cache.db.write(
                lambda tx: tenants.add_key(
                    tx, tenant, key_id=key_id, key_hash=key_hash, name="test", now=1, **made
                )
            )
            self.keys[name] = text
        return {"authorization": f"Bearer {self.keys[name]}"}

    async def call(self, method: str, path: str, body: Any = None, **kw: Any) -> httpx2.Response:
        """One request; a body that is not bytes goes as JSON."""
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        return await self.http.request(method, path, **({} if body is None else content), **kw)

    async def line(self, name: str = "faq", *, headers: Any = None, **settings: Any) -> None:
        """Create or replace a line; by default it serves from 0.90 on."""
        body = {"mode": "serve", "threshold": 0.9} | settings
        reply = await self.call("PUT", f"/v1/lines/{name}", body, headers=headers)
        assert reply.status_code == 200, reply.text

    async def lookup(
        self, what: Any, *, line: str = "faq", headers: Any = None, **more: Any
    ) -> Any:
        """A lookup of a prompt (text) or a request; the reply's body."""
        reply = await self.call(
            "POST", "/v1/lookup", _asked(what) | {"line": line} | more, headers=headers
        )
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def store(
        self, what: Any, response: Any, *, line: str = "faq", headers: Any = None, **more: Any
    ) -> Any:
        """A store of a prompt or a request; the reply's body."""
        body = _asked(what) | {"line": line, "response": response} | more
        reply = await self.call("POST", "/v1/store", body, headers=headers)
        assert reply.status_code == 201, reply.text
        return reply.json()

    async def settled(self) -> None:
        """Wait until models are loaded and the journal is written."""
        for slot in list(self.cache.embedders._slots.values()):
            if slot.loading is not None:
                await slot.loading
        await self.cache.journal.flush()


def _asked(what: Any) -> dict[str, Any]:
    return {"prompt": what} if isinstance(what, str) else {"request": what}


def chat(text: str, **fields: Any) -> dict[str, Any]:
    """A chat request with one user message."""
    return {
        "model": "m1",
        "temperature": 0,
        "messages": [{"role": "user", "content": text}],
    } | fields


@asynccontextmanager
async def running(
    url: str,
    data_dir: Path,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    **settings: Any,
) -> AsyncIterator[Client]:
    """The whole application on a database, with a stand-in for the models unless `embedder` is False."""
    given = Settings(database_url=url, data_dir=data_dir, **settings)

    def prepare(cache: Cache) -> None:
        stand_in = embedder or HashEmbedder()
        for name in ("minilm", "e5-small"):
            cache.embedders.put(name, stand_in)

    options: dict[str, Any] = {"prepare": None if embedder is _REAL else prepare}
    if clock is not None:
        options["clock_ms"] = clock
    app = create_app(given, **options)
    inner: Any = app._app
    async with inner.router.lifespan_context(inner):
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as http:
            yield Client(app, http, inner.state.cache)
            await asyncio.sleep(0)


_REAL: Any = object()
REAL_MODELS: Any = _REAL
"""As `embedder`: use the product's own models."""


def copy_database(template: Path, target: Path) -> str:
    """A fresh SQLite database from a migrated one; its URL."""
    shutil.copy(template, target)
    return f"sqlite:///{target}"
