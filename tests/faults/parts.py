"""Clients that remember what they were told, the scene of a fault, and a line that can be held."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.workers import Worker, worker

LINE = "faults"

IN_EARNEST = bool(os.environ.get("FAULT_IN_EARNEST"))
"""With the product's own limits, as docs/faults.md was measured; without, with a fraction of them, to be quick."""

POSTGRESQL = "service.storage.postgresql"
LIMITS: dict[str, Any] = (
    {}
    if IN_EARNEST
    else {
        f"{POSTGRESQL}.CONNECT_S": 2,  # libpq knows no less
        f"{POSTGRESQL}.RETRY_S": 0.5,
        f"{POSTGRESQL}.WRITE_S": 5.0,
        "service.storage.sqlite.BUSY_MS": 1_500,
        "service.maintenance.PASS_S": 0.3,
    }
)
"""Knobs of a worker's database and upkeep; see `tests.knobs`."""

SOON_S = 8.0
"""To be well again: one connection that hangs, one pause, and what a busy machine takes."""

Row = Callable[..., None]


async def make_line(url: str, *, name: str = LINE, **settings: Any) -> None:
    """A line; by default of the exact tier alone, since most faults don't concern models."""
    async with httpx2.AsyncClient(base_url=url, timeout=30) as http:
        reply = await http.put(f"/v1/lines/{name}", json={"mode": "exact"} | settings)
        assert reply.status_code == 200, reply.text


@dataclass
class Clients:
    """Callers that store and look up, and what they saw."""

    line: str = LINE
    seen: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest_lookup_s: float = 0.0
    prefix: str = "q"
    rewords: bool = False
    """Ask by other words, too: only then are indexes loaded."""
    size: int = 20
    """Characters of an answer."""
    _number: int = 0

    async def store(self, http: httpx2.AsyncClient) -> None:
        """Store a new answer; it is remembered once it was acknowledged."""
        self._number += 1
        prompt = f"{self.prefix} {self._number}"
        answer = f"answer to {prompt} " + os.urandom(self.size // 2).hex()
        body = {"line": self.line, "prompt": prompt, "response": answer}
        reply = await self._send(http, "store", body)
        if reply is not None and reply.status_code == 201:
            self.acknowledged[prompt] = answer

    async def lookup(self, http: httpx2.AsyncClient, prompt: str) -> str:
        """Look something up that was stored; how it ended."""
        began = time.monotonic()
        reply = await self._send(http, "lookup", {"line": self.line, "prompt": prompt})
        self.slowest_lookup_s = max(self.slowest_lookup_s, time.monotonic() - began)
        if reply is None or reply.status_code != 200:
            return "none"
        found = reply.json()
        how = str(found.get("tier") or found["reason"])
        if found["outcome"] == "hit" and found["response"] != self.acknowledged.get(prompt):
            self.wrong.append(prompt)
        self.seen["hit" if found["outcome"] == "hit" else f"miss ({how})"] += 1
        return how

    async def _send(
        self, http: httpx2.AsyncClient, act: str, body: dict[str, Any]
    ) -> httpx2.Response | None:
        began = time.monotonic()
        try:
            reply = await http.post(f"/v1/{act}", json=body)
        except httpx2.HTTPError:
            self.seen[f"{act}: no answer"] += 1
            return None
        finally:
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
        if reply.status_code >= 400 or act == "store":
            self.seen[f"{act} {reply.status_code}"] += 1
        return reply

    async def work(self, url: str, until: asyncio.Event, *, pause_s: float = 0.02) -> None:
        """Store and look up in turns until the event is set."""
        async with httpx2.AsyncClient(base_url=url, timeout=40) as http:
            while not until.is_set():
                await self.store(http)
                await asyncio.sleep(pause_s)
                if self.acknowledged:
                    newest = next(reversed(self.acknowledged))
                    await self.lookup(http, newest)
                    if self.rewords:
                        body = {"line": self.line, "prompt": newest + "?"}
                        await self._send(http, "lookup", body)
                await asyncio.sleep(pause_s)

    @asynccontextmanager
    async def working(self, *urls: str, clients: int = 2) -> AsyncIterator[None]:
        """Clients of each address at work during the block."""
        until = asyncio.Event()
        tasks = [asyncio.create_task(self.work(url, until)) for url in urls for _ in range(clients)]
        try:
            yield
        finally:
            until.set()
            await asyncio.gather(*tasks)

    async def told(self, more: int) -> None:
        """Wait until so many further stores were acknowledged."""
        target = len(self.acknowledged) + more
        while len(self.acknowledged) < target:  # noqa: ASYNC110 - clients are many, this is one
            await asyncio.sleep(0.005)

    async def see(self, what: str, more: int) -> None:
        """Wait until so many further replies of a kind have come."""
        target = self.seen[what] + more
        while self.seen[what] < target:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.02)

    async def lost(self, url: str) -> list[str]:
        """What was acknowledged and is not served as it was stored."""
        async with httpx2.AsyncClient(base_url=url, timeout=30) as http:
            missing = []
            for prompt, answer in list(self.acknowledged.items()):
                body = {"line": self.line, "prompt": prompt}
                found = (await http.post("/v1/lookup", json=body)).json()
                if found.get("response") != answer:
                    missing.append(f"{prompt}: {found}")
            return missing

    def summary(self) -> str:
        """What was seen, as one line of the table."""
        told = ", ".join(f"{what} ×{n}" for what, n in sorted(self.seen.items()))
        return f"{told}; slowest {self.slowest_s:.1f} s"


