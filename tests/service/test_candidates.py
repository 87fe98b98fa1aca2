"""One contract, three ways to find candidates: in memory, in PostgreSQL, and in a PostgreSQL replica (test_replica)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import psycopg.sql
import pytest

from index.similarity import unit_rows
from index.testing import HashEmbedder
from service import shared_search
from service.errors import InvalidRequest, Unavailable
from service.maintenance import Maintenance
from service.shared_search import SharedPartition, SharedSearch
from service.storage import entries, invalidation, pgvector
from service.storage.invalidation import Selector
from service.storage.postgresql import connection_settings, conninfo
from service.storage.vectors import Reals
from tests.harness import Client, Clock, running

WAYS = ("local-sqlite", "local-postgresql", "pgvector")
DIMENSIONS = 64


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Database URL and settings of one way."""
    search, _, kind = request.param.partition("-")
    url = request.getfixturevalue(f"{kind or 'postgresql'}_url")
    return {"url": url, "search": search}


@asynccontextmanager
async def worker(way: dict[str, Any], folder: Path, **more: Any) -> AsyncIterator[Client]:
    async with running(way["url"], folder, search=way["search"], **more) as client:
        yield client


def vectors(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors, float32, (count, DIMENSIONS)."""
    return unit_rows(np.random.default_rng(seed).standard_normal((count, DIMENSIONS)), DIMENSIONS)


async def put(
    client: Client,
    some: np.ndarray,
    *,
    first_id: int = 1,
    tenant: str = "acme",
    partition: bytes = b"p",
    expires_ms: int | None = None,
) -> None:
    """Entries with the ids `first_id`, `first_id` + 1, …"""

    def write(tx: Any) -> None:
        for n, vector in enumerate(some):
            number = first_id + n
            entry = entries.NewEntry(
                id=number,
                exact_key=f"{tenant}{number}".encode(),
                tenant=tenant,
                line="faq",
                scope="",
                policy_version="1",
                model="m",
                created_ms=1,
                expires_ms=expires_ms,
                response=b'"a"',
                request=b"{}",
                query=f"q{number}",
                partition=partition,
                fingerprint="hash/64",
                context_hash=b"c",
                vector=vector.astype("<f4").tobytes(),
                tags=(),
                quarantined=False,
                stored_by="",
            )
            entries.put(tx, tenant, entry)

    await client.cache.db.write(write)


async def nearest(
    client: Client, query: np.ndarray, k: int, *, tenant: str = "acme", partition: bytes = b"p"
) -> list[tuple[int, float]]:
    found = await client.cache.partitions.refresh(
        tenant, partition, fingerprint="hash/64", dimensions=DIMENSIONS
    )
    if found.is_empty:
        return []
    return [tuple(n) for n in await client.cache.partitions.search(found, query, k)]  # type: ignore[misc]


def by_hand(some: np.ndarray, query: np.ndarray, k: int) -> list[tuple[int, float]]:
    scores = some @ query
    order = np.argsort(-scores)[:k]
    return [(int(n) + 1, round(float(scores[n]), 6)) for n in order]


async def test_nearest_first_with_exact_scores(way: dict[str, Any], tmp_path: Path) -> None:
    """A score means the same wherever it is found: cosine to 6 decimals, 1.0 for the vector itself."""
    some = vectors(300)
    async with worker(way, tmp_path) as client:
        assert await nearest(client, some[0], 8) == []
        await put(client, some)
        for n in (0, 7, 299):
            query = unit_rows([some[n] + 0.2 * some[(n + 1) % 300]], DIMENSIONS)[0]
            found = await nearest(client, query, 8)
            expected = by_hand(some, query, 8)
            assert [label for label, _ in found] == [label for label, _ in expected]
            assert [s for _, s in found] == pytest.approx([s for _, s in expected], abs=2e-6)
        assert (await nearest(client, some[5], 1)) == [(6, 1.0)]
        assert len(await nearest(client, some[5], 3)) == 3


async def test_partitions_and_tenants_never_meet(way: dict[str, Any], tmp_path: Path) -> None:
    some = vectors(4)
    async with worker(way, tmp_path) as client:
        await put(client, some[:2])
        await put(client, some[2:3], first_id=3, partition=b"other")
        await put(client, some[3:], first_id=4, tenant="other")
        assert {label for label, _ in await nearest(client, some[2], 8)} == {1, 2}
        assert await nearest(client, some[0], 8, partition=b"none") == []


async def test_a_store_of_one_worker_is_found_by_the_next_search_of_another(
    way: dict[str, Any], tmp_path: Path
) -> None:
    some = vectors(3)
    async with worker(way, tmp_path / "a") as a, worker(way, tmp_path / "b") as b:
        await put(a, some[:1])
        assert [label for label, _ in await nearest(b, some[0], 8)] == [1]
        await put(a, some[1:2], first_id=2)
        assert {label for label, _ in await nearest(b, some[1], 8)} == {1, 2}
        await put(b, some[2:], first_id=1)  # replaced: the same key with another vector
        assert (await nearest(a, some[2], 1))[0] == (1, 1.0)


async def test_what_was_dropped_is_not_proposed_again(way: dict[str, Any], tmp_path: Path) -> None:
    some = vectors(20)
    async with worker(way, tmp_path) as client:
        await put(client, some)
        partitions = client.cache.partitions
        found = await partitions.refresh("acme", b"p", fingerprint="hash/64", dimensions=DIMENSIONS)
        first = [n.label for n in await partitions.search(found, some[0], 5)]
        partitions.drop(found, first)
        second = [n.label for n in await partitions.search(found, some[0], 5)]
        assert len(second) == 5
        assert not set(first) & set(second)
        gone = await client.cache.db.write(
            lambda tx: invalidation.drop_batch(tx, "acme", selector=Selector(line="faq"))
        )
        assert len(gone) == 20
        partitions.forget(gone)
        assert await nearest(client, some[0], 5) == []


async def test_an_entry_without_a_vector_is_not_searched_and_gets_found_with_one(
    way: dict[str, Any], tmp_path: Path
) -> None:
    """Stored in mode `exact`, embedded by upkeep."""
    async with worker(way, tmp_path) as client:
        await client.line(mode="exact")
        await client.store("Where is the manual", "a")
        await client.line(mode="serve")
        assert (await client.lookup("Where is the manual?"))["reason"] == "empty"
        await Maintenance(client.cache).once()
        assert (await client.lookup("Where is the manual?")).get("tier") == "semantic"


async def test_the_whole_service_over_each_way(
    way: dict[str, Any], tmp_path: Path, clock: Clock
) -> None:
    """Hit, near miss, expiry, invalidation, another scope."""
    async with worker(way, tmp_path, clock=clock) as client:
        await client.line()
        await client.store("Where is the manual", "a", ttl_s=100, tags=["doc"])
        hit = await client.lookup("Where is the manual?")
        assert (hit["tier"], hit["response"]) == ("semantic", "a")
        assert (await client.lookup("Where is the manual?", scope="s"))["reason"] == "empty"
        miss = await client.lookup("How do I pay")
        assert miss["reason"] == "below_threshold"
        clock.turn(100)
        assert (await client.lookup("Where is the manual?"))["reason"] == "empty"
        await client.store("Where is the manual", "b", tags=["doc"])
        assert (await client.lookup("Where is the manual?"))["response"] == "b"
        await client.call("POST", "/v1/invalidate", {"tag": "doc"})
        assert (await client.lookup("Where is the manual?"))["reason"] == "empty"


async def test_a_worker_that_searches_in_memory_keeps_the_shared_vectors_complete(
    postgresql_url: str, tmp_path: Path
) -> None:
    """One that started before there was any table of vectors: the database itself makes the row."""
    some = vectors(3)
    local = {"url": postgresql_url, "search": "local"}
    shared = {"url": postgresql_url, "search": "pgvector"}
    async with worker(local, tmp_path / "a") as before:
        await put(before, some[:1])
        async with worker(shared, tmp_path / "b") as b:
            assert await nearest(b, some[0], 1) == [(1, 1.0)]  # copied at start
            assert before.cache.db.keeps_vectors is False
            await put(before, some[1:2], first_id=2)  # by the trigger
            assert await nearest(b, some[1], 1) == [(2, 1.0)]
            await put(b, some[2:], first_id=3)  # by the writer
            assert await nearest(before, some[2], 1) == [(3, 1.0)]
            rows = await b.cache.db.write(
                lambda tx: tx.text("SELECT entry_id, embedding::text FROM entry_vectors ORDER BY 1")
            )
            for (_, text), vector in zip(rows, some, strict=True):
                assert np.abs(np.array(eval(text)) - vector).max() < 1e-3


async def test_large_partitions_get_a_graph_and_lose_nothing_by_it(
    postgresql_url: str, tmp_path: Path
) -> None:
    """Recall of would-be hits, the plan that is used, and growth and shrinking."""
    some = vectors(600)
    way = {"url": postgresql_url, "search": "pgvector"}
    async with worker(way, tmp_path) as client:
        await put(client, some)
        await put(client, vectors(50, seed=1), first_id=1001, partition=b"small")
        assert pgvector.index_large_partitions(postgresql_url, large=500) == 1
        assert pgvector.index_large_partitions(postgresql_url, large=500) == 0
        assert graphs(postgresql_url) == 1
        rng = np.random.default_rng(2)
        wrong = 0
        for n in range(0, 600, 10):
            query = unit_rows([some[n] + 0.05 * rng.standard_normal(DIMENSIONS)], DIMENSIONS)[0]
            wrong += (await nearest(client, query, 8))[0][0] != by_hand(some, query, 1)[0][0]
        assert wrong == 0
        assert len(await nearest(client, vectors(1, seed=1)[0], 8, partition=b"small")) == 8
        search = client.cache.partitions
        assert isinstance(search, SharedSearch)
        assert "graph" not in plan_of(search, some[0])  # nobody has looked for graphs yet
        await search._look_for_graphs()
        assert "graph" in plan_of(search, some[0])
        assert "graph" not in plan_of(search, some[0], partition=b"small")
        assert (await nearest(client, some[7], 1)) == [(8, 1.0)]
        await client.cache.db.write(lambda tx: tx.text("DELETE FROM entries WHERE id <= 400"))
        assert pgvector.index_large_partitions(postgresql_url, large=500) == 1
        assert graphs(postgresql_url) == 0
        assert (await nearest(client, some[500], 1)) == [
            (501, 1.0)
        ]  # by a statement that names the graph's partition


async def test_upkeep_makes_graphs_without_waiting_for_them(
    postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pgvector, "LARGE", 100)
    async with worker({"url": postgresql_url, "search": "pgvector"}, tmp_path) as client:
        await put(client, vectors(150))
        search = client.cache.partitions
        assert isinstance(search, SharedSearch)
        await search.tend()
        assert search._indexing is None  # not due yet
        search._tended -= shared_search.INDEX_S
        await search.tend()
        assert search._indexing is not None
        await asyncio.to_thread(search._indexing.join, 30)
        assert graphs(postgresql_url) == 1
        assert (await nearest(client, vectors(150)[7], 1)) == [(8, 1.0)]


def plan_of(search: SharedSearch, vector: np.ndarray, *, partition: bytes = b"p") -> str:
    """How the search of a partition is planned, once for all parameters, by a session with its settings."""
    query = search._query(SharedPartition("acme", partition, DIMENSIONS, is_empty=False), 16)
    values = {
        "partition": partition,
        "tenant": "acme",
        "now": 0,
        "vector": vector.tolist(),
        "n": 16,
    }
    types = {"partition": "bytea", "tenant": "text", "now": "int8", "vector": "real[]", "n": "int8"}
    numbered = {name: f"${place}" for place, name in enumerate(values, start=1)}
    info = conninfo(search._url)
    settings = connection_settings(info, statement_s=10, **shared_search._OPTIONS)
    with psycopg.connect(info, **settings) as connection:
        connection.execute(
            f"PREPARE search ({', '.join(types.values())}) AS {query.postgresql % numbered}".encode()
        )
        given = psycopg.sql.SQL(", ").join(map(psycopg.sql.Literal, values.values()))
        explain = psycopg.sql.SQL("EXPLAIN EXECUTE search ({})").format(given)
        return str(connection.execute(explain).fetchall())


async def test_a_partition_that_was_emptied_is_found_empty(
    postgresql_url: str, tmp_path: Path
) -> None:
    """It is remembered as one that has entries until a search finds nothing there."""
    async with worker({"url": postgresql_url, "search": "pgvector"}, tmp_path) as client:
        await put(client, vectors(3))
        search = client.cache.partitions
        assert await nearest(client, vectors(3)[1], 1) == [(2, 1.0)]
        await client.cache.db.write(lambda tx: tx.text("DELETE FROM entries"))

        async def partition() -> SharedPartition:
            found = await search.refresh("acme", b"p", fingerprint="f", dimensions=DIMENSIONS)
            assert isinstance(found, SharedPartition)
            return found

        assert not (await partition()).is_empty
        assert await search.search(await partition(), vectors(3)[1], 1) == []
        assert (await partition()).is_empty
        await put(client, vectors(3))
        assert not (await partition()).is_empty


def test_vectors_go_out_as_they_are(postgresql_url: str) -> None:
    """In binary, as `real[]`: nothing is rounded on the way, not even the smallest and largest."""
    numbers = np.array([0.1, -1.0, 1e-38, 3e38, 0.0], dtype="<f4")
    with psycopg.connect(conninfo(postgresql_url)) as connection:
        row = connection.execute("SELECT %s", (Reals(numbers.tobytes()),)).fetchone()
    assert row is not None
    assert np.array_equal(np.array(row[0], dtype="<f4"), numbers)


def graphs(url: str) -> int:
    with psycopg.connect(conninfo(url)) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'ix_entry_vectors_graph_%'"
        ).fetchone()
        assert row is not None
        return int(row[0])


async def test_a_start_waits_for_no_graph_that_is_being_built(
    postgresql_url: str, tmp_path: Path
) -> None:
    """The builder holds the lock for minutes, and a lock on the table that any change of it would wait for."""
    pgvector.prepare(postgresql_url)
    with psycopg.connect(conninfo(postgresql_url)) as builder:
        builder.execute("SELECT pg_advisory_lock(%s)", (pgvector._LOCK_ID,))
        builder.execute("LOCK TABLE entry_vectors IN SHARE UPDATE EXCLUSIVE MODE")
        async with asyncio.timeout(20):
            async with worker({"url": postgresql_url, "search": "pgvector"}, tmp_path) as client:
                await put(client, vectors(3))
                assert await nearest(client, vectors(3)[1], 1) == [(2, 1.0)]
        assert pgvector.index_large_partitions(postgresql_url, large=1) == 0  # somebody is at it


async def test_two_starters_prepare_one_database(postgresql_url: str, tmp_path: Path) -> None:
    way = {"url": postgresql_url, "search": "local"}
    async with worker(way, tmp_path) as client:
        await put(client, vectors(50))
    await asyncio.gather(*(asyncio.to_thread(pgvector.prepare, postgresql_url) for _ in range(3)))
    async with worker(way | {"search": "pgvector"}, tmp_path) as client:
        assert await nearest(client, vectors(50)[9], 1) == [(10, 1.0)]


def test_a_database_without_the_extension_says_what_to_do(postgresql_url: str) -> None:
    """Here: a user who may not create it."""
    with psycopg.connect(conninfo(postgresql_url), autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS poor")
        connection.execute("CREATE ROLE poor LOGIN")
    url = postgresql_url.replace("postgres:@", "poor:@")
    with pytest.raises(Unavailable, match=r"SUREHIT_SEARCH.*CREATE EXTENSION vector"):
        pgvector.prepare(url)


async def test_settings_that_need_postgresql_say_so(sqlite_url: str, tmp_path: Path) -> None:
    for wrong in ({"search": "pgvector"}, {"read_dsn": "postgresql://h/d"}):
        with pytest.raises(InvalidRequest, match="SUREHIT_DATABASE_URL"):
            async with running(sqlite_url, tmp_path, embedder=HashEmbedder(), **wrong):
                pass
