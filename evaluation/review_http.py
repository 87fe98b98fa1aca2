"""Routes of the review queue. The page has no other way in: what it does is one of these calls."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request, Response

from evaluation import gold, review_reads, reviewers, reviews, watch
from evaluation import http_bodies as bodies
from evaluation.desk import Desk
from evaluation.http_parts import desk, json_reply, score_pairs
from evaluation.reviews import Gone, Shown
from service import ids
from service.api.dependencies import Admin, CacheDep, Reviewer
from service.lines import check_name

router = APIRouter(tags=["review"])


@router.post("/v1/review/next")
async def post_next(
    body: bodies.Ask, request: Request, cache: CacheDep, caller: Reviewer
) -> Response:
    """Lease the next item to a reviewer for five minutes."""
    await cache.journal.flush()
    d = desk(request)
    shown = await reviews.next_item(d, caller.tenant, line=body.line, reviewer=body.reviewer)
    return await _handed(d, caller.tenant, body.line, body.reviewer, shown)


@router.post("/v1/review/items/{item_id}/label")
async def post_label(
    item_id: str, body: bodies.LabelBody, request: Request, caller: Reviewer
) -> dict[str, Any]:
    """Record a verdict. 409 when somebody else judged the item after this lease ran out, 410 when it is gone."""
    d = desk(request)
    labelled = await reviews.label(
        d,
        caller.tenant,
        item_id=_item_id(item_id),
        reviewer=body.reviewer,
        verdict=body.verdict,
        reason=body.reason,
        note=body.note,
    )
    await watch.after_label(d, caller.tenant, labelled)
    return {"state": labelled.state, "score": labelled.score, "already": labelled.already}


@router.post("/v1/review/items/{item_id}/skip")
async def post_skip(
    item_id: str, body: bodies.Who, request: Request, caller: Reviewer
) -> dict[str, bool]:
    """Leave the item to others; it does not come back to this reviewer."""
    return await _set_aside(request, caller.tenant, item_id, body.reviewer, "skip", None)


@router.post("/v1/review/items/{item_id}/flag")
async def post_flag(
    item_id: str, body: bodies.FlagBody, request: Request, caller: Reviewer
) -> dict[str, bool]:
    """Ask an admin to look; the item stays with the reviewer."""
    return await _set_aside(request, caller.tenant, item_id, body.reviewer, "flag", body.note)


@router.post("/v1/review/items/{item_id}/release")
async def post_release(
    item_id: str, body: bodies.Who, request: Request, caller: Reviewer
) -> dict[str, bool]:
    """Give the lease back; the item may return to this reviewer."""
    return await _set_aside(request, caller.tenant, item_id, body.reviewer, "release", None)


@router.post("/v1/review/undo")
async def post_undo(body: bodies.Ask, request: Request, caller: Reviewer) -> Response:
    """Take the reviewer's last label or skip back and lease the item to him again."""
    d = desk(request)
    taken = await reviews.undo(d, caller.tenant, line=body.line, reviewer=body.reviewer)
    if taken is None:
        return json_reply({"item_id": None, "item": None})
    await watch.after_label(d, caller.tenant, taken[1])
    item = await _item(d, caller.tenant, taken[0], body.reviewer)
    return json_reply({"item_id": item["item_id"], "item": item})


@router.post("/v1/review/items/{item_id}/reopen")
async def post_reopen(
    item_id: str, body: bodies.Who, request: Request, caller: Reviewer
) -> Response:
    """Judge one of the reviewer's last ten items again."""
    d = desk(request)
    shown, labelled = await reviews.reopen(
        d, caller.tenant, item_id=_item_id(item_id), reviewer=body.reviewer
    )
    await watch.after_label(d, caller.tenant, labelled)
    return json_reply({"item": await _item(d, caller.tenant, shown, body.reviewer)})


