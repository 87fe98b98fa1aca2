"""`surehit review`: where it may listen and what it tells Streamlit."""

from __future__ import annotations

import ast
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import review_ui
from review_ui import command
from tests.review_ui.conftest import free_port, wait_for

pytestmark = pytest.mark.usefixtures("secrets_free")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_needs_no_configuration(host: str) -> None:
    assert command.refuse(host) == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "", "127.0.0.1.example.com"])
def test_another_address_is_refused_when_nothing_keeps_strangers_out(host: str) -> None:
    assert "SUREHIT_UI_USER_HEADER" in command.refuse(host)


@pytest.mark.parametrize("name", ["SUREHIT_UI_USER_HEADER", "SUREHIT_UI_KEY"])
def test_another_address_is_fine_with_a_proxy_or_a_key(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    assert command.refuse("0.0.0.0") == ""


def test_another_address_is_fine_with_an_identity_provider(tmp_path: Path) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text('[auth]\nclient_id = "x"\n')
    assert command.refuse("0.0.0.0") == ""


def test_the_command_says_why_and_exits_with_2() -> None:
    app = typer.Typer()
    command.register(app)

    @app.command()
    def other() -> None:
        """A second command, so that the first keeps its name."""

    done = CliRunner().invoke(app, ["review", "--host", "0.0.0.0"])
    assert done.exit_code == 2
    assert "keep strangers out" in done.output


@pytest.mark.slow
def test_whoever_ends_the_command_ends_the_page() -> None:
    port = free_port()
    command_line = [sys.executable, "-m", "service.cli", "review", "--port", str(port)]
    process = subprocess.Popen(command_line)
    wait_for(f"http://127.0.0.1:{port}/_stcore/health")
    process.terminate()
    process.wait(30)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_nothing_is_sent_anywhere_and_the_host_is_checked() -> None:
    flags = command.flags("127.0.0.1", 8501)
    assert "--browser.gatherUsageStats=false" in flags
    assert "--server.address=127.0.0.1" in flags
    assert "--server.allowedHosts=localhost" in flags


def test_behind_a_proxy_its_own_name_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREHIT_UI_USER_HEADER", "X-User")
    assert not [flag for flag in command.flags("127.0.0.1", 8501) if "allowedHosts" in flag]


def test_the_page_has_no_way_round_the_service() -> None:
    """No SQL and no statistics in the page: it imports nothing of the other packages."""
    folder = Path(review_ui.__file__).parent
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            roots = {name.split(".")[0] for name in names}
            assert not roots & {"service", "index", "evaluation", "sqlalchemy", "numpy", "scipy"}, (
                path
            )


def test_no_file_of_the_page_shadows_a_package() -> None:
    """`streamlit run review_ui/app.py` puts the folder first on the path."""
    folder = Path(review_ui.__file__).parent
    names = {path.stem for path in folder.iterdir()}
    assert not names & {"service", "index", "evaluation", "tests", "migrations", "review_ui"}
