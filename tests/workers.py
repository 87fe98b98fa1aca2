"""`surehit serve` in processes of their own that start at once: each is forked from one that has imported everything.

A worker's imports take two seconds of a core, and the tests start very many. What runs in the fork is what the command
runs; with `fresh=True` it is the command itself, in an interpreter of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from evaluation.bench.processes import Running, free_port

START_S = 110.0

Limits = Mapping[int, tuple[int, int]]
"""(soft, hard) by resource, as `resource.setrlimit` takes them."""

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    [
        "tests.knobs",
        # what a worker only imports while it starts
        *("sqlite3", "uvloop", "httpcore2", "truststore", "uvicorn.lifespan.on"),
        *("uvicorn.loops.auto", "uvicorn.protocols.websockets.auto"),
    ]
)


def steer(file: Path, to: str) -> None:
    """Say something to a worker that reads the file at any moment: the old text or the new one, never an empty file."""
    beside = file.with_name(f"{file.name}.next")
    beside.write_text(to)
    beside.replace(file)


class Worker:
    """A service that can be killed."""

    def __init__(
        self,
        data_dir: Path,
        url: str = "",
        *,
        knobs: dict[str, Any] | None = None,
        limits: Limits | None = None,
        fresh: bool = False,
        command: str = "serve",
        port: int = 0,
        **environment: str,
    ) -> None:
        """`knobs`: see `tests.knobs`. `limits` hold in the new process alone. Port 0: one that is free."""
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data_dir / f"worker-{self.port}.log"
        settings = {
            "SUREHIT_DATA_DIR": str(data_dir),
            "SUREHIT_DATABASE_URL": url,
            "SUREHIT_EMBED_THREADS": "1",
            "FAULT_KNOBS": json.dumps(knobs or {}),
            **environment,
        }
        data_dir.mkdir(parents=True, exist_ok=True)
        start = _fresh if fresh else _forked
        self.began = time.monotonic()
        self._process = start(
            [command, "--port", str(self.port)], settings, str(self.log), dict(limits or {})
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """The exit code; None when the time was up first."""
        return self._process.wait(timeout_s)

    async def ready(self, path: str = "/healthz") -> float:
        """Seconds from the start to the first answer with 200."""
        async with httpx2.AsyncClient(base_url=self.url, timeout=5) as http:
            while True:
                with contextlib.suppress(httpx2.HTTPError):
                    if (await http.get(path)).status_code == 200:
                        return time.monotonic() - self.began
                said = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
                assert self.exit_code is None, said
                assert time.monotonic() - self.began < START_S, said
                await asyncio.sleep(0.02)

    def send_signal(self, number: signal.Signals) -> None:
        """As `kill` sends it; nothing where it has ended."""
        if self.exit_code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9."""
        self.send_signal(signal.SIGKILL)
        self.wait(30)

    def end(self) -> None:
        """A clean end."""
        self.send_signal(signal.SIGTERM)
        if self.wait(20) is None:
            self.kill()
            raise AssertionError(f"still there 20 s after SIGTERM: {self.log.read_text()[-2000:]}")


@asynccontextmanager
async def worker(*args: Any, **settings: Any) -> AsyncIterator[Worker]:
    """A worker that answers; it is ended with the block."""
    started = Worker(*args, **settings)
    try:
        await started.ready()
        yield started
    finally:
        await asyncio.to_thread(started.end)  # a relay of this process may be what it waits for


@contextmanager
def running(
    data_dir: Path, *, database_url: str = "", log: Path | None = None, **settings: str
) -> Iterator[Running]:
    """`evaluation.bench.processes.service` by a fork."""
    started = Worker(data_dir, database_url, **settings)
    try:
        ready_s = asyncio.run(started.ready())
        yield Running(started.port, started.pid, ready_s)
    finally:
        started.end()


class _Fork:
    """A fork of the process that has imported everything."""

    def __init__(self, *arguments: Any) -> None:
        self._process = _forks.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout_s: float) -> int | None:
        self._process.join(timeout_s)
        return self._process.exitcode


class _Program:
    """An interpreter of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid
        self.poll = process.poll

    def wait(self, timeout_s: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout_s)
        return None


_forked: Callable[..., _Fork | _Program] = _Fork


def _fresh(
    arguments: list[str], settings: dict[str, str], log: str, limits: Limits
) -> _Fork | _Program:
    with Path(log).open("wb") as output:
        return _Program(
            subprocess.Popen(
                [sys.executable, "-m", "tests.knobs", *arguments],
                env={**os.environ, **settings},
                stdout=output,
                stderr=output,
                preexec_fn=lambda: _limit(limits),
            )
        )


def _serve(arguments: list[str], settings: dict[str, str], log: str, limits: Limits) -> None:
    """In the fork."""
    from tests import knobs

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    _limit(limits)
    os.environ.update(settings)
    sys.argv = ["surehit", *arguments]
    knobs.run()


def _limit(limits: Limits) -> None:
    for what, values in limits.items():
        resource.setrlimit(what, values)
