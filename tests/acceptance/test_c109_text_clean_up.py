"""C-109: clean-up before hashing makes different texts equal, or leaves equal ones different."""

from pathlib import Path

from index.testing import RiggedEmbedder
from tests.harness import running

POWER, PLAIN = "What is 2⁵?", "What is 25?"
CODE = "What does this print?\nif x:\n    y()\nz()"
NESTED = "What does this print?\nif x:\n    y()\n    z()"
COMPOSED = "caf\u00e9 opening hours"
COMBINING = "cafe\u0301 opening hours  "


async def test_c109_lossy_forms_stay_apart_and_equal_texts_meet(
    database_url: str, tmp_path: Path
) -> None:
    """A superscript and an indentation count; composition and blanks at the end do not."""
    rigged = RiggedEmbedder({(POWER, PLAIN): 0.99, (CODE, NESTED): 0.99})
    async with running(database_url, tmp_path, embedder=rigged) as client:
        await client.line()
        await client.store(POWER, "32")
        await client.store(CODE, "A2")
        await client.store(COMPOSED, "A3")
        assert (await client.lookup(PLAIN))["outcome"] == "miss"
        assert (await client.lookup(NESTED))["outcome"] == "miss"
        found = await client.lookup(COMBINING)
        assert (found["tier"], found["response"]) == ("exact", "A3")
        for text, answer in ((POWER, "32"), (CODE, "A2")):
            assert (await client.lookup(text))["response"] == answer
