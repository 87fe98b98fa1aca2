"""Two tenants on one service: no route, error or count of one shows anything of the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2

from tests.harness import Client, chat, running

MARKS = {
    "line": "zqline",
    "scope": "zqscope",
    "tag": "zqtag",
    "model": "zqmodel",
    "answer": "zqanswer",
    "prompt": "zqprompt",
    "system": "zqsystem",
    "note": "zqnote",
    "tenant": "zqtenant",
}
"""Words that only tenant A ever uses; none may reach tenant B."""
MARKED = re.compile("zq(?:" + "|".join(mark[2:] for mark in MARKS.values()) + ")")


async def _filled(client: Client) -> dict[str, Any]:
    """Tenant A with an entry, a hit, a near miss, a verdict, an invalidation and a label; its ids."""
    a = await client.key(MARKS["tenant"])
    line = MARKS["line"]
    await client.line(line, headers=a, threshold=0.5)
    asked = chat(
        f"Where is the {MARKS['prompt']} manual",
        model=MARKS["model"],
        messages=[
            {"role": "system", "content": MARKS["system"]},
            {"role": "user", "content": f"Where is the {MARKS['prompt']} manual"},
        ],
    )
    again = asked | {
        "messages": [
            asked["messages"][0],
            {"role": "user", "content": f"Where is the {MARKS['prompt']} manual?"},
        ]
    }
    stored = await client.store(
        asked, MARKS["answer"], line=line, scope=MARKS["scope"], tags=[MARKS["tag"]], headers=a
    )
    found = await client.lookup(asked, line=line, scope=MARKS["scope"], headers=a)
    assert found["response"] == MARKS["answer"]
    near = await client.lookup(again, line=line, scope=MARKS["scope"], headers=a)
    await client.settled()
    items = await client.call("POST", "/v1/review/next", {"line": line}, headers=a)
    return {"entry": stored["entry_id"], "lookup": near["lookup_id"], "items": items.text}


def _filled_in(path: str, ids: dict[str, Any]) -> list[str]:
    """The path with A's names and ids for its parameters, and with made-up ones."""
    names = {"line": MARKS["line"], "entry_id": ids["entry"], "tenant": MARKS["tenant"]}
    own = re.sub(r"\{(\w+)\}", lambda m: str(names.get(m[1], ids["lookup"])), path)
    return [
        own,
        f"{own}?line={MARKS['line']}",
        f"{own}?line={MARKS['line']}&scope={MARKS['scope']}",
    ]


def _shown(reply: httpx2.Response, sent: str) -> set[str]:
    """A's words in body or headers that B did not send itself."""
    text = reply.text + str(dict(reply.headers))
    return {mark for mark in MARKED.findall(text) if mark not in sent}


async def test_no_get_route_shows_another_tenants_words(database_url: str, tmp_path: Path) -> None:
    """Every GET route of the published schema, asked with B's key for A's names and ids."""
    async with running(database_url, tmp_path) as client:
        ids = await _filled(client)
        b = await client.key("tb")
        await client.line("own", headers=b)
        paths = (await client.call("GET", "/openapi.json", headers=b)).json()["paths"]
        walked = [path for path, methods in paths.items() if "get" in methods]
        assert len(walked) >= 10
        for path in walked:
            for asked in _filled_in(path, ids):
                reply = await client.call("GET", asked, headers=b)
                assert reply.status_code < 500, (asked, reply.text)
                assert not _shown(reply, asked), (asked, reply.text[:500])
        for path in walked:  # the same walk finds A's own words with A's key, so it can fail
            if path == "/v1/entries":
                own = await client.call(
                    "GET",
                    f"{path}?line={MARKS['line']}",
                    headers=await client.key(MARKS["tenant"]),
                )
                assert MARKED.search(own.text)


async def test_no_error_shows_another_tenants_words(sqlite_url: str, tmp_path: Path) -> None:
    """Writing routes with A's ids answer as for ids that never were."""
    async with running(sqlite_url, tmp_path) as client:
        ids = await _filled(client)
        b = await client.key("tb")
        nobody = ids["entry"][:-1] + ("A" if ids["entry"][-1] != "A" else "B")
        for method, path, body in (
            ("DELETE", "/v1/entries/{}", None),
            ("GET", "/v1/entries/{}", None),
            ("POST", "/v1/feedback", {"lookup_id": "{}", "verdict": "wrong"}),
            ("POST", "/v1/store", {"lookup_id": "{}", "response": "x"}),
            ("POST", "/v1/invalidate", {"ids": ["{}"]}),
        ):
            replies = []
            for one in (
                ids["entry"] if "entr" in path or "inval" in path else ids["lookup"],
                nobody,
            ):
                given = None
                if body is not None:
                    given = {
                        name: [one] if value == ["{}"] else one if value == "{}" else value
                        for name, value in body.items()
                    }
                reply = await client.call(method, path.format(one), given, headers=b)
                replies.append((reply.status_code, reply.text.replace(one, "ID")))
                assert not _shown(reply, str(given))
            assert replies[0] == replies[1], (method, path)
        found = await client.call(
            "GET", f"/v1/entries/{ids['entry']}", headers=await client.key(MARKS["tenant"])
        )
        assert found.status_code == 200


async def test_counts_of_one_tenant_do_not_move_those_of_another(
    sqlite_url: str, tmp_path: Path
) -> None:
    """All that B can read is the same before and after A's traffic, but for the clock of a process."""
    async with running(sqlite_url, tmp_path) as client:
        b = await client.key("tb")
        await client.line("own", headers=b)
        await client.store("Where is the manual", "a", line="own", headers=b)
        await client.lookup("Where is the manual", line="own", headers=b)
        await client.settled()
        before = await _all_b_reads(client, b)
        await _filled(client)
        after = await _all_b_reads(client, b)
        for path in before:
            assert before[path] == after[path], path


async def _all_b_reads(client: Client, headers: dict[str, str]) -> dict[str, str]:
    paths = ("/v1/lines", "/v1/entries?line=own", "/v1/stats", "/v1/events", "/v1/ledger")
    read = {}
    for path in (*paths, "/v1/review/progress?line=own", "/v1/lines/own/decisions"):
        reply = await client.call("GET", path, headers=headers)
        assert reply.status_code == 200, (path, reply.text)
        read[path] = re.sub(r'"(?:age_s|now|uptime_s|as_of)": ?[\d.]+', "", reply.text)
    metrics = await client.call("GET", "/metrics", headers=headers)
    read["/metrics"] = "\n".join(
        line for line in metrics.text.splitlines() if 'tenant="tb"' in line or "tenant=" not in line
    )
    return read
