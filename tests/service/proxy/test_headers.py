"""Headers in both directions, and whose credentials go where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from service.errors import InvalidRequest
from service.proxy import controls
from service.proxy.headers import HeaderList, to_caller, to_upstream
from service.settings import Settings
from tests.service.proxy.rig import Rig, cache_status, chat, rigged

NAMES = st.sampled_from(
    b"connection keep-alive te trailer transfer-encoding upgrade host x-surehit-line x-surehit-key "
    b"authorization x-api-key x-custom openai-organization anthropic-beta accept user-agent".split()
)
LISTS = st.lists(st.tuples(NAMES, st.sampled_from([b"a", b"x-custom", b"close, X-Custom"])))


@given(LISTS, st.booleans())
def test_nothing_of_ours_or_of_one_connection_goes_upstream(
    headers: HeaderList, cached_route: bool
) -> None:
    """Never a key, a header of ours, or one that `Connection` names."""
    sent = {name for name, _ in to_upstream(headers, cached_route=cached_route)}
    named = any(n == b"connection" and b"x-custom" in v.lower() for n, v in headers)
    forbidden = {b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
    forbidden |= {b"host", b"authorization", b"x-api-key"}
    assert not sent & forbidden
    assert not any(name.startswith(b"x-surehit-") for name in sent)
    assert not (named and b"x-custom" in sent)


def test_reply_loses_only_what_belongs_to_the_connection_and_to_caching() -> None:
    """Limits, request ids and retry-after stay, in their order."""
    headers = [
        (b"x-request-id", b"1"),
        (b"connection", b"keep-alive"),
        (b"cache-control", b"no-cache"),
        (b"retry-after", b"7"),
        (b"x-ratelimit-remaining-tokens", b"9"),
    ]
    kept = [n for n, _ in to_caller(headers, cached_route=True)]
    assert kept == [b"x-request-id", b"retry-after", b"x-ratelimit-remaining-tokens"]
    assert (b"cache-control", b"no-cache") in to_caller(headers, cached_route=False)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (b"x-surehit-ttl", b"0"),
        (b"x-surehit-ttl", b"-1"),
        (b"x-surehit-ttl", b"nan"),
        (b"x-surehit-ttl", b"soon"),
        (b"x-surehit-ttl", b"1_0"),
        (b"x-surehit-ttl", "\u0663".encode()),  # an Arabic three
        (b"x-surehit-line", b"l" * 129),
        (b"x-surehit-line", b"a/b"),
        (b"x-surehit-scope", b"s" * 513),
        (b"x-surehit-tags", b"t" * 129),
    ],
)
def test_bad_control_is_refused_by_name(header: bytes, value: bytes) -> None:
    """The message names the header as the caller wrote it."""
    with pytest.raises(InvalidRequest) as raised:
        controls.read([(header, value)])
    assert raised.value.errors[0].field.lower() == header.decode()


def test_directives_have_their_meaning_of_rfc_9111() -> None:
    """Names in any case, several headers, unknown directives ignored."""
    found = controls.read(
        [(b"cache-control", b"No-Cache, max-age=30"), (b"cache-control", b"stale-thing")]
    )
    assert (found.may_serve, found.may_store, found.max_age_s) == (False, True, 30.0)
    assert controls.read([(b"cache-control", b"no-store,no-cache")]).passes_by
    assert not controls.read([(b"cache-control", b"no-store")]).passes_by
    assert controls.read([(b"x-surehit-tags", b"a, b ,,c")]).tags == ("a", "b", "c")
    assert controls.read([(b"x-surehit-scope", "größe".encode())]).scope == "größe"


@pytest.fixture
def keyed(sqlite_url: str, tmp_path: Path) -> Any:
    """A service with an API key and provider keys of its own."""
    with rigged(
        sqlite_url, tmp_path, openai_api_key="sk-house-1234", anthropic_api_key="sk-ant-5678"
    ) as rig:
        yield rig, rig.key("acme")


def seen(rig: Rig) -> dict[str, str]:
    """Headers of the newest upstream call; of keys the fake upstream shows the end."""
    headers: dict[str, str] = rig.calls()["calls"][-1]["headers"]
    return headers


def ask(rig: Rig, path: str, headers: dict[str, str], body: Any = None) -> httpx2.Response:
    """A POST with exactly these headers."""
    return rig.http.post(rig.base + path, json=body or chat("Who pays?"), headers=headers)


CHAT, MESSAGES = "/openai/v1/chat/completions", "/anthropic/v1/messages"


@pytest.mark.parametrize("name", ["authorization", "x-api-key"])
def test_our_key_is_replaced_by_the_house_key(keyed: Any, name: str) -> None:
    """A client that has only one place for a key puts ours there."""
    rig, key = keyed
    reply = ask(rig, CHAT, {name: f"Bearer {key}" if name == "authorization" else key})
    assert reply.status_code == 200
    assert seen(rig)["authorization"] == "…1234"
    assert "x-api-key" not in seen(rig)


def test_each_provider_gets_its_own_house_key(keyed: Any) -> None:
    """The other provider's key goes nowhere else."""
    rig, key = keyed
    body = chat("Who pays?") | {"max_tokens": 10}
    assert ask(rig, MESSAGES, {"authorization": f"Bearer {key}"}, body).status_code == 200
    assert seen(rig)["x-api-key"] == "…5678"
    assert "authorization" not in seen(rig)


