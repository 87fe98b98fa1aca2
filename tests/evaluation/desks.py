"""A queue with known items, for the tests of reviewing and tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.desk import Desk, desk_of
from index.testing import RiggedEmbedder
from service.storage import lookups as lookup_rows
from tests.harness import Client


def rigged(n: int, similarity: float = 0.93) -> RiggedEmbedder:
    """Pairs (asked i, near i) of one similarity; everything else is far apart."""
    return RiggedEmbedder({(asked(i), near(i)): similarity for i in range(n)})


def asked(i: int) -> str:
    """What was stored."""
    return f"stored question {i}"


def near(i: int) -> str:
    """What came later."""
    return f"asked question {i}"


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


async def logged(
    client: Client,
    score: Sequence[float],
    verdict: Sequence[str | None],
    *,
    tenant: str = "default",
    line: str = "faq",
    probability: float = 1.0,
    served_by: int | None = None,
    guard: str | None = None,
    sampled: Sequence[bool] | None = None,
    texts: Sequence[tuple[str, str]] | None = None,
    **fields: Any,
) -> None:
    """Lookups of the present moment with review items, as the journal writes them; no verdict means open."""
    desk = desk_of(client.cache)
    policy = await desk.policy(tenant, line)
    version = await desk.score_version(policy)
    now = client.cache.clock_ms()
    lookups, items = [], []
    for i, (s, v) in enumerate(zip(score, verdict, strict=True)):
        row = {
            "id": client.cache.new_id(),
            "tenant_id": tenant,
            "line": line,
            "scope": "",
            "query": f"q{i}" if texts is None else texts[i][1],
            "exact_key": b"k%d" % i,
            "context_hash": b"c",
            "entry_id": i + 1,
            "entry_query": f"e{i}" if texts is None else texts[i][0],
            "response_hash": b"r%d" % i,
            "score": float(s),
            "cosine": None,
            "guard": guard,
            "guard_detail": None,
            "threshold": policy.config.threshold,
            "decision_id": served_by,
            "policy_version": policy.config.policy_version,
            "score_version": version,
            "certify_probability": probability,
            "inclusion_probability": probability,
        } | fields
        lookups.append(
            row
            | {
                "at_ms": now,
                "outcome": "hit" if served_by else "miss",
                "reason": None if served_by else "shadow",
                "entry_age_ms": 0,
                "second_score": None,
                "verified": None,
                "mode": policy.config.mode,
                "certify_draw": 0.0,
                "explore_draw": 0.0,
            }
        )
        if sampled is not None and not sampled[i]:
            continue
        items.append(
            row
            | {
                "id": client.cache.new_id(),
                "kind": "sampled",
                "created_ms": now,
                "lookup_id": row["id"],
                "entry_response": b'"a"',
                "fresh_response": None,
                "was_served": served_by is not None,
                "streams": "certify",
                "gold_verdict": None,
                "state": "open" if v is None else "done",
                "verdict": v,
                "reason": None,
                "done_ms": None if v is None else now,
                "lease_by": None,
                "lease_until_ms": 0,
            }
        )

    def write(tx: Any) -> None:
        lookup_rows.add(tx, lookups)
        lookup_rows.add_items(tx, items)

    await client.cache.db.write(write)


def verdicts(bad: Sequence[bool]) -> list[str]:
    """`not_reusable` where bad."""
    return ["not_reusable" if b else "reusable" for b in bad]
