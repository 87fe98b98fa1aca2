"""A store: life time, tags, size, caps, fills, replacement."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from service.storage.models import Entry
from tests.harness import Clock, chat, running
from tests.service.ways import problem, rows

NOT_KEPT = {"entry_id": None, "replaced": False}


async def test_replacing_keeps_the_id_and_changes_everything_else(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(database_url, tmp_path, clock=clock) as client:
        first = await client.store("q", "one", ttl_s=60, tags=["a", "b"])
        clock.turn(30)
        second = await client.store("q", "two", tags=["c"])
        assert (first["replaced"], second["replaced"]) == (False, True)
        assert first["entry_id"] == second["entry_id"]
        entry = (await client.call("GET", f"/v1/entries/{first['entry_id']}")).json()
        assert (entry["response"], entry["tags"], entry["expires_ms"]) == ("two", ["c"], None)
        assert (await client.lookup("q"))["age_s"] == 0
        assert (await client.call("POST", "/v1/invalidate", {"tag": "a"})).json() == {
            "invalidated": 0
        }


async def test_storing_over_an_expired_entry_replaces_nothing(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(database_url, tmp_path, clock=clock) as client:
        first = await client.store("q", "one", ttl_s=10)
        clock.turn(10)
        second = await client.store("q", "two")
        assert second["replaced"] is False
        assert second["entry_id"] != first["entry_id"]
        assert await rows(client, Entry.response) == [(b'"two"',)]


async def test_lifetime_comes_from_the_store_then_the_line_within_its_longest(
    sqlite_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        cases = [
            ({}, None, None),
            ({"ttl_s": 50}, None, 50),
            ({"ttl_s": 50}, 20, 20),
            ({"ttl_s": 50, "limits": {"max_ttl_s": 30}}, None, 30),
            ({"ttl_s": 50, "limits": {"max_ttl_s": 30}}, 10, 10),
            ({"limits": {"max_ttl_s": 30}}, 40, 30),
            ({}, 0.001, 1),
        ]
        for n, (settings, given, expected) in enumerate(cases):
            await client.line(**settings)
            await client.store(f"q{n}", "a", **({} if given is None else {"ttl_s": given}))
            assert (await client.lookup(f"q{n}"))["ttl_s"] == expected, (settings, given)


async def test_time_bound_question_lives_shorter(
    sqlite_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Exact hits only, and for the line's `volatile_ttl_s`; null treats it as any other."""
    asked = "What is the weather today?"
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.line(volatile_ttl_s=120, ttl_s=600)
        assert (await client.lookup(asked))["reason"] == "volatile"
        await client.store(asked, "rain")
        assert (await client.lookup(asked))["ttl_s"] == 120
        await client.store(asked, "rain", ttl_s=300)
        assert (await client.lookup(asked))["ttl_s"] == 300
        await client.line(volatile_ttl_s=None, ttl_s=600)
        await client.store(asked, "rain")
        assert (await client.lookup(asked))["ttl_s"] == 600


@pytest.mark.parametrize("bad", [[""], [" a"], ["a\nb"], ["x" * 129], [7], "tag", ["t"] * 65])
async def test_bad_tags_are_refused(sqlite_url: str, tmp_path: Path, bad: object) -> None:
    async with running(sqlite_url, tmp_path) as client:
        body = {"line": "faq", "prompt": "q", "response": "a", "tags": bad}
        refused = problem(await client.call("POST", "/v1/store", body), 422)
        assert refused["errors"][0]["field"].startswith("tags")
        assert (await client.lookup("q"))["outcome"] == "miss"


async def test_a_tag_named_twice_counts_once(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path) as client:
        entry = await client.store("q", "a", tags=["t", "t"])
        shown = (await client.call("GET", f"/v1/entries/{entry['entry_id']}")).json()
        assert shown["tags"] == ["t"]


async def test_oversize_answer_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await client.line(limits={"max_response_bytes": 100})
        body = {"line": "faq", "prompt": "q", "response": "x" * 99}
        problem(await client.call("POST", "/v1/store", body), 413, "too-large")
        await client.store("q", "x" * 98)


async def test_insert_cap_of_a_key(database_url: str, tmp_path: Path, clock: Clock) -> None:
    """429 beyond the cap; an hour later it goes on; another key of the tenant is not concerned."""
    async with running(database_url, tmp_path, clock=clock) as client:
        clock.now_ms -= clock.now_ms % 3_600_000
        capped = await client.key("t1", max_stores_per_hour=3, role="use")
        free = await client.key("t1")
        for n in range(3):
            await client.store(f"q{n}", "a", headers=capped)
        body = {"line": "faq", "prompt": "q3", "response": "a"}
        refused = await client.call("POST", "/v1/store", body, headers=capped)
        problem(refused, 429, "too-many-requests")
        assert (await client.lookup("q3", headers=free))["outcome"] == "miss"
        await client.store("q3", "a", headers=free)
        clock.turn(2 * 3600)
        await client.store("q4", "a", headers=capped)


async def test_fill_by_lookup_id_keeps_line_scope_and_request(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path) as client:
        request = chat("Where is the manual", top_p=0.5)
        missed = await client.lookup(request, scope="u1", line="docs")
        body = {"lookup_id": missed["lookup_id"], "response": {"n": 1}, "tags": ["t"], "ttl_s": 9}
        stored = await client.call("POST", "/v1/store", body)
        assert stored.status_code == 201
        found = await client.lookup(request, scope="u1", line="docs")
        assert (found["tier"], found["response"]) == ("exact", {"n": 1})
        assert (await client.lookup(request, line="docs"))["outcome"] == "miss"
        entry = (await client.call("GET", f"/v1/entries/{found['entry_id']}")).json()
        assert (entry["line"], entry["scope"], entry["model"]) == ("docs", "u1", "m1")
        assert (entry["tags"], entry["request"]["top_p"]) == (["t"], 0.5)


