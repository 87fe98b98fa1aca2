"""Whatever happens to the cache, the application gets its answer from the upstream."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from service.errors import Unavailable
from service.storage.query import Query
from tests.service.proxy.rig import Rig, cache_status, rigged


class Broken:
    """A database in front of the real one, which stops answering when told to."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.how: str | None = None
        self.is_postgresql = inner.is_postgresql
        self.at_once = None

    async def open(self) -> None:
        """As the real one."""
        await self.inner.open()

    async def close(self) -> None:
        """As the real one."""
        await self.inner.close()

    async def read(self, query: Query, params: dict[str, Any]) -> Any:
        """Fail, break on the exact tier's read, or read; a real one that hangs fails after its budget."""
        await self._trouble_of_read(is_exact=query.name.startswith("exact"))
        return await self.inner.read(query, params)

    async def write(self, work: Any, *, durable: bool = False) -> Any:
        """Fail, hang, break, or write."""
        await self._trouble()
        return await self.inner.write(work, durable=durable)

    async def _trouble_of_read(self, *, is_exact: bool) -> None:
        if self.how == "hangs":
            await asyncio.sleep(0.2)
            raise Unavailable("no answer within the budget")
        if self.how != "breaks" or is_exact:
            await self._trouble()

    async def _trouble(self) -> None:
        if self.how == "down":
            raise Unavailable("the database is down")
        if self.how == "hangs":
            await asyncio.sleep(60)
        if self.how == "breaks":
            raise RuntimeError("a mistake of our own")


@pytest.fixture
def breakable(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service whose database can be told to misbehave."""
    import service.app as app

    made: list[Broken] = []
    real = app.open_database

    def wrapped(url: str, *, budget_ms: int) -> Any:
        made.append(Broken(real(url, budget_ms=budget_ms)))
        return made[-1]

    monkeypatch.setattr(app, "open_database", wrapped)
    options = {"embed_budget_ms": 500, "database_budget_ms": 500}
    with rigged(sqlite_url, tmp_path, **options) as rig:
        yield rig, made[0]
        made[0].how = None


@pytest.mark.parametrize("how", ["down", "hangs", "breaks"])
@pytest.mark.parametrize("stream", [False, True])
def test_trouble_of_the_database_is_a_miss(breakable: Any, how: str, stream: bool) -> None:
    """In little more than the budget, with `detail=degraded`; afterwards all is as before."""
    rig, database = breakable
    rig.chat("Stored before")
    database.how = how
    began = time.monotonic()
    for text in ("Stored before", "Never seen"):
        reply = rig.chat(text, stream=stream)
        assert reply.status_code == 200
        assert cache_status(reply) == {"fwd": "miss", "detail": "degraded"}
    assert time.monotonic() - began < 20  # a write that hangs takes 60
    assert rig.chat("A bypass", n=2).status_code == 200
    database.how = None
    assert cache_status(rig.chat("Stored before"))["hit"] is True


@pytest.mark.parametrize("how", ["down", "hangs", "breaks"])
def test_database_that_fails_during_the_call_costs_the_store_alone(
    breakable: Any, how: str
) -> None:
    """The answer arrives; the next request is a miss."""
    import threading

    rig, database = breakable
    rig.fault(first_byte_s=0.6)
    threading.Timer(0.3, lambda: setattr(database, "how", how)).start()
    reply = rig.chat("Fails to be stored")
    assert reply.status_code == 200
    assert "stored" not in cache_status(reply)
    database.how = None
    assert rig.chat("Fails to be stored").status_code == 200


def test_what_is_stored_but_no_answer_is_not_served(rig: Rig) -> None:
    """Somebody stored a text under a proxied request's key: the upstream answers, and its answer replaces it."""
    asked = rig.chat("Odd", headers={"cache-control": "only-if-cached"})
    assert asked.status_code == 504
    missed = rig.chat("Odd")
    reply = rig.http.post(
        f"{rig.base}/v1/store",
        json={"lookup_id": missed.headers["x-surehit-lookup-id"], "response": "just text"},
    )
    assert reply.status_code == 201
    served = rig.chat("Odd")
    assert served.status_code == 200
    assert served.json()["choices"]
    assert cache_status(served)["fwd"] == "miss"


def test_with_named_upstreams_an_unreadable_line_goes_nowhere(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may be meant for one's own machine is not sent to the default provider because the database is down."""
    import service.app as app

    made: list[Broken] = []
    real = app.open_database

    def wrapped(url: str, *, budget_ms: int) -> Any:
        made.append(Broken(real(url, budget_ms=budget_ms)))
        return made[-1]

    monkeypatch.setattr(app, "open_database", wrapped)
    named = {"vllm": {"url": "http://127.0.0.1:9/v1"}}
    with rigged(sqlite_url, tmp_path, upstreams=named) as rig:
        rig.chat("Warm")
        made[0].how = "down"
        assert rig.chat("Known line").status_code == 200
        other = rig.chat("Unknown line", headers={"x-surehit-line": "private"})
        assert other.status_code == 503
        assert "x-should-retry" not in other.headers
        made[0].how = None
