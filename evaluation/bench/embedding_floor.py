"""The least that a lookup by meaning can take over HTTP: a bare ASGI route that embeds the question in our pool.

Nothing is searched, read or judged; the vector is thrown away.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import uvicorn

from evaluation.bench.floor import send_stored
from index.embedding import catalog
from index.embedding.pool import EmbeddingPool

_BUDGET_S = 30.0


def create(pool: EmbeddingPool) -> Callable[..., Awaitable[None]]:
    """The application around a pool."""

    async def app(
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        message = await receive()
        if scope["method"] == "POST":
            asked = orjson.loads(message["body"])["request"]["messages"][-1]["content"]
            await pool.embed_one(asked, _BUDGET_S)
        await send_stored(send)

    return app


if __name__ == "__main__":
    port, name, models_dir = sys.argv[1:]
    uvicorn.run(
        create(EmbeddingPool(catalog.load(name, Path(models_dir)))),
        host="127.0.0.1",
        port=int(port),
        log_level="error",
        access_log=False,
        lifespan="off",
    )
