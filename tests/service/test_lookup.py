"""The main job on both databases: exact tier, semantic tier, a threshold per line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.testing import RiggedEmbedder
from tests.harness import Clock, chat, running

ASKED = "How do I reset my password?"
NEAR = "How can I reset the password?"
FAR = "What does a password reset cost me per year?"
RIGGED = RiggedEmbedder({(ASKED, NEAR): 0.95, (ASKED, FAR): 0.8, (NEAR, FAR): 0.8})


async def test_miss_then_exact_then_semantic_then_below_threshold(
    database_url: str, tmp_path: Path
) -> None:
    """The four outcomes of the README, in its order."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        miss = await client.lookup(ASKED)
        assert (miss["outcome"], miss["reason"], miss["fill"]) == ("miss", "empty", True)
        reply = await client.call(
            "POST", "/v1/store", {"lookup_id": miss["lookup_id"], "response": {"text": "Settings."}}
        )
        assert reply.status_code == 201
        exact = await client.lookup(ASKED)
        assert (exact["tier"], exact["response"], exact["score"]) == (
            "exact",
            {"text": "Settings."},
            None,
        )
        assert exact["entry_id"] == reply.json()["entry_id"]
        semantic = await client.lookup(NEAR)
        assert (semantic["tier"], semantic["score"], semantic["threshold"]) == (
            "semantic",
            0.95,
            0.9,
        )
        below = await client.lookup(FAR)
        assert (below["reason"], below["score"], below["entry_id"]) == (
            "below_threshold",
            0.8,
            None,
        )


async def test_answer_comes_back_byte_for_byte(database_url: str, tmp_path: Path) -> None:
    """Spacing, number spelling, key order and escapes of the stored JSON text are kept."""
    text = b'{ "z": 1.0e2,\t"a" : "\\u00e9\\n\\u0000 \xe4\xbd\xa0" , "z2":[ ] }'
    async with running(database_url, tmp_path) as client:
        body = b'{"line":"faq","prompt":"x","response":%s}' % text
        assert (await client.call("POST", "/v1/store", body)).status_code == 201
        reply = await client.call("POST", "/v1/lookup", {"line": "faq", "prompt": "x"})
        assert b'"response":' + text.strip() + b',"score"' in reply.content


async def test_shadow_line_reports_but_does_not_serve(database_url: str, tmp_path: Path) -> None:
    """A new line is in shadow: the exact tier serves, a semantic candidate is only reported."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.store(ASKED, "a")
        assert (await client.lookup(ASKED))["tier"] == "exact"
        shadow = await client.lookup(NEAR)
        assert (shadow["outcome"], shadow["reason"], shadow["score"]) == ("miss", "shadow", 0.95)


@pytest.mark.parametrize(
    ("mode", "same", "reworded"),
    [("off", "mode", "mode"), ("exact", "exact", "mode"), ("serve", "exact", "semantic")],
)
async def test_mode_decides_which_tiers_answer(
    sqlite_url: str, tmp_path: Path, mode: str, same: str, reworded: str
) -> None:
    """`off` passes by, `exact` has one tier, `serve` both."""
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(ASKED, "a")
        await client.line(mode=mode)
        for asked, expected in ((ASKED, same), (NEAR, reworded)):
            found = await client.lookup(asked)
            assert expected == (found.get("tier") or found["reason"])


async def test_threshold_change_is_in_force_at_once(database_url: str, tmp_path: Path) -> None:
    """The next lookup after a change already obeys it, and the change is recorded with its author."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line(threshold=0.9)
        await client.store(ASKED, "a")
        assert (await client.lookup(NEAR))["outcome"] == "hit"
        await client.call(
            "PATCH", "/v1/lines/faq", {"threshold": 0.96, "reason": "too many complaints"}
        )
        assert (await client.lookup(NEAR))["reason"] == "below_threshold"
        line = (await client.call("GET", "/v1/lines/faq")).json()
        assert (line["threshold"], line["certified"]) == (0.96, False)
        assert line["changes"][0]["reason"] == "too many complaints"
        assert line["changes"][0]["before"]["threshold"] == 0.9


