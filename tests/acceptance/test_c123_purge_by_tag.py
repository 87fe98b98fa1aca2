"""C-123: a purge works through one page of results, or drops vectors and leaves rows."""

import asyncio
import random
from pathlib import Path

from tests.acceptance.many import live, seed
from tests.harness import Client, running

V3 = [f"Rule {n} of the third handbook" for n in range(12_000)]
V4 = [f"Rule {n} of the fourth handbook" for n in range(50)]
SAMPLE = random.Random(5).sample(V3, 40)


async def test_c123_purge_is_complete_bounded_and_counted(
    database_url: str, tmp_path: Path
) -> None:
    """12,000 of one tag go while lookups run; another tag and another tenant stay; so after a restart."""
    async with running(database_url, tmp_path) as client:
        t1, t2 = await client.key("t1"), await client.key("t2")
        for headers in (t1, t2):
            await client.line(headers=headers)
        await seed(client, V3, tenant="t1", tags=("policy-v3",))
        await seed(client, V4, tenant="t1", tags=("policy-v4",))
        await seed(client, V3[:5], tenant="t2", tags=("policy-v3",))
        assert await live(client, headers=t1) == 12_050
        assert (await client.lookup(V3[0], headers=t1))["tier"] == "exact"
        assert (await client.lookup(V3[1] + "?", headers=t1)).get("tier") == "semantic"

        running_on = True

        async def look() -> int:
            done = 0
            while running_on:
                await client.lookup(random.choice(V3), headers=t1)
                done += 1
                await asyncio.sleep(0)  # a hit on SQLite never waits, and the purge wants its turn
            return done

        looking = [asyncio.create_task(look()) for _ in range(2)]
        reply = await client.call("POST", "/v1/invalidate", {"tag": "policy-v3"}, headers=t1)
        running_on = False
        assert min(await asyncio.gather(*looking)) > 0
        assert (reply.status_code, reply.json()) == (200, {"invalidated": 12_000})
        await _check(client, t1, t2)
    async with running(database_url, tmp_path) as again:
        await _check(again, t1, t2)


async def _check(client: Client, t1: dict[str, str], t2: dict[str, str]) -> None:
    for prompt in SAMPLE:
        for text in (prompt, prompt + "?"):
            found = await client.lookup(text, headers=t1)
            assert "third" not in str(found.get("response", "")), text
    assert await live(client, headers=t1) == 50
    for prompt in V4[:5]:
        assert (await client.lookup(prompt, headers=t1))["tier"] == "exact"
        assert (await client.lookup(prompt + "?", headers=t1)).get("tier") == "semantic"
    assert await live(client, headers=t2) == 5
    for prompt in V3[:5]:
        assert (await client.lookup(prompt, headers=t2))["tier"] == "exact"
