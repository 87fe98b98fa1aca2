"""Replay into the review queue, against a small stand-in for the service."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from evaluation.audit.records import Record
from evaluation.audit.replay import ReplayRefused, replay


class Service:
    """Lines, lookups and stores as in the contract; near is whatever was stored before on the line."""

    def __init__(self, lines: dict[str, dict[str, Any]] | None = None) -> None:
        self.lines = lines or {}
        self.lookups: list[dict[str, Any]] = []
        self.stored: list[dict[str, Any]] = []

    def __call__(self, call: httpx2.Request) -> httpx2.Response:
        body = json.loads(call.content) if call.content else {}
        path = call.url.path
        if path.startswith("/v1/lines/"):
            name = path.removeprefix("/v1/lines/")
            if call.method == "PUT":
                self.lines[name] = body
            known = self.lines.get(name)
            return httpx2.Response(200 if known else 404, json=known or {})
        if path == "/v1/lookup":
            self.lookups.append(body)
            score = 0.9 if self.stored else None
            reply = {"outcome": "miss", "lookup_id": str(len(self.lookups)), "score": score}
            return httpx2.Response(200, json=reply)
        assert path == "/v1/store"
        self.stored.append(body)
        return httpx2.Response(201, json={"entry_id": "e", "replaced": False})


def client(service: Service) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(service), base_url="http://cache.test")


def rows(n: int, *, response: Any = "an answer") -> list[Record]:
    return [Record(at, f"question {at}", line="faq", response=response) for at in range(n)]


def test_requests_go_to_a_shadow_line_of_their_own_and_answers_are_stored() -> None:
    service = Service()
    with client(service) as http:
        report = replay(rows(3), http)
    assert service.lines == {"audit-faq": {"mode": "shadow"}}
    assert (report.looked_up, report.stored, report.near) == (3, 3, 2)
    assert {look["line"] for look in service.lookups} == {"audit-faq"}


def test_rows_without_an_answer_are_looked_up_and_never_stored() -> None:
    service = Service()
    with client(service) as http:
        report = replay(rows(2, response=None), http)
    assert (report.looked_up, report.stored, report.without_answer) == (2, 0, 2)
    assert service.stored == []


def test_a_line_that_serves_is_never_fed() -> None:
    service = Service({"audit-faq": {"mode": "serve"}})
    with client(service) as http, pytest.raises(ReplayRefused, match="not in shadow"):
        replay(rows(2), http)
    assert service.lookups == []


def test_no_more_rows_are_sent_than_the_limit() -> None:
    service = Service()
    with client(service) as http:
        replay(rows(10), http, limit=4)
    assert len(service.lookups) == 4


def test_the_first_refusal_is_told_in_the_service_own_words() -> None:
    service = Service()

    def strict(call: httpx2.Request) -> httpx2.Response:
        if call.url.path == "/v1/store":
            return httpx2.Response(422, json={"title": "cut off"})
        return service(call)

    with httpx2.Client(transport=httpx2.MockTransport(strict), base_url="http://c.test") as http:
        report = replay(rows(3), http)
    assert (report.looked_up, report.stored, report.refused) == (3, 0, 3)
    assert report.first_refusal is not None
    assert "cut off" in report.first_refusal


def test_a_service_that_is_not_there_is_named() -> None:
    def refuse(call: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("connection refused")

    with (
        httpx2.Client(transport=httpx2.MockTransport(refuse), base_url="http://c.test") as http,
        pytest.raises(ReplayRefused, match="connection refused"),
    ):
        replay(rows(1), http)
