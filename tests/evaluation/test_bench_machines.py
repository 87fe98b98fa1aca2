"""The benchmarks of several workers and of search in the database, small: they run, and what they promise holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.bench import pgvector, workers


def test_search_in_the_database_loses_no_would_be_hit(postgresql_url: str) -> None:
    found = pgvector.run(entries=9_000, queries=40, database_url=postgresql_url)
    assert found["tenants"] == 183
    assert [row["entries"] for row in found["rows"]] == [3, 30, 150, 300, 600, 750, 1500, 3000]
    for row in found["rows"]:
        assert row["would_be_hits"] > 0
        assert row["pgvector"]["recall"] == 1.0, row
    assert "3000" in pgvector.render(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "pgvector"])
def test_two_processes_find_and_drop_as_one(
    kind: str, request: pytest.FixtureRequest, models_dir: Path
) -> None:
    """A store of one is a hit of the other at its first try; no answer after an invalidation has answered."""
    url = "" if kind == "sqlite" else request.getfixturevalue("postgresql_url")
    search = "pgvector" if kind == "pgvector" else "local"
    found = workers.run(rounds=64, models_dir=models_dir, database_url=url, search=search)
    assert found["found_at_first_try"] == 64
    assert (found["stale_answers"], found["not_answered"]) == (0, 0)
    assert found["other_requests"] > 0
