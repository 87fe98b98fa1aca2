"""API keys: roles, revocation at once, and the mode without any key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service import auth
from service.storage import tenants
from service.storage.models import ApiKey, Line
from tests.harness import Client, running
from tests.service.ways import problem, rows

HOT: list[tuple[str, str, Any]] = [
    ("POST", "/v1/lookup", {"line": "faq", "prompt": "q"}),
    ("POST", "/v1/lookup", {"line": "fresh", "prompt": "q"}),
    ("POST", "/v1/store", {"line": "faq", "prompt": "q", "response": "a"}),
    ("POST", "/v1/store", {"lookup_id": "LOOKUP", "response": "a"}),
    ("POST", "/v1/explain", {"line": "faq", "a": 1, "b": 2}),
    ("POST", "/v1/invalidate", {"line": "faq"}),
    ("GET", "/v1/lines", None),
    ("GET", "/v1/stats", None),
    ("GET", "/metrics", None),
]


async def _revoke(client: Client, tenant: str) -> None:
    (row,) = [r for r in await tenants.list_keys(client.cache.db, tenant) if r[5] is None]
    assert await client.cache.db.write(
        lambda tx: tenants.revoke(tx, tenant, key_id=row[0], now=2), durable=True
    )


async def test_revoked_key_is_refused_at_once_everywhere(database_url: str, tmp_path: Path) -> None:
    """Also where this worker has just seen it, and where only a lookup id is sent; nothing is made for it."""
    async with running(database_url, tmp_path) as client:
        headers = await client.key("t1")
        await client.key("t2")
        lookup_id = (await client.lookup("q", headers=headers))["lookup_id"]
        await client.store("q2", "a", headers=headers)
        await _revoke(client, "t1")
        for method, path, body in HOT:
            if isinstance(body, dict) and body.get("lookup_id"):
                body = body | {"lookup_id": lookup_id}
            reply = await client.call(method, path, body, headers=headers)
            problem(reply, 401, "unauthorized")
            assert reply.headers["www-authenticate"] == "Bearer"
        assert await rows(client, Line.name) == [("faq",)]
        assert (await client.call("GET", "/healthz", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Basic eDp5", "Bearer sh_wrong", "sh_wrong", "Bearer \xe9"],
)
async def test_bad_credentials_are_401(sqlite_url: str, tmp_path: Path, authorization: str) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await client.key("t1")
        for method, path, body in (HOT[0], HOT[2], HOT[6]):
            reply = await client.call(
                method, path, body, headers={"authorization": authorization.encode("latin-1")}
            )
            problem(reply, 401, "unauthorized")
            problem(await client.call(method, path, body), 401, "unauthorized")


async def test_scheme_is_read_in_any_case(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        key = (await client.key("t1"))["authorization"].split()[1]
        for header in (f"bearer {key}", f"BEARER  {key} "):
            assert (await client.lookup("q", headers={"authorization": header}))["fill"] is not None


@pytest.mark.parametrize(
    ("role", "may_change_lines"), [("use", False), ("review", False), ("admin", True)]
)
async def test_roles(sqlite_url: str, tmp_path: Path, role: str, may_change_lines: bool) -> None:
    """Everybody uses; only an admin changes lines and erases."""
    async with running(sqlite_url, tmp_path) as client:
        headers = await client.key("t1", role=role)
        await client.store("q", "a", headers=headers)
        assert (await client.lookup("q", headers=headers))["outcome"] == "hit"
        for method, path, body in (
            ("PUT", "/v1/lines/x", {}),
            ("PATCH", "/v1/lines/faq", {}),
            ("POST", "/v1/erase", {"scope": "nobody"}),
        ):
            reply = await client.call(method, path, body, headers=headers)
            assert reply.status_code == (200 if may_change_lines else 403), path


async def test_without_any_key_everybody_here_is_the_default_admin(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a header that an SDK insists on; from the first key on nobody is."""
    monkeypatch.setattr(auth, "_RECHECK_S", -1.0)
    async with running(database_url, tmp_path) as client:
        await client.line()
        await client.store("q", "a", headers={"authorization": "Bearer sk-anything"})
        assert (await client.lookup("q"))["outcome"] == "hit"
        headers = await client.key("t1")
        for sent in (None, {"authorization": "Bearer sk-anything"}):
            problem(await client.call(*HOT[0], headers=sent), 401)
        assert (await client.lookup("q", headers=headers))["outcome"] == "miss"


