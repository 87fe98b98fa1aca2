"""Errors: always a problem document, always 4xx for what a caller sends, never a 5xx."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness import copy_database, running
from tests.service.ways import problem

POSTS = ["lookup", "store", "explain", "feedback", "invalidate", "erase"]
JSON = {"content-type": "application/json"}
DEEP = b"[" * 100_000 + b"]" * 100_000
NO_JSON = [
    b"",
    b"{",
    b"{'a':1}",
    b'{"line":"faq","prompt":"\xff\xfe"}',
    DEEP,
    b"\x00",
    b"NaN",
    b"{}x",
]


@pytest.mark.parametrize("path", POSTS)
async def test_bodies_that_are_no_json_of_ours(sqlite_url: str, tmp_path: Path, path: str) -> None:
    """Malformed, deep, not UTF-8, not an object, with unknown fields: 400 or 422."""
    async with running(sqlite_url, tmp_path) as client:
        bodies = [*NO_JSON, b"[]", b"null", b"7", b'"x"', b"{}", b'{"no_such_field":1}']
        for body in bodies:
            reply = await client.call("POST", f"/v1/{path}", body, headers=JSON)
            assert reply.status_code in (400, 422), (path, body[:40], reply.text)
            problem(reply, reply.status_code)


@pytest.mark.parametrize(
    "path",
    ["entries?line=faq&txet=x", "events?befor=x", "stats?day=1", "lines/faq?x", "ledger?linee=a"],
)
async def test_a_parameter_that_a_call_does_not_have_is_refused(
    sqlite_url: str, tmp_path: Path, path: str
) -> None:
    """A misspelt filter must not show everything."""
    async with running(sqlite_url, tmp_path) as client:
        await client.store("q", "a")
        reply = await client.call("GET", f"/v1/{path}")
        problem(reply, 422)
        name = path.split("?")[1].split("&")[-1].split("=")[0]
        assert reply.json()["errors"][0]["field"] == name
        assert (await client.call("GET", "/healthz?probe=1")).status_code == 200


@pytest.mark.parametrize("path", ["lines/faq", *POSTS])
async def test_oversized_body_is_413_on_every_route(
    sqlite_url: str, tmp_path: Path, path: str
) -> None:
    """Also when it comes in pieces, without a length."""
    method = "PUT" if path.startswith("lines") else "POST"
    async with running(sqlite_url, tmp_path, max_body_mb=1) as client:
        big = b'{"line":"%s"}' % (b"x" * (1 << 20))
        problem(await client.call(method, f"/v1/{path}", big, headers=JSON), 413, "too-large")

        async def pieces() -> Any:
            for _ in range(20):
                yield b"x" * 100_000

        reply = await client.http.request(method, f"/v1/{path}", content=pieces(), headers=JSON)
        problem(reply, 413, "too-large")


UNKEEPABLE: list[tuple[str, str, bytes]] = [
    ("PATCH", "/v1/lines/faq", rb'{"policy_version":"\ud800"}'),
    ("PATCH", "/v1/lines/faq", rb'{"reason":"\ud800"}'),
    ("PATCH", "/v1/lines/faq", rb'{"threshold":NaN}'),
    ("PATCH", "/v1/lines/faq", rb'{"ttl_s":Infinity}'),
    ("PATCH", "/v1/lines/faq", rb'{"embedder":"a\u0000b\ud800"}'),
    ("PUT", "/v1/lines/a%00b", b"{}"),
    ("PUT", "/v1/lines/..%2Fx", b"{}"),
    ("POST", "/v1/invalidate", rb'{"tag":"a\u0000b"}'),
    ("POST", "/v1/invalidate", rb'{"tag":"\ud800"}'),
    ("POST", "/v1/invalidate", rb'{"model":"\u0000"}'),
    ("POST", "/v1/invalidate", b'{"stored_before":Infinity}'),
    ("POST", "/v1/invalidate", b'{"stored_before":1e300}'),
    ("POST", "/v1/invalidate", b'{"stored_before":123456789012345678901234567890}'),
    ("POST", "/v1/erase", rb'{"scope":"\ud800"}'),
    ("POST", "/v1/explain", rb'{"line":"\ud800","a":1,"b":2}'),
    ("POST", "/v1/explain", rb'{"line":"faq","a":"\ud800","b":2}'),
    ("POST", "/v1/feedback", rb'{"lookup_id":"\u0000","verdict":"unsure"}'),
    ("POST", "/v1/feedback", rb'{"lookup_id":"x","verdict":"unsure","note":"\ud800"}'),
    ("POST", "/v1/lookup", rb'{"line":"a\u0000","prompt":"x"}'),
    ("POST", "/v1/lookup", rb'{"line":"faq","scope":"a\u0000","prompt":"x"}'),
    ("POST", "/v1/lookup", b'{"line":"faq","prompt":"x","wait_ms":30001}'),
    ("POST", "/v1/lookup", b'{"line":"faq","prompt":"x","request":{}}'),
    ("POST", "/v1/lookup", b'{"line":"faq","request":{"seed":1e999}}'),
    ("POST", "/v1/store", rb'{"line":"faq","prompt":"x","response":"a","tags":["\u0000"]}'),
    ("POST", "/v1/store", b'{"line":"faq","prompt":"x","response":"a","ttl_s":1e999}'),
    ("GET", "/v1/lines/a%00b", b""),
    ("GET", "/v1/entries?line=a%00b", b""),
    ("GET", "/v1/entries?line=faq&text=%00", b""),
    ("GET", "/v1/entries?line=faq&limit=0", b""),
    ("GET", "/v1/entries?line=faq&before=x", b""),
    ("GET", "/v1/entries", b""),
    ("GET", "/v1/entries/%00", b""),
    ("GET", "/v1/stats?days=0", b""),
    ("GET", "/v1/nothing", b""),
    ("GET", "/v1/lookup", b""),
    ("DELETE", "/v1/lines/faq", b""),
    ("POST", "/nothing", b"{}"),
]


async def test_values_that_no_row_can_hold_are_the_senders_fault(
    database_url: str, tmp_path: Path
) -> None:
    """NUL, half surrogates, numbers without end, wrong methods and paths: 4xx on both databases."""
    async with running(database_url, tmp_path) as client:
        await client.line()
        for method, path, body in UNKEEPABLE:
            reply = await client.call(method, path, body or None, headers=JSON)
            assert 400 <= reply.status_code < 500, (method, path, body, reply.text)
            assert reply.headers["content-type"] == "application/problem+json", (path, body)
            assert reply.json()["status"] == reply.status_code
        assert (await client.call("GET", "/v1/lines/faq")).json()["revision"] == 1
        await client.store("q", "a")
        assert (await client.lookup("q"))["tier"] == "exact"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=4)
    | st.sampled_from(["faq", "user", "text", "\x00", "ent_0000000000000001"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "messages", "input", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
FIELDS = [
    "line", "request", "prompt", "scope", "response", "lookup_id", "ttl_s", "tags", "a", "b", "tag",
    "verdict", "entry_id", "stored_before", "dry_run", "tiers", "wait_ms", "evict", "model",
]  # fmt: skip
BODIES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5).map(
    lambda body: {"line": "faq"} | body
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(POSTS[:5]), BODIES), min_size=4, max_size=8))
def test_nothing_that_is_sent_is_a_5xx(
    sqlite_template: Path, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = copy_database(sqlite_template, Path(folder) / "x.db")
        asyncio.run(_never_5xx(url, folder, sent))


@pytest.fixture(scope="session")
def sqlite_template(_sqlite_template: Path) -> Path:
    """The migrated file; each example copies it."""
    return _sqlite_template


async def _never_5xx(url: str, folder: str, sent: list[tuple[str, dict[str, Any]]]) -> None:
    import json

    async with running(url, Path(folder)) as client:
        for path, body in sent:
            body = body | {"wait_ms": 0} if "wait_ms" in body else body
            reply = await client.call(
                "POST", f"/v1/{path}", json.dumps(body).encode(), headers=JSON
            )
            assert reply.status_code < 500, (path, body, reply.text)
            if reply.status_code >= 400:
                problem(reply, reply.status_code)


async def test_bad_fields_are_named(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("lookup", {"line": "faq"}, "request"),
            ("lookup", {"prompt": "x"}, "line"),
            ("lookup", {"line": "faq", "prompt": 7}, "prompt"),
            ("lookup", {"line": "faq", "prompt": "x", "wait_ms": -1}, "wait_ms"),
            ("lookup", {"line": "faq", "prompt": "x", "thresold": 1}, "thresold"),
            ("lookup", {"line": "a/b", "prompt": "x"}, "line"),
            ("store", {"line": "faq", "prompt": "x"}, "response"),
            ("store", {"line": "faq", "prompt": "x", "response": "a", "ttl_s": 0}, "ttl_s"),
            ("feedback", {"lookup_id": "x"}, "verdict"),
            ("explain", {"line": "faq", "a": 1}, "b"),
        ]
        for path, body, field in cases:
            found = problem(await client.call("POST", f"/v1/{path}", body), 422, "invalid-request")
            assert field in {error["field"] for error in found["errors"]}, (path, body, found)


async def test_an_object_that_is_sent_as_a_form_is_taken_and_other_types_are_told(
    sqlite_url: str, tmp_path: Path
) -> None:
    """`curl -d` says form unless told otherwise, on every route; what says text is somebody's mistake."""
    headers = {"content-type": "application/x-www-form-urlencoded"}
    async with running(sqlite_url, tmp_path) as client:
        await client.line()
        body = b'{"line":"faq","a":"x","b":"y"}'
        reply = await client.http.post("/v1/explain", content=body, headers=headers)
        assert reply.status_code == 200
        change = await client.http.patch("/v1/lines/faq", content=b' {"ttl_s":7}', headers=headers)
        assert change.json()["ttl_s"] == 7
        for sent in ({"content-type": "text/plain"}, headers):
            content = body if sent is not headers else b"line=faq&a=x"
            reply = await client.http.post("/v1/explain", content=content, headers=sent)
            assert reply.status_code == 422
            assert "Content-Type: application/json" in reply.json()["errors"][0]["message"]
        body = b'{"line":"faq","prompt":"x"}'
        assert (
            await client.http.post("/v1/lookup", content=body, headers=headers)
        ).status_code == 200


