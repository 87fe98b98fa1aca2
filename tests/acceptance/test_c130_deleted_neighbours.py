"""C-130: deleted nodes stay in the graph, come back, or carry two vectors."""

from pathlib import Path

import pytest

from index.testing import RiggedEmbedder
from tests.acceptance.many import live
from tests.harness import running

ASKED = "Where is the manual"
FAR = "Who paints the fence"
# conditionally independent given Q: cos(i, j) = cos(i, Q) · cos(j, Q), which some vectors have
TO_Q = {text: 0.93 + 0.06 * n / 199 for n, text in enumerate(f"manual {n}" for n in range(200))}
RIGGED = RiggedEmbedder(
    {(ASKED, text): s for text, s in TO_Q.items()}
    | {(a, b): TO_Q[a] * TO_Q[b] for a in TO_Q for b in TO_Q if a < b}
    | {(ASKED, FAR): 0.1}
    | {(a, FAR): 0.1 * s for a, s in TO_Q.items()}
)
KEPT = [3, 50, 120, 180]
NO_GUARDS = dict.fromkeys(("extra", "name", "number", "slot", "question", "code"), False)


@pytest.mark.parametrize(
    ("database", "crossing"), [("postgresql", None), ("sqlite", 64)], ids=["scan", "graph"]
)
async def test_c130_nearest_live_entry_is_served_every_time(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, crossing: int | None
) -> None:
    """196 of 200 deleted; one kept deleted and stored again; one moved far away."""
    url = request.getfixturevalue(f"{database}_url")
    async with running(url, tmp_path, embedder=RIGGED) as client:
        if crossing is not None:
            client.cache.partitions._indexes._crossing = crossing
        await client.line(guards=NO_GUARDS)
        ids = {}
        for n, text in enumerate(TO_Q):
            ids[n] = (await client.store(text, n))["entry_id"]
        assert (await client.lookup(ASKED))["response"] == 199
        for n in range(200):
            if n not in KEPT:
                reply = await client.call("DELETE", f"/v1/entries/{ids[n]}")
                assert reply.json() == {"invalidated": 1}
        nearest = await client.lookup(ASKED)
        assert nearest["response"] == 180
        assert nearest["score"] == pytest.approx(TO_Q["manual 180"], abs=1e-6)

        await client.call("DELETE", f"/v1/entries/{ids[180]}")
        assert (await client.lookup(ASKED))["response"] == 120
        again = await client.store("manual 180", "new")
        found = await client.lookup(ASKED)
        assert (found["response"], found["entry_id"]) == ("new", again["entry_id"])
        listed = (await client.call("GET", "/v1/entries?line=faq&text=manual+180")).json()
        assert len(listed["entries"]) == 1

        # "update so that its prompt moves": the entry goes and comes back under another question
        await client.call("DELETE", f"/v1/entries/{again['entry_id']}")
        await client.store(FAR, "new")
        assert (await client.lookup(ASKED))["response"] == 120


async def test_c130_a_thousand_rounds_leave_nothing_behind(sqlite_url: str, tmp_path: Path) -> None:
    """Delete and store of one prompt: index, its memory and the rows stay flat."""
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line(guards=NO_GUARDS)
        for n in KEPT:
            entry = await client.store(f"manual {n}", n)
        await client.lookup(ASKED)
        (partition,) = client.cache.partitions._held.values()
        sizes = set()
        for round_ in range(1000):
            reply = await client.call("DELETE", f"/v1/entries/{entry['entry_id']}")
            assert reply.status_code == 200
            entry = await client.store("manual 180", round_)
            if round_ % 100 == 99:
                assert (await client.lookup(ASKED))["response"] == round_
                sizes.add((len(partition.index), partition.index.memory_bytes, await live(client)))
        assert len(sizes) == 1
        assert next(iter(sizes))[0] == next(iter(sizes))[2] == len(KEPT)
