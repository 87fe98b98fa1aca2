"""C-136: a hit that somebody called wrong does not come back, not even through a duplicate of its entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.testing import RiggedEmbedder
from service.guards import GUARDS
from tests.evaluation.desks import label, next_item
from tests.harness import Client, running

ORIGINAL = "Reset the meter"
DUPLICATES = ("Reset the meter please", "Please do reset the meter")
ASKED = "Reset the metre board"
REWORDED = "Reset the metre boards"
_TEXTS = (ORIGINAL, *DUPLICATES, ASKED, REWORDED)
ANSWER = {"text": "Hold the button for ten seconds."}


def near_texts() -> RiggedEmbedder:
    pairs = {(a, b): 0.97 for a in _TEXTS[:3] for b in _TEXTS[:3] if a < b}
    for entry, score in zip(_TEXTS[:3], (0.93, 0.925, 0.92), strict=True):
        pairs[(ASKED, entry)] = score
        pairs[(REWORDED, entry)] = score - 0.002
    pairs[(ASKED, REWORDED)] = 0.99
    return RiggedEmbedder(pairs)


async def asked(client: Client, text: str) -> Any:
    return await client.lookup(text)


@pytest.mark.parametrize("way", ["feedback", "review"])
async def test_a_wrong_hit_does_not_come_back(database_url: str, tmp_path: Path, way: str) -> None:
    async with running(database_url, tmp_path, embedder=near_texts()) as client:
        sampling = {
            "certify_rate": 1.0,
            "certify_floor": 0.6,
            "bin_edges": [0.6],
            "explore_rates": [0.0],
        }
        await client.line(guards=dict.fromkeys(GUARDS, False), sampling=sampling)
        for text in _TEXTS[:3]:
            await client.store(text, ANSWER)
        hit = await asked(client, ASKED)
        assert (hit["tier"], hit["score"]) == ("semantic", pytest.approx(0.93))

        if way == "feedback":
            body = {"lookup_id": hit["lookup_id"], "verdict": "not_reusable", "reason": "entity"}
            assert (await client.call("POST", "/v1/feedback", body)).status_code == 200
        else:
            item = await next_item(client, "ann")
            await label(client, item, "ann", "not_reusable", reason="entity")
            assert (await asked(client, ASKED))["guard"] == "blocked"  # from the first voice on
            second = await next_item(client, "bo")
            done = await label(client, second, "bo", "not_reusable", reason="entity")
            assert done.json()["state"] == "done"

        again = await asked(client, ASKED)
        assert (again["outcome"], again["guard"]) == ("miss", "blocked")
        assert (await asked(client, REWORDED))["outcome"] == "miss"
        exact = await asked(client, ORIGINAL)
        assert (exact["tier"], exact["response"]) == ("exact", ANSWER)
        assert await recorded_score(client, way) == pytest.approx(0.93)


async def recorded_score(client: Client, way: str) -> float:
    """The similarity that the negative example was recorded with."""
    if way == "review":
        row = (await client.call("GET", "/v1/labels/export?line=faq")).text.splitlines()[0]
        import json

        return float(json.loads(row)["score"])
    from sqlalchemy import select

    from service.storage.models import Feedback
    from service.storage.query import Query

    rows = await client.cache.db.read(Query("scores", select(Feedback.score)), {})
    return float(rows[0][0])
