"""Lines as they are in force: created by use, reread on change, bounded in number."""

from __future__ import annotations

from pathlib import Path

import pytest

from service import policy
from tests.harness import running
from tests.service.ways import problem


async def test_a_line_appears_in_shadow_when_first_used(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path) as client:
        await client.lookup("q", line="new")
        line = (await client.call("GET", "/v1/lines/new")).json()
        assert (line["mode"], line["certified"], line["revision"]) == ("shadow", False, 1)
        assert [change["by"] for change in line["changes"]] == ["first use"]


async def test_implicit_lines_are_bounded_and_explicit_ones_are_not(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typing slip in a loop stays small."""
    monkeypatch.setattr(policy, "MAX_IMPLICIT_LINES", 3)
    async with running(sqlite_url, tmp_path) as client:
        for n in range(3):
            await client.lookup("q", line=f"line {n}")
        refused = await client.call("POST", "/v1/lookup", {"line": "line 3", "prompt": "q"})
        assert problem(refused, 422)["errors"][0]["field"] == "line"
        await client.line("line 3")
        await client.lookup("q", line="line 3")
        assert len((await client.call("GET", "/v1/lines")).json()["lines"]) == 4


async def test_concurrent_first_uses_make_one_line(database_url: str, tmp_path: Path) -> None:
    import asyncio

    async with (
        running(database_url, tmp_path) as one,
        running(database_url, tmp_path) as two,
    ):
        found = await asyncio.gather(*(c.lookup(f"q{n}") for n in range(8) for c in (one, two)))
        assert {f["outcome"] for f in found} == {"miss"}
        line = (await one.call("GET", "/v1/lines/faq")).json()
        assert (line["revision"], len(line["changes"])) == (1, 1)


async def test_new_policy_version_retires_and_the_old_one_revives(
    database_url: str, tmp_path: Path
) -> None:
    """At once, in both tiers, and it can be rolled back."""
    async with running(database_url, tmp_path) as client:
        await client.line()
        await client.store("Where is the manual", "v1")
        await client.call("PATCH", "/v1/lines/faq", {"policy_version": "2"})
        for text in ("Where is the manual", "Where is the manual?"):
            assert (await client.lookup(text))["reason"] == "empty"
        await client.store("Where is the manual", "v2")
        assert (await client.lookup("Where is the manual"))["response"] == "v2"
        await client.call("PATCH", "/v1/lines/faq", {"policy_version": "1"})
        assert (await client.lookup("Where is the manual"))["response"] == "v1"
        assert (await client.lookup("Where is the manual?"))["response"] == "v1"


async def test_fill_that_began_under_the_old_version_stays_with_it(
    database_url: str, tmp_path: Path
) -> None:
    """An answer of the old release never appears under the new one."""
    async with running(database_url, tmp_path) as client:
        await client.line()
        begun = await client.lookup("q")
        await client.call("PATCH", "/v1/lines/faq", {"policy_version": "2"})
        late = {"lookup_id": begun["lookup_id"], "response": "old"}
        assert (await client.call("POST", "/v1/store", late)).status_code == 201
        assert (await client.lookup("q"))["outcome"] == "miss"
        await client.call("PATCH", "/v1/lines/faq", {"policy_version": "1"})
        assert (await client.lookup("q"))["response"] == "old"


async def test_refused_change_changes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await client.line(threshold=0.91)
        refused = await client.call("PATCH", "/v1/lines/faq", {"mode": "exact", "threshold": 2})
        assert problem(refused, 422)["errors"][0]["field"] == "threshold"
        line = (await client.call("GET", "/v1/lines/faq")).json()
        assert (line["mode"], line["threshold"], line["revision"]) == ("serve", 0.91, 1)
        problem(await client.call("PATCH", "/v1/lines/none", {}), 404, "not-found")
        problem(await client.call("GET", "/v1/lines/none"), 404, "not-found")
