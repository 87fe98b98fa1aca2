"""C-138: two reviewers, one queue of ten pairs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.evaluation.desks import label, near, next_item, queue, rigged
from tests.harness import Client, Clock, running


async def test_two_reviewers_lose_nothing_and_overwrite_nothing(
    database_url: str, tmp_path: Path
) -> None:
    """The five situations of the case, in its order, in one session; then the agreement numbers."""
    clock = Clock()
    async with running(database_url, tmp_path, clock=clock, embedder=rigged(10)) as client:
        await queue(client, 10)
        first = await next_item(client, "ann")
        other = await next_item(client, "bo")
        assert first["item_id"] != other["item_id"]  # one queue, never the same item at once

        # pair 1: both submit within the same second
        one, two = await asyncio.gather(
            label(client, first, "ann", "reusable"),
            label(client, first, "bo", "not_reusable", reason="number"),
        )
        assert (one.status_code, two.status_code) == (200, 200)
        dispute = await only_dispute(client)
        assert dispute["item_id"] == first["item_id"]
        assert {g["reviewer"]: g["verdict"] for g in dispute["labels"]} == {
            "ann": "reusable",
            "bo": "not_reusable",
        }

        # pair 2: a double click
        second = await next_item(client, "ann")
        clicks = await asyncio.gather(*(label(client, second, "ann", "reusable") for _ in range(2)))
        assert [reply.status_code for reply in clicks] == [200, 200]
        assert sorted(reply.json()["already"] for reply in clicks) == [False, True]
        assert [row["item_id"] for row in await recent(client, "ann")].count(second["item_id"]) == 1

        # pair 3: skipped
        third = await next_item(client, "ann")
        await client.call("POST", f"/v1/review/items/{third['item_id']}/skip", {"reviewer": "ann"})
        assert (await next_item(client, "ann"))["item_id"] != third["item_id"]

        # pair 4: its entry is deleted while Bo has it open
        fourth = await next_item(client, "bo")
        await delete_entry_behind(client, fourth)
        gone = await label(client, fourth, "bo", "reusable")
        assert gone.status_code == 410
        assert gone.json()["code"] == "gone"
        assert "deleted" in gone.json()["detail"]
        assert all(row["item_id"] != fourth["item_id"] for row in await recent(client, "bo"))

        # pair 5: Ann's lease runs out, Bo judges, then Ann submits
        fifth = await next_item(client, "ann")
        clock.turn(301)
        handed = await until(client, "bo", fifth["item_id"])
        assert (await label(client, handed, "bo", "not_reusable")).status_code == 200
        late = await label(client, fifth, "ann", "reusable")
        assert late.status_code == 409
        assert "somebody else judged" in late.json()["detail"]
        kept = await exported(client, fifth["item_id"])
        assert [(row["reviewer"], row["verdict"]) for row in kept] == [("bo", "not_reusable")]

        # agreement: one item judged by both, and they differ
        progress = (await client.call("GET", "/v1/review/progress?line=faq")).json()
        quality = {who["reviewer"]: who for who in progress["by_reviewer"]}
        assert (quality["ann"]["judged_with_others"], quality["ann"]["agreed"]) == (1, 0)
        assert (quality["bo"]["judged_with_others"], quality["bo"]["agreed"]) == (1, 0)
        assert quality["ann"]["labels"] == 2
        assert (progress["disputed"], progress["withdrawn"], progress["second"]) == (1, 1, 1)


async def test_the_wait_for_a_lease_ends_and_the_item_returns(
    database_url: str, tmp_path: Path
) -> None:
    """What Ann left open goes to Bo after five minutes, not before."""
    clock = Clock()
    async with running(database_url, tmp_path, clock=clock, embedder=rigged(1)) as client:
        await queue(client, 1)
        left = await next_item(client, "ann")
        assert await next_item(client, "bo") is None
        clock.turn(299)
        assert await next_item(client, "bo") is None
        clock.turn(2)
        assert (await next_item(client, "bo"))["item_id"] == left["item_id"]


async def only_dispute(client: Client) -> Any:
    items = (await client.call("GET", "/v1/review/disputes?line=faq")).json()["items"]
    assert len(items) == 1
    return items[0]


async def recent(client: Client, reviewer: str) -> Any:
    reply = await client.call("GET", f"/v1/review/recent?line=faq&reviewer={reviewer}")
    return reply.json()["labels"]


async def exported(client: Client, item_id: str) -> list[Any]:
    import json

    text = (await client.call("GET", "/v1/labels/export?line=faq")).text
    rows = [json.loads(row) for row in text.splitlines()]
    return [row for row in rows if row["item_id"] == item_id]


async def until(client: Client, reviewer: str, item_id: str) -> Any:
    """Go through a reviewer's queue until he is handed this item."""
    for _ in range(20):
        item = await next_item(client, reviewer)
        if item["item_id"] == item_id:
            return item
        await client.call(
            "POST", f"/v1/review/items/{item['item_id']}/skip", {"reviewer": reviewer}
        )
    raise AssertionError("never handed")


async def delete_entry_behind(client: Client, item: Any) -> None:
    number = next(i for i in range(10) if near(i) == item["query"])
    found = await client.call("GET", f"/v1/entries?line=faq&text=stored question {number}")
    entry = found.json()["entries"][0]
    assert (await client.call("DELETE", f"/v1/entries/{entry['entry_id']}")).status_code == 200
