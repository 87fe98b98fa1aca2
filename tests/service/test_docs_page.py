"""The page of the API's documentation works where nothing but the service can be reached."""

from __future__ import annotations

import re
from pathlib import Path

from tests.harness import running


async def test_the_documentation_takes_nothing_from_elsewhere(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path) as client:
        html = (await client.http.get("/docs")).text
        taken = re.findall(r"""<(?:script|link|img)[^>]*(?:src|href)=["']([^"']+)""", html)
        assert any(address.endswith(".js") for address in taken)
        for address in taken:
            assert address.startswith("/")
            reply = await client.http.get(address)
            assert (reply.status_code, len(reply.content) > 1000) == (200, True), address
        assert "/openapi.json" in html
