"""Figures per line: the layers side by side, never added up."""

from __future__ import annotations

from typing import Any

from service import lines
from service.cache import Cache
from service.storage import entries, lookups
from service.storage import lines as line_rows

_DAY_MS = 86_400_000


async def figures(cache: Cache, tenant: str, *, days: int) -> dict[str, Any]:
    """`{"lines": {line: {...}}, "embedders": {...}}` of one tenant over the last days.

    Per line: `exact` {lookups, hits, hit_rate}, where `lookups` are all that did not pass the cache by; `semantic`
    {lookups, hits, hit_rate, misses by reason}, where they are those that reached that tier; `not_looked_up` by
    reason; `stores`; `entries` {live, searchable, awaiting_embedding}, where one awaits embedding while it has no
    vector of the line's present model.
    """
    now = cache.clock_ms()
    since = now // _DAY_MS - days + 1
    rows = await line_rows.list_all(cache.db, tenant)
    found: dict[str, dict[str, Any]] = {row[0]: _empty() for row in rows}
    for line, tier, outcome, reason, count in await lookups.stats(
        cache.db, tenant, since_day=since
    ):
        of_line = found.setdefault(line, _empty())
        n = int(count)
        if outcome not in ("store", "bypass"):
            of_line["exact"]["lookups"] += n
        if outcome == "store":
            of_line["stores"] += n
        elif tier == "exact":
            of_line["exact"]["hits"] += n
        elif tier == "semantic":
            of_line["semantic"]["lookups"] += n
            if outcome == "hit":
                of_line["semantic"]["hits"] += n
            else:
                of_line["semantic"]["misses"][reason] = n
        else:
            skipped = of_line["not_looked_up"]
            skipped[reason] = skipped.get(reason, 0) + n
    for of_line in found.values():
        for tier in (of_line["exact"], of_line["semantic"]):
            tier["hit_rate"] = tier["hits"] / tier["lookups"] if tier["lookups"] else None
    in_force = {row[0]: _in_force(cache, row[2]) for row in rows}
    for line, version, fingerprint, live, embedded in await entries.count_by_line(
        cache.db, tenant, now=now
    ):
        counts = found.setdefault(line, _empty())["entries"]
        counts["live"] += int(live)
        wanted_version, wanted = in_force.get(line, ("", None))
        if version != wanted_version or fingerprint is None:
            continue  # of a retired policy version, or not to be found by meaning at all
        if fingerprint == entries.PENDING or (wanted is not None and fingerprint != wanted):
            counts["awaiting_embedding"] += int(live)
        else:
            counts["searchable"] += int(embedded)
    return {"days": days, "lines": found, "embedders": cache.embedders.states()}


def _in_force(cache: Cache, config_json: str) -> tuple[str, str | None]:
    """(policy version, fingerprint of the model) of a line; None while its model is not loaded."""
    config = lines.record_from_json(config_json).config
    if config.mode not in ("shadow", "serve"):
        return config.policy_version, None
    slot = cache.embedders.slot(cache.embedders.name_for(config.language, config.embedder))
    return config.policy_version, slot.embedder.fingerprint if slot.embedder else None


def _empty() -> dict[str, Any]:
    return {
        "exact": {"lookups": 0, "hits": 0, "hit_rate": None},
        "semantic": {"lookups": 0, "hits": 0, "hit_rate": None, "misses": {}},
        "not_looked_up": {},
        "stores": 0,
        "entries": {"live": 0, "searchable": 0, "awaiting_embedding": 0},
    }
