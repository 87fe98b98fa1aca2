"""C-102: two sums that differ in one figure only."""

from pathlib import Path

from index.testing import RiggedEmbedder
from tests.harness import running

STORED = "What is 17% of 2,400?"
OTHER = "What is 71% of 2,400?"
WORDED = "What is seventeen percent of 2400?"
RIGGED = RiggedEmbedder({(STORED, OTHER): 0.99, (STORED, WORDED): 0.93, (OTHER, WORDED): 0.92})


async def test_c102_other_figure_is_refused_and_the_same_in_words_is_served(
    database_url: str, tmp_path: Path
) -> None:
    """Digits in another order are another number; a word and a thousands comma are not."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(STORED, "408")
        other = await client.lookup(OTHER)
        assert (other["outcome"], other["reason"], other["score"]) == ("miss", "guarded", 0.99)
        worded = await client.lookup(WORDED)
        assert (worded.get("tier"), worded.get("response")) == ("semantic", "408")
