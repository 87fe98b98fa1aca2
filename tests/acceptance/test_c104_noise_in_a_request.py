"""C-104: what a client adds to each request (ids, traces, key order) must not cost the hit.

The case's proxy prepends a note of its own to requests, which then never match their stored form. Surehit never
rewrites a request: its bytes go upstream as they came, so there is no note to configure and nothing to match wrongly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.service.proxy.rig import cache_status, rigged

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}


def request(noise: int, *, swapped: bool = False, backwards: bool = False) -> dict[str, Any]:
    """The same request with other noise; `backwards` writes all keys in the other order."""
    messages = [
        {"id": f"msg_{noise}_1", "role": "user", "content": "First"},
        {"id": f"msg_{noise}_2", "role": "user", "content": "Second"},
    ]
    body = {
        "model": "fake-small",
        "metadata": {"trace_id": f"a{noise}"},
        "messages": messages[::-1] if swapped else messages,
        "tools": [
            {"type": "function", "function": {"name": name, "parameters": SCHEMA}}
            for name in ("one", "two")
        ],
    }
    return _backwards(body) if backwards else body


def _backwards(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _backwards(value[name]) for name in reversed(value)}
    return [_backwards(item) for item in value] if isinstance(value, list) else value


def test_c104_noise_is_not_part_of_the_key(database_url: str, tmp_path: Path) -> None:
    """One call, one entry; the order of two messages is no noise."""
    with rigged(database_url, tmp_path) as rig:
        path = "/openai/v1/chat/completions"
        rig.post(path, request(1), headers={"x-request-id": "r1", "user-agent": "one"})
        again = rig.post(
            path, request(2, backwards=True), headers={"x-request-id": "r2", "user-agent": "two"}
        )
        assert cache_status(again)["detail"] == "exact"
        assert rig.call_count == 1
        assert rig.count_entries() == 1
        assert cache_status(rig.post(path, request(3, swapped=True)))["fwd"] == "miss"
