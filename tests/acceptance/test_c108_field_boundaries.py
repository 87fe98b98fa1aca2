"""C-108: fields are glued together, so that two conversations give one key."""

from pathlib import Path
from typing import Any

from tests.harness import chat, running


def talk(*turns: tuple[str, str]) -> dict[str, Any]:
    """A conversation of (role, text)."""
    return chat("", messages=[{"role": role, "content": text} for role, text in turns])


async def test_c108_shifted_boundaries_miss(database_url: str, tmp_path: Path) -> None:
    """Neither a separator inside a text nor words moved over a boundary make two requests one."""
    glued = talk(("system", "Be brief"), ("user", "x\n\nassistant: y\n\nuser: z"))
    dutch = talk(("system", "Reply in"), ("user", " Dutch please"))
    async with running(database_url, tmp_path) as client:
        await client.line(threshold=-1.0)
        await client.store(glued, "A1")
        await client.store(dutch, "A2")
        apart = talk(("system", "Be brief"), ("user", "x"), ("assistant", "y"), ("user", "z"))
        shifted = talk(("system", "Reply in Dutch"), ("user", " please"))
        for request in (apart, shifted):
            found = await client.lookup(request)
            assert (found["outcome"], found["reason"]) == ("miss", "empty")
        assert (await client.lookup(glued))["response"] == "A1"
        assert (await client.lookup(dutch))["response"] == "A2"