async def test_lookup_stays_a_miss_while_the_database_takes_no_writes(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Another process holds the write lock: exact hits go on, a miss comes within the budget and says degraded."""
    path = sqlite_url.removeprefix("sqlite:///")
    async with running(sqlite_url, tmp_path, database_budget_ms=100) as client:
        await client.store("known", "a")
        await client.settled()
        held = sqlite3.connect(path, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        try:
            assert (await client.lookup("known"))["tier"] == "exact"
            loop = asyncio.get_running_loop()
            began = loop.time()
            found = await client.lookup("unknown")
            assert (found["reason"], found["fill"]) == ("degraded", True)
            assert loop.time() - began < 2.0
        finally:
            held.execute("ROLLBACK")
            held.close()
        assert (await client.lookup("unknown"))["reason"] != "degraded"


async def test_documentation_names_every_route(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        spec = orjson.loads((await client.call("GET", "/openapi.json")).content)
        routes = {f"/v1/{path}" for path in POSTS} | {"/v1/lines/{line}", "/v1/entries/{entry_id}"}
        assert routes <= spec["paths"].keys()
        for path, field in (("/v1/lookup", "wait_ms"), ("/v1/store", "ttl_s")):
            content = spec["paths"][path]["post"]["requestBody"]["content"]["application/json"]
            assert field in content["schema"]["properties"]
        known = set(spec["components"]["schemas"])
        referred = set(re.findall(r'"#/components/schemas/(\w+)"', orjson.dumps(spec).decode()))
        assert referred <= known
