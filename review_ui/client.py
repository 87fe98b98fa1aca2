"""The service's routes as functions: one per route, plain data in, typed replies out, refusals as `ServiceError`.

The page knows nothing but these. Whatever it can do, `curl` can do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from review_ui.replies import (
    Audit,
    Curve,
    Decisions,
    Dispute,
    EntryPage,
    Handed,
    Item,
    Labelled,
    Next,
    Progress,
    Recent,
    Tuned,
)

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_S = 30.0


class ServiceError(Exception):
    """The service refused: its problem document in words. `status` 0 means that it did not answer."""

    def __init__(
        self, status: int, title: str, detail: str = "", *, fields: tuple[str, ...] = ()
    ) -> None:
        super().__init__(detail or title)
        self.status = status
        self.title = title
        self.detail = detail
        self.fields = fields

    def __str__(self) -> str:
        known = (
            self.detail if self.detail.startswith(self.title) else f"{self.title}: {self.detail}"
        )
        return "; ".join((known.rstrip(": "), *(f for f in self.fields if f not in known)))


def connect(url: str) -> httpx2.Client:
    """A pool of connections to the service, for all sessions of this process."""
    return httpx2.Client(base_url=url.rstrip("/"), timeout=TIMEOUT_S, trust_env=False)


@dataclass(frozen=True)
class Client:
    """The service as one reviewer's session sees it: the shared connections and that session's key."""

    http: httpx2.Client
    key: str = ""

    # the reviewers' queue

    def next_item(self, line: str, reviewer: str) -> Next:
        """Lease the next item that this reviewer may judge; the one already leased comes again."""
        return self._post("/v1/review/next", Next, line=line, reviewer=reviewer)

    def label(
        self,
        item_id: str,
        *,
        reviewer: str,
        verdict: str,
        reason: str | None = None,
        note: str | None = None,
    ) -> Labelled:
        """Give a verdict; given twice it counts once."""
        more = {k: v for k, v in (("reason", reason), ("note", note)) if v}
        return self._post(
            f"{_item(item_id)}/label", Labelled, reviewer=reviewer, verdict=verdict, **more
        )

    def skip(self, item_id: str, *, reviewer: str) -> None:
        """Leave an item to others; this reviewer does not get it again."""
        self._act(f"{_item(item_id)}/skip", reviewer=reviewer)

    def flag(self, item_id: str, *, reviewer: str, note: str) -> None:
        """Ask an admin to look at an item, with a note; it stays with the reviewer."""
        self._act(f"{_item(item_id)}/flag", reviewer=reviewer, note=note)

    def release(self, item_id: str, *, reviewer: str) -> None:
        """Give a leased item back without a verdict."""
        self._act(f"{_item(item_id)}/release", reviewer=reviewer)

    def reopen(self, item_id: str, *, reviewer: str) -> Item | None:
        """Take back one of the reviewer's last labels; its item, leased to him again."""
        return self._post(f"{_item(item_id)}/reopen", Handed, reviewer=reviewer).item

    def undo(self, line: str, reviewer: str) -> Item | None:
        """Take back the reviewer's last label or skip; its item, leased to him again."""
        return self._post("/v1/review/undo", Handed, line=line, reviewer=reviewer).item

    def recent(self, line: str, reviewer: str, *, limit: int = 10) -> tuple[Recent, ...]:
        """The reviewer's last labels, newest first."""
        found = self._get(
            "/v1/review/recent",
            dict[str, tuple[Recent, ...]],
            line=line,
            reviewer=reviewer,
            limit=limit,
        )
        return found["labels"]

    def progress(self, line: str) -> Progress:
        """Where the line's review stands, and each reviewer's figures."""
        return self._get("/v1/review/progress", Progress, line=line)

    def disputes(self, line: str) -> tuple[Dispute, ...]:
        """Items on which reviewers disagree, with all labels."""
        kind = dict[str, tuple[Dispute, ...]]
        return self._get("/v1/review/disputes", kind, line=line)["items"]

    def decide(self, item_id: str, *, reviewer: str, verdict: str, reason: str | None) -> None:
        """Settle a dispute."""
        more = {"reason": reason} if reason else {}
        self._act(f"{_item(item_id)}/decide", reviewer=reviewer, verdict=verdict, **more)

    def add_gold(
        self, line: str, *, query: str, entry_query: str, answer: str, verdict: str
    ) -> None:
        """Add an item whose answer is known."""
        self._act(
            "/v1/review/gold",
            line=line,
            query=query,
            entry_query=entry_query,
            answer=answer,
            verdict=verdict,
        )

    # curves and decisions

    def curve(self, line: str, *, saved_per_hit: float, cost_of_wrong: float) -> Curve:
        """Rates over thresholds, with the expected value per lookup at these two prices."""
        return self._get(
            f"{_line(line)}/curve", Curve, saved_per_hit=saved_per_hit, cost_of_wrong=cost_of_wrong
        )

    def tune(self, line: str, *, target: float, confidence: float) -> Tuned:
        """Look for the loosest threshold that can be certified; a decision is recorded, not applied."""
        return self._post(
            f"{_line(line)}/tune", Tuned, target=target, confidence=confidence, apply=False
        )

    def decisions(self, line: str) -> Decisions:
        """Every decision of the line."""
        return self._get(f"{_line(line)}/decisions", Decisions)

    def apply_decision(self, line: str, decision_id: str, *, reason: str) -> None:
        """Put a decision in force; an older one rolls back."""
        self._act(f"{_line(line)}/decisions/{_part(decision_id)}/apply", reason=reason)

    # lines, entries, figures

    def lines(self) -> list[dict[str, Any]]:
        """All lines of the tenant."""
        return self._get("/v1/lines", dict[str, list[dict[str, Any]]])["lines"]

    def line(self, line: str) -> dict[str, Any]:
        """One line with its last changes."""
        return self._get(_line(line), dict[str, Any])

    def create_line(self, line: str, settings: dict[str, Any], *, reason: str) -> dict[str, Any]:
        """Create a line; what is not named takes its default."""
        return self._send("PUT", _line(line), dict[str, Any], body=settings | {"reason": reason})

    def change_line(self, line: str, settings: dict[str, Any], *, reason: str) -> dict[str, Any]:
        """Change the named settings."""
        return self._send("PATCH", _line(line), dict[str, Any], body=settings | {"reason": reason})

    def entries(self, line: str, *, text: str = "", before: str | None = None) -> EntryPage:
        """Live entries whose query holds `text`, newest first."""
        more = {} if before is None else {"before": before}
        return self._get("/v1/entries", EntryPage, line=line, text=text, limit=50, **more)

    def entry(self, entry_id: str) -> dict[str, Any]:
        """One entry with its request and answer."""
        return self._get(f"/v1/entries/{_part(entry_id)}", dict[str, Any])

    def evict(self, entry_id: str) -> None:
        """Drop an entry; when this returns no worker serves it."""
        self._call("DELETE", f"/v1/entries/{_part(entry_id)}")

    def stats(self, *, days: int) -> dict[str, Any]:
        """Figures per line and layer."""
        return self._get("/v1/stats", dict[str, Any], days=days)

    def audit(self, line: str, *, days: int) -> Audit:
        """What each layer of caching does and could do for a line's recent traffic."""
        return self._get(f"{_line(line)}/audit", Audit, days=days)

    def _get(self, path: str, kind: type[T], **query: Any) -> T:
        return self._send("GET", path, kind, query=query)

    def _post(self, path: str, kind: type[T], **body: Any) -> T:
        return self._send("POST", path, kind, body=body)

    def _act(self, path: str, **body: Any) -> None:
        self._call("POST", path, body=body)

    def _send(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> T:
        return _converted(self._call(method, path, body=body, query=query), kind)

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> bytes:
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            reply = self.http.request(method, path, json=body, params=query, headers=headers)
        except httpx2.HTTPError as error:
            where = f"{self.http.base_url} ({error or type(error).__name__})"
            raise ServiceError(0, "The service does not answer", where) from error
        if not reply.is_success:
            raise _problem(reply)
        return reply.content


class _Refused(msgspec.Struct):
    field: str
    message: str


class _Problem(msgspec.Struct):
    title: str
    detail: str = ""
    errors: tuple[_Refused, ...] = ()


def _problem(reply: httpx2.Response) -> ServiceError:
    """RFC 9457 in words; anything else (a proxy's own page, say) by its status."""
    try:
        found = msgspec.json.decode(reply.content, type=_Problem)
    except msgspec.DecodeError:
        title = f"The service answered {reply.status_code}"
        return ServiceError(reply.status_code, title, reply.reason_phrase)
    fields = tuple(f"{e.field} {e.message}" for e in found.errors)
    return ServiceError(reply.status_code, found.title, found.detail, fields=fields)


def _converted(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise ServiceError(
            502, "The service answered in a form that this page does not know", str(error)
        ) from error


def _part(name: str) -> str:
    return quote(name, safe="")


def _line(line: str) -> str:
    return f"/v1/lines/{_part(line)}"


def _item(item_id: str) -> str:
    return f"/v1/review/items/{_part(item_id)}"
