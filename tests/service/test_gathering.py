"""Point reads that go together answer what each would answer alone, whatever the others do."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from service import key
from service.errors import InvalidRequest, Unavailable
from service.storage import entries
from service.storage.gathering import MOST_RUNNING, MOST_TOGETHER, Gathering, PointQuery
from service.storage.query import Query
from tests.harness import Client, chat, running

ONE: Any = "one"
MANY: Any = "many"
POINT = PointQuery(ONE, MANY)


class Server:
    """Answers n with n * 10; None for a multiple of 7, an error for what it is told."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.sizes: list[int] = []
        self.broken = False

    async def read(self, query: Query, params: dict[str, Any]) -> list[tuple[Any, ...]]:
        given: Any = query
        asked = params["n"] if given == MANY else [params["n"]]
        self.sizes.append(len(asked))
        await self.gate.wait()
        if self.broken:
            raise Unavailable("down")
        if -1 in asked:
            raise InvalidRequest("n: cannot be kept")
        rows = [(place, n * 10) for place, n in enumerate(asked, start=1) if n % 7]
        return [row if given == MANY else row[1:] for row in reversed(rows)]


async def _all(server: Server, numbers: list[int]) -> list[Any]:
    gathering = Gathering(POINT, server.read)
    reads = [asyncio.create_task(gathering.read({"n": n})) for n in numbers]
    await asyncio.sleep(0)
    server.gate.set()
    return await asyncio.gather(*reads, return_exceptions=True)


async def test_waiting_behind_a_server_that_hangs_has_an_end() -> None:
    """Each statement ends after its own time; a queue of hundreds must not wait for one after the other."""
    sent = 0

    async def hangs(query: Query, params: dict[str, Any]) -> list[tuple[Any, ...]]:
        nonlocal sent
        sent += 1
        await asyncio.sleep(0.2)
        raise Unavailable("no answer")

    gathering = Gathering(POINT, hangs, wait_s=0.2)
    loop = asyncio.get_running_loop()
    began = loop.time()
    reads = (gathering.read({"n": n}) for n in range(20 * MOST_TOGETHER))
    found = await asyncio.gather(*reads, return_exceptions=True)
    assert loop.time() - began < 1.0  # one after the other: 10 times 0.2 s
    assert {type(error) for error in found} == {Unavailable}
    assert sent <= 2 * MOST_RUNNING


async def test_each_gets_its_own_row() -> None:
    server = Server()
    found = await _all(server, list(range(1, 201)))
    assert found == [(n * 10,) if n % 7 else None for n in range(1, 201)]
    assert server.sizes[:MOST_RUNNING] == [1] * MOST_RUNNING
    assert max(server.sizes) == MOST_TOGETHER
    assert sum(server.sizes) == 200


async def test_one_bad_value_is_its_own_readers_fault() -> None:
    found = await _all(Server(), [1, 2, 3, -1, 4])
    assert [found[n] for n in (0, 1, 2, 4)] == [(10,), (20,), (30,), (40,)]
    assert isinstance(found[3], InvalidRequest)


async def test_trouble_reaches_all_and_ends() -> None:
    server = Server()
    server.broken = True
    found = await _all(server, [1, 2, 3, 4, 5])
    assert all(isinstance(error, Unavailable) for error in found)
    gathering = Gathering(POINT, server.read)
    server.broken = False
    assert await gathering.read({"n": 1}) == (10,)


async def test_a_reader_that_leaves_takes_nobody_along() -> None:
    server = Server()
    gathering = Gathering(POINT, server.read)
    reads = [asyncio.create_task(gathering.read({"n": n})) for n in range(1, 7)]
    await asyncio.sleep(0)
    reads[0].cancel()
    reads[4].cancel()
    await asyncio.sleep(0)
    server.gate.set()
    found = await asyncio.gather(*reads, return_exceptions=True)
    assert [found[n] for n in (1, 2, 3, 5)] == [(20,), (30,), (40,), (60,)]
    assert await gathering.read({"n": 9}) == (90,)


async def test_the_real_statement_alone_and_together(database_url: str, tmp_path: Path) -> None:
    """Found, absent, expired, another tenant's, a revoked key, no key, an unknown line: as one by one."""
    async with running(database_url, tmp_path) as client:
        cases = await _cases(client)
        db = client.cache.db
        alone = [await entries.exact(db, **case) for case in cases]
        assert sum(row is not None and row[1] is not None for row in alone) == 2
        assert sum(row is None for row in alone) >= 3
        many = list(itertools.islice(itertools.cycle(cases), 60))
        together = await asyncio.gather(*(entries.exact(db, **case) for case in many))
        for row, case in zip(together, many, strict=True):
            expected = alone[cases.index(case)]
            assert (row and row[:5]) == (expected and expected[:5])


async def _cases(client: Client) -> list[dict[str, Any]]:
    one, two = await client.key("t1"), await client.key("t2")
    await client.line(headers=one)
    await client.line(headers=two)
    await client.store(chat("kept"), "a", headers=one)
    await client.store(chat("short"), "b", headers=one, ttl_s=1)
    hashes = {}
    for tenant, headers in (("t1", one), ("t2", two)):
        caller = await client.app._keys().caller(headers["authorization"])
        hashes[tenant] = caller.key_hash
    now = client.cache.clock_ms() + 5_000
    made = []
    for text, tenant, line, api_key in [
        ("kept", "t1", "faq", hashes["t1"]),
        ("kept", "t1", "faq", None),
        ("short", "t1", "faq", hashes["t1"]),
        ("kept", "t2", "faq", hashes["t2"]),
        ("absent", "t1", "faq", None),
        ("kept", "t1", "none", hashes["t1"]),
        ("kept", "t1", "faq", b"revoked"),
        ("kept", "t3", "faq", None),
    ]:
        exact_key = key.exact_key(
            tenant=tenant,
            scope="",
            line=line,
            policy_version="1",
            body=key.canonicalize(chat(text)).body,
        )
        made.append(
            {"tenant": tenant, "line": line, "key": exact_key, "now": now, "api_key": api_key}
        )
    return made


async def test_a_store_is_found_by_whoever_asks_after_it(
    postgresql_url: str, tmp_path: Path
) -> None:
    """While many others read: no read may go along with a statement that began before it was asked for."""
    async with running(postgresql_url, tmp_path) as client:
        await client.line(mode="exact")
        is_over = asyncio.Event()

        async def noise() -> None:
            while not is_over.is_set():
                await client.lookup("noise")

        others = [asyncio.create_task(noise()) for _ in range(12)]
        for n in range(40):
            await client.store(f"q{n}", n)
            assert (await client.lookup(f"q{n}"))["outcome"] == "hit"
        is_over.set()
        await asyncio.gather(*others)


@pytest.mark.parametrize("count", [1, MOST_RUNNING])
async def test_few_readers_are_not_kept_waiting(count: int) -> None:
    server = Server()
    await _all(server, list(range(1, count + 1)))
    assert server.sizes == [1] * count
