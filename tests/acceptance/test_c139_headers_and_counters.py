"""C-139: every reply says what it is, and the counters add up to the number of requests."""

from __future__ import annotations

import time
from pathlib import Path

import httpx2

from index.testing import RiggedEmbedder
from tests.service.proxy.rig import Rig, cache_status, rigged

ASKED = "How do I enable audit logging for a workspace?"
REWORDED = "How can I switch on audit logging for a workspace?"
OPPOSITE = "How do I disable audit logging for a workspace?"
FAR = "Which plan includes single sign-on?"
RIGGED = RiggedEmbedder(
    {
        (ASKED, REWORDED): 0.95,
        (ASKED, OPPOSITE): 0.97,
        (REWORDED, OPPOSITE): 0.95,
        (ASKED, FAR): 0.4,
        (REWORDED, FAR): 0.4,
        (OPPOSITE, FAR): 0.4,
    }
)


def stored(rig: Rig, reply: httpx2.Response, entries: int) -> httpx2.Response:
    """The reply, once its answer is stored: until then the same request shares its call and is no hit."""
    ends = time.monotonic() + 20
    while rig.count_entries() < entries:
        assert time.monotonic() < ends
        time.sleep(0.02)
    return reply


def test_c139_each_reply_says_what_it_is(database_url: str, tmp_path: Path) -> None:
    """Outcome, tier, score, entry, age; and one count per request."""
    with rigged(database_url, tmp_path, embedder=RIGGED) as rig:
        rig.line()
        seen: list[tuple[str, httpx2.Response]] = []
        for stream in (False, True):
            scope = {"x-surehit-scope": f"stream-{stream}"}
            seen += [
                (
                    "miss",
                    stored(rig, rig.chat(ASKED, stream=stream, headers=scope), 3 * stream + 1),
                ),
                ("exact", rig.chat(ASKED, stream=stream, headers=scope)),
                ("semantic", rig.chat(REWORDED, stream=stream, headers=scope)),
                ("guarded", rig.chat(OPPOSITE, stream=stream, headers=scope)),
                ("near miss", rig.chat(FAR, stream=stream, headers=scope)),
            ]
        by_passed = {"cache-control": "no-store, no-cache"}
        seen.append(("bypass", rig.chat(ASKED, headers=by_passed)))
        for kind, reply in seen:
            status = cache_status(reply)
            assert reply.headers["cache-control"] == "private, no-store"
            if kind in ("exact", "semantic"):
                assert (status["hit"], status["detail"]) == (True, kind)
                assert reply.headers["x-surehit-entry-id"].startswith("ent_")
                assert int(reply.headers["age"]) >= 0
            else:
                assert status["fwd"] == ("bypass" if kind == "bypass" else "miss")
                assert "age" not in reply.headers
                assert "x-surehit-entry-id" not in reply.headers
            assert ("x-surehit-lookup-id" in reply.headers) == (kind != "bypass")
            scored = kind in ("semantic", "guarded", "near miss")
            assert ("x-surehit-score" in reply.headers) == scored
        assert [cache_status(r)["detail"] for kind, r in seen if kind == "guarded"] == [
            "guard-antonym"
        ] * 2
        assert rig.metric("surehit_lookups_total") == len(seen)
        assert rig.metric("surehit_proxy_requests_total") == len(seen)
        expected = {"exact_hit": 2, "semantic_hit": 2, "miss": 6, "bypass": 1}
        for outcome, n in expected.items():
            assert rig.metric("surehit_proxy_requests_total", outcome=outcome) == n
        assert rig.metric("surehit_lookups_total", tier="exact", outcome="hit") == 2
        assert rig.metric("surehit_lookups_total", tier="semantic", outcome="hit") == 2
        assert rig.metric("surehit_lookups_total", reason="guarded") == 2
        assert rig.metric("surehit_lookups_total", outcome="bypass") == 1


def test_c139_counters_rise_by_one_per_request(sqlite_url: str, tmp_path: Path) -> None:
    """After each single request."""
    with rigged(sqlite_url, tmp_path, embedder=RIGGED) as rig:
        rig.line()
        for n, text in enumerate((ASKED, ASKED, REWORDED, OPPOSITE, FAR), start=1):
            rig.chat(text)
            assert rig.metric("surehit_lookups_total") == n
            assert rig.metric("surehit_proxy_requests_total") == n
