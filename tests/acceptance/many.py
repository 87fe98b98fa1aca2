"""Many entries at once: written straight into the rows, as `store` would have written them one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import bindparam, insert

from service import key
from service.semantic import partition_of
from service.storage import entries
from service.storage.database import Transaction
from service.storage.models import Entry, EntryTag
from service.storage.query import Query
from service.storage.worth import weight
from tests.harness import Client

_ADD = Query("seed", insert(Entry).values({c.name: bindparam(c.name) for c in Entry.__table__.c}))
_TAG = Query(
    "tag", insert(EntryTag).values({c.name: bindparam(c.name) for c in EntryTag.__table__.c})
)


async def seed(
    client: Client,
    prompts: Sequence[str],
    *,
    tenant: str = "default",
    line: str = "faq",
    tags: tuple[str, ...] = (),
    expires_ms: int | None = None,
) -> None:
    """One entry per prompt, its answer being `answer to <prompt>`; the line must exist."""
    cache = client.cache
    policy = await cache.policies.load(tenant, line)
    embedder = cache.embedders.slot("minilm").embedder
    assert policy is not None
    assert embedder is not None
    version = policy.config.policy_version
    rows: list[dict[str, Any]] = []
    for prompt, vector in zip(prompts, embedder.embed(prompts), strict=True):
        canonical = key.canonicalize({"messages": [{"role": "user", "content": prompt}]})
        answer = orjson.dumps(f"answer to {prompt}")
        rows.append(
            {
                "id": cache.new_id(),
                "exact_key": key.exact_key(
                    tenant=tenant, scope="", line=line, policy_version=version, body=canonical.body
                ),
                "tenant_id": tenant,
                "line": line,
                "scope": "",
                "policy_version": version,
                "model": "",
                "created_ms": cache.clock_ms(),
                "expires_ms": expires_ms,
                "response": answer,
                "response_hash": hashlib.sha256(answer).digest(),
                "request": canonical.body,
                "query": canonical.query,
                "partition": partition_of(policy, "", embedder.fingerprint, canonical),
                "fingerprint": embedder.fingerprint,
                "context_hash": canonical.context_hash,
                "vector": vector.tobytes(),
                "quarantined": False,
                "stored_by": "seed",
                "hits": 0,
                "last_hit_ms": None,
                "size_bytes": len(answer) + len(canonical.body) + vector.nbytes,
                "heat": weight(cache.clock_ms()),
            }
        )
    tagged = [
        {"tenant_id": tenant, "tag": tag, "entry_id": row["id"]} for row in rows for tag in tags
    ]

    def write(tx: Transaction) -> None:
        change = entries.next_change(tx)
        tx.run_many(_ADD, [row | {"change_seq": change} for row in rows])
        tx.run_many(_TAG, tagged)

    await cache.db.write(write)


async def live(client: Client, line: str = "faq", headers: dict[str, str] | None = None) -> int:
    """Live entries of a line, as `/v1/stats` counts them."""
    stats = (await client.call("GET", "/v1/stats", headers=headers)).json()
    count: int = stats["lines"][line]["entries"]["live"]
    return count


async def found_by(client: Client, prompts: Sequence[str]) -> dict[str, list[Any]]:
    """[tier, answer] of each prompt and then of its rewording."""
    found = {}
    for text in prompts:
        exact, near = await client.lookup(text), await client.lookup(text + "?")
        found[text] = [
            exact.get("tier"),
            exact.get("response"),
            near.get("tier"),
            near.get("response"),
        ]
    return found
