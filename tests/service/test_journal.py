"""The log: what is written, the draws, review items with their probabilities, and what happens without a database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from index.testing import RiggedEmbedder
from service import sampling
from service.errors import Unavailable
from service.ids import encode
from service.lines import Sampling, plan_of
from service.storage.models import Counter, Entry, Lookup, ReviewItem
from tests.harness import Client, Clock, running
from tests.service.ways import rows

ASKED = "Where is the manual"
AT = {"Where is our manual": 0.95, "Who keeps the manual": 0.8, "Why a manual": 0.3}
GUARDED = "Where is manual 4"
RIGGED = RiggedEmbedder({(ASKED, text): s for text, s in (AT | {GUARDED: 0.97}).items()} | {
    ("Where is our manual", GUARDED): 0.93,
    ("Who keeps the manual", "Where is our manual"): 0.8,
    ("Who keeps the manual", GUARDED): 0.8,
    ("Why a manual", "Where is our manual"): 0.3,
    ("Why a manual", "Who keeps the manual"): 0.3,
    ("Why a manual", GUARDED): 0.3,
})  # fmt: skip
EVERYTHING = {"certify_rate": 1.0, "explore_rates": [1.0] * 8, "guarded_rate": 1.0}


async def _four_lookups(client: Client, **line: Any) -> dict[str, str]:
    """A hit, a near miss, one too far to sample and a guarded one; their ids by text."""
    await client.line(**line)
    await client.store(ASKED, "answer")
    return {text: (await client.lookup(text))["lookup_id"] for text in (*AT, GUARDED)}


async def test_each_semantic_lookup_is_logged_with_what_was_decided(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(database_url, tmp_path, embedder=RIGGED, clock=clock) as client:
        ids = await _four_lookups(client)
        await client.lookup(ASKED)  # exact hits are counted, not logged
        logged = await rows(
            client,
            Lookup.id, Lookup.query, Lookup.outcome, Lookup.reason, Lookup.score, Lookup.guard,
            Lookup.entry_query, Lookup.threshold, Lookup.mode,
        )  # fmt: skip
        found = {row[1]: (encode("lkp", row[0]), *row[2:]) for row in logged}
        near, mid, far = AT
        assert found == {
            near: (ids[near], "hit", None, 0.95, None, ASKED, 0.9, "serve"),
            mid: (ids[mid], "miss", "below_threshold", 0.8, found[mid][4], ASKED, 0.9, "serve"),
            far: (ids[far], "miss", "below_threshold", 0.3, None, None, 0.9, "serve"),
            GUARDED: (
                ids[GUARDED],
                "miss",
                "guarded",
                0.97,
                found[GUARDED][4],
                ASKED,
                0.9,
                "serve",
            ),
        }
        assert found[GUARDED][4] is not None
        counted = await rows(client, Counter.tier, Counter.outcome, Counter.reason, Counter.count)
        assert sorted(counted) == [
            ("exact", "hit", "", 1),
            ("none", "store", "", 1),
            ("semantic", "hit", "", 1),
            ("semantic", "miss", "below_threshold", 2),
            ("semantic", "miss", "guarded", 1),
        ]


async def test_draws_can_be_repeated_by_whoever_holds_the_key(
    database_url: str, tmp_path: Path
) -> None:
    """Probabilities and draws in the row are those of the line's plan for that lookup id."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await _four_lookups(client)
        plan, secret = plan_of(Sampling()), client.cache.settings.sampling_secret()
        logged = await rows(
            client,
            Lookup.id, Lookup.score, Lookup.guard, Lookup.entry_id, Lookup.certify_probability,
            Lookup.inclusion_probability, Lookup.certify_draw, Lookup.explore_draw,
        )  # fmt: skip
        assert len(logged) == 4
        for number, score, guard, entry_id, certify, inclusion, first, second in logged:
            seen = score if entry_id is not None else float("-inf")
            lookup_id = encode("lkp", number)
            draw = sampling.sample(
                plan, secret, lookup_id=lookup_id, score=seen, guarded=guard is not None
            )
            assert (certify, inclusion) == (draw.certify_probability, draw.inclusion_probability)
            assert (first, second) == (draw.certify_draw, draw.explore_draw)


