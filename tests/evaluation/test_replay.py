"""`bench replay`: the table counts what the real cache did, and stricter thresholds serve less."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson

from evaluation.bench import replay
from tests.harness import shared


def test_replay_of_labelled_traffic(tmp_path: Path, models_dir: Path) -> None:
    """On 400 requests: hits fall with the threshold, guards only take away, byte-equal requests are never wrong."""
    traffic = tmp_path / "faq.jsonl"
    subprocess.run(
        [
            sys.executable,
            str(shared("tools", "make_traffic.py")),
            "--data",
            str(shared("data")),
            "--line",
            "faq",
            *("--lang", "en", "--n", "400", "--seed", "3", "--out", str(traffic)),
        ],
        check=True,
        capture_output=True,
    )
    found = replay.run(
        traffic, language="en", thresholds=(0.8, 0.95), guards=(True, False), models_dir=models_dir
    )
    loose, strict, loose_bare, strict_bare = found.rows
    assert found.requests == 400
    assert loose.semantic_hits > strict.semantic_hits > 0
    assert loose_bare.semantic_hits > loose.semantic_hits
    assert loose_bare.false_hits > loose.false_hits
    assert strict_bare.semantic_hits >= strict.semantic_hits
    assert [row.false_exact_hits for row in (loose, strict)] == [0, 0]
    for row in found.rows:
        assert row.exact_hits + row.semantic_hits + sum(row.misses.values()) == 400
        assert row.hits_by_kind.total() == row.semantic_hits
        assert row.false_by_kind.total() == row.false_hits
    table = replay.render(found)
    assert "false-hit rate" in table
    assert f"{loose_bare.false_by_kind['trap']} of {loose_bare.hits_by_kind['trap']}" in table
    assert len(orjson.loads(orjson.dumps(found.as_dict()))["rows"]) == 4
