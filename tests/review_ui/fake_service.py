"""The routes that the page is a client of, in memory: a double for tests of the page and for trying it out alone.

It keeps the rules that a reviewer can notice (leases, one label per press, undo, no score before the label), and makes
its figures up. `python -m tests.review_ui.fake_service 8080` runs it.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

LEASE_MS = 300_000
SECOND_AFTER_NO = 2


class Refused(Exception):
    """Becomes a problem document."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail


@dataclass
class FakeItem:
    """A review item with everything that the service knows of it."""

    item_id: str
    shown: dict[str, Any]
    score: float
    state: str = "open"
    labels: list[dict[str, Any]] = field(default_factory=list)
    left_by: set[str] = field(default_factory=set)
    lease_by: str | None = None
    lease_until_ms: int = 0


class Fake:
    """The state behind the routes. Every public method holds the lock."""

    def __init__(self, *, items: int = 60, key: str = "", lease_ms: int = LEASE_MS) -> None:
        self.key = key
        self.lease_ms = lease_ms
        self.lock = threading.RLock()
        self.calls: list[str] = []
        self.items = {i.item_id: i for i in map(_item, range(items))}
        self.lines = {n: _line_settings(n) for n in ("support-faq", "search-zh", "code")}
        self.lines["search-zh"]["mode"] = "shadow"
        self.lines["code"] |= {"certified": True, "decision_id": "dec_1", "threshold": 0.93}
        self.decisions = [_decision(1, 0.93), _decision(2, 0.91)]
        self.events: list[dict[str, Any]] = []
        self.entries = {f"ent_{n:016x}": _entry(n) for n in range(120)}
        self._ticks = itertools.count(1)

    def labels(self) -> list[tuple[str, dict[str, Any]]]:
        """(item id, label) of every label that stands."""
        return [(i.item_id, label) for i in self.items.values() for label in i.labels]

    def next(self, reviewer: str) -> dict[str, Any]:
        with self.lock:
            now = _now()
            free = [i for i in self.items.values() if self._may(i, reviewer, now)]
            free.sort(key=lambda i: i.lease_by != reviewer)
            for old in free[1:]:
                if old.lease_by == reviewer:
                    old.lease_by = None
            item = self._lease(free[0], reviewer) if free else None
            mine = sum(label["reviewer"] == reviewer for _, label in self.labels())
            return {"item": item, "remaining": len(free), "mine_today": mine}

    def label(self, item_id: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            item, reviewer = self._get(item_id), body["reviewer"]
            held = item.lease_by == reviewer
            mine = [label for label in item.labels if label["reviewer"] == reviewer]
            if mine and not held:
                return {"state": item.state, "score": item.score, "already": True}
            if not held and item.labels and item.state == "done":
                raise Refused(
                    409, "Conflict", "the lease ran out and somebody else judged this item"
                )
            item.labels = [label for label in item.labels if label["reviewer"] != reviewer]
            item.labels.append({"note": None, "reason": None} | body | {"at_ms": next(self._ticks)})
            item.lease_by = None
            item.state = _state(item)
            return {"state": item.state, "score": item.score, "already": False}

    def leave(self, item_id: str, body: dict[str, Any], act: str) -> dict[str, Any]:
        with self.lock:
            item = self._get(item_id)
            if act != "release":
                item.left_by.add(body["reviewer"])
            if act == "flag":
                item.state = "disputed"
                item.labels.append(
                    {"verdict": "flag", "reason": None} | body | {"at_ms": next(self._ticks)}
                )
            if item.lease_by == body["reviewer"]:
                item.lease_by = None
            return {"state": item.state}

    def undo(self, reviewer: str) -> dict[str, Any]:
        with self.lock:
            mine = [
                (label["at_ms"], i) for i, label in self.labels() if label["reviewer"] == reviewer
            ]
            if not mine:
                return {"item_id": None}
            item = self.items[max(mine)[1]]
            item.labels = [label for label in item.labels if label["reviewer"] != reviewer]
            item.state = _state(item)
            self._lease(item, reviewer)
            return {"item_id": item.item_id}

    def reopen(self, item_id: str, reviewer: str) -> dict[str, Any]:
        with self.lock:
            return self._lease(self._get(item_id), reviewer)

    def recent(self, reviewer: str, limit: int) -> dict[str, Any]:
        mine = [(i, label) for i, label in self.labels() if label["reviewer"] == reviewer]
        mine.sort(key=lambda pair: -pair[1]["at_ms"])
        rows = [
            {
                "item_id": i,
                "score": self.items[i].score,
                **{k: label[k] for k in ("verdict", "reason", "at_ms")},
            }
            | {k: self.items[i].shown[k] for k in ("query", "entry_query")}
            for i, label in mine[:limit]
        ]
        return {"labels": rows}

    def progress(self, line: str) -> dict[str, Any]:
        states = [i.state for i in self.items.values()]
        people = sorted({label["reviewer"] for _, label in self.labels()})
        counts = {s: states.count(s) for s in ("open", "second", "disputed", "done", "withdrawn")}
        return counts | {
            "labels_today": len(self.labels()),
            "state": "certified" if self.lines[line]["certified"] else "collecting",
            "labels_needed": 280,
            "by_reviewer": [
                {
                    "reviewer": p,
                    "labels": sum(label["reviewer"] == p for _, label in self.labels()),
                    "gold": {"n": 12, "sensitivity": 0.92, "false_alarm": 0.04},
                    "kappa": None,
                }
                for p in people
            ],
        }

    def disputes(self) -> dict[str, Any]:
        return {
            "items": [
                i.shown | {"item_id": i.item_id, "score": i.score, "labels": i.labels}
                for i in self.items.values()
                if i.state == "disputed"
            ]
        }

    def decide(self, item_id: str) -> dict[str, Any]:
        with self.lock:
            self._get(item_id).state = "done"
            return {"state": "done"}

    def apply(self, line: str, decision_id: str, reason: str) -> dict[str, Any]:
        with self.lock:
            found = next((d for d in self.decisions if d["decision_id"] == decision_id), None)
            if found is None:
                raise Refused(404, "Not found", "no such decision")
            self.lines[line] |= {
                "threshold": found["threshold"],
                "certified": True,
                "decision_id": decision_id,
            }
            event = {
                "decision_id": decision_id,
                "act": "applied",
                "at_ms": _now(),
                "by": "local",
                "reason": reason,
            }
            self.events.insert(0, event)
            return event

    def tune(self, line: str, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("target", 0.03) < 0.005:
            return {"certified": False, "labels_missing": 640, "reason": "not enough labels"}
        made = _decision(len(self.decisions) + 1, 0.9)
        self.decisions.insert(0, made)
        return {"certified": True} | made

    def change(self, line: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            if not -1 <= body.get("threshold", 0) <= 1:
                raise Refused(422, "Invalid request", "threshold: must be at most 1")
            known = self.lines.setdefault(line, _line_settings(line))
            if "threshold" in body and body["threshold"] != known["threshold"]:
                known |= {"certified": False, "decision_id": None}
            known |= {k: v for k, v in body.items() if k != "reason"}
            known["changes"].insert(
                0, {"at_ms": _now(), "by": "local", "reason": body.get("reason", "")}
            )
            return known

    def _get(self, item_id: str) -> FakeItem:
        if item_id not in self.items:
            raise Refused(410, "Gone", "the entry behind this item was dropped")
        return self.items[item_id]

    def _may(self, item: FakeItem, reviewer: str, now: int) -> bool:
        taken = item.lease_by not in (None, reviewer) and item.lease_until_ms > now
        judged = any(label["reviewer"] == reviewer for label in item.labels)
        return item.state in ("open", "second") and not (
            taken or judged or reviewer in item.left_by
        )

    def _lease(self, item: FakeItem, reviewer: str) -> dict[str, Any]:
        item.lease_by, item.lease_until_ms = reviewer, _now() + self.lease_ms
        return item.shown | {
            "item_id": item.item_id,
            "round": len(item.labels) + 1,
            "lease_until_ms": item.lease_until_ms,
        }


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
        return (
            fake.next(body["reviewer"])
            if body["line"] == "support-faq"
            else fake.next("") | {"item": None}
        )

    @post("/v1/review/undo")
    async def _undo(body: dict[str, Any]) -> Any:
        return fake.undo(body["reviewer"])

    @post("/v1/review/gold")
    async def _gold(body: dict[str, Any]) -> Any:
        return {"item_id": "itm_gold"}

    @post("/v1/review/items/{item_id}/{act}")
    async def _act(item_id: str, act: str, body: dict[str, Any]) -> Any:
        if act == "label":
            return fake.label(item_id, body)
        if act == "reopen":
            return fake.reopen(item_id, body["reviewer"])
        return fake.decide(item_id) if act == "decide" else fake.leave(item_id, body, act)

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
        return _curve_of(fake.lines[line], saved_per_hit, cost_of_wrong)

    @post("/v1/lines/{line}/tune")
    async def _tune(line: str, body: dict[str, Any]) -> Any:
        return fake.tune(line, body)

    @get("/v1/lines/{line}/decisions")
    async def _decisions(line: str) -> Any:
        return {"decisions": fake.decisions, "events": fake.events}

    @post("/v1/lines/{line}/decisions/{decision_id}/apply")
    async def _apply(line: str, decision_id: str, body: dict[str, Any]) -> Any:
        return fake.apply(line, decision_id, body["reason"])

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
            "lines": {n: _figures(k) for k, n in enumerate(fake.lines)},
            "embedders": {"minilm": "ready"},
        }

    return app


# what the items are about

NASTY = (
    "<script>document.title='owned'</script> ![x](http://127.0.0.1:9/leak.png) **bold** $x^2$ :smile: "
    "<img src=x onerror=\"document.title='owned'\"> [link](javascript:alert(1)) & &amp; \u202etxet desrever\u202c"
)

PAIRS: tuple[tuple[str, str, Any, Any], ...] = (
    (
        "How do I cancel my annual subscription?",
        "How do I cancel my monthly subscription?",
        "Open Billing > Plan > Cancel. A monthly plan ends with the month that is paid.",
        "Open Billing > Plan > Cancel. An annual plan ends with the year; you may ask for a refund within 14 days.",
    ),
    (
        "如何在手机上修改登录密码？",
        "怎样在手机上更改登录密码？",
        "打开“设置 > 账户 > 密码”，点击“修改”，输入旧密码和新密码。",
        None,
    ),
    (
        "How do I export 30 invoices as PDF?",
        "How do I export 31 invoices as PDF?",
        {
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": "Reports > Invoices > Export, pick the rows.",
                    }
                }
            ]
        },
        "Reports > Invoices > select up to 30 rows > Export as PDF.",
    ),
    (
        "How can I reset my password?",
        "How do I reset my password?",
        "Settings > Account > Password > Reset.",
        None,
    ),
    ("Show me " + NASTY, "Show me  " + NASTY, NASTY, NASTY),
    (
        "def f(a, b):\n    return a - b\n\nWhat does f(1, 2) return?",
        "def f(a, b):\n\treturn b - a\n\nWhat does f(1, 2) return?",
        "```python\nprint(f(1, 2))\n```\nIt prints 1.\n" * 20,
        "It returns -1.",
    ),
)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _state(item: FakeItem) -> str:
    verdicts = {label["verdict"] for label in item.labels}
    if not verdicts:
        return "open"
    if len(verdicts) > 1:
        return "disputed"
    return (
        "second" if verdicts == {"not_reusable"} and len(item.labels) < SECOND_AFTER_NO else "done"
    )


