"""Invalidation: by every selector, counted, dry or real, one tenant's own, and fenced against late fills."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness import Clock, chat, copy_database, running
from tests.service.ways import problem


async def _fill(client: Any, headers: Any, clock: Clock) -> None:
    """Six entries: two lines, two scopes, two models, three tags, at different times."""
    for line, scope, model, tags in (
        ("faq", "", "m1", ["a"]),
        ("faq", "u1", "m1", ["a", "b"]),
        ("faq", "u1", "m2", []),
        ("docs", "", "m1", ["b"]),
        ("docs", "u1", "m2", ["c"]),
        ("docs", "u2", "m2", ["a"]),
    ):
        await client.store(
            chat("q", model=model), "x", line=line, scope=scope, tags=tags, headers=headers
        )
        clock.turn(10)


SELECTORS: list[tuple[dict[str, Any], int]] = [
    ({"tag": "a"}, 3),
    ({"tag": "none"}, 0),
    ({"scope": "u1"}, 3),
    ({"scope": ""}, 2),
    ({"line": "docs"}, 3),
    ({"model": "m2"}, 3),
    ({"tag": "a", "line": "faq"}, 2),
    ({"line": "faq", "scope": "u1", "model": "m2"}, 1),
    ({"stored_before": 1_790_000_030}, 3),
    ({"stored_before": "2026-09-21T13:47:10Z"}, 3),
    ({"stored_before": 0}, 0),
]


@pytest.mark.parametrize(("selector", "count"), SELECTORS, ids=str)
async def test_selector_drops_exactly_its_entries(
    database_url: str, tmp_path: Path, clock: Clock, selector: dict[str, Any], count: int
) -> None:
    """A dry run counts the same and drops nothing; the other tenant keeps all six."""
    if isinstance(selector.get("stored_before"), str):
        # the same moment as the number above it
        from datetime import UTC, datetime

        moment = datetime.fromtimestamp(1_790_000_030, UTC).isoformat()
        selector = {"stored_before": moment}
    async with running(database_url, tmp_path, clock=clock) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        began = clock.now_ms
        await _fill(client, t1, clock)
        clock.now_ms = began
        await _fill(client, t2, clock)
        dry = await client.call("POST", "/v1/invalidate", selector | {"dry_run": True}, headers=t1)
        assert dry.json() == {"invalidated": count}
        real = await client.call("POST", "/v1/invalidate", selector, headers=t1)
        assert real.json() == {"invalidated": count}
        again = await client.call("POST", "/v1/invalidate", selector, headers=t1)
        assert again.json() == {"invalidated": 0}
        for headers, left in ((t1, 6 - count), (t2, 6)):
            stats = (await client.call("GET", "/v1/stats", headers=headers)).json()["lines"]
            assert sum(line["entries"]["live"] for line in stats.values()) == left


async def test_a_tag_is_found_in_whatever_unicode_form_it_is_written(
    sqlite_url: str, tmp_path: Path
) -> None:
    """An editor on a Mac writes «é» as e and an accent: what was tagged so must not outlive its purge."""
    composed, apart = "caf\u00e9", "cafe\u0301"
    async with running(sqlite_url, tmp_path) as client:
        for n, tags in enumerate(([composed], [apart], [apart, composed])):
            stored = await client.store(f"q{n}", "a", tags=tags)
        entry = await client.call("GET", f"/v1/entries/{stored['entry_id']}")
        assert entry.json()["tags"] == [composed], entry.text
        reply = await client.call("POST", "/v1/invalidate", {"tag": apart})
        assert reply.json() == {"invalidated": 3}


async def test_by_id_and_expired_ones_are_not_counted(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(database_url, tmp_path, clock=clock) as client:
        kept = await client.store("q1", "a")
        gone = await client.store("q2", "a", ttl_s=5, tags=["t"])
        clock.turn(5)
        assert (await client.call("POST", "/v1/invalidate", {"tag": "t"})).json() == {
            "invalidated": 0
        }
        problem(await client.call("DELETE", f"/v1/entries/{gone['entry_id']}"), 404)
        body = {"entry_id": kept["entry_id"]}
        assert (await client.call("POST", "/v1/invalidate", body)).json() == {"invalidated": 1}
        assert (await client.lookup("q1"))["outcome"] == "miss"
        problem(await client.call("DELETE", f"/v1/entries/{kept['entry_id']}"), 404)


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"dry_run": True},
        {"stored_before": "yesterday"},
        {"stored_before": "2026-01-01T00:00:00"},
        {"stored_before": -1},
        {"stored_before": 1e300},
        {"tags": ["a"]},
    ],
    ids=str,
)
async def test_unclear_selector_is_refused(
    sqlite_url: str, tmp_path: Path, bad: dict[str, Any]
) -> None:
    """Nothing named must not mean everything."""
    async with running(sqlite_url, tmp_path) as client:
        await client.store("q", "a")
        problem(await client.call("POST", "/v1/invalidate", bad), 422)
        assert (await client.lookup("q"))["outcome"] == "hit"


@pytest.fixture(scope="session")
def sqlite_template(_sqlite_template: Path) -> Path:
    """The migrated file; each example copies it."""
    return _sqlite_template


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("lookup"), st.integers(0, 2)),
        st.tuples(st.just("store"), st.integers(0, 2)),
        st.tuples(st.just("direct"), st.integers(0, 2)),
        st.tuples(st.just("purge"), st.sampled_from(["tag", "line", "scope", "other"])),
    ),
    min_size=2,
    max_size=14,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_in_any_order_no_fill_brings_back_what_a_purge_covered(
    sqlite_template: Path, steps: list[tuple[str, Any]]
) -> None:
    """A fill older than a purge that covers it is a 409, every other is stored and served."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(
            _run_steps(copy_database(sqlite_template, Path(folder) / "x.db"), folder, steps)
        )