async def test_drawn_lookups_become_review_items_with_their_probability(
    database_url: str, tmp_path: Path
) -> None:
    """Everything over the floor at rate 1, nothing at rate 0; an item holds all that a reviewer needs."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        ids = await _four_lookups(client, sampling=EVERYTHING)
        made = await rows(
            client,
            ReviewItem.query, ReviewItem.lookup_id, ReviewItem.entry_query,
            ReviewItem.entry_response, ReviewItem.was_served, ReviewItem.streams,
            ReviewItem.certify_probability, ReviewItem.inclusion_probability, ReviewItem.state,
        )  # fmt: skip
        near, mid, far = AT
        by_query = {row[0]: row for row in made}
        assert by_query.keys() == {near, mid, GUARDED}
        assert far not in by_query
        for text, row in by_query.items():
            assert encode("lkp", row[1]) == ids[text]
            assert (row[2], bytes(row[3]), row[8]) == (ASKED, b'"answer"', "open")
        assert by_query[near][4:8] == (True, "certify,explore", 1.0, 1.0)
        assert by_query[GUARDED][4:8] == (False, "explore", 0.0, 1.0)
        assert by_query[mid][4:7] == (False, "explore", 0.0)
    silent = {"certify_rate": 0.0, "explore_rates": [0.0] * 8, "guarded_rate": 0.0}
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line(sampling=silent)
        for text in (*AT, GUARDED):
            await client.lookup(text)
        assert len(await rows(client, ReviewItem.id)) == len(made)


async def test_what_the_model_answered_is_paired_with_the_near_miss(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        ids = await _four_lookups(client, sampling=EVERYTHING)
        await client.settled()
        mid = list(AT)[1]
        body = {"lookup_id": ids[mid], "response": "fresh"}
        assert (await client.call("POST", "/v1/store", body)).status_code == 201
        found = await rows(
            client, ReviewItem.query, ReviewItem.fresh_response,
            where=ReviewItem.fresh_response.is_not(None),
        )  # fmt: skip
        assert [(q, bytes(a)) for q, a in found] == [(mid, b'"fresh"')]


async def test_without_a_database_records_are_dropped_and_counted(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache goes on, counters are kept for later, and the loss is told."""
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(ASKED, "answer")
        await client.settled()
        journal, write = client.cache.journal, client.cache.db.write
        await client.lookup("Where is our manual")

        async def away(*_: Any, **__: Any) -> Any:
            raise Unavailable("away")

        monkeypatch.setattr(client.cache.db, "write", away)
        await journal.flush()
        assert journal.dropped == 1
        monkeypatch.setattr(client.cache.db, "write", write)
        await journal.flush()
        assert await rows(client, Lookup.id) == []
        counted = await rows(client, Counter.count, where=Counter.outcome == "hit")
        assert counted == [(1,)]
        assert "surehit_journal_dropped_total 1.0" in (await client.call("GET", "/metrics")).text


async def test_the_end_of_a_worker_waits_for_the_batch_that_is_being_written(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that is cut short by its caller is not done, and its records are in no buffer any more."""
    monkeypatch.setattr("service.journal.FLUSH_S", 0.01)
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(ASKED, "answer")
        await client.settled()
        journal, write = client.cache.journal, client.cache.db.write
        began = asyncio.Event()

        async def slow(*work: Any, **how: Any) -> Any:
            began.set()
            await asyncio.sleep(0.2)
            return await write(*work, **how)

        monkeypatch.setattr(client.cache.db, "write", slow)
        await client.lookup("Where is our manual")
        await began.wait()
        await journal.close()
        assert len(await rows(client, Lookup.id)) == 1


async def test_records_that_a_fault_of_ours_drops_are_counted(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(ASKED, "answer")
        await client.settled()

        async def broken(*_: Any, **__: Any) -> Any:
            raise ValueError("a fault of ours")

        with monkeypatch.context() as patch:
            patch.setattr("service.journal.FLUSH_S", 3600.0)
            await client.lookup("Where is our manual")
            patch.setattr(client.cache.db, "write", broken)
            with pytest.raises(ValueError, match="of ours"):
                await client.cache.journal.flush()
        assert client.cache.journal.dropped == 1


async def test_a_full_buffer_drops_the_newest_and_says_so(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.journal.MAX_BUFFERED", 2)
    monkeypatch.setattr("service.journal.FLUSH_S", 3600.0)
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.settled()
        await _four_lookups(client)
        assert client.cache.journal.dropped == 2
        assert len(await rows(client, Lookup.id)) == 2


async def test_hits_of_an_entry_are_counted_and_do_not_move_its_age(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(database_url, tmp_path, embedder=RIGGED, clock=clock) as client:
        await client.line()
        await client.store(ASKED, "answer")
        for text in (ASKED, ASKED, "Where is our manual"):
            await client.lookup(text)
        clock.turn(60)
        await client.cache.journal.flush(closing=True)
        assert await rows(client, Entry.hits, Entry.last_hit_ms) == [(3, clock.now_ms)]
        assert (await client.lookup(ASKED))["age_s"] == 60
