"""The command line as its user meets it: real processes, exit codes, JSON."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer

from evaluation.bench.processes import free_port


def surehit(
    data: Path, *arguments: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command on a data directory of its own."""
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments],
        cwd=cwd,
        env={**os.environ, "SUREHIT_DATA_DIR": str(data), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_line_is_set_shown_and_listed(tmp_path: Path) -> None:
    """A line made by hand is uncertified; nested settings are reached by dots."""
    made = surehit(
        tmp_path,
        "line",
        "set",
        "faq",
        "mode=serve",
        "threshold=0.91",
        "sampling.certify_rate=0.5",
        "--json",
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["sampling"]["certify_rate"] == 0.5
    assert surehit(tmp_path, "line", "set", "faq", "ttl_s=60").returncode == 0
    shown = json.loads(surehit(tmp_path, "line", "show", "faq", "--json").stdout)
    assert (shown["threshold"], shown["ttl_s"], shown["certified"]) == (0.91, 60.0, False)
    assert "uncertified" in surehit(tmp_path, "line", "list").stdout


def test_bad_setting_names_field_and_range(tmp_path: Path) -> None:
    """Misuse ends with 2 and says what was wrong; an absent line is the answer no."""
    bad = surehit(tmp_path, "line", "set", "faq", "threshold=1.5")
    assert bad.returncode == 2
    assert "threshold" in bad.stderr
    assert "1.0" in bad.stderr
    assert surehit(tmp_path, "line", "show", "nothing").returncode == 1
    assert surehit(tmp_path, "key", "create", "--role", "king").returncode == 2


def test_key_is_shown_once_and_revoked(tmp_path: Path) -> None:
    """The list never holds the key itself; revoking twice is the answer no."""
    made = json.loads(surehit(tmp_path, "key", "create", "--tenant", "acme", "--json").stdout)
    listed = surehit(tmp_path, "key", "list", "--tenant", "acme", "--json").stdout
    assert made["id"] in listed
    assert made["key"] not in listed
    assert made["key"].encode() not in (tmp_path / "surehit.db").read_bytes()
    assert surehit(tmp_path, "key", "revoke", made["id"], "--tenant", "acme").returncode == 0
    assert surehit(tmp_path, "key", "revoke", made["id"], "--tenant", "acme").returncode == 1


def test_open_address_without_a_key_is_refused(tmp_path: Path) -> None:
    """Beyond loopback somebody must have made a key first, and the refusal names the command."""
    refused = surehit(tmp_path, "serve", "--host", "0.0.0.0", "--port", str(free_port()))
    assert refused.returncode == 2
    assert "surehit key create" in refused.stderr


def test_a_unix_socket_takes_the_place_of_an_address(tmp_path: Path) -> None:
    """`serve --uds`: a store and its exact hit over the socket, whose file goes with the process."""
    path = Path(tempfile.mkdtemp(prefix="sh")) / "s"  # an address of at most 107 bytes
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "serve", "--uds", str(path)],
        env={**os.environ, "SUREHIT_DATA_DIR": str(tmp_path)},
    )
    try:
        transport = httpx2.HTTPTransport(uds=str(path))
        with httpx2.Client(transport=transport, base_url="http://surehit", timeout=30) as http:
            deadline = time.monotonic() + 90
            while not _listens(path) and time.monotonic() < deadline:
                assert process.poll() is None
                time.sleep(0.05)
            asked = {"line": "faq", "prompt": "Where is the manual"}
            assert http.post("/v1/store", json=asked | {"response": "there"}).status_code == 201
            found = http.post("/v1/lookup", json=asked)
        assert (found.json()["outcome"], found.json()["response"]) == ("hit", "there")
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert not path.exists()


def _listens(path: Path) -> bool:
    """Whether somebody takes connections there: the file exists a moment before."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def test_a_port_that_is_taken_ends_with_2(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = surehit(tmp_path, "serve", "--port", str(port))
    assert found.returncode == 2
    assert "address already in use" in found.stdout + found.stderr


def test_unknown_setting_value_is_named(tmp_path: Path) -> None:
    """A bad variable is refused by its name."""
    bad = surehit(tmp_path, "line", "list", SUREHIT_PORT="99999")
    assert bad.returncode == 2
    assert "SUREHIT_PORT" in bad.stderr


@pytest.mark.parametrize(
    ("file", "variables", "named"),
    [
        ("prot = 8080", {}, "SUREHIT_PROT: Extra inputs are not permitted"),
        ("port = = 8080", {}, "surehit.toml: Invalid value (at line 1"),
        ('port = "many"', {}, "SUREHIT_PORT"),
        ("port = 8080", {"SUREHIT_UPSTREAMS": '{"vllm":'}, '"upstreams"'),
        (
            "port = 8080",
            {"SUREHIT_DATABASE_URL": "mysql://x/y"},
            "SUREHIT_DATABASE_URL: must begin",
        ),
        ("port = 8080", {"SUREHIT_DATABASE_URL": "sqlite://"}, "SUREHIT_DATABASE_URL: must begin"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_in_a_line(
    tmp_path: Path, file: str, variables: dict[str, str], named: str
) -> None:
    """None is passed over in silence, and none ends in a traceback."""
    (tmp_path / "surehit.toml").write_text(file)
    path = str(Path(__file__).parents[2])
    found = surehit(tmp_path / "data", "line", "list", cwd=tmp_path, PYTHONPATH=path, **variables)
    assert found.returncode == 2
    assert named in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("command", [("migrate",), ("line", "list"), ("serve", "--port", "0")])
def test_a_database_that_is_not_for_this_program_is_refused_in_a_line(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Of a newer program, or no database at all; and neither is touched."""
    database = tmp_path / "surehit.db"
    assert surehit(tmp_path, "migrate").returncode == 0
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    newer = surehit(tmp_path, *command)
    database.write_bytes(b"no database at all " * 1000)
    none = surehit(tmp_path, *command)
    for found, why in ((newer, "'9999'"), (none, "file is not a database")):
        assert found.returncode == 2
        assert why in found.stderr
        assert "Traceback" not in found.stderr
    assert database.read_bytes() == b"no database at all " * 1000