def _item(n: int) -> FakeItem:
    query, entry_query, response, fresh = PAIRS[n % len(PAIRS)]
    shown = {
        "kind": "sampled",
        "query": query if n < len(PAIRS) else f"{query} ({n})",
        "entry_query": entry_query,
        "entry_response": response,
        "fresh_response": fresh,
        "was_served": fresh is None,
        "guard": "number" if n % len(PAIRS) == 2 else None,
        "guard_detail": "30 / 31" if n % len(PAIRS) == 2 else None,
        "age_s": 5400.0,
    }
    return FakeItem(f"itm_{n:016x}", shown, round(0.99 - 0.002 * n, 4))


def _line_settings(name: str) -> dict[str, Any]:
    return {
        "line": name,
        "mode": "serve",
        "threshold": 0.95,
        "language": "zh" if name.endswith("zh") else "en",
        "embedder": None,
        "target_false_hit_rate": 0.03,
        "confidence": 0.95,
        "ttl_s": None,
        "policy_version": "1",
        "guards": {},
        "sampling": {"certify_rate": 0.05},
        "limits": {},
        "certified": False,
        "decision_id": None,
        "revision": 3,
        "updated_ms": _now(),
        "updated_by": "local",
        "changes": [],
    }


def _decision(n: int, threshold: float) -> dict[str, Any]:
    return {
        "decision_id": f"dec_{n}",
        "created_ms": _now() - 86_400_000 * (4 - n),
        "by": "local",
        "threshold": threshold,
        "target": 0.03,
        "confidence": 0.95,
        "labels": 400 + 100 * n,
        "hit_rate": 0.3,
        "false_hit_rate": 0.008,
        "false_hit_rate_high": 0.028,
    }


