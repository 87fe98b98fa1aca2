"""C-128: the embedding model changes underneath."""

from pathlib import Path

import pytest

from index.testing import HashEmbedder
from service.maintenance import Maintenance
from tests.harness import Client, running

E1 = HashEmbedder(64, name="e1")
E2 = HashEmbedder(64, name="e2")
E3 = HashEmbedder(32, name="e3")
PROMPTS = [f"Where do I find setting number {n}?" for n in range(50)]


@pytest.mark.parametrize("other", [E2, E3], ids=["same width", "other width"])
async def test_c128_vectors_of_two_models_are_never_compared(
    database_url: str, tmp_path: Path, other: HashEmbedder
) -> None:
    """Exact hits go on; semantic hits wait for new vectors and are counted as waiting; back again they are valid."""
    async with running(database_url, tmp_path, embedder=E1) as client:
        await client.line()
        for n, prompt in enumerate(PROMPTS):
            await client.store(prompt, n)
        assert (await client.lookup(_near(3)))["response"] == 3
    async with running(database_url, tmp_path, embedder=other) as client:
        assert await _waiting(client) == 50
        for n in (0, 7, 49):
            assert (await client.lookup(PROMPTS[n]))["tier"] == "exact"
            found = await client.lookup(_near(n))
            assert (found["outcome"], found["reason"]) == ("miss", "empty")
        for n in range(50, 55):
            await client.store(f"Where do I find setting number {n}?", n)
        found = await client.lookup("where do I find setting number 52")
        assert (found.get("tier"), found["response"]) == ("semantic", 52)
    async with running(database_url, tmp_path, embedder=E1) as client:
        # E1's vectors were never touched; the five new ones wait for theirs
        assert await _waiting(client) == 5
        for n in (0, 7, 49):
            assert (await client.lookup(_near(n))).get("response") == n
        await Maintenance(client.cache).once()
        assert await _waiting(client) == 0
        assert (await client.lookup("where do I find setting number 52"))["response"] == 52
    async with running(database_url, tmp_path, embedder=other) as client:
        await Maintenance(client.cache).once()
        assert await _waiting(client) == 0
        for n in (0, 7, 49, 52):
            assert (await client.lookup(_near(n)))["response"] == n


def _near(n: int) -> str:
    return f"where do I find setting number {n}"


async def _waiting(client: Client) -> int:
    stats = (await client.call("GET", "/v1/stats")).json()
    entries = stats["lines"]["faq"]["entries"]
    waiting: int = entries["awaiting_embedding"]
    assert entries["searchable"] + waiting == entries["live"]
    return waiting
