"""The routes of the double: the same paths, bodies and problem documents as the service's."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from tests.review_ui import fake_data as data
from tests.review_ui.fake_service import QUEUED, Fake, Refused


def create_app(fake: Fake) -> FastAPI:
    """The routes over this state."""
    app = FastAPI()

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> JSONResponse:
        problem = {
            "type": "about:blank",
            "title": error.title,
            "status": error.status,
            "detail": error.detail,
        }
        return JSONResponse(problem, error.status, media_type="application/problem+json")

    @app.middleware("http")
    async def check_key(request: Request, call_next: Any) -> Any:
        fake.calls.append(f"{request.method} {request.url.path}")
        if fake.key and request.headers.get("authorization") != f"Bearer {fake.key}":
            return await refused(request, Refused(401, "Unauthorized", "an API key is needed"))
        return await call_next(request)

    post, get = app.post, app.get

    @post("/v1/review/next")
    async def _next(body: dict[str, Any]) -> Any:
        if body["line"] != QUEUED:
            return {"item": None, "remaining": 0, "mine_today": 0}
        return fake.next(body["reviewer"])

    @post("/v1/review/undo")
    async def _undo(body: dict[str, Any]) -> Any:
        return fake.take_back(body["reviewer"])

    @post("/v1/review/gold")
    async def _gold(body: dict[str, Any]) -> Any:
        return {"item_id": "itm_gold"}

    @post("/v1/review/items/{item_id}/{act}")
    async def _act(item_id: str, act: str, body: dict[str, Any]) -> Any:
        if act == "label":
            return fake.label(item_id, body)
        if act == "reopen":
            return fake.take_back(body["reviewer"], item_id)
        return fake.decide(item_id) if act == "decide" else fake.set_aside(item_id, body, act)

    @get("/v1/review/recent")
    async def _recent(line: str, reviewer: str, limit: int = 10) -> Any:
        return fake.recent(reviewer, limit)

    @get("/v1/review/progress")
    async def _progress(line: str) -> Any:
        return fake.progress(line)

    @get("/v1/review/disputes")
    async def _disputes(line: str) -> Any:
        return fake.disputes()

    @get("/v1/lines/{line}/curve")
    async def _curve(line: str, saved_per_hit: float = 0.0, cost_of_wrong: float = 0.0) -> Any:
        return data.curve_of(fake.lines[line], saved_per_hit, cost_of_wrong)

    @post("/v1/lines/{line}/tune")
    async def _tune(line: str, body: dict[str, Any]) -> Any:
        return fake.tune(line, body)

    @get("/v1/lines/{line}/decisions")
    async def _decisions(line: str) -> Any:
        return {"decisions": fake.decisions_of(line), "events": fake.events}

    @post("/v1/lines/{line}/decisions/{decision_id}/apply")
    async def _apply(line: str, decision_id: str, body: dict[str, Any]) -> Any:
        return fake.apply(line, decision_id, body["reason"])

    @get("/v1/lines/{line}/audit")
    async def _audit(line: str, days: int = 30) -> Any:
        return data.audit(fake.lines[line]["threshold"])

    @get("/v1/lines")
    async def _lines() -> Any:
        return {
            "lines": [{k: v for k, v in s.items() if k != "changes"} for s in fake.lines.values()]
        }

    @get("/v1/lines/{line}")
    async def _line(line: str) -> Any:
        return fake.lines[line]

    @app.api_route("/v1/lines/{line}", methods=["PUT", "PATCH"])
    async def _change(line: str, body: dict[str, Any]) -> Any:
        return fake.change(line, body)

    @get("/v1/entries")
    async def _entries(
        line: str, text: str = "", before: str | None = None, limit: int = 50
    ) -> Any:
        names = "entry_id line scope model created_ms expires_ms query hits quarantined response_bytes".split()
        found = [
            e
            for e in fake.entries.values()
            if text in e["query"] and (not before or e["entry_id"] < before)
        ]
        found = sorted(found, key=lambda e: e["entry_id"], reverse=True)[:limit]
        rows = [{n: e[n] for n in names} for e in found]
        return {"entries": rows, "next": rows[-1]["entry_id"] if len(rows) == limit else None}

    @get("/v1/entries/{entry_id}")
    async def _entry_(entry_id: str) -> Any:
        if entry_id not in fake.entries:
            raise Refused(404, "Not found", "no live entry of this tenant has this id")
        return fake.entries[entry_id]

    @app.delete("/v1/entries/{entry_id}")
    async def _evict(entry_id: str) -> Any:
        return {"invalidated": 1 if fake.entries.pop(entry_id, None) else 0}

    @get("/v1/stats")
    async def _stats(days: int = 30) -> Any:
        return {
            "days": days,
            "lines": {n: data.figures(k) for k, n in enumerate(fake.lines)},
            "embedders": {"minilm": "ready"},
        }

    return app