@router.get("/v1/review/recent")
async def get_recent(
    request: Request,
    caller: Reviewer,
    line: str,
    reviewer: bodies.Person,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> dict[str, Any]:
    """The reviewer's last labels, newest first."""
    rows = await review_reads.recent(
        desk(request).db, caller.tenant, line=line, reviewer=reviewer, n=limit
    )
    names = ("query", "entry_query", "verdict", "reason", "score", "at_ms")
    labels = [
        {"item_id": reviews.public_id(row[0]), **dict(zip(names, row[1:], strict=True))}
        for row in rows
    ]
    return {"labels": labels}


@router.get("/v1/review/progress")
async def get_progress(
    request: Request, cache: CacheDep, caller: Reviewer, line: str
) -> dict[str, Any]:
    """How far the queue has come, the state of the promise, and the reviewers' quality."""
    await cache.journal.flush()
    return await reviewers.progress(desk(request), caller.tenant, line=line)


@router.get("/v1/review/disputes")
async def get_disputes(request: Request, caller: Admin, line: str) -> Response:
    """Disputed and flagged items, with every label and its name."""
    d = desk(request)
    found = []
    for item in await review_reads.contested(d.db, caller.tenant, line=line):
        given = await review_reads.labels_of(d.db, caller.tenant, item_id=item.id)
        labels = [
            {
                "reviewer": g.reviewer,
                "verdict": g.verdict,
                "reason": g.reason,
                "note": g.note,
                "at_ms": g.at_ms,
            }
            for g in given
            if g.verdict != "lapsed"
        ]
        shown = Shown(item, item.fresh_response, None, 0)
        found.append(
            {**_shown(shown, round_number=3), "state": item.state, "score": item.score}
            | {"labels": labels}
        )
    return json_reply({"items": found})


@router.post("/v1/review/items/{item_id}/decide")
async def post_decide(
    item_id: str, body: bodies.LabelBody, request: Request, caller: Admin
) -> dict[str, Any]:
    """Adjudicate: the last word on an item."""
    d = desk(request)
    labelled = await reviews.decide(
        d,
        caller.tenant,
        item_id=_item_id(item_id),
        reviewer=body.reviewer,
        verdict=body.verdict,
        reason=body.reason,
        note=body.note,
    )
    await watch.after_label(d, caller.tenant, labelled)
    return {"state": labelled.state, "score": labelled.score, "already": labelled.already}


@router.post("/v1/review/gold", status_code=201)
async def post_gold(
    body: bodies.GoldBody, request: Request, cache: CacheDep, caller: Admin
) -> dict[str, str]:
    """Put an item with a known answer into the queue."""
    d = desk(request)
    await cache.policies.get_or_create(
        caller.tenant, check_name("line", body.line), change_id=d.new_id(), now=d.clock_ms()
    )
    scores = await score_pairs(cache, caller.tenant, body.line)([(body.entry_query, body.query)])
    item_id = await gold.add_gold(
        d,
        caller.tenant,
        line=body.line,
        query=body.query.replace("\x00", "\u2400"),
        entry_query=body.entry_query.replace("\x00", "\u2400"),
        answer=orjson.dumps(body.answer),
        verdict=body.verdict,
        score=scores[0],
        fresh=None if body.fresh_answer is None else orjson.dumps(body.fresh_answer),
    )
    return {"item_id": reviews.public_id(item_id)}


async def _set_aside(
    request: Request,
    tenant: str,
    item_id: str,
    reviewer: str,
    how: Literal["skip", "flag", "release"],
    note: str | None,
) -> dict[str, bool]:
    await reviews.set_aside(
        desk(request), tenant, item_id=_item_id(item_id), reviewer=reviewer, how=how, note=note
    )
    return {"ok": True}


async def _handed(d: Desk, tenant: str, line: str, reviewer: str, shown: Shown | None) -> Response:
    now = d.clock_ms()
    today = now // 86_400_000 * 86_400_000
    mine = await review_reads.labels_since(d.db, tenant, line=line, since=today)
    remaining = await review_reads.remaining(d.db, tenant, line=line, reviewer=reviewer, now=now)
    item = None if shown is None else await _item(d, tenant, shown, reviewer)
    return json_reply({"item": item, "remaining": remaining, "mine_today": mine.get(reviewer, 0)})


async def _item(d: Desk, tenant: str, shown: Shown, reviewer: str) -> dict[str, Any]:
    # a second opinion is blind: its round looks like a first one
    return _shown(shown, round_number=3 if shown.item.state == "disputed" else 1)


def _shown(shown: Shown, *, round_number: int) -> dict[str, Any]:
    item = shown.item
    fresh = shown.fresh_response
    return {
        "item_id": reviews.public_id(item.id),
        "kind": "sampled",
        "query": item.query,
        "entry_query": item.entry_query,
        "entry_response": orjson.Fragment(item.entry_response),
        "fresh_response": None if fresh is None else orjson.Fragment(fresh),
        "was_served": item.was_served,
        "guard": item.guard,
        "guard_detail": item.guard_detail,
        "age_s": None if shown.age_ms is None else shown.age_ms // 1000,
        "round": round_number,
        "lease_until_ms": shown.lease_until_ms,
    }


def _item_id(text: str) -> int:
    number = ids.decode("itm", text)
    if number is None:
        raise Gone
    return number