def test_a_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    found = surehit(file, "line", "list")
    assert (found.returncode, found.stderr.strip()) == (2, f"{file}: File exists")


def test_doctor_finds_everything_sound(tmp_path: Path, models_dir: Path) -> None:
    """Every check passes on a fresh directory, and the models' figures are printed."""
    (tmp_path / "models").symlink_to(models_dir)
    found = surehit(tmp_path, "doctor", "--json")
    assert found.returncode == 0, found.stdout
    checks = {c["check"]: c for c in json.loads(found.stdout)}
    assert "0.99" in checks["model minilm"]["detail"]


def test_up_plays_the_demo_and_ends_on_a_signal(tmp_path: Path, models_dir: Path) -> None:
    """Traffic is there, the printed curl lines' outcomes hold, Ctrl-C ends it; a second start leaves all as it was."""
    (tmp_path / "models").symlink_to(models_dir)
    for tried in (_try_out, _is_as_it_was):
        port = free_port()
        process = subprocess.Popen(
            [sys.executable, "-m", "service.cli", "up", "--demo", "--no-page", "--port", str(port)],
            env={**os.environ, "SUREHIT_DATA_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            tried(process, port)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
            if process.stdout is not None:
                process.stdout.close()


def _printed(process: subprocess.Popen[str], port: int) -> str:
    """What `surehit up` prints until it is ready."""
    assert process.stdout is not None
    text = ""
    deadline = time.monotonic() + 90
    while "Ctrl-C" not in text and time.monotonic() < deadline:
        text += process.stdout.readline()
    assert f"http://127.0.0.1:{port}/v1" in text
    return text


def _try_out(process: subprocess.Popen[str], port: int) -> None:
    """Follow what is printed; then set a line as its owner would."""
    text = _printed(process, port)
    replies = [_run(line) for line in text.splitlines() if line.startswith("  curl")]
    outcomes = [str(r.get("tier") or r.get("reason")) for r in replies if "outcome" in r]
    assert outcomes == ["empty", "exact", "semantic", "guarded"]
    assert replies[1]["replaced"] is False
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
        assert _hits(http) > 20
        http.patch("/v1/lines/try-it", json={"mode": "exact"}).raise_for_status()


def _is_as_it_was(process: subprocess.Popen[str], port: int) -> None:
    """No demo over what somebody has set and stored."""
    text = _printed(process, port)
    assert "surehit demo" in text
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
        assert http.get("/v1/lines/try-it").json()["mode"] == "exact"
        assert len(http.get("/v1/entries?line=try-it").json()["entries"]) == 1


def _hits(http: httpx2.Client) -> int:
    return int(http.get("/v1/stats").json()["lines"]["support-faq"]["semantic"]["hits"])


def _run(line: str) -> dict[str, Any]:
    """What a printed line answers in a shell."""
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True
    )
    reply: dict[str, Any] = json.loads(done.stdout)
    return reply


def test_a_command_of_another_package_is_found_under_its_name() -> None:
    """Each entry point is a command, and each command an entry point: else it would be known to the help alone."""
    points = entry_points(group="surehit.commands")
    for module, name in {(point.module, point.attr) for point in points}:
        joined = typer.Typer()
        getattr(importlib.import_module(module), name)(joined)
        commands = [c.name or c.callback.__name__ for c in joined.registered_commands if c.callback]
        commands += [str(group.name) for group in joined.registered_groups]
        assert sorted(commands) == sorted(p.name for p in points if p.module == module)


@pytest.mark.parametrize(
    ("command", "without"),
    [("key", ("evaluation", "review_ui", "sqlalchemy")), ("tune", ("evaluation.audit", "numpy"))],
)
def test_help_waits_for_no_import_of_another_command(
    command: str, without: tuple[str, ...]
) -> None:
    told = "import sys; from service import cli; sys.argv = ['surehit', *sys.argv[1:]]\n"
    told += "try: cli.main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", told, command, "--help"], capture_output=True, text=True, check=True
    )
    assert "Usage: surehit" in done.stdout
    assert not {*without} & {*done.stderr.split()}


@pytest.mark.parametrize("command", ["serve", "up", "line", "key", "migrate", "doctor", "bench"])
def test_every_command_explains_itself(tmp_path: Path, command: str) -> None:
    """`--help` works without a database."""
    shown = surehit(tmp_path, command, "--help")
    assert shown.returncode == 0
    assert "Usage" in shown.stdout
