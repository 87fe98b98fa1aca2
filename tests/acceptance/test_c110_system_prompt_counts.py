"""C-110: semantic matching looks at the last user message only."""

from pathlib import Path
from typing import Any

from index.testing import RiggedEmbedder
from tests.harness import chat, running

ASKED, REWORDED = "How do tides work?", "How does the tide work?"
PIRATE = "You are a pirate; answer in rhyme."
RIGGED = RiggedEmbedder({(ASKED, REWORDED): 0.95})


def under(system: str | None, text: str) -> dict[str, Any]:
    """A question under a system prompt."""
    lead = [] if system is None else [{"role": "system", "content": system}]
    return chat("", messages=[*lead, {"role": "user", "content": text}])


async def test_c110_other_persona_misses_and_the_same_persona_hits_by_meaning(
    database_url: str, tmp_path: Path
) -> None:
    """Another or no system prompt: a miss in every mode. The same one: a semantic hit."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        for mode in ("serve", "shadow", "exact"):
            await client.line(mode=mode)
            await client.store(under(PIRATE, ASKED), "A1")
            for system in ("You are a physics tutor.", None):
                for text in (ASKED, REWORDED):
                    assert (await client.lookup(under(system, text)))["outcome"] == "miss"
        await client.line()
        await client.store(under(PIRATE, ASKED), "A1")
        found = await client.lookup(under(PIRATE, REWORDED))
        assert (found.get("tier"), found["score"], found["response"]) == ("semantic", 0.95, "A1")
