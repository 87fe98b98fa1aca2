"""One service in front of one fake upstream per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.proxy.rig import Rig, rigged


@pytest.fixture
def rig(sqlite_url: str, tmp_path: Path) -> Iterator[Rig]:
    """Service and upstream, with the embedded database and no API key."""
    with rigged(sqlite_url, tmp_path) as found:
        yield found
