"""The routes of the queue: what a reviewer is shown and what is kept from him, roles, tenants, gold items, undo."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from service.sampling import draw
from tests.evaluation.desks import asked, label, logged, near, next_item, queue, rigged
from tests.harness import Clock, running

FIELDS = {
    "item_id",
    "kind",
    "query",
    "entry_query",
    "entry_response",
    "fresh_response",
    "was_served",
    "guard",
    "guard_detail",
    "age_s",
    "round",
    "lease_until_ms",
}


async def test_an_item_shows_both_texts_and_neither_score_nor_labels(
    database_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(database_url, tmp_path, clock=clock, embedder=rigged(3)) as client:
        await queue(client, 3)
        reply = await client.call("POST", "/v1/review/next", {"line": "faq", "reviewer": "ann"})
        body = reply.json()
        assert set(body) == {"item", "remaining", "mine_today"}
        assert (body["remaining"], body["mine_today"]) == (3, 0)
        item = body["item"]
        assert set(item) == FIELDS
        assert (item["query"], item["entry_query"]) == (near(0), asked(0))
        assert item["entry_response"] == "answer 0"
        assert item["lease_until_ms"] == clock.now_ms + 300_000
        done = await label(client, item, "ann", "reusable")
        assert done.json() == {"state": "done", "score": pytest.approx(0.93), "already": False}


async def test_a_second_opinion_is_blind(sqlite_url: str, tmp_path: Path) -> None:
    """What the second person sees is, field for field, what the first one saw."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 1)
        first = await next_item(client, "ann")
        await label(client, first, "ann", "not_reusable", reason="number", note="12 is not 21")
        second = await next_item(client, "bo")
        assert second == first


async def test_a_reviewer_is_no_second_person_under_another_spelling(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 1)
        item = await next_item(client, "Zoe\u0308 B")
        await label(client, item, " Zoe\u0308 B", "not_reusable", reason="number")
        assert await next_item(client, "Zo\u00eb  B ") is None  # it waits for somebody else
        recent = await client.call("GET", "/v1/review/recent?line=faq&reviewer=Zo%C3%AB%20B%20")
        assert len(recent.json()["labels"]) == 1
        assert await next_item(client, "Bo") == item
        blank = await client.call("POST", "/v1/review/next", {"line": "faq", "reviewer": "  "})
        assert blank.status_code == 422
        assert "blank" in blank.text


async def test_a_near_miss_shows_the_answer_that_was_stored_in_its_place(
    database_url: str, tmp_path: Path
) -> None:
    """Also when the item was written after that store."""
    async with running(database_url, tmp_path, clock=Clock(), embedder=rigged(2)) as client:
        await queue(client, 0, threshold=0.99)
        for i in range(2):
            await client.store(asked(i), f"old {i}")
            miss = await client.lookup(near(i))
            if i == 1:
                await client.cache.journal.flush()
            body = {"lookup_id": miss["lookup_id"], "response": f"fresh {i}"}
            assert (await client.call("POST", "/v1/store", body)).status_code == 201
        await client.cache.journal.flush()
        shown = [await next_item(client, who) for who in ("ann", "bo")]
        assert [item["fresh_response"] for item in shown] == ["fresh 0", "fresh 1"]
        assert not any(item["was_served"] for item in shown)


