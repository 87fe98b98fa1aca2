"""The service as far as the page can tell, in memory: a double for tests of the page and for trying it out alone.

It keeps the rules that a reviewer can notice (leases, one label per press, undo, no score before the label), and makes
its figures up. `python -m tests.review_ui.fake_service PORT [ITEMS]` runs it.
"""

from __future__ import annotations

import itertools
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from tests.review_ui import fake_data as data

LEASE_MS = 300_000
SECOND_AFTER_NO = 2
QUEUED = "support-faq"
"""The line with all items."""


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
    flags: list[dict[str, Any]] = field(default_factory=list)
    lease_by: str | None = None
    lease_until_ms: int = 0


def _item(n: int) -> FakeItem:
    return FakeItem(f"itm_{n:016x}", data.item(n), round(0.99 - 0.002 * n, 4))


def _state(item: FakeItem) -> str:
    verdicts = {label["verdict"] for label in item.labels}
    if not verdicts:
        return "open"
    if len(verdicts) > 1:
        return "disputed"
    return (
        "second" if verdicts == {"not_reusable"} and len(item.labels) < SECOND_AFTER_NO else "done"
    )


class Fake:
    """The state behind the routes. Every public method holds the lock."""

    def __init__(self, *, items: int = 60, key: str = "", lease_ms: int = LEASE_MS) -> None:
        self.key = key
        self.lease_ms = lease_ms
        self.lock = threading.RLock()
        self.calls: list[str] = []
        self.items = {i.item_id: i for i in map(_item, range(items))}
        self.lines = {n: data.line_settings(n) for n in ("support-faq", "search-zh", "code")}
        self.lines["search-zh"]["mode"] = "shadow"
        self.lines["code"] |= {"certified": True, "decision_id": "dec_1", "threshold": 0.93}
        self.decisions = [data.decision(2, 0.91), data.decision(1, 0.93)]
        self.events: list[dict[str, Any]] = []
        self.entries = {f"ent_{n:016x}": data.entry(n) for n in range(120)}
        self._ticks = itertools.count(1)

    def labels(self) -> list[tuple[str, dict[str, Any]]]:
        """(item id, label) of every label that stands."""
        return [(i.item_id, label) for i in self.items.values() for label in i.labels]

    def next(self, reviewer: str) -> dict[str, Any]:
        with self.lock:
            now = data.now_ms()
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
            mine = [label for label in item.labels if label["reviewer"] == reviewer]
            if mine and mine[-1]["verdict"] == body["verdict"]:
                return {"state": item.state, "score": item.score, "already": True}
            if mine:
                raise Refused(409, "Conflict", "you judged this item otherwise before")
            if item.lease_by != reviewer and item.state == "done":
                raise Refused(
                    409, "Conflict", "your lease ran out and somebody else judged this item"
                )
            item.labels.append({"note": None, "reason": None} | body | {"at_ms": next(self._ticks)})
            item.lease_by = None
            item.state = _state(item)
            return {"state": item.state, "score": item.score, "already": False}

    def set_aside(self, item_id: str, body: dict[str, Any], act: str) -> dict[str, Any]:
        with self.lock:
            item = self._get(item_id)
            if act == "skip":
                item.left_by.add(body["reviewer"])
            if act == "flag":
                item.flags.append(
                    {"verdict": "flag", "reason": None, "at_ms": data.now_ms()} | body
                )
            elif item.lease_by == body["reviewer"]:
                item.lease_by = None
            return {"ok": True}

    def take_back(self, reviewer: str, item_id: str | None = None) -> dict[str, Any]:
        with self.lock:
            mine = [
                (label["at_ms"], i)
                for i, label in self.labels()
                if label["reviewer"] == reviewer and item_id in (None, i)
            ]
            if not mine:
                return {"item_id": None, "item": None}
            item = self.items[max(mine)[1]]
            item.labels = [label for label in item.labels if label["reviewer"] != reviewer]
            item.state = _state(item)
            return {"item_id": item.item_id, "item": self._lease(item, reviewer)}

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
        states = [i.state for i in self.items.values()] if line == QUEUED else []
        people = sorted({label["reviewer"] for _, label in self.labels()})
        counts = {s: states.count(s) for s in ("open", "second", "disputed", "done", "withdrawn")}
        name, text = data.promise(self.lines[line])
        return counts | {
            "labels_today": len(self.labels()),
            "state": name,
            "state_text": text,
            "labels": 620,
            "labels_needed": 900,
            "by_reviewer": [
                {
                    "reviewer": p,
                    "labels": sum(label["reviewer"] == p for _, label in self.labels()),
                    "today": sum(label["reviewer"] == p for _, label in self.labels()),
                    "gold": {"n": 12, "sensitivity": 0.92, "false_alarm": 0.04},
                    "judged_with_others": 9,
                    "agreed": 8,
                    "kappa": None,
                    "kappa_withheld": "9 items judged by both, 20 needed",
                }
                for p in people
            ],
        }

    def disputes(self) -> dict[str, Any]:
        return {
            "items": [
                i.shown
                | {"item_id": i.item_id, "score": i.score, "state": i.state}
                | {"labels": i.labels + i.flags}
                for i in self.items.values()
                if i.state == "disputed" or i.flags
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
                raise Refused(404, "Not found", "there is no such decision")
            self.lines[line] |= {
                "mode": "serve",
                "threshold": found["threshold"],
                "certified": True,
                "decision_id": decision_id,
            }
            event = {
                "decision_id": decision_id,
                "act": "applied",
                "at_ms": data.now_ms(),
                "by": "local",
            }
            self.events.insert(0, event | {"reason": reason})
            return found

    def decisions_of(self, line: str) -> list[dict[str, Any]]:
        now = self.lines[line]["decision_id"]
        return [d | {"in_force": d["decision_id"] == now} for d in self.decisions]

    def tune(self, line: str, body: dict[str, Any]) -> dict[str, Any]:
        if body["target"] < 0.005:
            text = f"{line}: about 640 more labels needed for 0.4% (620 so far, 60 items wait)"
            return {"certified": False, "labels_missing": 640, "decision_id": None, "text": text}
        made = data.decision(len(self.decisions) + 1, 0.9)
        self.decisions.insert(0, made)
        text = f"{line}: certified at 0.900: at most 3.0% of the hits false; not applied"
        return {"certified": True, "decision_id": made["decision_id"], "text": text}

    def change(self, line: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            if not -1 <= body.get("threshold", 0) <= 1:
                raise Refused(422, "Invalid request", "threshold: must be at most 1")
            known = self.lines.setdefault(line, data.line_settings(line))
            if "threshold" in body and body["threshold"] != known["threshold"]:
                known |= {"certified": False, "decision_id": None}
            known |= {k: v for k, v in body.items() if k != "reason"}
            known["changes"].insert(
                0, {"at_ms": data.now_ms(), "by": "local", "reason": body.get("reason", "")}
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
        item.lease_by, item.lease_until_ms = reviewer, data.now_ms() + self.lease_ms
        return item.shown | {
            "item_id": item.item_id,
            "round": len(item.labels) + 1,
            "lease_until_ms": item.lease_until_ms,
        }


if __name__ == "__main__":
    import uvicorn

    from tests.review_ui.fake_routes import create_app

    made = Fake(items=int((*sys.argv, "60")[2]))
    uvicorn.run(create_app(made), port=int(sys.argv[1]), log_level="warning")
