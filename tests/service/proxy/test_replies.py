"""What the proxy says about itself: `Cache-Status` as RFC 9211 has it, and the routes in the OpenAPI document."""

from __future__ import annotations

from pathlib import Path

import http_sf
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import fake_upstream
from service.app import create_app
from service.decision import MissReason
from service.errors import SurehitError, Unauthorized, Unavailable
from service.guards import GUARDS
from service.outcome import Forward, Hit, Miss, Tier
from service.proxy import replies
from service.proxy.upstream import UpstreamFailed, UpstreamTimedOut
from service.settings import Settings
from tests.service.proxy.rig import chat

REGISTERED = {"hit", "fwd", "fwd-status", "ttl", "stored", "collapsed", "key", "detail"}
FORWARDS = ("bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial")


def parameters(headers: list[tuple[bytes, bytes]]) -> dict[str, object]:
    """The parameters of the only `Cache-Status` member."""
    value = dict(headers)[b"cache-status"]
    ((name, found),) = http_sf.parse(value, tltype="list")
    assert str(name) == "surehit"
    return dict(found)


@given(
    st.sampled_from(MissReason),
    st.none() | st.sampled_from(sorted(GUARDS)),
    st.none() | st.sampled_from(["miss", "request", "bypass"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_miss_is_a_structured_field_of_registered_parameters(
    reason: MissReason,
    guard: str | None,
    forward: Forward | None,
    stored: bool,
    collapsed: bool,
    is_off: bool,
) -> None:
    """Never `hit` beside `fwd`, never a parameter or a forward reason of our own making; the sidecar says the same."""
    miss = Miss("lkp_1", reason, 0.5 if guard else None, guard, is_off=is_off)
    found = parameters(
        replies.miss_headers(miss, forward=forward, stored=stored, collapsed=collapsed)
    )
    assert set(found) <= REGISTERED
    assert "hit" not in found
    assert str(found["fwd"]) in FORWARDS
    assert isinstance(found["detail"], http_sf.Token)
    assert found.get("stored", False) is stored
    assert found.get("collapsed", False) is collapsed
    if forward is None:
        assert str(found["fwd"]) == ("bypass" if is_off else "miss")
        ((_, alone),) = http_sf.parse(miss.cache_status().encode(), tltype="list")
        assert (alone["fwd"], alone["detail"]) == (found["fwd"], found["detail"])


@given(
    st.sampled_from(["exact", "semantic"]),
    st.none() | st.integers(-(10**9), 10**9),
    st.integers(0, 10**9),
)
def test_every_hit_is_a_structured_field_with_its_ttl(
    tier: Tier, ttl_s: int | None, age_s: int
) -> None:
    """`ttl` is an integer, below zero for what is served past its end, absent for what has no end (RFC 9211 §2.4)."""
    now = 10**12
    expires = None if ttl_s is None else now + ttl_s * 1000
    hit = Hit("lkp_1", tier, 1, b"{}", now - age_s * 1000, expires, now)
    ((name, found),) = http_sf.parse(hit.cache_status().encode(), tltype="list")
    assert str(name) == "surehit"
    assert found["hit"] is True
    assert found.get("ttl") == ttl_s
    assert set(found) <= {"hit", "ttl", "detail"}
    assert str(found["detail"]) == tier


@pytest.mark.parametrize(
    ("error", "may_retry"),
    [
        (Unauthorized(), False),
        (replies.NotCached(), False),
        (Unavailable(), True),
        (UpstreamFailed(), True),
        (UpstreamTimedOut(), True),
        (SurehitError(), True),
    ],
)
def test_clients_are_told_when_a_retry_cannot_help(error: SurehitError, may_retry: bool) -> None:
    """The SDKs try twice more unless told not to."""
    for provider in ("openai", "anthropic"):
        headers, body = replies.error(provider, error)  # type: ignore[arg-type]  # both literals
        assert ((b"x-should-retry", b"false") in headers) is not may_retry
        assert b"error" in body


def test_routes_are_documented_and_work_without_the_hot_path(
    sqlite_url: str, tmp_path: Path
) -> None:
    """An application that mounts FastAPI alone gets the same proxy."""
    with fake_upstream.running(fake_upstream.create_app()) as upstream:
        settings = Settings(
            database_url=sqlite_url, data_dir=tmp_path, openai_base_url=f"{upstream}/v1"
        )
        inner = create_app(settings)._app  # type: ignore[attr-defined]  # FastAPI behind the hot path
        with fake_upstream.running(inner) as base, httpx2.Client(timeout=30) as http:
            paths = http.get(f"{base}/openapi.json").json()["paths"]
            assert {
                "/openai/v1/chat/completions",
                "/openai/v1/responses",
                "/openai/v1/embeddings",
                "/anthropic/v1/messages",
                "/v1/ledger",
            } <= set(paths)
            headers = {"authorization": "Bearer k", "x-surehit-line": "exact-only"}
            http.put(f"{base}/v1/lines/exact-only", json={"mode": "exact"})
            for expected in ("fwd=miss", "hit"):
                reply = http.post(
                    f"{base}/openai/v1/chat/completions", json=chat("Hi"), headers=headers
                )
                assert expected in reply.headers["cache-status"]
            assert http.get(f"{base}/openai/v1/models", headers=headers).status_code == 200