def _entry(n: int) -> dict[str, Any]:
    query, _, response, _ = PAIRS[n % len(PAIRS)]
    return {
        "entry_id": f"ent_{n:016x}",
        "line": "support-faq",
        "scope": "acme" if n % 3 else "",
        "policy_version": "1",
        "model": "m1",
        "created_ms": _now() - n * 3_600_000,
        "expires_ms": None if n % 2 else _now() + 86_400_000,
        "query": f"{query} ({n})",
        "hits": n % 7,
        "quarantined": False,
        "response_bytes": len(str(response)),
        "embedder": "minilm:1",
        "tags": ["doc:42"],
        "request": {"model": "m1", "messages": [{"role": "user", "content": f"{query} ({n})"}]},
        "response": response,
    }


def _curve_of(line: dict[str, Any], saved: float, wrong: float) -> dict[str, Any]:
    grid = [round(0.80 + 0.005 * k, 4) for k in range(41)]
    hit = [round(0.62 * (1 - (t - 0.8) / 0.2) ** 0.8, 5) for t in grid]
    false = [round(0.16 * (1 - (t - 0.8) / 0.2) ** 2 + 0.004, 5) for t in grid]
    labels = [round(620 * (1 - (t - 0.8) / 0.2) ** 0.7) for t in grid]
    spread = [
        min(0.5, 1.4 / (n + 4) ** 0.5 * (f + 0.02) ** 0.5)
        for n, f in zip(labels, false, strict=True)
    ]
    return {
        "thresholds": grid,
        "hit_rate": hit,
        "hit_rate_low": [max(0, h - 0.01) for h in hit],
        "hit_rate_high": [h + 0.01 for h in hit],
        "false_hit_rate": false,
        "false_hit_rate_low": [max(0, f - s) for f, s in zip(false, spread, strict=True)],
        "false_hit_rate_high": [min(1, f + s) for f, s in zip(false, spread, strict=True)],
        "wrong_reuse_rate": [h * f for h, f in zip(hit, false, strict=True)],
        "labels": labels,
        "effective_labels": [n * 0.8 for n in labels],
        "expected_value": [
            h * ((1 - f) * saved - f * wrong) for h, f in zip(hit, false, strict=True)
        ],
        "lookups": 21_480,
        "labelled": 620,
        "target": line["target_false_hit_rate"],
        "confidence": line["confidence"],
        "present": {k: line[k] for k in ("threshold", "certified", "decision_id")},
        "proposed": None
        if line["certified"]
        else {"threshold": 0.91, "false_hit_rate_high": 0.029},
        "state": {
            "state": "certified" if line["certified"] else "collecting",
            "labels": 620,
            "labels_needed": 900,
        },
        "not_certified": None
        if line["certified"]
        else {"reason": "not enough labels", "labels_missing": 280},
    }


def _figures(k: int) -> dict[str, Any]:
    lookups, hits = 4200 - 900 * k, 1310 - 400 * k
    return {
        "exact": {"hits": 820 + 77 * k},
        "semantic": {
            "lookups": lookups,
            "hits": hits,
            "hit_rate": hits / lookups,
            "misses": {"below_threshold": lookups - hits - 240, "guarded": 180, "empty": 60},
        },
        "not_looked_up": {"volatile": 31, "bypass": 12},
        "stores": 2400,
        "entries": {"live": 2310, "searchable": 2200, "awaiting_embedding": 0},
    }


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(create_app(Fake()), port=int(sys.argv[1]), log_level="warning")
