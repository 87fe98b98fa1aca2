"""C-131: after a restart the index is empty, or entries are doubled, or keys no longer match."""

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.acceptance.many import live, seed
from tests.harness import running

PROMPTS = [f"What does paragraph {n} of the handbook say" for n in range(2_500)]
EXPIRED = [f"What does paragraph {n} of the old handbook say" for n in range(40)]
DELETED = PROMPTS[:20]
SAMPLES = random.Random(9).sample(PROMPTS[20:], 200)


async def test_c131_restarts_keep_everything_and_double_nothing(
    postgresql_url: str, tmp_path: Path
) -> None:
    """2,500 entries, some expired or deleted; three processes, each with another hash seed, find the same."""
    async with running(postgresql_url, tmp_path) as client:
        await client.line()
        await seed(client, PROMPTS)
        await seed(client, EXPIRED, expires_ms=client.cache.clock_ms() - 1)
        for text in DELETED:
            entry_id = (await client.lookup(text))["entry_id"]
            await client.call("DELETE", f"/v1/entries/{entry_id}")
        assert await live(client) == len(PROMPTS) - len(DELETED)
    asked = json.dumps([*SAMPLES, *EXPIRED[:10], *DELETED[:10]])
    seen = [
        await asyncio.to_thread(_look, postgresql_url, tmp_path, asked, hash_seed=n)
        for n in (1, 2, 3)
    ]
    assert seen[0] == seen[1] == seen[2]
    assert seen[0]["live"] == len(PROMPTS) - len(DELETED)
    # rows that expired are only proposed, never served; every live one is in the index once
    assert seen[0]["live"] <= seen[0]["index"] <= seen[0]["live"] + len(EXPIRED)
    for text, (tier, answer, near_tier, near_answer) in seen[0]["found"].items():
        if text in SAMPLES:
            assert (tier, answer) == ("exact", f"answer to {text}")
            assert (near_tier, near_answer) == ("semantic", f"answer to {text}")
        else:
            assert f"answer to {text}" not in (answer, near_answer)


def _look(url: str, folder: Path, asked: str, *, hash_seed: int) -> Any:
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.another_process", "look", url, folder, asked],
        env=environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)
