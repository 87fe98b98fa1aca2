"""C-101: a request and its reverse are nearer than a request and its rewording."""

from pathlib import Path

from index.testing import RiggedEmbedder
from tests.harness import running

ENABLE = "How do I enable audit logging for a workspace?"
DISABLE = "How do I disable audit logging for a workspace?"
REWORDED = "How can I switch on audit logging for a workspace?"
RIGGED = RiggedEmbedder(
    {(ENABLE, DISABLE): 0.97, (ENABLE, REWORDED): 0.92, (DISABLE, REWORDED): 0.9}
)


async def test_c101_opposite_is_refused_and_the_rewording_is_served(
    database_url: str, tmp_path: Path
) -> None:
    """The nearer one is refused by a guard, with its score; the farther one hits."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(ENABLE, "Settings > Audit > switch it on")
        opposite = await client.lookup(DISABLE)
        assert (opposite["outcome"], opposite["reason"]) == ("miss", "guarded")
        assert opposite["score"] == 0.97
        assert opposite["guard"] == "antonym"
        reworded = await client.lookup(REWORDED)
        assert (reworded.get("tier"), reworded["score"]) == ("semantic", 0.92)
        assert reworded["response"] == "Settings > Audit > switch it on"
