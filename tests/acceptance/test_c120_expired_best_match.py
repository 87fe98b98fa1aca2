"""C-120: an expired best match is served, or hides a live second-best."""

from pathlib import Path

from index.testing import RiggedEmbedder
from tests.harness import Clock, running

Q, Q1, Q2 = "How does sync work?", "How does syncing work?", "How does the sync work?"
RIGGED = RiggedEmbedder({(Q, Q1): 0.98, (Q, Q2): 0.95, (Q1, Q2): 0.95})


async def test_c120_expired_entry_gives_way_to_the_next(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Age equal to the lifetime is expired, in both tiers, with no clean-up having run."""
    async with running(database_url, tmp_path, clock=clock, embedder=RIGGED) as client:
        await client.line()
        await client.store(Q1, "A1", ttl_s=60)
        await client.store(Q2, "A2", ttl_s=600)
        began = clock.now_ms
        for at, answer in ((59, "A1"), (60, "A2"), (61, "A2")):
            clock.now_ms = began + at * 1000
            found = await client.lookup(Q)
            assert (found["tier"], found["response"]) == ("semantic", answer), at
            if at == 60:
                exact = await client.lookup(Q1)
                assert exact.get("tier") != "exact"
                assert exact.get("response") != "A1"
        stats = (await client.call("GET", "/v1/stats")).json()
        assert stats["lines"]["faq"]["entries"]["live"] == 1
        listed = (await client.call("GET", "/v1/entries?line=faq")).json()["entries"]
        assert [entry["query"] for entry in listed] == [Q2]
