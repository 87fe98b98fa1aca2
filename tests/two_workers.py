"""Two real workers on one database behind one address that hands its connections to them in turns.

A client that keeps no connection open asks the workers alternately: what one of them did, the other is asked about.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from service import fake_upstream
from service.auth import new_key
from service.storage import tenants
from service.storage.database import Transaction, open_database
from tests.harness import Client
from tests.service.proxy.rig import Rig
from tests.workers import Worker

T = TypeVar("T")

NO_KEEPING = httpx2.Limits(max_connections=None, max_keepalive_connections=0)


@contextmanager
def in_turns(ports: list[int]) -> Iterator[str]:
    """The address of a relay: its first connection goes to the first port, its second to the second, and so on."""
    loop = asyncio.new_event_loop()
    turns = itertools.cycle(ports)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, out = await asyncio.open_connection("127.0.0.1", next(turns))
        except OSError:
            writer.transport.abort()
            return
        passing = [
            asyncio.create_task(_pass(reader, out)),
            asyncio.create_task(_pass(back, writer)),
        ]
        try:
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in passing:
                task.cancel()
            for end in (out, writer):
                end.close()  # what was written to it goes out first

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()  # the caller may have a loop of its own
    starting = asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
    server = asyncio.run_coroutine_threadsafe(starting, loop).result(10)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()


async def _end(server: asyncio.Server) -> None:
    server.close()
    while left := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(
            left, timeout=5
        )  # the workers or the clients have ended, so each comes to its end
    await asyncio.sleep(0.05)  # what was closed says good-bye in the next turns of the loop


async def add_keys(url: str, *names: str, **settings: Any) -> list[str]:
    """A new API key of each tenant, as `surehit key create` makes it: by another process than the workers."""
    made: dict[str, Any] = {"role": "admin", "max_stores_per_hour": None} | settings
    keys = [(tenant, new_key()) for tenant in names]

    def add(tx: Transaction) -> None:
        for tenant, (_, key_hash, key_id) in keys:
            tenants.add_key(
                tx, tenant, key_id=key_id, key_hash=key_hash, name="test", now=1, **made
            )

    db = open_database(url, budget_ms=10_000)
    await db.open()
    try:
        await db.write(add)
    finally:
        await db.close()
    return [text for _, (text, _, _) in keys]


class Pair:
    """The two workers, which may be ended and started again one by one."""

    def __init__(
        self,
        url: str,
        data_dir: Path,
        *,
        model: str = "hash",
        models: Path | None = None,
        **settings: Any,
    ) -> None:
        """`models`: where the product's own are built; without, a stand-in that `model` steers (see `tests.knobs`)."""
        self.url = url
        self.model = data_dir / "model"
        self._folders = [data_dir / name for name in ("a", "b")]
        for folder in self._folders:
            folder.mkdir(parents=True)
            if models is not None:
                (folder / "models").symlink_to(models)
        if models is None:
            self.model.write_text(model)
            settings["FAULT_MODEL"] = str(self.model)
        # a machine that is busy with other tests must not make lookups degrade
        patience = {"SUREHIT_EMBED_BUDGET_MS": "10000", "SUREHIT_DATABASE_BUDGET_MS": "10000"}
        self._settings = patience | settings
        self.workers = [self._start(n) for n in range(2)]

    async def ready(self) -> None:
        """Both answer."""
        await asyncio.gather(*(worker.ready() for worker in self.workers))

    async def restart(self, which: int, *, kill: bool = False) -> None:
        """End one of them, cleanly or by kill -9, and start it anew on its data directory and its port."""
        (self.workers[which].kill if kill else self.workers[which].end)()
        self.workers[which] = self._start(which, port=self.workers[which].port)
        await self.workers[which].ready()

    def end(self) -> None:
        """Both, cleanly."""
        with ExitStack() as stack:
            for worker in self.workers:
                stack.callback(worker.end)

    def _start(self, n: int, *, port: int = 0) -> Worker:
        return Worker(self._folders[n], self.url, port=port, **self._settings)


@asynccontextmanager
async def two_workers(url: str, data_dir: Path, **settings: Any) -> AsyncIterator[PairClient]:
    """A client that asks them in turns; `settings` as of `Worker`."""
    pair = Pair(url, data_dir, **settings)
    try:
        await pair.ready()
        with in_turns([worker.port for worker in pair.workers]) as address:
            async with httpx2.AsyncClient(
                base_url=address, limits=NO_KEEPING, timeout=60, trust_env=False
            ) as http:
                yield PairClient(pair, http)
    finally:
        await asyncio.to_thread(pair.end)


class PairClient(Client):
    """`tests.harness.Client` for two workers: by HTTP alone."""

    def __init__(self, pair: Pair, http: httpx2.AsyncClient) -> None:
        nothing: Any = None  # whoever looks inside fails
        super().__init__(app=nothing, http=http, cache=nothing)
        self.pair = pair

    async def key(self, tenant: str, **settings: Any) -> dict[str, str]:
        """See `Client.key`."""
        name = f"{tenant}{sorted(settings.items())}"
        if name not in self.keys:
            (self.keys[name],) = await add_keys(self.pair.url, tenant, **settings)
        return {"authorization": f"Bearer {self.keys[name]}"}

    async def settled(self) -> None:
        """Wait until both answer by meaning, or say why not."""
        for worker in self.pair.workers:
            await worker.ready("/readyz")


@contextmanager
def two_rigged(
    url: str, data_dir: Path, *, fake: dict[str, Any] | None = None, **settings: Any
) -> Iterator[PairRig]:
    """`tests.service.proxy.rig.rigged` with two workers in front of one fake upstream."""
    with (
        fake_upstream.running(fake_upstream.create_app(**(fake or {}))) as upstream,
        httpx2.Client(timeout=60, limits=NO_KEEPING, trust_env=False) as http,
    ):
        addresses = {
            "SUREHIT_OPENAI_BASE_URL": f"{upstream}/v1",
            "SUREHIT_ANTHROPIC_BASE_URL": f"{upstream}/v1",
        }
        pair = Pair(url, data_dir, **addresses, **settings)
        try:
            asyncio.run(pair.ready())
            with in_turns([worker.port for worker in pair.workers]) as address:
                yield PairRig(pair, address, upstream, http)
        finally:
            pair.end()


class PairRig(Rig):
    """`Rig` for two workers: by HTTP alone."""

    def __init__(self, pair: Pair, base: str, upstream: str, http: httpx2.Client) -> None:
        nothing: Any = None
        super().__init__(base=base, upstream=upstream, cache=nothing, loop=nothing, http=http)
        self.pair = pair

    def key(self, tenant: str) -> str:
        """See `Rig.key`."""
        return self.new_keys(tenant)[0]

    def new_keys(self, *names: str) -> list[str]:
        """A new API key of each tenant."""
        return asyncio.run(add_keys(self.pair.url, *names))


def until(read: Callable[[], T], wanted: T, *, within_s: float = 30.0) -> None:
    """Read something until it is what is wanted."""
    ends = time.monotonic() + within_s
    while (found := read()) != wanted:
        assert time.monotonic() < ends, found
        time.sleep(0.05)
