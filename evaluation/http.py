"""Routes of curves, tuning, decisions and labels, with those of queue and audit. They join by `surehit.routers`."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Query, Request, Response

from evaluation import audit_http, curves, decision_rows, labels_io, publish, review_http, tuning
from evaluation import http_bodies as bodies
from evaluation.http_parts import desk, json_reply, score_pairs
from service.api.dependencies import Admin, CacheDep, Reviewer, User
from service.lines import check_name
from service.storage import scorers as scorer_rows

tuning_router = APIRouter(tags=["tuning"])


@tuning_router.get("/v1/lines/{line}/curve")
async def get_curve(
    line: str,
    request: Request,
    cache: CacheDep,
    caller: User,
    points: Annotated[int, Query(ge=2, le=500)] = 60,
    saved_per_hit: Annotated[float, Query(ge=0.0)] = 1.0,
    cost_of_wrong: Annotated[float, Query(ge=0.0)] = 10.0,
) -> Response:
    """Hit rate and false-hit rate over thresholds, with intervals, the labels behind each, and what is in force."""
    await cache.journal.flush()
    found = await curves.curve_of_line(
        desk(request),
        caller.tenant,
        line=line,
        points=points,
        saved_per_hit=saved_per_hit,
        cost_of_wrong=cost_of_wrong,
    )
    return json_reply(found)


@tuning_router.post("/v1/lines/{line}/tune")
async def post_tune(
    line: str, body: bodies.TuneBody, request: Request, cache: CacheDep, caller: Admin
) -> Response:
    """Look at the line's labels once: a decision, or how many labels are missing."""
    await cache.journal.flush()
    tuned = await tuning.tune(
        desk(request),
        caller.tenant,
        line=line,
        target=body.target,
        confidence=body.confidence,
        apply=body.apply,
        score=body.score,
        by=caller.key_id,
        reason=body.reason,
    )
    return json_reply(tuned.as_dict())


@tuning_router.get("/v1/lines/{line}/decisions")
async def get_decisions(line: str, request: Request, caller: User) -> Response:
    """Decisions and what happened to them, newest first; a void one says why."""
    d = desk(request)
    policy = await d.policy(caller.tenant, line)
    score_version = await d.score_version(policy)
    events = await decision_rows.events(d.db, caller.tenant, line=line)
    found = [
        publish.as_dict(
            decision,
            void=publish.void_because(decision, policy, score_version=score_version, events=events),
            applied=decision.id == policy.decision_id,
        )
        for decision in await decision_rows.of_line(d.db, caller.tenant, line=line)
    ]
    return json_reply({"decisions": found, "events": [publish.event_as_dict(e) for e in events]})


@tuning_router.get("/v1/lines/{line}/scores")
async def get_scores(line: str, request: Request, caller: User) -> Response:
    """The line's score, and those that it has learned, newest first, with what each was adopted for."""
    d = desk(request)
    policy = await d.policy(caller.tenant, line)
    rows = await scorer_rows.of_line(d.db, caller.tenant, line=line)
    learned = [
        {"score": version, "created_ms": at, "by": by, "trial": orjson.loads(report)}
        for version, at, by, report in rows
    ]
    return json_reply({"score": policy.config.score, "learned": learned})


@tuning_router.post("/v1/lines/{line}/decisions/{decision_id}/apply")
async def post_apply(
    line: str, decision_id: str, body: bodies.ApplyBody, request: Request, caller: Admin
) -> Response:
    """Serve by a decision from the next lookup on, on every worker; an older one rolls back. 409 when it is void."""
    decision = await publish.apply(
        desk(request),
        caller.tenant,
        line=line,
        decision_id=publish.read_id(decision_id),
        by=caller.key_id,
        reason=body.reason,
    )
    return json_reply(publish.as_dict(decision, applied=True))


@tuning_router.post("/v1/labels/import")
async def post_import(
    request: Request,
    cache: CacheDep,
    caller: Admin,
    line: str,
    format: Literal["jsonl", "csv"] | None = None,
) -> dict[str, int]:
    """Take labels in from outside; they feed the pilot curve, never a certificate. CSV by `format` or content type."""
    d = desk(request)
    await cache.policies.get_or_create(
        caller.tenant, check_name("line", line), change_id=d.new_id(), now=d.clock_ms()
    )
    is_csv = format == "csv" or (
        format is None and "csv" in request.headers.get("content-type", "")
    )
    text = labels_io.decoded(await request.body())
    done = await labels_io.import_labels(
        d,
        caller.tenant,
        line=line,
        text=text,
        form="csv" if is_csv else "jsonl",
        score_pairs=score_pairs(cache, caller.tenant, line),
    )
    return {"added": done.added, "changed": done.changed, "unchanged": done.unchanged}


@tuning_router.get("/v1/labels/export")
async def get_export(
    request: Request, caller: Reviewer, line: str, format: Literal["jsonl", "csv"] = "jsonl"
) -> Response:
    """All labels of a line that count, one row each."""
    text = await labels_io.export_labels(desk(request), caller.tenant, line=line, form=format)
    kind = "text/csv" if format == "csv" else "application/x-ndjson"
    return Response(text, media_type=kind)


router = APIRouter()
router.include_router(review_http.router)
router.include_router(tuning_router)
router.include_router(audit_http.router)
