"""Items with a known answer, mixed into the queue to measure the review as a whole, and each reviewer."""

from __future__ import annotations

import hashlib
from typing import Literal

from evaluation.desk import Desk
from service.storage import lookups as lookup_rows


async def add_gold(
    desk: Desk,
    tenant: str,
    *,
    line: str,
    query: str,
    entry_query: str,
    answer: bytes,
    verdict: Literal["reusable", "not_reusable"],
    score: float | None = None,
    fresh: bytes | None = None,
) -> int:
    """Put an item with a known answer into the queue; its id. Reviewers cannot tell it from the others."""
    policy = await desk.policy(tenant, line)
    now = desk.clock_ms()
    item_id = desk.new_id()
    row = {
        "id": item_id,
        "tenant_id": tenant,
        "line": line,
        "scope": "",
        "kind": "gold",
        "created_ms": now,
        "lookup_id": None,
        "exact_key": None,
        "context_hash": None,
        "entry_id": None,
        "query": query,
        "entry_query": entry_query,
        "entry_response": answer,
        "response_hash": hashlib.sha256(answer).digest(),
        "fresh_response": fresh,
        "score": score,
        "cosine": None,
        "guard": None,
        "guard_detail": None,
        # on a line that serves most items were served; elsewhere none was
        "was_served": policy.config.mode == "serve" and fresh is None,
        "threshold": policy.config.threshold,
        "decision_id": None,
        "policy_version": policy.config.policy_version,
        "score_version": "",
        "streams": "",
        "certify_probability": 0.0,
        "inclusion_probability": 0.0,
        "gold_verdict": verdict,
        "state": "open",
        "verdict": None,
        "reason": None,
        "done_ms": None,
        "lease_by": None,
        "lease_until_ms": 0,
    }
    await desk.db.write(lambda tx: lookup_rows.add_items(tx, [row]), durable=True)
    return item_id