async def test_a_held_key_gives_one_label(sqlite_url: str, tmp_path: Path) -> None:
    """Nine submissions of one item at once count once, and say so."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(2)) as client:
        await queue(client, 2)
        item = await next_item(client, "ann")
        replies = await asyncio.gather(*(label(client, item, "ann", "reusable") for _ in range(9)))
        assert [r.status_code for r in replies] == [200] * 9
        assert sum(not r.json()["already"] for r in replies) == 1
        changed = await label(client, item, "ann", "not_reusable")
        assert changed.status_code == 409
        assert "reopen" in changed.json()["detail"]


async def test_undo_and_reopen_give_the_item_back(sqlite_url: str, tmp_path: Path) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock, embedder=rigged(3)) as client:
        await queue(client, 3)
        items = []
        for _ in range(3):
            clock.turn(1)
            items.append(await next_item(client, "ann"))
            await label(client, items[-1], "ann", "reusable")
        undone = await client.call("POST", "/v1/review/undo", {"line": "faq", "reviewer": "ann"})
        assert undone.json()["item_id"] == items[2]["item_id"]
        assert (await next_item(client, "ann"))["item_id"] == items[2]["item_id"]
        assert await next_item(client, "bo") is None
        again = await label(client, items[2], "ann", "unsure")
        assert again.json()["state"] == "done"
        url = f"/v1/review/items/{items[0]['item_id']}/reopen"
        reopened = await client.call("POST", url, {"reviewer": "ann"})
        assert reopened.json()["item"]["item_id"] == items[0]["item_id"]
        assert (await label(client, items[0], "ann", "not_reusable")).json()["state"] == "second"
        recent = (await client.call("GET", "/v1/review/recent?line=faq&reviewer=ann")).json()
        assert [row["verdict"] for row in recent["labels"]] == [
            "not_reusable",
            "unsure",
            "reusable",
        ]
        other = await client.call("POST", url, {"reviewer": "bo"})
        assert other.status_code == 404


async def test_the_last_no_taken_back_lifts_the_block(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 1)
        for who in ("ann", "bo"):
            await label(client, await next_item(client, who), who, "not_reusable", reason="entity")
            assert (await client.lookup(near(0)))["guard"] == "blocked"  # one voice is enough
        for who, left in (("bo", "miss"), ("ann", "hit")):
            await client.call("POST", "/v1/review/undo", {"line": "faq", "reviewer": who})
            assert (await client.lookup(near(0)))["outcome"] == left


async def test_a_curve_claims_no_rate_where_no_label_tells(sqlite_url: str, tmp_path: Path) -> None:
    """Not 100 % of false hits, and no loss of money."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(2)) as client:
        await queue(client, 2)
        names = "false_hit_rate wrong_reuse_rate expected_value expected_saved unsure_as_bad_rate".split()
        curve = (await client.call("GET", "/v1/lines/faq/curve")).json()
        assert max(curve["hit_rate"]) > 0
        assert all({*curve[name]} == {None} for name in names)
        await label(client, await next_item(client, "ann"), "ann", "reusable")
        curve = (await client.call("GET", "/v1/lines/faq/curve")).json()
        for name in names:
            known = [v is not None for v in curve[name]]
            assert known == [n > 0 for n in curve["labels"]]
            assert any(known)


async def test_an_admin_settles_a_dispute(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 1)
        item = await next_item(client, "ann")
        await label(client, item, "ann", "not_reusable", reason="number")
        await label(client, await next_item(client, "bo"), "bo", "reusable")
        assert (await client.lookup(near(0)))["guard"] == "blocked"  # as long as they disagree
        found = (await client.call("GET", "/v1/review/disputes?line=faq")).json()["items"]
        assert [g["reviewer"] for g in found[0]["labels"]] == ["ann", "bo"]
        url = f"/v1/review/items/{item['item_id']}/decide"
        body = {"reviewer": "chief", "verdict": "not_reusable", "reason": "number"}
        assert (await client.call("POST", url, body)).json()["state"] == "done"
        assert (await client.lookup(near(0)))["guard"] == "blocked"
        assert (await client.call("GET", "/v1/review/disputes?line=faq")).json()["items"] == []


async def test_a_third_person_settles_a_dispute_by_majority(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 1)
        await label(client, await next_item(client, "ann"), "ann", "not_reusable")
        await label(client, await next_item(client, "bo"), "bo", "reusable")
        item = await next_item(client, "cy")
        assert item["round"] == 3
        assert (await label(client, item, "cy", "reusable")).json()["state"] == "done"
        assert (await client.lookup(near(0)))["outcome"] == "hit"


async def test_flagged_items_stay_with_the_reviewer_and_reach_the_admin(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 1)
        item = await next_item(client, "ann")
        url = f"/v1/review/items/{item['item_id']}/flag"
        await client.call("POST", url, {"reviewer": "ann", "note": "which tariff?"})
        assert (await next_item(client, "ann"))["item_id"] == item["item_id"]
        found = (await client.call("GET", "/v1/review/disputes?line=faq")).json()["items"]
        assert found[0]["labels"][0]["note"] == "which tariff?"


async def test_gold_items_look_like_the_others_and_measure_reviewers(
    sqlite_url: str, tmp_path: Path
) -> None:
    """About one in twenty; same fields, same values where a sign could be; never in the evidence."""
    clock = Clock()
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        await client.line(mode="shadow")
        await client.settled()
        await logged(client, [0.95] * 300, [None] * 300)
        for i in range(40):
            body = {
                "line": "faq",
                "query": f"gold query {i}",
                "entry_query": f"gold entry {i}",
                "answer": "a",
                "verdict": "not_reusable",
                "fresh_answer": "b",
            }
            assert (await client.call("POST", "/v1/review/gold", body)).status_code == 201
        gold, others = [], []
        for _ in range(300):
            item = await next_item(client, "ann")
            is_gold = item["query"].startswith("gold")
            (gold if is_gold else others).append(item)
            await label(client, item, "ann", "reusable")
        assert 4 <= len(gold) <= 30
        for name in ("kind", "round", "guard", "guard_detail", "was_served"):
            assert {item[name] for item in gold} <= {item[name] for item in others}
        assert all(item["age_s"] is not None for item in gold)
        progress = (await client.call("GET", "/v1/review/progress?line=faq")).json()
        (ann,) = progress["by_reviewer"]
        assert ann["gold"]["n"] == len(gold)
        assert ann["gold"]["sensitivity"] == 0.0  # every known false hit was let pass
        states = ("open", "second", "disputed", "done", "withdrawn")
        assert sum(progress[name] for name in states) == 300


