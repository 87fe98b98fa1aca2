"""The proxy between real clients and the fake upstream, all over loopback: servers in threads, HTTP in between."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anthropic
import http_sf
import httpx2
import openai

from index.testing import HashEmbedder
from index.types import Embedder
from service import fake_upstream
from service.app import create_app
from service.auth import new_key
from service.cache import Cache
from service.settings import Settings
from service.storage import tenants
from tests.harness import Clock

T = TypeVar("T")


@dataclass
class Rig:
    """A running service in front of a running fake upstream."""

    base: str
    upstream: str
    cache: Cache
    loop: asyncio.AbstractEventLoop
    http: httpx2.Client
    clients: list[Any] = field(default_factory=list)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the service's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=30)

    def key(self, tenant: str) -> str:
        """A new API key of a tenant."""
        text, key_hash, key_id = new_key()
        self.run(
            self.cache.db.write(
                lambda tx: tenants.add_key(
                    tx,
                    tenant,
                    key_id=key_id,
                    key_hash=key_hash,
                    name="test",
                    now=1,
                    role="admin",
                    max_stores_per_hour=None,
                )
            )
        )
        return text

    def line(self, name: str = "default", *, key: str | None = None, **settings: Any) -> None:
        """Create or replace a line; by default it serves from 0.90 on."""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        body = {"mode": "serve", "threshold": 0.9} | settings
        reply = self.http.put(f"{self.base}/v1/lines/{name}", json=body, headers=headers)
        assert reply.status_code == 200, reply.text

    def calls(self) -> dict[str, Any]:
        """What the fake upstream was asked."""
        found: dict[str, Any] = self.http.get(f"{self.upstream}/__calls").json()
        return found

    @property
    def call_count(self) -> int:
        """How many calls reached the fake upstream."""
        return int(self.calls()["total"])

    def fault(self, **fault: Any) -> None:
        """Let the next calls of the upstream go wrong."""
        reply = self.http.post(f"{self.upstream}/__faults", json=fault)
        assert reply.status_code == 200, reply.text

    def heal(self) -> None:
        """Drop all faults that are still due."""
        self.http.delete(f"{self.upstream}/__faults")

    def chat(self, text: str, *, stream: bool = False, **more: Any) -> httpx2.Response:
        """A chat completion by plain HTTP through the proxy; `headers` and body fields in `more`."""
        return self.post("/openai/v1/chat/completions", chat(text, stream=stream), **more)

    def post(self, path: str, body: Any, *, headers: Any = None, **fields: Any) -> httpx2.Response:
        """A POST through the proxy."""
        sent = {"authorization": "Bearer sk-caller"} | (headers or {})
        return self.http.post(f"{self.base}{path}", json=body | fields, headers=sent)

    def count_entries(self, line: str = "default") -> int:
        """Live entries of a line of the default tenant."""
        reply = self.http.get(f"{self.base}/v1/entries", params={"line": line})
        return len(reply.json()["entries"])

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's series that have these labels."""
        total = 0.0
        for line in self.http.get(f"{self.base}/metrics").text.splitlines():
            if line.startswith((name + "{", name + " ")) and all(
                f'{k}="{v}"' in line for k, v in labels.items()
            ):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def openai(self, *, direct: bool = False, **options: Any) -> openai.OpenAI:
        """The official client, at the proxy or at the upstream itself."""
        base = f"{self.upstream}/v1" if direct else f"{self.base}/openai/v1"
        return self._kept(openai.OpenAI(**_OPTIONS | {"base_url": base} | options))

    def async_openai(self, *, direct: bool = False, **options: Any) -> openai.AsyncOpenAI:
        """The official asynchronous client; close it in the test."""
        base = f"{self.upstream}/v1" if direct else f"{self.base}/openai/v1"
        return openai.AsyncOpenAI(**_OPTIONS | {"base_url": base} | options)

    def anthropic(self, *, direct: bool = False, **options: Any) -> anthropic.Anthropic:
        """The official client, at the proxy or at the upstream itself."""
        base = self.upstream if direct else f"{self.base}/anthropic"
        return self._kept(anthropic.Anthropic(**_OPTIONS | {"base_url": base} | options))

    def async_anthropic(self, *, direct: bool = False) -> anthropic.AsyncAnthropic:
        """The official asynchronous client; close it in the test."""
        base = self.upstream if direct else f"{self.base}/anthropic"
        return anthropic.AsyncAnthropic(**_OPTIONS | {"base_url": base})

    def _kept(self, client: T) -> T:
        self.clients.append(client)
        return client


_OPTIONS: dict[str, Any] = {"api_key": "sk-caller", "max_retries": 0, "timeout": 30}


@contextmanager
def rigged(
    url: str,
    data_dir: Path,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    fake: dict[str, Any] | None = None,
    prepare: Any = None,
    **settings: Any,
) -> Iterator[Rig]:
    """Fake upstream and service, each on its own loop; `fake` are options of the upstream."""
    held: dict[str, Any] = {}

    def take(cache: Cache) -> None:
        held["cache"], held["loop"] = cache, asyncio.get_running_loop()
        if prepare is not None:
            prepare(cache)
            return
        for name in ("minilm", "e5-small"):
            cache.embedders.put(name, embedder or HashEmbedder())

    with (
        fake_upstream.running(fake_upstream.create_app(**(fake or {}))) as upstream,
        httpx2.Client(timeout=60) as http,
    ):
        given = {
            "database_url": url,
            "data_dir": data_dir,
            "openai_base_url": f"{upstream}/v1",
            "anthropic_base_url": f"{upstream}/v1",
            # a machine that is busy with other tests must not make lookups degrade
            "embed_budget_ms": 10_000,
            "database_budget_ms": 10_000,
        } | settings
        options: dict[str, Any] = {} if clock is None else {"clock_ms": clock}
        app = create_app(Settings(**given), prepare=take, **options)
        with fake_upstream.running(app) as base:
            rig = Rig(base, upstream, held["cache"], held["loop"], http)
            try:
                yield rig
            finally:
                for client in rig.clients:
                    client.close()


def chat(text: str, **fields: Any) -> dict[str, Any]:
    """A chat request with one user message."""
    return {
        "model": "fake-small",
        "temperature": 0,
        "messages": [{"role": "user", "content": text}],
    } | fields


def cache_status(reply: Any) -> dict[str, Any]:
    """The parameters of the `Cache-Status` header, read by a parser of structured fields (RFC 8941)."""
    members = http_sf.parse(reply.headers["cache-status"].encode(), tltype="list")
    name, parameters = members[-1]
    assert str(name) == "surehit"
    return {
        key: value if isinstance(value, bool | int) else str(value)
        for key, value in parameters.items()
    }
