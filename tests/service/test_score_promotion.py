"""Near misses that a reviewer found reusable: served to the very same request again, and to nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.desks import asked, label, near, next_item, queue, rigged
from tests.harness import Client, Clock, running

ON: dict[str, Any] = {"threshold": 0.97, "promote": True}


async def reviewed(client: Client, verdict: str = "reusable", **settings: Any) -> None:
    """A near miss at 0.93 under a threshold of 0.97, and a verdict on it."""
    await queue(client, 1, **(ON | settings))
    missed = await client.lookup(near(0))
    assert (missed["outcome"], missed["reason"]) == ("miss", "below_threshold")
    await client.cache.journal.flush()
    reply = await label(client, await next_item(client, "ann"), "ann", verdict)
    assert reply.status_code == 200, reply.text


async def test_the_same_request_is_served_and_its_entrys_end_is_its_own(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path, embedder=rigged(2)) as client:
        await reviewed(client)
        hit = await client.lookup(near(0))
        assert (hit["outcome"], hit["tier"], hit["response"]) == ("hit", "semantic", "answer 0")
        assert hit["score"] < hit["threshold"]
        gone = await client.call("DELETE", f"/v1/entries/{hit['entry_id']}")
        assert gone.status_code in (200, 204)
        assert (await client.lookup(near(0)))["outcome"] == "miss"
        await client.store(asked(0), "another answer")
        assert (await client.lookup(near(0)))["outcome"] == "miss"  # nobody reviewed that one


async def test_explain_knows_what_was_promoted(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path, embedder=rigged(2)) as client:
        await reviewed(client)
        a, b = ({"messages": [{"role": "user", "content": text}]} for text in (asked(0), near(0)))
        body = {"line": "faq", "a": a, "b": b}

        async def told() -> Any:
            said = (await client.call("POST", "/v1/explain", body)).json()
            found = await client.lookup(near(0))
            assert said["served"] == said["promoted"] == (found["outcome"] == "hit")
            return said

        said = await told()
        assert (said["promoted"], said["tier"], said["stands_between"]) == (True, "semantic", None)
        assert said["score"] < said["threshold"]
        for change in ({"promote": False}, {"promote": True, "policy_version": "2"}):
            await client.call("PATCH", "/v1/lines/faq", change)
            assert (await told())["stands_between"] == "score"
        await client.call("PATCH", "/v1/lines/faq", {"policy_version": "1"})
        assert (await told())["promoted"]
        await client.store(asked(0), "a newer answer")
        assert not (await told())["promoted"]


async def test_another_wording_scope_line_or_tenant_is_not_served(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, embedder=rigged(1)) as client:
        await reviewed(client)
        assert (await client.lookup(near(0)))["outcome"] == "hit"
        for other in ({"scope": "u2"}, {"headers": await client.key("other")}):
            assert (await client.lookup(near(0), **other))["outcome"] == "miss"
        assert (await client.lookup(f"{near(0)} really"))["outcome"] == "miss"
        assert (await client.lookup(near(0), tiers=["exact"]))["outcome"] == "miss"


async def test_a_changed_answer_is_not_the_one_that_was_reviewed(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, embedder=rigged(1)) as client:
        await reviewed(client)
        await client.store(asked(0), "a newer answer")
        assert (await client.lookup(near(0)))["outcome"] == "miss"


async def test_an_expired_entry_takes_its_promotions_with_it(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = Clock()
    async with running(sqlite_url, tmp_path, embedder=rigged(1), clock=clock) as client:
        await reviewed(client, ttl_s=600)
        assert (await client.lookup(near(0)))["outcome"] == "hit"
        clock.turn(601)
        assert (await client.lookup(near(0)))["outcome"] == "miss"


async def test_nothing_is_promoted_on_top_of_a_promotion(sqlite_url: str, tmp_path: Path) -> None:
    """A wording near the promoted one, far from the entry, finds nothing: a promotion is no entry."""
    embedder = rigged(1)
    async with running(sqlite_url, tmp_path, embedder=embedder) as client:
        await reviewed(client)
        assert (await client.lookup(near(0)))["outcome"] == "hit"
        chained = await client.lookup(f"{near(0)}!")
        assert chained["outcome"] == "miss"
        count = await client.call("GET", "/v1/entries?line=faq")
        assert len(count.json()["entries"]) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"promote": False},
        {"mode": "shadow"},
        {"mode": "exact"},
        {"policy_version": "2"},
    ],
)
async def test_a_line_that_does_not_want_it_serves_none(
    sqlite_url: str, tmp_path: Path, change: dict[str, Any]
) -> None:
    async with running(sqlite_url, tmp_path, embedder=rigged(1)) as client:
        await reviewed(client)
        await client.call("PATCH", "/v1/lines/faq", change)
        assert (await client.lookup(near(0)))["outcome"] == "miss"


@pytest.mark.parametrize(
    ("verdict", "settings"),
    [("unsure", {}), ("not_reusable", {}), ("reusable", {"promote": False})],
)
async def test_only_a_reusable_verdict_on_a_line_that_promotes_counts(
    sqlite_url: str, tmp_path: Path, verdict: str, settings: dict[str, Any]
) -> None:
    async with running(sqlite_url, tmp_path, embedder=rigged(1)) as client:
        await reviewed(client, verdict, **settings)
        await client.call("PATCH", "/v1/lines/faq", {"promote": True})
        assert (await client.lookup(near(0)))["outcome"] == "miss"


async def test_a_verdict_taken_back_and_a_users_no_end_it(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, embedder=rigged(1)) as client:
        await reviewed(client)
        body = {"line": "faq", "reviewer": "ann"}
        taken = await client.call("POST", "/v1/review/undo", body)
        assert taken.status_code == 200, taken.text
        assert (await client.lookup(near(0)))["outcome"] == "miss"
        await client.cache.journal.flush()
        await label(client, taken.json()["item"], "ann", "reusable")
        hit = await client.lookup(near(0))
        assert hit["outcome"] == "hit"
        told = {"lookup_id": hit["lookup_id"], "verdict": "not_reusable"}
        assert (await client.call("POST", "/v1/feedback", told)).json()["blocked"]
        refused = await client.lookup(near(0))
        assert refused["outcome"] == "miss"


async def test_what_the_guards_refuse_is_never_promoted(sqlite_url: str, tmp_path: Path) -> None:
    from index.testing import RiggedEmbedder

    a, b = "what does error 17 mean", "what does error 18 mean"
    async with running(sqlite_url, tmp_path, embedder=RiggedEmbedder({(a, b): 0.93})) as client:
        await queue(client, 0, **ON, sampling={"guarded_rate": 1.0})
        await client.store(a, "done")
        await client.lookup(b)
        await client.cache.journal.flush()
        await label(client, await next_item(client, "ann"), "ann", "reusable")
        assert (await client.lookup(b))["outcome"] == "miss"
