"""A queue with known items, for the tests of reviewing and tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.desk import Desk, desk_of
from index.testing import RiggedEmbedder
from service.sampling import draw
from tests.harness import Client

SECOND = 0.1


def rigged(n: int, similarity: float = 0.93) -> RiggedEmbedder:
    """Pairs (asked i, near i) of one similarity; everything else is far apart."""
    return RiggedEmbedder({(asked(i), near(i)): similarity for i in range(n)})


def asked(i: int) -> str:
    """What was stored."""
    return f"stored question {i}"


def near(i: int) -> str:
    """What came later."""
    return f"later question {i}"


async def queue(client: Client, n: int, *, headers: Any = None, **settings: Any) -> Desk:
    """A line `faq` of which every candidate is sampled, and n items in its queue: near i against asked i."""
    sampling = {
        "certify_rate": 1.0,
        "certify_floor": 0.6,
        "bin_edges": [0.6],
        "explore_rates": [0.0],
        "guarded_rate": 1.0,
        "second_review_rate": 0.0,
    } | settings.pop("sampling", {})
    await client.line(headers=headers, **({"mode": "serve", "sampling": sampling} | settings))
    for i in range(n):
        await client.store(asked(i), f"answer {i}", headers=headers)
        await client.lookup(near(i), headers=headers)
    await client.cache.journal.flush()
    return desk_of(client.cache)


async def next_item(
    client: Client, reviewer: str, *, headers: Any = None, line: str = "faq"
) -> Any:
    """The item that a reviewer is handed, or None."""
    body = {"line": line, "reviewer": reviewer}
    reply = await client.call("POST", "/v1/review/next", body, headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json()["item"]


async def label(
    client: Client, item: Any, reviewer: str, verdict: str, *, headers: Any = None, **more: Any
) -> Any:
    """Post a verdict on an item (or its id); the raw reply."""
    item_id = item if isinstance(item, str) else item["item_id"]
    body = {"reviewer": reviewer, "verdict": verdict, **more}
    return await client.call("POST", f"/v1/review/items/{item_id}/label", body, headers=headers)


def no_gold(desk: Desk, line: str, reviewer: str, day: int, labels: Sequence[int]) -> bool:
    """True when this reviewer is not due a gold item at any of these counts of labels."""
    return all(
        draw(desk.key, "gold", f"default/{line}/{reviewer}/{day}/{n}") >= 0.05 for n in labels
    )
