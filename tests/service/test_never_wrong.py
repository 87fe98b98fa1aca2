"""Sentences with «never» and «always» about serving, each for the whole kind: context, life time, cap, quarantine."""

from __future__ import annotations

import asyncio
import copy
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness import Clock, chat, copy_database, running

ASKED, REWORDED = "Where is the manual", "Where is the manual?"


@pytest.fixture(scope="session")
def sqlite_template(_sqlite_template: Path) -> Path:
    """The migrated file; each example copies it."""
    return _sqlite_template


# ---------------------------------------------------------------- context (C-106, C-107, C-110 to C-112)

TEXTS = st.text('ab京\n" {}:,\\', min_size=1, max_size=5)
IMAGE = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def _with(request: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return request | fields


def _before(request: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    return _with(request, messages=[message, *request["messages"]])


CHANGES: dict[str, Any] = {
    "system prompt": lambda r, t: _before(r, {"role": "system", "content": t}),
    "earlier turn": lambda r, t: _with(
        r,
        messages=[
            {"role": "user", "content": t},
            {"role": "assistant", "content": "yes"},
            *r["messages"],
        ],
    ),
    "earlier answer": lambda r, t: _with(
        r,
        messages=[
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": t},
            *r["messages"],
        ],
    ),
    "tool schema": lambda r, t: _with(
        r,
        tools=[
            {"type": "function", "function": TOOL["function"] | {"description": t}},  # type: ignore[operator]
        ],
    ),
    "tool choice": lambda r, t: _with(
        r, tools=[TOOL], tool_choice={"type": "function", "function": {"name": t}}
    ),
    "response format": lambda r, t: _with(
        r,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "s", "schema": {"title": t}},
        },
    ),
    "stop": lambda r, t: _with(r, stop=[t]),
    "model": lambda r, t: _with(r, model=t.strip() or "m2"),
    "image": lambda r, t: _with(
        r,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": f"https://x.test/{t!r}"}},
                    {"type": "text", "text": r["messages"][-1]["content"]},
                ],
            }
        ],
    ),
    "seed": lambda r, t: _with(r, seed=len(t) + sum(map(ord, t))),
    "name of the asker": lambda r, t: _with(r, messages=[r["messages"][-1] | {"name": t}]),
}


@settings(max_examples=10, deadline=None)
@given(
    # each change once: a second picture would be put around the first one's parts
    st.lists(
        st.tuples(st.sampled_from(sorted(CHANGES)), TEXTS),
        min_size=1,
        max_size=2,
        unique_by=lambda change: change[0],
    )
)
def test_another_context_is_never_reused_and_the_same_always(
    sqlite_template: Path, changes: list[tuple[str, str]]
) -> None:
    """At threshold -1, where every candidate would do: what surrounds the question must be equal."""
    with tempfile.TemporaryDirectory() as folder:
        url = copy_database(sqlite_template, Path(folder) / "x.db")
        asyncio.run(_context_decides(url, folder, changes))


async def _context_decides(url: str, folder: str, changes: list[tuple[str, str]]) -> None:
    plain = [chat(ASKED), chat(REWORDED)]
    changed = copy.deepcopy(plain)
    for name, text in changes:
        changed = [CHANGES[name](request, text) for request in changed]
    async with running(url, Path(folder)) as client:
        await client.line(threshold=-1.0)
        await client.store(plain[0], "plain")
        for request in changed:
            assert (await client.lookup(request))["outcome"] == "miss", changes
        await client.store(changed[0], "changed")
        assert (await client.lookup(changed[1])).get("response") == "changed", changes
        assert (await client.lookup(plain[1])).get("response") == "plain"


# ---------------------------------------------------------------- life time (C-120, C-121)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("store"), st.integers(1, 40)),
        st.tuples(st.just("exact"), st.just(0)),
        st.tuples(st.just("meaning"), st.just(0)),
        st.tuples(st.just("turn"), st.sampled_from([0.999, 1, 5, 20, 3600])),
        st.tuples(st.just("back"), st.sampled_from([1, 5])),
    ),
    min_size=4,
    max_size=16,
)


@settings(max_examples=10, deadline=None)
@given(STEPS)
def test_a_life_time_runs_from_the_store_and_no_hit_prolongs_it(
    sqlite_template: Path, steps: list[tuple[str, float]]
) -> None:
    """Whatever is looked up in between, by key or by meaning, and also when the clock is set back."""
    with tempfile.TemporaryDirectory() as folder:
        url = copy_database(sqlite_template, Path(folder) / "x.db")
        asyncio.run(_lives(url, folder, steps))


