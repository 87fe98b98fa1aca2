"""The proxy's routes as documentation knows them, and the ledger.

Requests reach the proxy in front of FastAPI (`service.api.hot`), since bodies and streams pass through it; the routes
here hand over to the same code, for the OpenAPI document and for applications that mount FastAPI alone.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from service import prices
from service.api.dependencies import CacheDep, User
from service.ledger import Ledger
from service.proxy.exchange import Message, Receive, Send

router = APIRouter()

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
_CONTROLS = (
    ("X-Surehit-Line", "Business line; `default` without it."),
    ("X-Surehit-Scope", "Splits the cache inside the tenant: user, role, workspace."),
    ("X-Surehit-Tags", "Tags of the stored answer, comma-separated, for invalidation."),
    ("X-Surehit-TTL", "Life time of the stored answer in seconds."),
    ("X-Surehit-Key", "A Surehit key, where `Authorization` or `x-api-key` holds the provider's."),
    (
        "Cache-Control",
        "RFC 9111 §5.2.1: no-cache, no-store, both (pass by), only-if-cached, max-age, min-fresh; max-stale is "
        "not heard, since staleness is for the owner of the line to allow.",
    ),
)
_REPLY_HEADERS = {
    "Cache-Status": "RFC 9211: `hit` or `fwd`, `ttl`, `stored`, `collapsed`, `detail`.",
    "Age": "Seconds since the answer was stored; on hits.",
    "X-Surehit-Lookup-Id": "What feedback refers to.",
    "X-Surehit-Entry-Id": "The entry that answered; on hits.",
    "X-Surehit-Score": "Similarity of the nearest candidate, where one was compared.",
}
_ROUTES = {
    "/openai/v1/chat/completions": "OpenAI chat completions",
    "/openai/v1/responses": "OpenAI responses",
    "/openai/v1/embeddings": "OpenAI embeddings (exact tier alone)",
    "/anthropic/v1/messages": "Anthropic messages",
}


class _Proxied(Response):
    """A reply that the proxy writes by itself."""

    def __init__(self, request: Request) -> None:
        self._proxy = request.app.state.proxy
        self.background = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self._proxy(scope, receive, send)


async def _hand_over(request: Request) -> Response:
    return _Proxied(request)


def _documented() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "parameters": [
            {"name": name, "in": "header", "required": False, "schema": text, "description": says}
            for name, says in _CONTROLS
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": {}}}},
    }


for _path, _title in _ROUTES.items():
    router.add_api_route(
        _path,
        _hand_over,
        methods=["POST"],
        tags=["proxy"],
        summary=_title,
        description="The provider's own request and reply, answered from the cache where it can.",
        openapi_extra=_documented(),
        responses={
            200: {
                "description": "The provider's reply, whole or as server-sent events.",
                "headers": {
                    name: {"schema": {"type": "string"}, "description": says}
                    for name, says in _REPLY_HEADERS.items()
                },
            }
        },
    )


@router.get("/v1/ledger", tags=["manage"])
async def get_ledger(
    request: Request,
    cache: CacheDep,
    caller: User,
    days: Annotated[int, Query(ge=1, le=366)] = 30,
) -> dict[str, Any]:
    """Tokens and money per line in four rows: exact tier, semantic tier, provider's prompt cache, prefix/KV.

    Never added up: each row saves against something else. Prices are those of the dated table in the reply.
    """
    ledger: Ledger = request.app.state.ledger
    table = await asyncio.to_thread(prices.load, cache.settings.data_dir)
    return await ledger.report(
        caller.tenant, days=days, prices=table, pays_for_embedding=bool(cache.settings.embed_url)
    )


for _prefix in ("/openai/{path:path}", "/anthropic/{path:path}"):
    router.add_api_route(_prefix, _hand_over, methods=_METHODS, include_in_schema=False)
