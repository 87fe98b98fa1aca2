"""The smallest thing that records and replays with `service.wire`: for tests of the wire forms alone.

It stands where the proxy will stand. It has no tenants, no time to live, one entry per key.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from service.key import canonicalize
from service.wire import json_text
from service.wire.registry import api_for
from tests.service.wire.streams import NOW


def recorder(upstream: str) -> Starlette:
    """An app that forwards to `upstream` and answers the second equal request itself.

    `x-recorder` in a reply says `hit`, `miss` or why the request passed by.
    """
    entries: dict[bytes, bytes] = {}
    why_not: list[str] = []

    async def serve(request: Request) -> Response:
        provider = "anthropic" if request.url.path.endswith("/messages") else "openai"
        api = api_for(provider, request.url.path)
        assert api is not None
        raw = await request.body()
        body = json_text.parse(raw)
        bypass = api.bypass_reason(body)
        canonical = canonicalize(api.as_request(body, request.headers))
        key = hashlib.sha256(canonical.body).digest()
        if bypass is None and key in entries:
            stored = json_text.parse(entries[key])
            said: dict[str, Any] = {"now": NOW, "new_id": "replayed"}
            headers = {"x-recorder": "hit"}
            if api.is_streaming(body):
                events = api.render_stream(stored, body, **said)
                return StreamingResponse(events, headers=headers, media_type="text/event-stream")
            return Response(
                api.render_json(stored, body, **said), 200, headers, media_type="application/json"
            )
        client = httpx2.AsyncClient(base_url=upstream)
        drop = ("host", "content-length", "accept-encoding")
        kept = {k: v for k, v in request.headers.items() if k not in drop}
        forwarded = client.build_request("POST", request.url.path, content=raw, headers=kept)
        answer = await client.send(forwarded, stream=True)
        streams = answer.headers["content-type"].startswith("text/event-stream")

        async def through() -> AsyncIterator[bytes]:
            whole = b""
            assembler = api.assembler() if streams else None
            try:
                async for chunk in answer.aiter_raw():
                    yield chunk
                    if assembler is not None:
                        assembler.feed(chunk)
                    else:
                        whole += chunk
            finally:
                await client.aclose()
            if assembler is not None:
                assembler.finish()
                response, problem = assembler.complete, assembler.failure
            else:
                response, problem = json_text.parse(whole), None
            reason = problem or (api.storable(response) if response is not None else "nothing")
            if reason is None and bypass is None and answer.status_code == 200:
                entries[key] = json_text.dump(response)
            else:
                why_not.append(reason or bypass or str(answer.status_code))

        passed = {
            "x-recorder": bypass or "miss",
            "retry-after": answer.headers.get("retry-after", ""),
        }
        return StreamingResponse(
            through(), answer.status_code, passed, media_type=answer.headers["content-type"]
        )

    async def refusals(request: Request) -> Response:
        return Response(json_text.dump(why_not), media_type="application/json")

    paths = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/messages")
    routes = [Route(path, serve, methods=["POST"]) for path in paths]
    return Starlette(routes=[*routes, Route("/why-not", refusals)])
