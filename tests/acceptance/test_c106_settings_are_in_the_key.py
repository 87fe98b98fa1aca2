"""C-106: settings that can alter the answer are left out of the key."""

from pathlib import Path
from typing import Any

import pytest

from index.testing import RiggedEmbedder
from tests.harness import running

ASKED = "List the moons of Mars."
REWORDED = "List Mars's moons."
RIGGED = RiggedEmbedder({(ASKED, REWORDED): 0.97})


def base(text: str, **changed: Any) -> dict[str, Any]:
    """The stored request with some fields changed; None takes a field out."""
    request = {
        "model": "m1",
        "temperature": 0,
        "max_tokens": 16,
        "messages": [{"role": "user", "content": text}],
    } | changed
    return {name: value for name, value in request.items() if value is not None}


DIFFERENT: list[dict[str, Any]] = [
    {"model": "m2"},
    {"temperature": None},
    {"temperature": 0.7},
    {"top_p": 0.2},
    {"max_tokens": 400},
    {"stop": ["\n"]},
    {"seed": 7},
    {"n": 3},
    {"top_logprobs": 5},
    {"logit_bias": {"50256": -100}},
    {"presence_penalty": 1},
    {"reasoning_effort": "high"},
    {"thinking": {"type": "enabled", "budget_tokens": 2048}},
    {"num_ctx": 8192},
]
THE_SAME: list[dict[str, Any]] = [
    {"stream": True},
    {"user": "trace-7"},
    {"metadata": {"trace": "a1"}},
]


async def test_c106_every_setting_parts_requests_in_both_modes(
    database_url: str, tmp_path: Path
) -> None:
    """One change at a time: a miss for the same words and for a rewording."""
    async with running(database_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(base(ASKED), "Phobos and Deimos")
        for changed in DIFFERENT:
            for text in (ASKED, REWORDED):
                found = await client.lookup(base(text, **changed))
                assert (found["outcome"], found["reason"]) == ("miss", "empty"), (changed, text)


@pytest.mark.parametrize("changed", THE_SAME, ids=lambda c: next(iter(c)))
async def test_c106_inert_fields_do_not_part_requests(
    sqlite_url: str, tmp_path: Path, changed: dict[str, Any]
) -> None:
    """What can't alter the answer leaves an exact hit exact and a semantic hit semantic."""
    async with running(sqlite_url, tmp_path, embedder=RIGGED) as client:
        await client.line()
        await client.store(base(ASKED), "Phobos and Deimos")
        assert (await client.lookup(base(ASKED, **changed))).get("tier") == "exact"
        assert (await client.lookup(base(REWORDED, **changed))).get("tier") == "semantic"