async def test_change_by_another_worker_is_in_force_at_once(
    database_url: str, tmp_path: Path
) -> None:
    """Two workers on one database: what one stored the other finds, by key and by meaning, and lines follow."""
    async with (
        running(database_url, tmp_path, embedder=RIGGED) as one,
        running(database_url, tmp_path, embedder=RIGGED) as two,
    ):
        await one.line()
        assert (await two.lookup(ASKED))["reason"] == "empty"
        await one.store(ASKED, "a")
        assert (await two.lookup(ASKED))["tier"] == "exact"
        assert (await two.lookup(NEAR))["tier"] == "semantic"
        await two.line(threshold=0.99)
        assert (await one.lookup(NEAR))["reason"] == "below_threshold"
        await two.line(threshold=0.9)
        assert (await one.call("POST", "/v1/invalidate", {"line": "faq"})).json() == {
            "invalidated": 1
        }
        assert (await two.lookup(ASKED))["outcome"] == "miss"
        assert (await two.lookup(NEAR))["outcome"] == "miss"


async def test_only_one_caller_fills_and_the_others_may_wait(
    database_url: str, tmp_path: Path
) -> None:
    """`fill` is true for one caller of a key; a waiter is handed the answer when it comes."""
    import asyncio

    async with running(database_url, tmp_path) as client:
        first = await client.lookup(chat("q"))
        second = await client.lookup(chat("q"))
        assert (first["fill"], second["fill"]) == (True, False)
        waiting = asyncio.create_task(client.lookup(chat("q"), wait_ms=5000))
        await asyncio.sleep(0.1)
        await client.call(
            "POST", "/v1/store", {"lookup_id": first["lookup_id"], "response": "answer"}
        )
        assert (await waiting)["response"] == "answer"


async def test_max_age_and_no_cache_are_honoured(
    sqlite_url: str, tmp_path: Path, clock: Clock
) -> None:
    """RFC 9111: `max-age=0` takes nothing, `no-cache` serves nothing, `min-fresh` wants a life ahead."""
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.store("q", "a", ttl_s=65)
        clock.turn(5)
        for header, outcome in (
            ("max-age=0", "miss"),
            ("max-age=5", "miss"),
            ("max-age=6", "hit"),
            ("max-age=6, max-age=0", "hit"),
            ("max-age=\xb2", "hit"),  # no digit of RFC 9111
            ("min-fresh=60", "hit"),
            ("min-fresh=61", "miss"),
            ("no-cache", "miss"),
        ):
            reply = await client.call(
                "POST",
                "/v1/lookup",
                {"line": "faq", "prompt": "q"},
                headers={"cache-control": header.encode("latin-1")},
            )
            assert outcome == reply.json()["outcome"], header


async def test_cache_status_and_age_headers(sqlite_url: str, tmp_path: Path, clock: Clock) -> None:
    """Every reply that looked into the cache bears RFC 9211's header, and parses as a structured field."""
    import http_sf

    async with running(sqlite_url, tmp_path, clock=clock, embedder=RIGGED) as client:
        await client.line()
        await client.store(ASKED, "a", ttl_s=100)
        clock.turn(40)
        expected = {
            ASKED: "surehit; hit; ttl=60; detail=exact",
            NEAR: "surehit; hit; ttl=60; detail=semantic",
            FAR: "surehit; fwd=miss; detail=below-threshold",
        }
        for asked, status in expected.items():
            reply = await client.call("POST", "/v1/lookup", {"line": "faq", "prompt": asked})
            assert status == reply.headers["cache-status"]
            http_sf.parse(status.encode(), tltype="list")
            assert reply.headers["cache-control"] == "private, no-store"
            assert reply.headers["x-surehit-lookup-id"] == reply.json()["lookup_id"]
            if "; hit" in status:
                assert reply.headers["age"] == "40"


async def test_the_model_begins_before_the_partition_is_read_where_it_had_entries(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only there: where nothing is stored, nothing is embedded."""
    async with running(sqlite_url, tmp_path) as client:
        await client.line(threshold=0.5)
        partitions = client.cache.partitions
        refresh = partitions.refresh
        asked: list[list[str]] = []

        async def noting(*given: Any, **named: Any) -> Any:
            asked.append([text for pool in client.cache.embedders.pools for text in pool._jobs])
            return await refresh(*given, **named)

        monkeypatch.setattr(partitions, "refresh", noting)
        await client.lookup("is nothing here yet")
        await client.store("what is stored", "a")
        await client.lookup("the first to ask")  # loads the partition
        await client.lookup("the second to ask")
        assert asked == [[], [], ["the second to ask"]]
        assert sum(pool.counters.embedded for pool in client.cache.embedders.pools) == 3
