"""Figures per line: the layers side by side, never added up."""

from __future__ import annotations

from typing import Any

from service.cache import Cache
from service.storage import entries, lookups
from service.storage import lines as line_rows

_DAY_MS = 86_400_000


async def figures(cache: Cache, tenant: str, *, days: int) -> dict[str, Any]:
    """`{"lines": {line: {...}}, "embedders": {...}}` of one tenant over the last days.

    Per line: `exact` {hits}; `semantic` {lookups, hits, hit_rate, misses by reason}, where `lookups` are those that
    reached the semantic tier; `not_looked_up` by reason; `stores`; `entries` {live, searchable, awaiting_embedding}.
    """
    now = cache.clock_ms()
    since = now // _DAY_MS - days + 1
    found: dict[str, dict[str, Any]] = {
        row[0]: _empty() for row in await line_rows.list_all(cache.db, tenant)
    }
    for line, tier, outcome, reason, count in await lookups.stats(
        cache.db, tenant, since_day=since
    ):
        of_line = found.setdefault(line, _empty())
        n = int(count)
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
        semantic = of_line["semantic"]
        semantic["hit_rate"] = (
            semantic["hits"] / semantic["lookups"] if semantic["lookups"] else None
        )
    for line, live, searchable, pending in await entries.count_by_line(cache.db, tenant, now=now):
        found.setdefault(line, _empty())["entries"] = {
            "live": int(live),
            "searchable": int(searchable),
            "awaiting_embedding": int(pending or 0),
        }
    return {"days": days, "lines": found, "embedders": cache.embedders.states()}


def _empty() -> dict[str, Any]:
    return {
        "exact": {"hits": 0},
        "semantic": {"lookups": 0, "hits": 0, "hit_rate": None, "misses": {}},
        "not_looked_up": {},
        "stores": 0,
        "entries": {"live": 0, "searchable": 0, "awaiting_embedding": 0},
    }