async def _lives(url: str, folder: str, steps: list[tuple[str, float]]) -> None:
    clock, until, answer = Clock(), -1, 0
    async with running(url, Path(folder), clock=clock) as client:
        await client.line()
        for act, amount in steps:
            if act == "store":
                answer += 1
                await client.store(ASKED, answer, ttl_s=amount)
                until = clock.now_ms + round(amount * 1000)
            elif act in ("turn", "back"):
                clock.turn(amount if act == "turn" else -amount)
            else:
                found = await client.lookup(ASKED if act == "exact" else REWORDED)
                is_live = clock.now_ms < until
                assert (found["outcome"] == "hit") == is_live, (steps, found)
                if is_live:
                    assert found["response"] == answer
                    # whole seconds, rounded up
                    assert found["ttl_s"] < (until - clock.now_ms) / 1000 + 1


# ---------------------------------------------------------------- poisoning (C-115)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 1), min_size=4, max_size=14))
def test_no_key_stores_more_than_its_cap_in_an_hour(
    sqlite_template: Path, cap: int, callers: list[int]
) -> None:
    """However two keys of one tenant take turns, each gets its cap and no more, and leaves nothing behind a refusal."""
    with tempfile.TemporaryDirectory() as folder:
        url = copy_database(sqlite_template, Path(folder) / "x.db")
        asyncio.run(_capped(url, folder, cap, callers))


async def _capped(url: str, folder: str, cap: int, callers: list[int]) -> None:
    clock = Clock()
    clock.now_ms -= clock.now_ms % 3_600_000
    async with running(url, Path(folder), clock=clock) as client:
        reader = await client.key("t1")
        keys = [await client.key("t1", max_stores_per_hour=cap + n, role="use") for n in range(2)]
        used = [0, 0]
        for n, who in enumerate(callers):
            body = {"line": "faq", "prompt": f"q{n}", "response": "a"}
            reply = await client.call("POST", "/v1/store", body, headers=keys[who])
            used[who] += 1
            is_allowed = used[who] <= cap + who
            assert reply.status_code == (201 if is_allowed else 429)
            found = await client.lookup(f"q{n}", headers=reader)
            assert (found["outcome"] == "hit") == is_allowed


@settings(max_examples=10, deadline=None)
@given(st.lists(st.sampled_from(["planted", "asked", "reworded"]), min_size=2, max_size=8))
def test_a_quarantined_answer_never_reaches_another_wording(
    sqlite_template: Path, order: list[str]
) -> None:
    """Until it has been reused by key or reviewed; before that only the very request it was stored for gets it."""
    with tempfile.TemporaryDirectory() as folder:
        url = copy_database(sqlite_template, Path(folder) / "x.db")
        asyncio.run(_quarantined(url, folder, order))


async def _quarantined(url: str, folder: str, order: list[str]) -> None:
    is_planted = is_reused = False
    async with running(url, Path(folder)) as client:
        await client.line(quarantine=True, threshold=0.5)
        for act in order:
            if act == "planted":
                await client.store(ASKED, "a")
                is_planted, is_reused = True, False
            elif act == "asked":
                found = await client.lookup(ASKED)
                assert (found["outcome"] == "hit") == is_planted
                is_reused |= is_planted
            elif not is_reused:
                assert (await client.lookup(REWORDED))["outcome"] == "miss"


# ---------------------------------------------------------------- scopes (C-113)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.text("ab:/|\x1f\u200b京 ", max_size=6).filter(lambda s: s == s.strip()),
        min_size=2,
        max_size=4,
        unique=True,
    )
)
def test_no_scope_ever_sees_another(sqlite_template: Path, scopes: list[str]) -> None:
    """Also the empty one, names with separators, and at a threshold where every candidate would do."""
    with tempfile.TemporaryDirectory() as folder:
        url = copy_database(sqlite_template, Path(folder) / "x.db")
        asyncio.run(_scopes_apart(url, folder, scopes))


async def _scopes_apart(url: str, folder: str, scopes: list[str]) -> None:
    async with running(url, Path(folder)) as client:
        await client.line(threshold=-1.0)
        for scope in scopes:
            body = {"line": "faq", "prompt": ASKED, "response": f"of {scope}", "scope": scope}
            reply = await client.call("POST", "/v1/store", body)
            if reply.status_code == 422:  # a control character is refused, never folded
                assert any(ord(char) < 32 for char in scope)
                return
        for scope in scopes:
            for text in (ASKED, REWORDED):
                assert (await client.lookup(text, scope=scope))["response"] == f"of {scope}"