async def test_revoking_the_last_key_opens_nothing(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been stolen; and the service may listen to the world, which it only does with a key."""
    monkeypatch.setattr(auth, "_RECHECK_S", -1.0)
    async with running(database_url, tmp_path) as client:
        headers = await client.key("default")
        await client.store("q", "a", headers=headers)
        await _revoke(client, "default")
        for sent in (headers, None, {"authorization": "Bearer sk-anything"}):
            for method, path, body in HOT:
                problem(await client.call(method, path, body, headers=sent), 401, "unauthorized")
            proxied = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
            reply = await client.call("POST", "/openai/v1/chat/completions", proxied, headers=sent)
            assert reply.status_code == 401
            assert (await client.call("GET", "/metrics", headers=sent)).status_code == 401
        again = await client.key("default", max_stores_per_hour=9)  # another one
        assert (await client.lookup("q", headers=again))["outcome"] == "hit"


async def test_only_the_hash_of_a_key_is_kept(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        text = (await client.key("t1"))["authorization"].split()[1]
        assert len(text) > 40
        (row,) = await rows(client, *ApiKey.__table__.c)
        assert bytes(row[0]) == auth.hash_key(text)
        assert text not in str(row)


async def test_tenant_never_comes_from_the_body(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        headers = await client.key("t1")
        for path, body in (
            ("lookup", HOT[0][2]),
            ("store", HOT[2][2]),
            ("invalidate", {"line": "x"}),
        ):
            reply = await client.call(
                "POST", f"/v1/{path}", body | {"tenant": "t2"}, headers=headers
            )
            problem(reply, 422)


@pytest.mark.parametrize(
    ("origin", "is_refused"),
    [
        ("https://evil.example", True),
        ("http://127.0.0.1.evil.example:8080", True),
        ("http://evil.example:8080", True),
        ("http://[", True),
        ("http://localhost:3000", False),
        ("http://127.0.0.1:8501", False),
        ("http://[::1]:8501", False),
        ("null", False),
        ("vscode-webview://abc", False),
    ],
)
async def test_without_keys_no_web_site_may_use_the_service(
    sqlite_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    origin: str,
    is_refused: bool,
) -> None:
    """A page in a browser on this machine could send such requests without anybody's leave, and plant answers."""
    async with running(sqlite_url, tmp_path) as client:
        for path, body in (
            ("/v1/store", {"line": "faq", "prompt": "q", "response": "planted"}),
            ("/v1/lookup", {"line": "faq", "prompt": "q"}),
            ("/v1/explain", {"line": "faq", "a": "q", "b": "q"}),
            ("/openai/v1/chat/completions", {"model": "m", "messages": []}),
        ):
            reply = await client.http.post(path, json=body, headers={"origin": origin})
            assert (reply.status_code == 403) == is_refused, (path, reply.text)
            if is_refused:
                assert reply.json()["code"] == "cross-site"
        assert (await client.http.get("/healthz", headers={"origin": origin})).status_code == 200
        if is_refused:  # with keys, a page that has one may; no browser sends it by itself
            key = await client.key("t")
            monkeypatch.setattr(auth, "_RECHECK_S", 0.0)
            reply = await client.http.post(
                "/v1/explain",
                json={"line": "faq", "a": "q", "b": "q"},
                headers={"origin": origin} | key,
            )
            assert reply.status_code != 403
