"""`surehit up`: service and review page as two processes, with the addresses printed; ends both together.

Two processes, since reviewers who label fast would otherwise slow every lookup down (../DECISIONS.md).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType

import httpx2
import typer

from service.demo import replay
from service.settings import Settings

START_S = 60.0

CURLS = """\
Try it (line «{line}», threshold 0.86, set by hand and so uncertified):

  # 1. a miss; store the answer for it
  curl -s {base}/v1/lookup -d '{{"line":"{line}","prompt":"How do I cancel an annual plan?"}}'
  curl -s {base}/v1/store -d '{{"line":"{line}","prompt":"How do I cancel an annual plan?","response":"Under Billing"}}'
  # 2. the same bytes: an exact hit
  curl -s {base}/v1/lookup -d '{{"line":"{line}","prompt":"How do I cancel an annual plan?"}}'
  # 3. other words: a semantic hit; and a look-alike, refused
  curl -s {base}/v1/lookup -d '{{"line":"{line}","prompt":"How can I cancel an annual plan?"}}'
  curl -s {base}/v1/lookup -d '{{"line":"{line}","prompt":"How do I cancel a monthly plan?"}}'
"""


def run(settings: Settings, *, demo: bool, page: bool = True) -> int:
    """Start both, print where they are, wait; the exit code."""
    _say_when_taken(settings)
    base = f"http://{settings.host}:{settings.port}"
    started: list[subprocess.Popen[bytes]] = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, _interrupt)
    try:
        started.append(_start("serve", "--host", settings.host, "--port", str(settings.port)))
        _wait(base, started[0])
        plays = demo and _has_no_line(base)
        if plays:
            typer.echo("Playing demo traffic …")
            typer.echo(replay.send(base).summary())
        if page:
            started.append(
                _start(
                    "review",
                    "--host",
                    settings.host,
                    "--port",
                    str(settings.ui_port),
                    SUREHIT_URL=base,
                )
            )
            _wait(f"http://{settings.host}:{settings.ui_port}", started[1])
        typer.echo(addresses(settings, base, page=page))
        if plays:
            typer.echo(CURLS.format(base=base, line=replay.TRY_LINE))
        elif demo:
            typer.echo(
                "Lines and entries are those of before; `surehit demo` plays its traffic again."
            )
        typer.echo("Ctrl-C ends both.")
        sys.stdout.flush()
        while all(process.poll() is None for process in started):
            time.sleep(0.3)
        return next(p.returncode for p in started if p.returncode is not None)
    except KeyboardInterrupt:
        return 0
    finally:
        _end(started)


def _has_no_line(base: str) -> bool:
    """Whether nobody has used the service yet: lines that somebody has set, and what they hold, are left alone."""
    reply = httpx2.get(f"{base}/v1/lines", timeout=30, trust_env=False)
    return not reply.raise_for_status().json()["lines"]


def addresses(settings: Settings, base: str, *, page: bool) -> str:
    """The three addresses."""
    review = f"http://{settings.host}:{settings.ui_port}/" if page else "(not started)"
    return f"\nAPI      {base}/v1\nReview   {review}\nDocs     {base}/docs\n"


def _start(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "service.cli", *arguments]
    return subprocess.Popen(command, env={**os.environ, **environment})  # noqa: S603 - our own command


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Until somebody answers there; raises when the process ends or takes too long."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise typer.Exit(process.returncode or 1)
        with contextlib.suppress(httpx2.HTTPError):
            httpx2.get(f"{url}/healthz" if url.count(":") == 2 else url, timeout=2)
            return
        time.sleep(0.1)
    typer.echo(f"{url} did not answer within {START_S:.0f} s", err=True)
    raise typer.Exit(2)


def _say_when_taken(settings: Settings) -> None:
    for name, port in (("SUREHIT_PORT", settings.port), ("SUREHIT_UI_PORT", settings.ui_port)):
        with socket.socket() as probe:
            probe.settimeout(0.5)
            if port and probe.connect_ex((settings.host, port)) == 0:
                typer.echo(f"{name}: port {port} is in use; set another one", err=True)
                raise typer.Exit(2)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(started):
        if process.poll() is None:
            process.terminate()
    for process in started:
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
