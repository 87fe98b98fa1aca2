"""C-122, the sidecar's form: a fill that began before a purge cannot bring the purged answer back.

test_c122_purge_while_a_call_is_in_the_air.py has the proxy's form (upstream held, ten followers).
"""

from pathlib import Path
from typing import Any

import pytest

from tests.harness import chat, running

PURGES: dict[str, dict[str, Any]] = {
    "tag": {"tag": "price-list"},
    "scope": {"scope": "shop"},
    "line": {"line": "faq"},
    "model": {"model": "m1"},
    "tag_and_line": {"tag": "price-list", "line": "faq"},
}
OTHERS: list[dict[str, Any]] = [{"tag": "price"}, {"scope": "shop2"}, {"model": "m2"}]


@pytest.mark.parametrize("purge", PURGES, ids=str)
async def test_c122_fill_that_began_earlier_is_refused(
    database_url: str, tmp_path: Path, purge: str
) -> None:
    """409 for the old answer; the second request misses and fills, the third hits the new answer."""
    async with running(database_url, tmp_path) as client:
        held = await client.lookup(chat("q"), scope="shop")
        assert held["fill"]
        reply = await client.call("POST", "/v1/invalidate", PURGES[purge])
        assert (reply.status_code, reply.json()) == (200, {"invalidated": 0})
        late = {"lookup_id": held["lookup_id"], "response": "old", "tags": ["price-list"]}
        refused = await client.call("POST", "/v1/store", late)
        assert (refused.status_code, refused.json()["code"]) == (409, "fill-invalidated")
        second = await client.lookup(chat("q"), scope="shop")
        assert second["outcome"] == "miss"
        fresh = {"lookup_id": second["lookup_id"], "response": "new", "tags": ["price-list"]}
        assert (await client.call("POST", "/v1/store", fresh)).status_code == 201
        assert (await client.lookup(chat("q"), scope="shop"))["response"] == "new"


async def test_c122_a_purge_of_something_else_refuses_nothing(
    database_url: str, tmp_path: Path
) -> None:
    """Control: fences that do not cover the fill let it through."""
    async with running(database_url, tmp_path) as client:
        held = await client.lookup(chat("q"), scope="shop")
        for purge in OTHERS:
            assert (await client.call("POST", "/v1/invalidate", purge)).status_code == 200
        late = {"lookup_id": held["lookup_id"], "response": "good", "tags": ["price-list"]}
        assert (await client.call("POST", "/v1/store", late)).status_code == 201
        assert (await client.lookup(chat("q"), scope="shop"))["response"] == "good"
