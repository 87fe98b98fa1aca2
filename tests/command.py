"""The `surehit` command in the process of the test, for tests that are not about processes."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import structlog

from service import cli


def surehit(data: Path, *arguments: str, **environment: str) -> CompletedProcess[str]:
    """Run a command on a data directory; exit code and output are those that a shell would see."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"SUREHIT_DATA_DIR": str(data), **environment}.items():
            patched.setenv(name, value)
        patched.setattr(sys, "argv", ["surehit", *arguments])
        for joined in ("registered_commands", "registered_groups"):
            patched.setattr(cli.app, joined, list(getattr(cli.app, joined)))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                cli.main()
            except SystemExit as end:
                code = end.code
            finally:
                structlog.reset_defaults()
    assert isinstance(code, int), code
    return CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
