"""The double behind a real port, the page as a process, and Debian's Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from review_ui.command import start_page
from tests.review_ui.fake_routes import create_app
from tests.review_ui.fake_service import Fake

CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Running:
    """A double that answers at `url`."""

    fake: Fake
    url: str


@contextmanager
def served(fake: Fake) -> Iterator[Running]:
    """The double on a free port, in a thread."""
    port = free_port()
    config = uvicorn.Config(create_app(fake), port=port, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(f"http://127.0.0.1:{port}/v1/lines")
    yield Running(fake, f"http://127.0.0.1:{port}")
    server.should_exit = True
    thread.join(10)


@contextmanager
def real_service(data_dir: Path) -> Iterator[str]:
    """The service itself as a process, on an empty database; its address."""
    port = free_port()
    command = [sys.executable, "-m", "service.cli", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | {"SUREHIT_DATA_DIR": str(data_dir)})
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def page_of(service_url: str) -> Iterator[str]:
    """The review page as its own process; its address."""
    port = free_port()
    process = start_page(service_url, port)
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(15)


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(url: str, *, timeout_s: float = 60.0) -> None:
    """Until something answers there."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with suppress(httpx2.HTTPError):
            httpx2.get(url, timeout=2, trust_env=False)
            return
        time.sleep(0.05)
    raise TimeoutError(f"{url} did not answer within {timeout_s} s")


@pytest.fixture
def service() -> Iterator[Running]:
    """A double of this test's own, without keys."""
    with served(Fake()) as running:
        yield running


@pytest.fixture(scope="module")
def page() -> Iterator[tuple[Running, str]]:
    """A double and a page on it for all browser tests of a module; each test begins with `reset`."""
    with served(Fake()) as running, page_of(running.url) as address:
        yield running, address


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Any]]:
    """Opens a fresh browser session, as one more reviewer would."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))

        def opened() -> Any:
            context = browser.new_context(viewport={"width": 1400, "height": 900})
            context.set_default_timeout(20_000)
            return context.new_page()

        yield opened
        browser.close()


@pytest.fixture
def secrets_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A working directory and a home without anybody's secrets.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