def test_callers_own_provider_key_passes_beside_ours(keyed: Any) -> None:
    """`X-Surehit-Key` leaves `Authorization` to the provider; ours never goes upstream."""
    rig, key = keyed
    reply = ask(rig, CHAT, {"authorization": "Bearer sk-mine-9999", "x-surehit-key": key})
    assert reply.status_code == 200
    assert seen(rig)["authorization"] == "…9999"
    assert not any(name.startswith("x-surehit") for name in seen(rig))


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": "Bearer sk-mine"}, {"authorization": "Bearer sh_unknown"}],
)
@pytest.mark.parametrize("path", [CHAT, "/openai/v1/files"])
def test_strangers_are_refused_in_the_providers_shape(
    keyed: Any, headers: dict[str, str], path: str
) -> None:
    """Once a key exists, the house's money is spent for those who have one; a retry cannot help."""
    rig, _ = keyed
    reply = ask(rig, path, headers)
    assert reply.status_code == 401
    assert reply.json()["error"]["code"] == "unauthorized"
    assert reply.headers["x-should-retry"] == "false"
    assert rig.call_count == 0


@pytest.mark.parametrize("bypass", [False, True])
def test_revoked_key_is_refused_at_once(keyed: Any, bypass: bool) -> None:
    """Also for requests that never reach the cache."""
    rig, key = keyed
    headers = {"authorization": f"Bearer {key}"}
    body = chat("Still good?", **({"n": 2} if bypass else {}))
    assert ask(rig, CHAT, headers, body).status_code == 200
    listed = rig.http.get(f"{rig.base}/v1/lines", headers=headers)
    assert listed.status_code == 200
    from service.auth import hash_key
    from service.storage import tenants

    async def revoke() -> None:
        row = await tenants.key_by_hash(rig.cache.db, key_hash=hash_key(key))
        assert row is not None
        await rig.cache.db.write(lambda tx: tenants.revoke(tx, "acme", key_id=row[0], now=2))

    other = rig.key("acme")
    rig.run(revoke())
    assert ask(rig, CHAT, headers, body).status_code == 401
    assert ask(rig, CHAT, {"authorization": f"Bearer {other}"}, body).status_code == 200


def test_cookies_of_an_upstream_stay_with_one_caller(rig: Rig) -> None:
    """The pool keeps none, so no call carries another's."""
    rig.chat("First")
    rig.chat("Second")
    assert "cookie" not in seen(rig)


def test_client_that_sends_no_user_agent_shows_none_of_ours(rig: Rig) -> None:
    """Headers pass as they are; nothing is added but what HTTP needs."""
    with httpx2.Client() as bare:
        request = bare.build_request("POST", rig.base + CHAT, json=chat("Bare"))
        request.headers.clear()
        request.headers.update({"host": "x", "authorization": "Bearer k", "content-length": "118"})
        request.headers["content-length"] = str(len(request.content))
        assert bare.send(request).status_code == 200
    assert set(seen(rig)) <= {"host", "authorization", "content-length", "accept-encoding"}


def test_score_and_status_on_hit_and_near_miss(rig: Rig) -> None:
    """`X-Surehit-Score` where a candidate was compared, and only there."""
    rig.line(threshold=1.0)
    first = rig.chat("How does one reset a password?")
    near = rig.chat("How does one reset a passwords?")
    assert "x-surehit-score" not in first.headers
    assert 0 < float(near.headers["x-surehit-score"]) < 1
    assert cache_status(near) == {"fwd": "miss", "stored": True, "detail": "below-threshold"}


def test_a_header_that_names_the_model_behind_a_gateway_is_in_the_key(
    sqlite_url: str, tmp_path: Path
) -> None:
    """One body, sent through a gateway to two providers, has two answers; what only traces it has one."""
    names = "X-Portkey-Config, x-route"
    with rigged(sqlite_url, tmp_path, key_headers=names, openai_api_key="sk-house") as rig:
        calls = []
        for headers in (
            {"x-portkey-config": "pc-1"},
            {"X-Portkey-Config": "pc-1", "x-trace": "a"},
            {"x-portkey-config": "pc-2"},
            {"x-route": "pc-1"},
            {},
            {"x-portkey-trace-id": "b"},
        ):
            assert ask(rig, CHAT, headers).status_code == 200
            calls.append(rig.call_count)
        assert calls == [1, 1, 2, 3, 4, 4]
        entries = rig.http.get(f"{rig.base}/v1/entries", params={"line": "default"}).json()
        for entry in entries["entries"]:
            whole = rig.http.get(f"{rig.base}/v1/entries/{entry['entry_id']}").text
            assert "pc-1" not in whole  # it may name an account
            assert "pc-2" not in whole


@pytest.mark.parametrize("bad", ["a b", "x,,y", "x:y"])
def test_headers_of_the_key_are_names(bad: str) -> None:
    with pytest.raises(ValidationError, match="key_headers"):
        Settings(key_headers=bad)