async def _run_steps(url: str, folder: str, steps: list[tuple[str, Any]]) -> None:
    """A model of three prompts: which fill is open since when, and what must be served."""
    purges = {"tag": {"tag": "t"}, "line": {"line": "faq"}, "scope": {"scope": ""}}
    purged_at, moment = -1, 0
    began: dict[int, tuple[str, int]] = {}
    stored: dict[int, int] = {}
    async with running(url, Path(folder)) as client:
        for act, which in steps:
            moment += 1
            if act == "lookup":
                found = await client.lookup(f"q{which}")
                assert found.get("response") == stored.get(which)
                if found["outcome"] == "miss":
                    began[which] = (found["lookup_id"], moment)
            elif act == "direct":
                await client.store(f"q{which}", moment, tags=["t"])
                stored[which] = moment
            elif act == "store" and which in began:
                lookup_id, since = began[which]
                body = {"lookup_id": lookup_id, "response": moment, "tags": ["t"]}
                reply = await client.call("POST", "/v1/store", body)
                assert reply.status_code == (409 if since < purged_at else 201)
                if reply.status_code == 201:
                    stored[which] = moment
            elif act == "purge":
                selector = purges.get(which, {"tag": "unrelated"})
                await client.call("POST", "/v1/invalidate", selector)
                if which != "other":
                    purged_at = moment
                    stored.clear()
        for which in range(3):
            assert (await client.lookup(f"q{which}")).get("response") == stored.get(which)


async def test_late_fill_of_an_entry_dropped_by_id_is_refused(
    database_url: str, tmp_path: Path
) -> None:
    """The answer of that very key; another key of the tenant is not concerned."""
    async with running(database_url, tmp_path) as client:
        entry = await client.store("q1", "old")
        one = await client.call(
            "POST",
            "/v1/lookup",
            {"line": "faq", "prompt": "q1"},
            headers={"cache-control": "no-cache"},
        )
        other = await client.lookup("q2")
        await client.call("DELETE", f"/v1/entries/{entry['entry_id']}")
        late = {"lookup_id": one.json()["lookup_id"], "response": "old"}
        problem(await client.call("POST", "/v1/store", late), 409, "fill-invalidated")
        body = {"lookup_id": other["lookup_id"], "response": "fine"}
        assert (await client.call("POST", "/v1/store", body)).status_code == 201


async def test_stores_and_purges_that_race_leave_nothing_behind(
    database_url: str, tmp_path: Path
) -> None:
    """Two workers: after the last purge has answered, no fill that began before it is served by either."""
    async with (
        running(database_url, tmp_path) as one,
        running(database_url, tmp_path) as two,
    ):
        begun = [await one.lookup(f"q{n}") for n in range(20)]
        stores = [
            client.call(
                "POST",
                "/v1/store",
                {"lookup_id": found["lookup_id"], "response": "old", "tags": ["t"]},
            )
            for n, found in enumerate(begun)
            for client in [(one, two)[n % 2]]
        ]
        purge = two.call("POST", "/v1/invalidate", {"tag": "t"})
        *replies, purged = await asyncio.gather(*stores, purge)
        assert purged.status_code == 200
        assert {reply.status_code for reply in replies} <= {201, 409}
        for client in (one, two):
            for n in range(20):
                assert (await client.lookup(f"q{n}"))["outcome"] == "miss"
