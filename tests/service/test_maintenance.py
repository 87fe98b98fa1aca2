"""Upkeep: expiry, eviction by worth, vectors that wait, old log rows."""

from __future__ import annotations

import asyncio
from pathlib import Path

from index.testing import HashEmbedder
from index.types import EmbedderUnavailable
from service.maintenance import Maintenance
from service.policy import Policy
from service.storage import upkeep
from service.storage.models import Entry, Fill, Lease, Lookup
from tests.harness import Client, Clock, running
from tests.service.ways import rows


async def test_expired_rows_go_and_live_ones_stay(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(database_url, tmp_path, clock=clock) as client:
        await client.store("q1", "a", ttl_s=10)
        await client.store("q2", "a", ttl_s=100)
        await client.store("q3", "a")
        clock.turn(10)
        await Maintenance(client.cache).once()
        assert len(await rows(client, Entry.id)) == 2
        assert (await client.lookup("q2"))["outcome"] == "hit"


async def test_expired_rows_wait_where_a_line_may_serve_stale_ones(
    sqlite_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.line(stale_if_error_s=60)
        await client.store("q1", "a", ttl_s=10)
        for seconds, left in ((10, 1), (59, 1), (1, 0)):
            clock.turn(seconds)
            await Maintenance(client.cache).once()
            assert len(await rows(client, Entry.id)) == left, seconds
            assert (await client.lookup("q1"))["outcome"] == "miss"


async def test_the_least_valuable_entries_are_evicted_first(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Worth is hits times length: a short one that was never hit goes before a long or a popular one."""
    async with running(database_url, tmp_path, clock=clock) as client:
        await client.line(limits={"max_entries": 2})
        await client.store("short", "x")
        await client.store("popular", "x")
        await client.store("long", "x" * 500)
        await client.store("short too", "x")
        for _ in range(5):
            await client.lookup("popular")
        clock.turn(60)
        await client.cache.journal.flush(closing=True)
        await Maintenance(client.cache).once()
        left = {row[0] for row in await rows(client, Entry.query)}
        assert left == {"popular", "long"}
        assert (await client.lookup("short"))["outcome"] == "miss"


class Moody(HashEmbedder):
    """Fails while told to."""

    broken = True

    def embed(self, texts):  # type: ignore[no-untyped-def]
        if self.broken:
            raise EmbedderUnavailable("out of order")
        return super().embed(texts)


async def test_entries_stored_without_a_vector_get_one_when_the_model_is_back(
    database_url: str, tmp_path: Path
) -> None:
    """Found by key meanwhile, never searchable without a vector, then found by meaning."""
    moody = Moody()
    async with running(database_url, tmp_path, embedder=moody) as client:
        await client.line()
        await client.store("Where is the manual", "a")
        stats = (await client.call("GET", "/v1/stats")).json()["lines"]["faq"]["entries"]
        assert stats == {"live": 1, "searchable": 0, "awaiting_embedding": 1}
        assert (await client.lookup("Where is the manual"))["tier"] == "exact"
        assert (await client.lookup("Where is the manual?"))["outcome"] == "miss"
        await Maintenance(client.cache).once()
        moody.broken = False
        await Maintenance(client.cache).once()
        assert (await client.lookup("Where is the manual?")).get("tier") == "semantic"
        stats = (await client.call("GET", "/v1/stats")).json()["lines"]["faq"]["entries"]
        assert stats == {"live": 1, "searchable": 1, "awaiting_embedding": 0}


async def test_text_that_the_model_cannot_read_is_tried_once(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Too long for the new model: found by its key alone, and not asked for again and again."""
    long = "Where is the manual of " + "the second " * 40
    async with running(sqlite_url, tmp_path, embedder=HashEmbedder(name="wide")) as client:
        await client.line()
        await client.store(long, "a")
    narrow = HashEmbedder(name="narrow", max_tokens=10)
    async with running(sqlite_url, tmp_path, embedder=narrow) as client:
        for _ in range(2):
            await Maintenance(client.cache).once()
        assert await rows(client, Entry.fingerprint, Entry.vector) == [("narrow/64", None)]
        stats = (await client.call("GET", "/v1/stats")).json()["lines"]["faq"]["entries"]
        assert stats == {"live": 1, "searchable": 0, "awaiting_embedding": 0}
        assert (await client.lookup(long))["tier"] == "exact"


async def test_old_fills_leases_and_log_rows_are_forgotten(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(
        database_url, tmp_path, clock=clock, log_retention_days=2, fill_ttl_s=100
    ) as client:
        await client.line()
        await client.store("Where is the manual", "a")
        await client.lookup("Where is the manual?")
        await client.lookup("Unrelated")
        assert (
            len(await rows(client, Fill.lookup_id)) == len(await rows(client, Lease.lookup_id)) == 1
        )
        clock.turn(100)
        await Maintenance(client.cache).once()
        assert await rows(client, Fill.lookup_id) == await rows(client, Lease.lookup_id) == []
        assert len(await rows(client, Lookup.id)) == 2
        clock.turn(2 * 86_400)
        await Maintenance(client.cache).once()
        assert await rows(client, Lookup.id) == []


async def test_entries_stored_in_mode_exact_are_found_by_meaning_once_the_line_serves(
    database_url: str, tmp_path: Path
) -> None:
    """By lookup id and without one; what must not be reused by meaning stays that way."""
    async with running(database_url, tmp_path) as client:
        await client.line(mode="exact")
        await client.store("Where is the manual", "a")
        missed = await client.lookup("Who wrote the handbook")
        body = {"lookup_id": missed["lookup_id"], "response": "b"}
        assert (await client.call("POST", "/v1/store", body)).status_code == 201
        volatile = await client.lookup("What is the weather like in Paris today")
        body = {"lookup_id": volatile["lookup_id"], "response": "rain"}
        assert (await client.call("POST", "/v1/store", body)).status_code == 201
        await Maintenance(client.cache).once()
        assert {row[0] for row in await rows(client, Entry.vector)} == {None}
        await client.line(mode="serve")
        await Maintenance(client.cache).once()
        assert (await client.lookup("Where is the manual?")).get("tier") == "semantic"
        assert (await client.lookup("Who wrote the handbook?")).get("tier") == "semantic"
        again = await client.lookup("What is the weather like in Paris today?")
        assert again["reason"] == "volatile"


async def test_another_model_takes_over_line_by_line_and_nothing_is_served_wrongly_meanwhile(
    database_url: str, tmp_path: Path
) -> None:
    """Exact hits go on; by meaning an entry is found from its new vector on, and never across models."""
    old, new = HashEmbedder(64, name="old"), HashEmbedder(96, name="new")
    async with running(database_url, tmp_path, embedder=old) as client:
        for line in ("moved", "kept"):
            await client.line(line)
            for n in range(100):
                await client.store(f"Where is the manual of machine {n:03}", f"a{n}", line=line)
        client.cache.embedders.put("e5-small", new)
        await client.line("moved", embedder="e5-small")
        asked = "Where is the manual of machine 007?"
        assert (await client.lookup(asked, line="moved"))["reason"] == "empty"
        assert (await client.lookup(asked[:-1], line="moved"))["tier"] == "exact"
        assert (await client.lookup(asked, line="kept"))["response"] == "a7"
        await Maintenance(client.cache).once()
        assert (await client.lookup(asked, line="moved"))["response"] == "a7"
        assert (await client.lookup(asked, line="kept"))["response"] == "a7"
        kinds = await rows(client, Entry.line, Entry.fingerprint)
        assert set(kinds) == {("moved", "new/96"), ("kept", "old/64")}


async def test_of_several_workers_one_embeds_for_a_line_and_another_when_it_is_gone(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Otherwise each of them would embed everything."""

    async def take(client: Client, name: str) -> bool:
        now = clock()
        return await client.cache.db.write(
            lambda tx: upkeep.take_duty(
                tx, "t", name=name, worker=client.cache.worker, now=now, until=now + 15_000
            )
        )

    async with (
        running(database_url, tmp_path / "a", clock=clock) as a,
        running(database_url, tmp_path / "b", clock=clock) as b,
    ):
        assert await take(a, "embed:faq")
        assert not await take(b, "embed:faq")
        assert await take(b, "embed:code")
        clock.turn(10)
        assert await take(a, "embed:faq")  # held on
        clock.turn(10)
        assert not await take(b, "embed:faq")
        clock.turn(5)
        assert await take(b, "embed:faq")
        assert not await take(a, "embed:faq")
        assert await Maintenance(a.cache)._has_duty(await policy_of(a))
        assert not await Maintenance(b.cache)._has_duty(await policy_of(b))


async def policy_of(client: Client) -> Policy:
    await client.line("faq")
    found = await client.cache.policies.load("default", "faq")
    assert found is not None
    return found


async def test_bytes_of_a_line_are_held_by_dropping_the_least_valuable_per_byte(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """A large answer that nobody wants goes before small ones; one that is wanted stays."""
    async with running(database_url, tmp_path, clock=clock) as client:
        await client.line(mode="exact", limits={"max_bytes": 9_000})
        await client.store("large and wanted", "x" * 4_000)
        await client.store("large", "x" * 4_000)
        for n in range(20):
            await client.store(f"small {n}", "x" * 50)
        for _ in range(3):
            await client.lookup("large and wanted")
            for n in range(10):
                await client.lookup(f"small {n}")
        await client.cache.journal.flush(closing=True)
        evicted: list[tuple[str, str]] = []
        await Maintenance(client.cache, on_evict=lambda *of: evicted.append(of)).once()
        left = {row[0] for row in await rows(client, Entry.query)}
        sizes = [row[0] for row in await rows(client, Entry.size_bytes)]
        assert sum(sizes) <= 9_000
        assert {"large and wanted", *(f"small {n}" for n in range(10))} <= left
        assert len(evicted) == 22 - len(left)
        assert set(evicted) == {("default", "faq")}


async def test_what_was_wanted_long_ago_gives_way_to_what_is_wanted_now(
    sqlite_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Thirty hits of ten weeks ago are worth less than one of today."""
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.line(mode="exact", limits={"max_entries": 1})
        await client.store("once the favourite", "x")
        for _ in range(30):
            await client.lookup("once the favourite")
        await client.cache.journal.flush(closing=True)
        clock.turn(70 * 86_400)
        await client.store("new", "x")
        await Maintenance(client.cache).once()
        assert await rows(client, Entry.query) == [("new",)]


async def test_a_tenants_limit_holds_over_all_its_lines_and_touches_no_other_tenant(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path, tenant_max_entries=5) as client:
        acme, other = await client.key("acme"), await client.key("other")
        for n in range(4):
            await client.store(f"q{n}", "x" * 100, line="a", headers=acme)
            await client.store(f"q{n}", "x", line="b", headers=acme)
            await client.store(f"q{n}", "x", line="b", headers=other)
        await Maintenance(client.cache).once()
        left = await rows(client, Entry.tenant_id, Entry.line)
        assert left.count(("acme", "a")) == 4
        assert left.count(("acme", "b")) == 1
        assert left.count(("other", "b")) == 4


async def test_evictions_are_counted(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await client.line(limits={"max_entries": 1})
        for n in range(3):
            await client.store(f"q{n}", "x")
        for _ in range(60):
            text = (await client.call("GET", "/metrics")).text
            if 'surehit_evicted_entries_total{line="faq",tenant="default"} 2.0' in text:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(text)
