"""Routes that applications use: lookup, store, explain, feedback."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from service import feedback
from service.api import schemas
from service.api.dependencies import CacheDep, User
from service.api.hot import lookup_headers, parse_lookup, parse_store
from service.explain import explain
from service.lookup import lookup
from service.store import store

router = APIRouter(tags=["use"])

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.Problem, "content": {"application/problem+json": {}}}
    for code in (400, 401, 403, 404, 409, 413, 422, 429, 503)
}


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """The body's schema, for routes that read the raw bytes: FastAPI does not collect it by itself."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.post(
    "/v1/lookup",
    response_model=schemas.LookupHit | schemas.LookupMiss,
    responses={code: _PROBLEMS[code] for code in (400, 401, 413, 422)},
    openapi_extra=_body(schemas.LookupRequest),
)
async def post_lookup(request: Request, cache: CacheDep, caller: User) -> Response:
    """Look into the exact tier, then by meaning. A miss is a reply, not an error."""
    ask = parse_lookup(await request.body(), request.headers.get("cache-control"))
    outcome = await lookup(cache, caller, ask)
    headers = {k.decode(): v.decode() for k, v in lookup_headers(outcome)}
    return Response(outcome.body(), headers=headers)


@router.post(
    "/v1/store",
    status_code=201,
    response_model=schemas.StoreReply,
    responses={code: _PROBLEMS[code] for code in (400, 401, 404, 409, 413, 422, 429, 503)},
    openapi_extra=_body(schemas.StoreRequest),
)
async def post_store(request: Request, cache: CacheDep, caller: User) -> Response:
    """Store a complete answer. Replied after the commit: any later lookup, on any worker, finds it."""
    stored = await store(cache, caller, parse_store(await request.body()))
    headers = {"cache-control": "private, no-store"}
    return Response(stored.body(), 201, headers, media_type="application/json")


@router.post("/v1/explain", responses={code: _PROBLEMS[code] for code in (401, 404, 422)})
async def post_explain(
    body: schemas.ExplainRequest, cache: CacheDep, caller: User
) -> dict[str, Any]:
    """Which field, partition, score or guard stands between two requests."""
    return await explain(cache, caller, line=body.line, a=body.a, b=body.b)


@router.post("/v1/feedback", responses={code: _PROBLEMS[code] for code in (401, 404, 422, 503)})
async def post_feedback(
    body: schemas.FeedbackRequest, cache: CacheDep, caller: User
) -> schemas.FeedbackReply:
    """Record a verdict; `not_reusable` blocks its pair from the moment this has answered."""
    effect = await feedback.give(cache, caller, feedback.Given(**body.model_dump()))
    return schemas.FeedbackReply(recorded=True, blocked=effect.blocked, evicted=effect.evicted)
