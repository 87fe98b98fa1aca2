"""Starting what is measured as processes of their own, on free loopback ports, and ending them by id."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

START_S = 90.0


@dataclass(frozen=True)
class Running:
    """A process that answers on a port."""

    port: int
    pid: int
    ready_s: float

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"


def free_port() -> int:
    """A port that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def service(
    data_dir: Path, *, database_url: str = "", log: Path | None = None, **settings: str
) -> Iterator[Running]:
    """`surehit serve` on a data directory."""
    environment = {
        "SUREHIT_DATA_DIR": str(data_dir),
        "SUREHIT_DATABASE_URL": database_url,
        **settings,
    }
    arguments = ["-m", "service.cli", "serve", "--port", "{port}"]
    with process(arguments, "/healthz", environment, log=log) as running:
        yield running


@contextmanager
def floor() -> Iterator[Running]:
    """The bare ASGI route."""
    with process(["-m", "evaluation.bench.floor", "{port}"], "/", {}) as running:
        yield running


@contextmanager
def embedding_floor(model: str, models_dir: Path) -> Iterator[Running]:
    """The bare route that embeds and does nothing else."""
    arguments = ["-m", "evaluation.bench.embedding_floor", "{port}", model, str(models_dir)]
    with process(arguments, "/", {}) as running:
        yield running


@contextmanager
def naive(model_folder: Path, vectors_file: Path) -> Iterator[Running]:
    """The cache of an afternoon (naive.py)."""
    arguments = ["-m", "evaluation.bench.naive", "{port}", str(model_folder), str(vectors_file)]
    with process(arguments, "/healthz", {}) as running:
        yield running


@contextmanager
def upstream(latency_s: float) -> Iterator[Running]:
    """The fake provider; each answer takes at least so long."""
    arguments = ["-m", "evaluation.bench.upstream", "{port}", str(latency_s)]
    with process(arguments, "/__calls", {}) as running:
        yield running


@contextmanager
def process(
    arguments: Sequence[str],
    probe: str,
    environment: dict[str, str],
    *,
    program: str = sys.executable,
    log: Path | None = None,
    within_s: float = START_S,
) -> Iterator[Running]:
    """A program that serves HTTP on the port that stands for ``{port}`` among its arguments, until the block ends.

    Ready once GET ``probe`` has any reply, or, where ``probe`` is empty, once the port takes connections. What it
    writes goes to ``log``, or to our own output. Raises RuntimeError if it ends or takes longer than ``within_s``.
    """
    port = free_port()
    command = [program, *(a.replace("{port}", str(port)) for a in arguments)]
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        output = None if log is None else stack.enter_context(log.open("wb"))
        child = subprocess.Popen(  # noqa: S603 - our own commands
            command, env={**os.environ, **environment}, stdout=output, stderr=output
        )
        try:
            while not _answers(port, probe):
                if child.poll() is not None or time.perf_counter() - began > within_s:
                    said = "" if log is None else f": {log.read_text(errors='replace')[-2000:]}"
                    raise RuntimeError(f"{' '.join(command)} did not start{said}")
                time.sleep(0.02)
            yield Running(port, child.pid, time.perf_counter() - began)
        finally:
            child.terminate()
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                child.kill()


def _answers(port: int, probe: str) -> bool:
    if not probe:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2):
            return True
        return False
    with contextlib.suppress(httpx2.HTTPError):
        # nothing here speaks TLS, and reading all certificates takes longer than most answers
        httpx2.get(f"http://127.0.0.1:{port}{probe}", timeout=2, verify=False)
        return True
    return False
