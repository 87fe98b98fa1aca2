"""`surehit bench workers`: two processes on one database. Is what one stored found by the other, what it dropped gone?

Each round, first without and then under load from other clients on both: a store on A and at once a lookup on B; then
an invalidation on A and at once a lookup on B, by the same words in one round and by other words in the next. An answer
that B gives after A has answered the invalidation is stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from evaluation.bench import processes
from evaluation.bench.machine import machine, sentence
from service.settings import Settings
from service.storage import migrate

_ASKED = "How do I reset my password?"
_REWORDED = "How can I reset my password?"
_LOOPS = 8
"""Rounds that run at the same time, each in a scope of its own."""
_LOAD = 2
"""Clients per worker that look up and store other things all the while, with a pause between two requests."""
_PAUSE_S = 0.05


@dataclass
class _Seen:
    delays_ms: list[float] = field(default_factory=list)
    """From the store's reply to the end of the first lookup on B that hit."""
    first_try: int = 0
    stale: int = 0
    not_answered: int = 0
    """Stores, lookups and invalidations that failed."""
    load: int = 0


def run(
    *,
    rounds: int,
    models_dir: Path,
    database_url: str = "",
    search: str = "local",
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Delays from a store on A to a hit on B, and stale answers of B after invalidations on A."""
    at_start = machine()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        data = Path(folder)
        models_dir.mkdir(parents=True, exist_ok=True)  # a first run builds the model there
        (data / "models").symlink_to(models_dir.resolve())
        url = database_url or f"sqlite:///{data / 'surehit.db'}"
        migrate.upgrade(Settings(database_url=url, data_dir=data).database)
        settings = {
            "SUREHIT_SEARCH": search,
            "SUREHIT_EMBED_THREADS": "1",
            # a busy machine must not make lookups degrade: then nothing would be told of staleness
            "SUREHIT_DATABASE_BUDGET_MS": "10000",
            "SUREHIT_EMBED_BUDGET_MS": "10000",
        }
        a, b = (
            stack.enter_context(
                processes.service(data, database_url=url, log=data / f"worker-{n}.log", **settings)
            )
            for n in range(2)
        )
        tell(f"{rounds} rounds")
        alone, seen = asyncio.run(_measure(a.url, b.url, rounds))
    delays = np.array(seen.delays_ms)
    return {
        "machine": at_start,
        "database": "postgresql" if url.startswith("postgresql") else "sqlite",
        "search": search,
        "rounds": rounds,
        "alone_rounds": len(alone.delays_ms),
        "alone_p50_ms": float(np.median(alone.delays_ms)),
        "alone_p99_ms": float(np.quantile(alone.delays_ms, 0.99)),
        "found_p50_ms": float(np.median(delays)),
        "found_p99_ms": float(np.quantile(delays, 0.99)),
        "found_at_first_try": seen.first_try,
        "stale_answers": seen.stale + alone.stale,
        "not_answered": seen.not_answered + alone.not_answered,
        "other_requests": seen.load,
    }


async def _measure(a_url: str, b_url: str, rounds: int) -> tuple[_Seen, _Seen]:
    """Rounds one after the other without load, then those under load."""
    alone, seen = _Seen(), _Seen()
    async with (
        httpx2.AsyncClient(base_url=a_url, timeout=30) as a,
        httpx2.AsyncClient(base_url=b_url, timeout=30) as b,
    ):
        line = {"mode": "serve", "threshold": 0.9}
        (await a.put("/v1/lines/bench", json=line)).raise_for_status()
        for client in (a, b):
            await _warm(client)
        await _loop(a, b, "alone", max(200, rounds // 20), alone)
        load = [
            asyncio.create_task(_other_requests(client, f"{name}{n}", seen))
            for name, client in (("a", a), ("b", b))
            for n in range(_LOAD)
        ]
        await asyncio.gather(
            *(_loop(a, b, f"loop{n}", rounds // _LOOPS, seen) for n in range(_LOOPS))
        )
        for task in load:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    return alone, seen


async def _warm(client: httpx2.AsyncClient) -> None:
    """Until the model is loaded."""
    store = {"line": "bench", "scope": "warm", "prompt": _ASKED, "response": "x"}
    (await client.post("/v1/store", json=store)).raise_for_status()
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        if (await _ask(client, "warm", _REWORDED)).get("tier") == "semantic":
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("no semantic hit within a minute")


async def _ask(client: httpx2.AsyncClient, scope: str, prompt: str) -> dict[str, Any]:
    reply = await client.post(
        "/v1/lookup", json={"line": "bench", "scope": scope, "prompt": prompt}
    )
    found: dict[str, Any] = reply.json() if reply.status_code == 200 else {"outcome": "error"}
    return found


async def _loop(
    a: httpx2.AsyncClient, b: httpx2.AsyncClient, scope: str, rounds: int, seen: _Seen
) -> None:
    for number in range(rounds):
        asked = _REWORDED if number % 2 else _ASKED
        tier = "semantic" if number % 2 else "exact"
        answer = f"{scope} {number}"
        store = {"line": "bench", "scope": scope, "prompt": _ASKED, "response": answer}
        while (await a.post("/v1/store", json=store)).status_code != 201:
            seen.not_answered += 1  # a machine that is busy with other work: nothing was promised
        await _until_found(b, scope, asked, tier, answer, seen)
        dropped = await a.post("/v1/invalidate", json={"scope": scope})
        found = await _ask(b, scope, asked)
        seen.not_answered += dropped.status_code != 200 or found["outcome"] == "error"
        seen.stale += dropped.status_code == 200 and found["outcome"] == "hit"


async def _until_found(
    b: httpx2.AsyncClient, scope: str, asked: str, tier: str, answer: str, seen: _Seen
) -> None:
    began = time.perf_counter()
    for attempt in range(1000):
        found = await _ask(b, scope, asked)
        seen.not_answered += found["outcome"] == "error"
        if found.get("tier") == tier and found["response"] == answer:
            seen.delays_ms.append(1000 * (time.perf_counter() - began))
            seen.first_try += attempt == 0
            return
    raise RuntimeError(f"an answered store was never found: {found}")


async def _other_requests(client: httpx2.AsyncClient, name: str, seen: _Seen) -> None:
    for number in range(10_000_000):
        scope = f"{name} {number // 50}"
        store = {"line": "bench", "scope": scope, "prompt": f"{number} {_ASKED}", "response": "x"}
        await client.post("/v1/store", json=store)
        for asked in (_ASKED, _REWORDED, f"{number} {_ASKED}"):
            await asyncio.sleep(_PAUSE_S)
            await _ask(client, scope, asked)
        seen.load += 4


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    return (
        f"two workers, {found['database']}, search {found['search']}, on {sentence(found)}\n"
        f"stored on A, hit on B, {found['alone_rounds']} rounds without load: p50 {found['alone_p50_ms']:.1f} ms, "
        f"p99 {found['alone_p99_ms']:.1f} ms\n"
        f"{found['rounds']} rounds beside {found['other_requests']} other requests\n"
        f"under load: p50 {found['found_p50_ms']:.1f} ms, p99 {found['found_p99_ms']:.1f} ms, "
        f"{found['found_at_first_try']} at the first try\n"
        f"invalidated on A, answered by B: {found['stale_answers']}; requests that failed: {found['not_answered']}"
    )