async def test_roles_and_tenants_are_kept_apart(sqlite_url: str, tmp_path: Path) -> None:
    """A reviewer cannot decide; another tenant sees, judges and counts nothing."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(2)) as client:
        mine = await client.key("a")
        await queue(client, 2, headers=mine)
        reviewer = await client.key("a", role="review")
        user = await client.key("a", role="use")
        other = await client.key("b")
        await client.line(headers=other)
        ask = {"line": "faq", "reviewer": "x"}
        assert (await client.call("POST", "/v1/review/next", ask, headers=user)).status_code == 403
        assert (await client.call("POST", "/v1/review/next", ask)).status_code == 401
        item = (await client.call("POST", "/v1/review/next", ask, headers=reviewer)).json()["item"]
        theirs = (await client.call("POST", "/v1/review/next", ask, headers=other)).json()
        assert (theirs["item"], theirs["remaining"]) == (None, 0)
        stolen = await label(client, item, "x", "reusable", headers=other)
        nowhere = await label(client, "itm_0000000000000", "x", "reusable", headers=other)
        assert stolen.status_code == nowhere.status_code == 410
        assert stolen.json()["detail"] == nowhere.json()["detail"]
        url = f"/v1/review/items/{item['item_id']}/decide"
        body = {"reviewer": "x", "verdict": "reusable"}
        assert (await client.call("POST", url, body, headers=reviewer)).status_code == 403
        assert (
            await client.call("POST", "/v1/lines/faq/tune", {}, headers=reviewer)
        ).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {"reviewer": "ann"},
        {"reviewer": "ann", "verdict": "maybe"},
        {"reviewer": "", "verdict": "reusable"},
        {"reviewer": "ann", "verdict": "not_reusable", "reason": "mood"},
        {"reviewer": "ann", "verdict": "reusable", "score": 1},
    ],
)
async def test_a_body_that_is_not_ours_is_refused(
    sqlite_url: str, tmp_path: Path, body: dict[str, Any]
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        reply = await client.call("POST", "/v1/review/items/itm_0000000000001/label", body)
        assert reply.status_code == 422
        assert reply.headers["content-type"] == "application/problem+json"


async def test_erasing_a_scope_takes_its_items_and_labels_along(
    database_url: str, tmp_path: Path
) -> None:
    """Whoever holds one is told that it is gone, and nothing is recorded."""
    async with running(database_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 0)
        await client.store(asked(0), "a", scope="user-7")
        await client.lookup(near(0), scope="user-7")
        await client.cache.journal.flush()
        item = await next_item(client, "ann")
        erased = await client.call("POST", "/v1/erase", {"scope": "user-7"})
        assert erased.json()["review_items"] == 1
        assert (await label(client, item, "ann", "reusable")).status_code == 410
        assert (await client.call("GET", "/v1/labels/export?line=faq")).text == ""


def test_who_gets_a_gold_item_cannot_be_foreseen_without_the_key() -> None:
    """About one in twenty, and another key picks others."""
    names = [f"default/faq/ann/0/{n}" for n in range(20_000)]
    one = [draw(b"one", "gold", name) < 0.05 for name in names]
    two = [draw(b"two", "gold", name) < 0.05 for name in names]
    assert sum(one) == pytest.approx(1_000, abs=130)
    assert sum(a and b for a, b in zip(one, two, strict=True)) == pytest.approx(50, abs=35)


async def test_a_reviewed_entry_leaves_quarantine(sqlite_url: str, tmp_path: Path) -> None:
    """Where a line serves new entries only after review, «reusable» is that review."""
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(1)) as client:
        await queue(client, 1, quarantine=True)
        assert (await client.lookup(near(0)))["reason"] == "quarantined"
        await label(client, await next_item(client, "ann"), "ann", "reusable")
        assert (await client.lookup(near(0)))["outcome"] == "hit"
