"""What the routes of reviewing and of tuning share."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import orjson
from fastapi import Request, Response

from evaluation.desk import Desk, desk_of
from evaluation.labels_io import ScorePairs
from index.types import EmbeddingError
from service.cache import Cache


def desk(request: Request) -> Desk:
    """The desk of this application, made on first use."""
    state = request.app.state
    found: Desk | None = getattr(state, "desk", None)
    if found is None:

        def count_alarm(tenant: str, line: str) -> None:
            gauges = state.metrics.gauges
            gauges["alarms_raised"] = gauges.get("alarms_raised", 0.0) + 1.0

        found = state.desk = desk_of(cast(Cache, state.cache), on_alarm=count_alarm)
    return found


def score_pairs(cache: Cache, tenant: str, line: str) -> ScorePairs:
    """Scores of pairs of texts by the line's own model."""

    async def score(pairs: Any) -> list[float | None]:
        policy = await cache.policies.load(tenant, line)
        if policy is None:
            return [None] * len(pairs)
        name = cache.embedders.name_for(policy.config.language, policy.config.embedder)
        found: list[float | None] = []
        for a, b in pairs:
            try:
                slot = await cache.embedders.ready(name, timeout_s=60.0)
                if slot.pool is None:
                    found.append(None)
                    continue
                vectors = [await slot.pool.embed_one(text, timeout_s=30.0) for text in (a, b)]
                found.append(float(np.dot(vectors[0], vectors[1])))
            except (EmbeddingError, TimeoutError):
                found.append(None)
        return found

    return score


def json_reply(value: Any) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")
