"""C-116: an upstream's error must not be stored, nor be given to those who ask later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.proxy.rig import cache_status, rigged


@pytest.mark.parametrize("stream", [False, True])
def test_c116_errors_pass_and_only_the_good_answer_is_stored(
    database_url: str, tmp_path: Path, stream: bool
) -> None:
    """503, 400, the answer, a hit; three calls."""
    with rigged(database_url, tmp_path) as rig:
        rig.fault(status=503)
        rig.fault(status=400)
        assert rig.chat("Q", stream=stream).status_code == 503
        assert rig.chat("Q", stream=stream).status_code == 400
        assert rig.count_entries() == 0
        good = rig.chat("Q", stream=stream)
        assert (good.status_code, cache_status(good)["fwd"]) == (200, "miss")
        assert cache_status(rig.chat("Q", stream=stream))["detail"] == "exact"
        assert rig.call_count == 3


def test_c116_an_error_under_status_200_is_not_stored(database_url: str, tmp_path: Path) -> None:
    """Some gateways report failures that way."""
    with rigged(database_url, tmp_path) as rig:
        rig.fault(error_in_200=True)
        assert "error" in rig.chat("Q").json()
        assert rig.count_entries() == 0
        assert cache_status(rig.chat("Q"))["fwd"] == "miss"
