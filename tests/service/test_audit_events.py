"""The log of administrative acts: complete, per tenant, without anything that somebody wrote."""

from __future__ import annotations

from pathlib import Path

import orjson

from tests.harness import running
from tests.service.test_cli import surehit


async def test_acts_are_written_down(database_url: str, tmp_path: Path) -> None:
    """Who did what, newest first; no prompt, no answer, no name of a scope."""
    async with running(database_url, tmp_path) as client:
        headers = await client.key("t1")
        await client.line(headers=headers, reason="first")
        await client.line(headers=headers, threshold=0.95)
        await client.store("secret prompt", "secret answer", headers=headers, scope="anna")
        await client.call("POST", "/v1/invalidate", {"tag": "doc:1"}, headers=headers)
        kept = await client.store("other secret", "secret answer", headers=headers)
        await client.call("DELETE", f"/v1/entries/{kept['entry_id']}", headers=headers)
        await client.call("POST", "/v1/erase", {"scope": "anna"}, headers=headers)
        reply = await client.call("GET", "/v1/events", headers=headers)
        events = reply.json()["events"]
        acts = [event["act"] for event in events]
        assert acts == [
            "erase",
            "invalidate",
            "invalidate",
            "invalidate",
            "line.change",
            "line.create",
        ]
        assert all(event["by"].startswith("key_") for event in events)
        assert events[0]["detail"]["entries"] == 1
        assert events[2]["detail"]["entry_id"] == kept["entry_id"]
        assert events[5]["detail"]["reason"] == "first"
        assert "secret" not in reply.text
        assert "anna" not in reply.text


async def test_pages_and_other_tenants(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        headers = await client.key("t1")
        for threshold in (0.9, 0.91, 0.92):
            await client.line(headers=headers, threshold=threshold)
        first = (await client.call("GET", "/v1/events?limit=2", headers=headers)).json()
        rest = await client.call("GET", f"/v1/events?before={first['next']}", headers=headers)
        found = first["events"] + rest.json()["events"]
        assert len({event["id"] for event in found}) == 3
        other = await client.call("GET", "/v1/events", headers=await client.key("t2"))
        assert other.json() == {"events": [], "next": None}
        weak = await client.key("t1", role="use")
        assert (await client.call("GET", "/v1/events", headers=weak)).status_code == 403
        bad = await client.call("GET", "/v1/events?before=x", headers=headers)
        assert bad.status_code == 422


def test_keys_made_and_revoked_on_the_command_line(tmp_path: Path) -> None:
    made = orjson.loads(surehit(tmp_path, "key", "create", "--json").stdout)
    assert surehit(tmp_path, "key", "revoke", made["id"]).returncode == 0
    shown = surehit(tmp_path, "events", "--json").stdout
    assert [event["act"] for event in orjson.loads(shown)] == ["key.revoke", "key.create"]
    assert made["key"] not in shown
    assert made["id"] in surehit(tmp_path, "events").stdout
