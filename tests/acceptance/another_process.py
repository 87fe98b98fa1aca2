"""The application in a process of its own, for tests that restart or kill it.

`python -m tests.acceptance.another_process look URL FOLDER PROMPTS` (JSON) looks prompts up and prints what was found;
`… fill URL FOLDER ROUND` stores without end and prints each prompt once it was acknowledged; `… snapshot …` writes
snapshots without end at the same time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from service import partitions
from tests.acceptance.many import live
from tests.harness import Client, running

SMALL = 64
"""Entries from which a partition is saved to disk, here."""


def prompt(round_: int, n: int) -> str:
    """The n-th question of a round."""
    return f"What does paragraph {n} of volume {round_} say"


async def look(client: Client, prompts: list[str]) -> dict[str, object]:
    """How each prompt and its rewording were answered, and what is there."""
    found = {}
    for text in prompts:
        exact, near = await client.lookup(text), await client.lookup(text + "?")
        found[text] = [
            exact.get("tier"),
            exact.get("response"),
            near.get("tier"),
            near.get("response"),
        ]
    in_index = sum(len(p.index) for p in client.cache.partitions._held.values())
    return {"found": found, "live": await live(client), "index": in_index}


async def fill(client: Client, round_: int, *, snapshots: bool) -> None:
    """Store until killed; a line of output for each acknowledged answer."""

    async def save() -> None:
        while True:
            for partition in client.cache.partitions._held.values():
                partition.saved_at = 0
            await client.cache.partitions.save()
            await asyncio.sleep(0)

    saving = asyncio.create_task(save()) if snapshots else None
    n = 0
    while True:
        text = prompt(round_, n)
        await client.lookup(text)
        await client.store(text, f"answer to {text}")
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        n += 1
        if saving is not None and saving.done():
            saving.result()


async def main(act: str, url: str, folder: str, argument: str) -> None:
    """Run one act."""
    partitions.CROSSING = SMALL
    async with running(url, Path(folder)) as client:
        if act == "look":
            sys.stdout.write(json.dumps(await look(client, json.loads(argument))))
        else:
            await client.line()
            await fill(client, int(argument), snapshots=act == "snapshot")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
