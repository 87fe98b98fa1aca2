"""C-105: a pre-filter that contains the whole request makes semantic hits unreachable."""

from pathlib import Path

from index.testing import RiggedEmbedder
from tests.harness import chat, running

ASKED = "How long is the free trial?"
REWORDED = "What is the length of the free trial?"
RIGGED = RiggedEmbedder({(ASKED, REWORDED): 0.94})


async def test_c105_rewording_under_other_tracing_labels_hits(
    database_url: str, tmp_path: Path
) -> None:
    """Another request id and user label do not part two requests; the score is reported."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(
            chat(ASKED, request_id="r-1", user="trace-a", metadata={"span": 1}), "14 days"
        )
        found = await client.lookup(
            chat(REWORDED, request_id="r-2", user="trace-b", metadata={"span": 2})
        )
        assert (found.get("tier"), found["score"]) == ("semantic", 0.94)
        assert found["response"] == "14 days"
