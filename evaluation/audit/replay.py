"""One command into the review queue: logged requests looked up and stored on a line in shadow mode.

Real traffic is not touched: each business line is replayed into a line of its own, named
``audit-<line>``, which serves nothing by meaning. Only rows that bring their answer are stored, so
that a reviewer sees what would have been reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

from evaluation.audit.records import Record

LINE_PREFIX = "audit-"
DEFAULT_LIMIT = 2_000


class ReplayRefused(RuntimeError):
    """The service cannot be reached or does not take the replay; the message says which call."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What the replay sent. `near` lookups found a candidate that now may be sampled for review.

    `first_refusal` is the service's own word on the first request that it did not take.
    """

    looked_up: int
    stored: int
    without_answer: int
    exact_hits: int
    near: int
    refused: int
    lines: tuple[str, ...]
    first_refusal: str | None = None


def replay(
    records: Iterable[Record],
    client: httpx2.Client,
    *,
    limit: int = DEFAULT_LIMIT,
    on_row: Callable[[int], object] = lambda done: None,
) -> ReplayReport:
    """Send at most `limit` logged requests, one after the other.

    Raises ReplayRefused when the service does not answer, or a line of that name is not in shadow.
    """
    ready: set[str] = set()
    counts = dict.fromkeys(
        ("looked_up", "stored", "without_answer", "exact_hits", "near", "refused"), 0
    )
    first_refusal: str | None = None
    sent = 0
    for record in records:
        if sent >= limit:
            break
        if record.request is None:
            continue
        line = LINE_PREFIX + record.line
        if line not in ready:
            _ensure_shadow(client, line)
            ready.add(line)
        sent += 1
        refusal = _send(client, line, record, counts)
        if refusal is not None:
            counts["refused"] += 1
            first_refusal = first_refusal or refusal
        on_row(sent)
    return ReplayReport(**counts, lines=tuple(sorted(ready)), first_refusal=first_refusal)


def _send(client: httpx2.Client, line: str, record: Record, counts: dict[str, int]) -> str | None:
    """Look one request up and store its answer; returns the refusal if the service does not take
    it."""
    field = "prompt" if isinstance(record.request, str) else "request"
    body: dict[str, Any] = {"line": line, field: record.request}
    if record.scope:
        body["scope"] = record.scope
    reply = _call(client, "POST", "/v1/lookup", body)
    if reply.status_code != 200:
        return f"lookup: {reply.status_code} {reply.text[:200]}"
    counts["looked_up"] += 1
    found = reply.json()
    if found["outcome"] == "hit":
        counts["exact_hits"] += 1
        return None
    counts["near"] += found.get("score") is not None
    if record.response is None:
        counts["without_answer"] += 1
        return None
    store = {"lookup_id": found["lookup_id"], "response": record.response}
    kept = _call(client, "POST", "/v1/store", store)
    if kept.status_code != 201:
        return f"store: {kept.status_code} {kept.text[:200]}"
    counts["stored"] += 1
    return None


def _ensure_shadow(client: httpx2.Client, line: str) -> None:
    path = f"/v1/lines/{quote(line, safe='')}"
    reply = _call(client, "GET", path, None)
    if reply.status_code == 404:
        made = _call(client, "PUT", path, {"mode": "shadow"})
        if made.status_code not in (200, 201):
            raise ReplayRefused(f"PUT {path}: {made.status_code} {made.text[:200]}")
        return
    if reply.status_code != 200:
        raise ReplayRefused(f"GET {path}: {reply.status_code} {reply.text[:200]}")
    if reply.json().get("mode") != "shadow":
        raise ReplayRefused(f"line {line!r} is not in shadow mode; a replay must not feed it")


def _call(client: httpx2.Client, method: str, path: str, body: Any) -> httpx2.Response:
    try:
        return client.request(method, path, json=body)
    except httpx2.HTTPError as error:
        raise ReplayRefused(f"{method} {path}: {error or type(error).__name__}") from error
