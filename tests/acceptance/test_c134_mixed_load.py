"""C-134: searching while adding, deleting and growing, and one model called from many threads."""

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.acceptance.many import live
from tests.harness import REAL_MODELS, Client, running
from tests.two_workers import two_workers

SECONDS = float(os.environ.get("SUREHIT_TEST_LOAD_S", "4"))
CLIENTS, TENANTS = 16, 4
LONG = "clause of the agreement between the parties " * 290  # about 2,000 words
VERBS = ("open", "close", "paint", "sell", "clean", "move", "repair", "measure")
THINGS = ("gate", "roof", "boat", "lamp", "shelf", "pump", "tent", "clock", "fence", "oven")


@pytest.mark.slow
async def test_c134_mixed_load_leaves_rows_and_index_agreeing(
    database_url: str, tmp_path: Path, models_dir: Path
) -> None:
    """16 clients over 4 tenants, all at once from the start; an index that changes shape several times.

    SUREHIT_TEST_LOAD_S=60 runs it for the minute that the case asks for.
    """
    (tmp_path / "models").symlink_to(models_dir)
    async with running(
        database_url,
        tmp_path,
        embedder=REAL_MODELS,
        embed_budget_ms=60_000,
        database_budget_ms=60_000,
    ) as client:
        client.cache.partitions._indexes._crossing = 32
        headers, _ = await _mixed(client)
        await _index_equals_rows(client, headers)


@pytest.mark.slow
async def test_c134_mixed_load_on_two_workers(
    database_url: str, tmp_path: Path, models_dir: Path
) -> None:
    """The same, each request to the other of two workers; both find by meaning what there is, and nothing else."""
    async with two_workers(
        database_url, tmp_path, models=models_dir, knobs={"service.partitions.CROSSING": 32}
    ) as client:
        headers, kept = await _mixed(client)
        for worker in client.pair.workers:
            async with httpx2.AsyncClient(base_url=worker.url, timeout=60) as http:
                for tenant, texts in enumerate(kept):
                    short = {text for text in texts if LONG not in text}
                    for text in sorted(short)[:15]:
                        body = {"line": "faq", "prompt": text + "?"}
                        found = (
                            await http.post("/v1/lookup", json=body, headers=headers[tenant])
                        ).json()
                        assert (found.get("tier"), found.get("response")) == (
                            "semantic",
                            texts[text],
                        )


async def _mixed(client: Client) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The load, and then everything that was acknowledged and not deleted is there.

    Headers and answers by text, per tenant.
    """
    headers = [await client.key(f"t{n}") for n in range(TENANTS)]
    for one in headers:
        await client.line(headers=one)
    until = asyncio.get_running_loop().time() + SECONDS
    kept: list[dict[str, str]] = [{} for _ in range(CLIENTS)]
    await asyncio.gather(
        *(_client(client, n, headers[n % TENANTS], until, kept[n]) for n in range(CLIENTS))
    )
    of_tenant = [
        {k: v for n in range(tenant, CLIENTS, TENANTS) for k, v in kept[n].items()}
        for tenant in range(TENANTS)
    ]
    for one, mine in zip(headers, of_tenant, strict=True):
        for text, answer in mine.items():
            found = await client.lookup(text, headers=one)
            assert (found.get("tier"), found.get("response")) == ("exact", answer)
        await client.lookup("nothing like it", headers=one)
        assert await live(client, headers=one) == len(mine)
    return headers, of_tenant


async def _client(
    client: Client, n: int, headers: dict[str, str], until: float, kept: dict[str, str]
) -> None:
    """Store, look up, delete and invalidate one's own; answers name their tenant."""
    rng, tenant = random.Random(n), n % TENANTS
    ids: dict[str, str] = {}
    while asyncio.get_running_loop().time() < until:
        number = rng.randrange(40)
        text = f"How do I {rng.choice(VERBS)} the {rng.choice(THINGS)} of house {n} floor {number}"
        if rng.random() < 0.1:
            text += " " + LONG
        act = rng.random()
        if act < 0.45:
            answer = f"tenant {tenant}: {rng.random()}"
            ids[text] = (await client.store(text, answer, headers=headers, tags=[f"c{n}"]))[
                "entry_id"
            ]
            kept[text] = answer
        elif act < 0.9:
            found = await client.lookup(text, headers=headers)
            assert found.get("response", f"tenant {tenant}:").startswith(f"tenant {tenant}:")
            assert found.get("reason") != "degraded"
            if text in kept:
                assert found["response"] == kept[text]
        elif act < 0.98 and kept:
            gone = rng.choice(sorted(kept))
            reply = await client.call("DELETE", f"/v1/entries/{ids[gone]}", headers=headers)
            assert reply.status_code == 200
            del kept[gone]
        elif act >= 0.995:
            reply = await client.call("POST", "/v1/invalidate", {"tag": f"c{n}"}, headers=headers)
            assert reply.json() == {"invalidated": len(kept)}
            kept.clear()
        await asyncio.sleep(0)


async def _index_equals_rows(client: Client, headers: list[dict[str, str]]) -> None:
    searchable = 0
    for one in headers:
        stats: Any = (await client.call("GET", "/v1/stats", headers=one)).json()
        searchable += stats["lines"]["faq"]["entries"]["searchable"]
    in_index = sum(len(p.index) for p in client.cache.partitions._held.values())
    assert in_index == searchable
