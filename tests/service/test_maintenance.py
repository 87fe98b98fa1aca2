"""Upkeep: expiry, eviction by worth, vectors that wait, old log rows."""

from __future__ import annotations

from pathlib import Path

from index.testing import HashEmbedder
from index.types import EmbedderUnavailable
from service.maintenance import Maintenance
from service.storage.models import Entry, Fill, Lease, Lookup
from tests.harness import Clock, running
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
