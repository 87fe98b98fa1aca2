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
def service(data_dir: Path, *, database_url: str = "", **settings: str) -> Iterator[Running]:
    """`surehit serve` on a data directory."""
    environment = {
        "SUREHIT_DATA_DIR": str(data_dir),
        "SUREHIT_DATABASE_URL": database_url,
        **settings,
    }
    with _process(
        ["-m", "service.cli", "serve", "--port", "{port}"], "/healthz", environment
    ) as running:
        yield running


@contextmanager
def floor() -> Iterator[Running]:
    """The bare ASGI route."""
    with _process(["-m", "evaluation.bench.floor", "{port}"], "/", {}) as running:
        yield running


@contextmanager
def naive(model_folder: Path, vectors_file: Path) -> Iterator[Running]:
    """The cache of an afternoon (naive.py)."""
    arguments = ["-m", "evaluation.bench.naive", "{port}", str(model_folder), str(vectors_file)]
    with _process(arguments, "/healthz", {}) as running:
        yield running


@contextmanager
def upstream(latency_s: float) -> Iterator[Running]:
    """The fake provider; each answer takes at least so long."""
    arguments = ["-m", "evaluation.bench.upstream", "{port}", str(latency_s)]
    with _process(arguments, "/__calls", {}) as running:
        yield running


@contextmanager
def _process(
    arguments: Sequence[str], probe: str, environment: dict[str, str]
) -> Iterator[Running]:
    port = free_port()
    command = [sys.executable, *(a.format(port=port) for a in arguments)]
    began = time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, **environment})  # noqa: S603 - our own commands
    try:
        while True:
            with contextlib.suppress(httpx2.HTTPError):
                httpx2.get(f"http://127.0.0.1:{port}{probe}", timeout=2)
                break
            if process.poll() is not None or time.perf_counter() - began > START_S:
                raise RuntimeError(f"{' '.join(command)} did not start")
            time.sleep(0.02)
        yield Running(port, process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
