"""The service against requests made from its own OpenAPI document: no 5xx, no reply that the document lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from service import fake_upstream
from tests.service.proxy.rig import rigged

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection"
)
EXAMPLES = {"sqlite": "12", "postgresql": "5"}
"""Per route: the routes are the same, the second database only has to take what they write."""


@pytest.mark.parametrize("kind", list(EXAMPLES))
def test_requests_made_from_the_openapi_document(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    assert (
        fake_upstream
    )  # the proxy's routes have an upstream here: without one, 502 would be right
    with rigged(request.getfixturevalue(f"{kind}_url"), tmp_path) as rig:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{rig.base}/openapi.json"),
                *(
                    "--checks",
                    CHECKS,
                    "--max-examples",
                    EXAMPLES[kind],
                    "--seed",
                    "7",
                    "--workers",
                    "1",
                ),
                *("--no-color", "--request-timeout", "30"),
            ],
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": ""},
            capture_output=True,
            text=True,
            timeout=110,
        )
    assert done.returncode == 0, done.stdout[-12_000:]
