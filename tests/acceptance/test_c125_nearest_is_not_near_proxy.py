"""C-125, the proxy's path: hits exactly at and over the threshold, each reporting its similarity."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.testing import RiggedEmbedder
from tests.acceptance.test_c125_nearest_is_not_near import AT, STORED
from tests.service.proxy.rig import cache_status, rigged


@pytest.mark.parametrize("asked", AT)
def test_c125_proxy_serves_what_the_lookup_would(
    sqlite_url: str, tmp_path: Path, asked: str
) -> None:
    """The first request of the empty tenant is a miss, not an error."""
    similarity = AT[asked]
    with rigged(
        sqlite_url, tmp_path, embedder=RiggedEmbedder({(STORED, asked): similarity})
    ) as rig:
        rig.line(threshold=0.9)
        first = rig.chat(STORED)
        assert (first.status_code, cache_status(first)["detail"]) == (200, "empty")
        reply = rig.chat(asked)
        assert float(reply.headers["x-surehit-score"]) == pytest.approx(similarity, abs=1e-6)
        if similarity >= 0.9:
            assert cache_status(reply)["detail"] == "semantic"
            assert rig.call_count == 1
        else:
            assert cache_status(reply)["detail"] == "below-threshold"
            assert rig.call_count == 2
