"""C-132: a crash leaves a file that crashes the loader, or entries that exist in only one place."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from service import partitions
from tests.acceptance.another_process import SMALL, look
from tests.acceptance.many import seed
from tests.harness import Client, running

ROUNDS = ["fill"] * 6 + ["snapshot"] * 4


@pytest.mark.slow
async def test_c132_every_acknowledged_store_survives_kill_9(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten rounds, four of them while snapshots are written; each start finds all, by key and by meaning."""
    monkeypatch.setattr(partitions, "CROSSING", SMALL)
    rng = random.Random(4)
    acknowledged: list[str] = []
    rounds = ROUNDS if database_url.startswith("sqlite") else ["fill", "snapshot"]
    for round_, act in enumerate(rounds):
        acknowledged += _killed(act, database_url, tmp_path, round_, after_s=rng.uniform(0.05, 0.6))
    async with running(database_url, tmp_path) as client:
        await _finds(client, acknowledged)
    assert len(acknowledged) > SMALL
    assert list((tmp_path / "snapshots").glob("*.snapshot"))


@pytest.mark.parametrize("damage", ["half", "old", "empty", "foreign"])
async def test_c132_damaged_or_old_snapshot_is_rebuilt_from_the_rows(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """Truncated, from yesterday, empty, or something else altogether: complete after the start."""
    monkeypatch.setattr(partitions, "CROSSING", SMALL)
    first = [f"What does paragraph {n} say" for n in range(100)]
    later = [f"What does paragraph {n} say" for n in range(100, 160)]
    async with running(database_url, tmp_path) as client:
        await client.line()
        await seed(client, first)
        await client.lookup("Anything else")
    (path,) = (tmp_path / "snapshots").glob("*.snapshot")
    yesterday = path.read_bytes()
    async with running(database_url, tmp_path) as client:
        await seed(client, later)
        gone = await client.lookup(first[0])
        await client.call("DELETE", f"/v1/entries/{gone['entry_id']}")
        await client.lookup("Anything else")
    written = path.read_bytes()
    assert written != yesterday
    left = {
        "half": written[: len(written) // 2],
        "old": yesterday,
        "empty": b"",
        "foreign": b"x" * 999,
    }
    path.write_bytes(left[damage])
    async with running(database_url, tmp_path) as client:
        await _finds(client, first[1:] + later)
        found = await client.lookup(first[0] + "?")
        assert found.get("response") != f"answer to {first[0]}"


async def _finds(client: Client, prompts: list[str]) -> None:
    seen = (await look(client, prompts))["found"]
    assert isinstance(seen, dict)
    for text, found in seen.items():
        assert found == ["exact", f"answer to {text}", "semantic", f"answer to {text}"]


def _killed(act: str, url: str, folder: Path, round_: int, *, after_s: float) -> list[str]:
    """Start, let it store for a while, kill -9; the prompts whose store was acknowledged."""
    command = [sys.executable, "-m", "tests.acceptance.another_process", act, url, str(folder)]
    with subprocess.Popen([*command, str(round_)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        if act == "snapshot":  # from here on there is something to save
            first += "".join(process.stdout.readline() for _ in range(SMALL))
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
    # the last line may be cut, and then nobody read an acknowledgement
    return [line for line in (first + rest).split("\n")[:-1] if line]
