"""`surehit embed-server`: the bundled models behind OpenAI's `/v1/embeddings`, for workers that share them.

A text that the model cannot read whole is refused (400, `context_length_exceeded` or `unreadable`), never cut.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from index.embedding import catalog
from index.types import EmbedderBusy, EmbeddingError, TextRefused, Vector
from service.embedders import Embedders

MAX_TEXTS = 2048
MAX_BODY = 16 << 20
CALL_S = 30.0


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def create_app(
    *, models_dir: Path, threads: int, models: list[str], api_key: str = ""
) -> Starlette:
    """The ASGI application. `models` are loaded at start; others of the catalog when first asked for."""
    embedders = Embedders(models_dir=models_dir, threads=threads)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for name in models:
            embedders.slot(name)
        yield
        await embedders.close()

    async def embeddings(request: Request) -> Response:
        try:
            _authorize(request, api_key)
            model, texts, as_base64, dimensions = _asked(await request.body())
            vectors = await _embed(embedders, model, texts)
            if dimensions not in (None, len(vectors[0])):
                raise _Refused(
                    400, "invalid_request", f"dimensions: {model} gives {len(vectors[0])}"
                )
        except _Refused as refused:
            return _error(refused)
        data = [
            {"object": "embedding", "index": n, "embedding": _spelled(vector, as_base64)}
            for n, vector in enumerate(vectors)
        ]
        tokens = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return _json({"object": "list", "model": model, "data": data, "usage": usage})

    async def listed(request: Request) -> Response:
        names = [offer.name for offer in catalog.OFFERS if offer.source.is_installed]
        data = [{"id": name, "object": "model", "owned_by": "surehit"} for name in names]
        return _json({"object": "list", "data": data})

    async def healthz(request: Request) -> Response:
        return _json({"status": "ok", "embedders": embedders.states()})

    return Starlette(
        routes=[
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/v1/models", listed),
            Route("/healthz", healthz),
        ],
        lifespan=lifespan,
    )


def run(app: Starlette, *, host: str, port: int) -> None:
    """Serve until interrupted."""
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)


def _authorize(request: Request, api_key: str) -> None:
    given = request.headers.get("authorization", "")
    if api_key and not hmac.compare_digest(given.encode(), f"Bearer {api_key}".encode()):
        raise _Refused(401, "invalid_api_key", "send Authorization: Bearer <SUREHIT_EMBED_API_KEY>")


def _asked(body: bytes) -> tuple[str, list[str], bool, Any]:
    """Model, texts, whether vectors go as base64, and how many dimensions are wanted (None: the model's own)."""
    if len(body) > MAX_BODY:
        raise _Refused(413, "too_large", f"body: over {MAX_BODY} bytes")
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _Refused(400, "invalid_json", "body: is not JSON") from error
    if not isinstance(asked, dict) or not isinstance(asked.get("model"), str):
        raise _Refused(400, "invalid_request", "model: must be a name")
    given = asked.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not 1 <= len(texts) <= MAX_TEXTS:
        raise _Refused(400, "invalid_request", f"input: must be a text or 1 to {MAX_TEXTS} texts")
    if not all(isinstance(text, str) for text in texts):
        raise _Refused(400, "invalid_request", "input: must hold texts, not tokens")
    form = asked.get("encoding_format", "float")
    if form not in ("float", "base64"):
        raise _Refused(400, "invalid_request", "encoding_format: must be float or base64")
    if not catalog.is_known(asked["model"]):
        raise _Refused(404, "model_not_found", f"model: one of {', '.join(catalog.available())}")
    return asked["model"], texts, form == "base64", asked.get("dimensions")


async def _embed(embedders: Embedders, model: str, texts: list[str]) -> list[Vector]:
    try:
        slot = await embedders.ready(model, timeout_s=CALL_S)
        pool = slot.pool
        if pool is None:
            raise _Refused(503, "unavailable", f"{model} is being loaded")
        found: list[Vector] = []
        for start in range(0, len(texts), 64):  # within the pool's queue
            some = texts[start : start + 64]
            found += await asyncio.gather(*(pool.embed_one(t, timeout_s=CALL_S) for t in some))
    except TextRefused as error:
        reason = error.readability.reason
        code = "context_length_exceeded" if reason == "too_long" else "unreadable"
        raise _Refused(400, code, f"input: {error}") from error
    except EmbedderBusy as error:
        raise _Refused(429, "busy", str(error)) from error
    except EmbeddingError as error:
        raise _Refused(503, "unavailable", str(error)) from error
    return found


def _spelled(vector: Vector, as_base64: bool) -> Any:
    if not as_base64:
        return np.ascontiguousarray(vector)
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _json(value: Any, status: int = 200) -> Response:
    content = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(content, status, media_type="application/json")


def _error(refused: _Refused) -> Response:
    body = {"message": refused.message, "type": "invalid_request_error", "code": refused.code}
    return _json({"error": body}, refused.status)
