"""C-121: units, zero, zone and sliding of lifetimes."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Clock, running


@pytest.fixture(autouse=True)
def _zone_of_singapore(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process lives in UTC+8, the database in UTC."""
    monkeypatch.setenv("TZ", "Asia/Singapore")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def test_c121_seconds_are_seconds_and_hits_do_not_prolong(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """ttl 2: hit after 1 s, miss after 2.1 s. ttl 10 with a hit every second: a miss from second 10 on."""
    async with running(database_url, tmp_path, clock=clock) as client:
        await client.store("q", "a", ttl_s=2)
        clock.turn(1)
        assert (await client.lookup("q"))["outcome"] == "hit"
        clock.turn(1.1)
        assert (await client.lookup("q"))["outcome"] == "miss"
        await client.store("q", "a", ttl_s=10)
        for second in range(1, 13):
            clock.turn(1)
            outcome = (await client.lookup("q"))["outcome"]
            assert outcome == ("hit" if second < 10 else "miss"), second


async def test_c121_max_age_zero_takes_nothing(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    """Right after a store, `max-age=0` is a miss; without it the entry hits."""
    async with running(database_url, tmp_path, clock=clock) as client:
        await client.store("q", "a")
        found = await client.call(
            "POST",
            "/v1/lookup",
            {"line": "faq", "prompt": "q"},
            headers={"cache-control": "max-age=0"},
        )
        assert found.json()["outcome"] == "miss"
        assert (await client.lookup("q"))["outcome"] == "hit"


@pytest.mark.parametrize("ttl", [0, 0.0, -5, -0.001, False, "60", 1e300])
async def test_c121_zero_and_negative_lifetimes_are_refused(
    sqlite_url: str, tmp_path: Path, ttl: object
) -> None:
    """Never «for ever»: 422 that names the field, and nothing stored."""
    async with running(sqlite_url, tmp_path) as client:
        body = {"line": "faq", "prompt": "q", "response": "a", "ttl_s": ttl}
        reply = await client.call("POST", "/v1/store", body)
        assert reply.status_code == 422
        assert reply.json()["errors"][0]["field"] == "ttl_s"
        assert (await client.lookup("q"))["outcome"] == "miss"
