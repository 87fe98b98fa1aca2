"""The npm `openai` client, where node and the package can be had: same results as directly, then from the cache."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.service.proxy.rig import Rig

SCRIPT = Path(__file__).with_name("openai_client.mjs")


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "install", "openai", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=90)
    except subprocess.TimeoutExpired:
        pytest.skip("the npm registry did not answer in time")
    if done.returncode != 0:
        pytest.skip(f"npm could not install openai: {done.stderr.decode()[-200:]}")
    shutil.copy(SCRIPT, folder)
    return folder


def ask(folder: Path, base_url: str) -> dict[str, Any]:
    """Run the script against a base URL."""
    done = subprocess.run(
        ["node", SCRIPT.name, base_url], cwd=folder, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_npm_client_cannot_tell_the_difference(node_folder: Path, rig: Rig) -> None:
    """Whole, streamed, tool call, response, embedding, pass-through, error."""
    direct = ask(node_folder, f"{rig.upstream}/v1")
    before = rig.call_count
    first = ask(node_folder, f"{rig.base}/openai/v1")
    between = rig.call_count
    second = ask(node_folder, f"{rig.base}/openai/v1")
    assert direct["found"] == first["found"] == second["found"]
    assert direct["found"]["tool"]
    assert (first["status"], second["status"]) == (
        "surehit; fwd=miss; stored; detail=empty",
        "surehit; hit; detail=exact",
    )
    assert between - before == 5  # the refused one and the list of models are not counted
    assert rig.call_count == between