async def well_after(url: str, *, line: str = LINE, limit_s: float = 60.0) -> float:
    """Seconds until a store is acknowledged and the next lookup hits."""
    began = time.monotonic()
    async with httpx2.AsyncClient(base_url=url, timeout=30) as http:
        while time.monotonic() - began < limit_s:
            body = {"line": line, "prompt": f"recovered? {time.monotonic_ns()}"}
            with contextlib.suppress(httpx2.HTTPError):
                stored = await http.post("/v1/store", json=body | {"response": "yes"})
                if stored.status_code == 201:
                    found = (await http.post("/v1/lookup", json=body)).json()
                    if found["outcome"] == "hit":
                        return time.monotonic() - began
            await asyncio.sleep(0.02)
    raise AssertionError(f"not well within {limit_s:g} s")


@dataclass
class Scene:
    """A worker with clients at work, during a fault and after it."""

    one: Worker
    clients: Clients
    recovery_s: float = float("nan")
    lost: list[str] = field(default_factory=list)

    async def recovers(self) -> None:
        """The fault is over: wait until the worker is well."""
        self.recovery_s = await well_after(self.one.url, line=self.clients.line)

    def note(self, row: Row, fault: str, *, within_s: float = SOON_S, more: str = "") -> None:
        """Nobody saw an error or a wrong answer, and nothing was lost; then its row of the table."""
        allowed = {"hit", "miss (degraded)", "store 201", "store 503"}
        assert set(self.clients.seen) <= allowed, self.clients.seen
        assert not self.clients.wrong
        assert self.recovery_s < within_s
        row(fault, saw=self.clients.summary() + more, lost=len(self.lost),
            of=len(self.clients.acknowledged), recovery_s=self.recovery_s)  # fmt: skip


@asynccontextmanager
async def under_load(
    url: str,
    data_dir: Path,
    *,
    clients: Clients | None = None,
    number: int = 2,
    first: int = 10,
    **settings: Any,
) -> AsyncIterator[Scene]:
    """A worker and `number` clients; the block begins once `first` stores were acknowledged.

    When it has ended, the clients stop and what they were told is looked up.
    """
    async with worker(data_dir, url, knobs=LIMITS, **settings) as one:
        scene = Scene(one, clients or Clients())
        await make_line(one.url, name=scene.clients.line)
        async with scene.clients.working(one.url, clients=number):
            await scene.clients.told(first)
            yield scene
        scene.lost = await scene.clients.lost(one.url)


class Link:
    """A TCP relay to a Unix socket that can be slow, silent or cut."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: list[asyncio.Task[Any]] = []
        self.delay_s = 0.0
        self.refuses = False
        self.attempts = 0
        """Connections that somebody began."""
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Link]:
        """Listen during the block."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def hold(self) -> None:
        """Pass nothing on, and say nothing."""
        self._open.clear()

    def go_on(self, *, with_old: bool = True) -> None:
        """Pass on what was held, and all that comes; or new connections alone, and the old ones are never heard of."""
        self.refuses = False
        before, self._open = self._open, asyncio.Event()
        self._open.set()
        if with_old:
            before.set()

    def cut(self) -> None:
        """Break every connection; new ones are refused until `go_on` when `refuses` was set."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.attempts += 1
        if self.refuses:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.append(task)
        back, out = await asyncio.open_unix_connection(self._target)
        self._writers |= {writer, out}
        gate = self._open
        try:
            await asyncio.gather(self._pass(reader, out, gate), self._pass(back, writer, gate))
        finally:
            self._writers -= {writer, out}

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, gate: asyncio.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await gate.wait()
                target.write(data)
                await target.drain()
        with contextlib.suppress(OSError):
            target.close()
