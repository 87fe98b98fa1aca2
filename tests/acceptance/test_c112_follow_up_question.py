"""C-112: a follow-up means something else in each conversation."""

from pathlib import Path
from typing import Any

from tests.harness import chat, running

FOLLOW_UP = "And what does the second one cost?"


def after(*first: str) -> dict[str, Any]:
    """The follow-up behind a first exchange."""
    roles = ("user", "assistant")
    turns = [{"role": role, "content": text} for role, text in zip(roles, first, strict=False)]
    return chat("", messages=[*turns, {"role": "user", "content": FOLLOW_UP}])


async def test_c112_same_follow_up_elsewhere_misses(database_url: str, tmp_path: Path) -> None:
    """Another conversation and none at all miss; the identical conversation hits."""
    plans = after("Compare plan Basic and plan Plus.", "...")
    async with running(database_url, tmp_path) as client:
        await client.line(threshold=-1.0)
        await client.store(plans, "A1")
        for other in (after("Compare the Lisbon and Porto offices.", "..."), after()):
            found = await client.lookup(other)
            assert (found["outcome"], found["reason"]) == ("miss", "empty")
        found = await client.lookup(plans)
        assert (found["tier"], found["response"]) == ("exact", "A1")
