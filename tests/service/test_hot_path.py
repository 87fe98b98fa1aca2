"""The plain ASGI handler and the FastAPI routes behind it give the same replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.harness import Clock, running

ASKED = "Where is the manual"
SENT: list[tuple[str, Any, dict[str, str]]] = [
    ("lookup", {"line": "faq", "prompt": ASKED}, {}),
    ("lookup", {"line": "faq", "prompt": ASKED + "?"}, {}),
    ("lookup", {"line": "faq", "prompt": ASKED}, {"cache-control": "max-age=0"}),
    ("lookup", {"line": "faq", "prompt": ASKED}, {"cache-control": "no-cache"}),
    ("lookup", {"line": "faq", "prompt": "unlike"}, {}),
    ("lookup", {"line": "faq", "prompt": ""}, {}),
    ("lookup", {"line": "faq", "prompt": "x", "tiers": []}, {}),
    ("lookup", {"line": "faq"}, {}),
    ("lookup", {"line": "faq", "prompt": "x", "y": 1}, {}),
    ("lookup", b"{", {}),
    ("lookup", b"\xff", {}),
    ("store", {"line": "faq", "prompt": "new", "response": "a"}, {}),
    ("store", {"line": "faq", "prompt": "new", "response": ""}, {}),
    ("store", {"line": "faq", "prompt": "new", "response": "a", "ttl_s": 0}, {}),
    ("store", {"lookup_id": "lkp_0000000000000001", "response": "a"}, {}),
    ("store", b'"x"', {}),
    ("lookup", {"line": "faq", "prompt": ASKED}, {"authorization": "Bearer wrong"}),
    ("store", {"line": "faq", "prompt": "n", "response": "a"}, {"authorization": "Basic x"}),
]
OWN = {"lookup_id", "entry_id"}


@pytest.mark.parametrize("with_key", [False, True])
async def test_hot_path_and_routes_agree(
    sqlite_url: str, tmp_path: Path, clock: Clock, with_key: bool
) -> None:
    """Status, headers and body, but for the ids that each makes."""
    async with running(sqlite_url, tmp_path, clock=clock) as client:
        headers = await client.key("t1") if with_key else {}
        await client.line(headers=headers)
        await client.store(ASKED, {"n": 1.0}, headers=headers, ttl_s=100)
        clock.turn(7)
        inner: Any = client.app._app
        transport = httpx2.ASGITransport(app=inner, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as slow:
            for n, (path, body, more) in enumerate(SENT):
                content = (
                    {"content": body} if isinstance(body, bytes) else {"json": _as(body, "s", n)}
                )
                second = content if "content" in content else {"json": _as(body, "h", n)}
                sent = headers | {"content-type": "application/json"} | more
                expected = await slow.post(f"/v1/{path}", headers=sent, **content)
                got = await client.http.post(f"/v1/{path}", headers=sent, **second)
                assert got.status_code == expected.status_code, (path, body)
                assert _headers(got) == _headers(expected), (path, body)
                assert _body(got) == _body(expected), (path, body)


def _as(body: Any, who: str, n: int) -> Any:
    """A store of a prompt of one's own, and a first miss too: replaced or fill would differ otherwise."""
    own = dict(body)
    if body.get("prompt") in ("new", "unlike"):
        own["scope"] = f"{who}{n}"
    return own


def _headers(reply: Any) -> dict[str, str]:
    assert int(reply.headers["content-length"]) == len(reply.content)
    own = ("x-surehit-lookup-id", "content-length")  # `fill` is false for the second who asks
    return {k: v for k, v in reply.headers.items() if k not in own} | {
        "has_id": str("x-surehit-lookup-id" in reply.headers)
    }


def _body(reply: Any) -> Any:
    found = reply.json()
    return {k: (bool(v) if k in OWN else v) for k, v in found.items() if k != "fill"}
