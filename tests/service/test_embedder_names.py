"""A line that names a model nobody has is refused where it is set, not found degraded later."""

from __future__ import annotations

from pathlib import Path

from tests.harness import running
from tests.service.test_cli import surehit


async def test_an_unknown_embedder_is_refused_and_loses_nothing(
    database_url: str, tmp_path: Path
) -> None:
    async with running(database_url, tmp_path) as client:
        await client.line()
        for method in ("PUT", "PATCH"):
            reply = await client.call(method, "/v1/lines/faq", {"embedder": "nonesuch"})
            assert reply.status_code == 422
            (error,) = reply.json()["errors"]
            assert error["field"] == "embedder"
            assert "minilm" in error["message"]
        assert (await client.call("GET", "/v1/lines/faq")).json()["embedder"] is None
        known = await client.call("PATCH", "/v1/lines/faq", {"embedder": "e5-small"})
        assert known.status_code == 200


def test_the_command_line_refuses_it_as_well(tmp_path: Path) -> None:
    bad = surehit(tmp_path, "line", "set", "faq", "embedder=nonesuch")
    assert bad.returncode == 2
    assert "embedder" in bad.stderr
    assert "minilm" in bad.stderr
    assert surehit(tmp_path, "line", "show", "faq").returncode == 1