async def test_lookup_id_is_refused_when_unknown_old_foreign_or_accompanied(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    async with running(database_url, tmp_path, clock=clock, fill_ttl_s=100) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        missed = await client.lookup("q", headers=t1)
        body = {"lookup_id": missed["lookup_id"], "response": "a"}
        problem(await client.call("POST", "/v1/store", body, headers=t2), 404, "not-found")
        for more in ({"line": "faq"}, {"prompt": "q"}, {"request": {}}, {"scope": ""}):
            problem(await client.call("POST", "/v1/store", body | more, headers=t1), 422)
        for odd in ("", "lkp_", "ent_0000000000000001", "lkp_00000000000000ff", "x" * 300):
            wrong = {"lookup_id": odd, "response": "a"}
            problem(await client.call("POST", "/v1/store", wrong, headers=t1), 404)
        clock.turn(100)
        problem(await client.call("POST", "/v1/store", body, headers=t1), 404)
        assert (await client.lookup("q", headers=t1))["outcome"] == "miss"


async def test_line_that_is_off_stores_nothing(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await client.line(mode="off")
        assert await client.store("q", "a") == NOT_KEPT | {"reason": "mode"}
        await client.line()
        assert (await client.lookup("q"))["outcome"] == "miss"


async def test_personal_answers_need_a_scope(sqlite_url: str, tmp_path: Path) -> None:
    """The same bytes from another person want another answer."""
    asked = "What is my account balance?"
    async with running(sqlite_url, tmp_path) as client:
        await client.line()
        assert (await client.lookup(asked))["reason"] == "personal"
        assert await client.store(asked, "7") == NOT_KEPT | {"reason": "personal"}
        assert (await client.lookup(asked))["outcome"] == "miss"
        assert (await client.store(asked, "7", scope="u1"))["entry_id"] is not None
        assert (await client.lookup(asked, scope="u1"))["tier"] == "exact"
        await client.line(personal_needs_scope=False)
        assert (await client.store(asked, "7"))["entry_id"] is not None


async def test_answer_with_tool_calls_is_found_by_key_alone(
    database_url: str, tmp_path: Path
) -> None:
    call = {"choices": [{"message": {"tool_calls": [{"id": "c"}]}, "finish_reason": "tool_calls"}]}
    async with running(database_url, tmp_path) as client:
        await client.line()
        await client.store("Where is the manual", call)
        assert (await client.lookup("Where is the manual"))["response"] == call
        assert (await client.lookup("Where is the manual?"))["reason"] == "empty"


async def test_temperature_over_the_lines_limit_is_never_reused_by_meaning(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await client.line(limits={"max_temperature": 0.5})
        for temperature, reason in ((0.5, None), (0.6, "creative")):
            asked = chat("Where is the manual", temperature=temperature)
            again = chat("Where is the manual?", temperature=temperature)
            await client.store(asked, "a")
            assert (await client.lookup(asked))["tier"] == "exact"
            assert (await client.lookup(again)).get("reason") == reason


async def test_quarantined_entry_is_served_by_key_but_not_by_meaning(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path) as client:
        await client.line(quarantine=True)
        await client.store("Where is the manual", "a")
        found = await client.lookup("Where is the manual?")
        assert (found["reason"], found["guard"]) == ("quarantined", "quarantine")
        assert (await client.lookup("Where is the manual"))["tier"] == "exact"


@pytest.mark.parametrize("why", ["nothing", "unfinished", "invalidated"])
async def test_a_refused_answer_gives_its_key_back(
    database_url: str, tmp_path: Path, why: str
) -> None:
    """Whoever waits may fill in its place at once, and whoever asks next need not wait."""
    answers = {
        "nothing": ("", 422),
        "unfinished": ({"choices": [{"message": {"content": "x"}, "finish_reason": None}]}, 422),
        "invalidated": ("x", 409),
    }
    async with running(database_url, tmp_path) as client:
        await client.line(mode="exact")
        miss = await client.lookup("q")
        assert miss["fill"] is True
        waiting = asyncio.create_task(client.lookup("q", wait_ms=20_000))
        await asyncio.sleep(0.1)
        if why == "invalidated":
            await client.call("POST", "/v1/invalidate", {"line": "faq"})
        answer, status = answers[why]
        body = {"lookup_id": miss["lookup_id"], "response": answer}
        reply = await client.call("POST", "/v1/store", body)
        assert reply.status_code == status
        taken_over = await asyncio.wait_for(waiting, timeout=10)
        assert (taken_over["outcome"], taken_over["fill"]) == ("miss", True)
        body = {"lookup_id": taken_over["lookup_id"], "response": "good"}
        assert (await client.call("POST", "/v1/store", body)).status_code == 201
        assert (await client.lookup("q"))["response"] == "good"


async def test_no_store_leaves_nothing_to_fill(database_url: str, tmp_path: Path) -> None:
    """Neither a lease that others would wait for, nor a lookup that could be stored."""
    async with running(database_url, tmp_path) as client:
        await client.line()
        private = await client.lookup("q", headers={"cache-control": "no-store"})
        assert (private["outcome"], private["fill"]) == ("miss", False)
        body = {"lookup_id": private["lookup_id"], "response": "a"}
        assert (await client.call("POST", "/v1/store", body)).status_code == 404
        assert (await client.lookup("q"))["fill"] is True
