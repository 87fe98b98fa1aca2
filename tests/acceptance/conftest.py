"""Where the cases run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.harness import Client, running
from tests.two_workers import two_workers


@pytest.fixture(params=["one", "two workers"])
async def client(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path
) -> AsyncIterator[Client]:
    """The application in process, and two workers that are asked in turns; on each kind of database."""
    place = running if request.param == "one" else two_workers
    async with place(database_url, tmp_path) as found:
        yield found
