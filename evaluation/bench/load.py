"""A bounded HTTP/1.1 load client for loopback: keep-alive connections, prebuilt requests, latencies in seconds.

A general HTTP client costs more than the server it measures; this one writes bytes and finds Content-Length.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Figures:
    """One run: requests per second, latency percentiles in milliseconds, server CPU per request in milliseconds."""

    requests: int
    rps: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    cpu_ms: float | None
    failures: int


def request(path: str, body: bytes, *, host: str = "127.0.0.1", headers: str = "") -> bytes:
    """A POST as it goes over the wire."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode() + body


async def run(
    port: int,
    requests: Callable[[], Iterator[bytes]] | list[bytes],
    *,
    clients: int,
    seconds: float,
    most: int = 1_000_000,
    pid: int | None = None,
    expect: bytes = b"",
) -> Figures:
    """Send requests in turn over `clients` connections for so long; each connection has one under way.

    A reply that is no 2xx, or whose body lacks `expect`, is a failure: figures of a failing run mean nothing.
    """
    source = _cycle(requests) if isinstance(requests, list) else requests()
    latencies: list[float] = []
    failures = 0
    cpu_before = cpu_seconds(pid)
    began = time.perf_counter()
    deadline = began + seconds

    async def client() -> None:
        nonlocal failures
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for message in source:
                start = time.perf_counter()
                if start >= deadline or len(latencies) >= most:
                    return
                writer.write(message)
                head = await reader.readuntil(b"\r\n\r\n")
                lower = head.lower()
                at = lower.index(b"content-length:") + 15
                body = await reader.readexactly(int(lower[at : lower.index(b"\r", at)]))
                latencies.append(time.perf_counter() - start)
                failures += head[9:10] != b"2" or expect not in body
        finally:
            writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    took = time.perf_counter() - began
    cpu_after = cpu_seconds(pid)
    milliseconds = np.array(latencies or [0.0]) * 1000
    cpu = None
    if cpu_before is not None and cpu_after is not None and latencies:
        cpu = (cpu_after - cpu_before) * 1000 / len(latencies)
    return Figures(
        requests=len(latencies),
        rps=len(latencies) / took,
        p50_ms=float(np.percentile(milliseconds, 50)),
        p90_ms=float(np.percentile(milliseconds, 90)),
        p99_ms=float(np.percentile(milliseconds, 99)),
        cpu_ms=cpu,
        failures=failures,
    )


def until_steady(pid: int, *, most_s: float = 600) -> None:
    """Wait until a process has stopped working in the background (a graph that is being built)."""
    ends = time.perf_counter() + most_s
    while time.perf_counter() < ends:
        before = cpu_seconds(pid)
        time.sleep(2)
        after = cpu_seconds(pid)
        if before is None or after is None or after - before < 0.2:
            return


def cpu_seconds(pid: int | None) -> float | None:
    """CPU time of a process so far; None where the system does not tell (no /proc)."""
    if pid is None or not Path(f"/proc/{pid}/stat").exists():
        return None
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid: int) -> float | None:
    """Resident memory of a process; None where the system does not tell."""
    path = Path(f"/proc/{pid}/status")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return None


def _cycle(requests: list[bytes]) -> Iterator[bytes]:
    while True:
        yield from requests
