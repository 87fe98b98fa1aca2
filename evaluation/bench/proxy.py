"""`surehit bench proxy`: what the proxy adds to a call that it must pass on, and what a hit costs next to the sidecar.

Misses are compared with the same calls sent straight to the fake provider, hits with the sidecar's lookup of the same
stored answers; always in turn, within one run. Latencies are milliseconds of whole replies.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from evaluation.bench import load, processes
from evaluation.bench.machine import machine

CLIENTS = (1, 8, 32)
STORED = 200
_AUTHORIZATION = "Authorization: Bearer sk-bench\r\n"
_LINE = "X-Surehit-Line: bench\r\n"
_CHAT = "/openai/v1/chat/completions"


def run(
    *,
    rounds: int = 3,
    seconds: float = 2.0,
    latencies_s: tuple[float, ...] = (0.0, 0.2),
    database_url: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Misses and hits at c = 1, 8, 32.

    Parameters
    ----------
    rounds : how often everything is measured; the medians over rounds are reported.
    seconds : length of each measurement.
    latencies_s : what the fake provider waits before it answers. 0 shows the proxy's own work, which is the worst
        ratio there can be; 0.2 is a fast model.
    database_url : an empty PostgreSQL database; SQLite without it.

    Returns
    -------
    `machine`, `database`, `rounds`; `medians` of each workload (see `load.Figures`); per latency and c `ratios` with
    `p50`, `p99` (through the proxy / straight) and `added_p50_ms`; for hits the ratio to the sidecar.
    """
    samples: dict[str, list[dict[str, Any]]] = {}
    for latency_s in latencies_s:
        tell(f"provider that takes {latency_s:g} s")
        for name, figures in _measured(latency_s, rounds, seconds, database_url, tell):
            samples.setdefault(name, []).append(asdict(figures))
    medians = {name: _median(rows) for name, rows in samples.items()}
    return {
        "machine": machine(),
        "database": "postgresql" if database_url.startswith("postgresql") else "sqlite",
        "rounds": rounds,
        "medians": medians,
        "ratios": _ratios(medians, latencies_s),
    }


def _measured(
    latency_s: float,
    rounds: int,
    seconds: float,
    database_url: str,
    tell: Callable[[str], None],
) -> list[tuple[str, load.Figures]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        upstream = stack.enter_context(processes.upstream(latency_s))
        service = stack.enter_context(
            processes.service(
                Path(folder),
                database_url=database_url,
                SUREHIT_OPENAI_BASE_URL=f"{upstream.url}/v1",
            )
        )
        found: list[tuple[str, load.Figures]] = []
        asyncio.run(_prepare(service))
        fresh = itertools.count()
        for n in range(rounds):
            tell(f"  round {n + 1} of {rounds}")
            found += asyncio.run(_round(service, upstream, fresh, latency_s, seconds))
        return found


async def _prepare(service: processes.Running) -> None:
    """An exact-tier line (a miss has no embedding in it), and the stored answers."""
    settings = orjson.dumps({"mode": "exact"})
    put = load.request("/v1/lines/bench", settings).replace(b"POST", b"PUT", 1)
    await load.run(service.port, [put], clients=1, seconds=10, most=1)
    stored = iter([_proxied(_stored(n)) for n in range(STORED)])
    await load.run(service.port, lambda: stored, clients=8, seconds=60, expect=b"chat.completion")


async def _round(
    service: processes.Running,
    upstream: processes.Running,
    fresh: Iterator[int],
    latency_s: float,
    seconds: float,
) -> list[tuple[str, load.Figures]]:
    found = []
    for clients in CLIENTS:

        def questions(path: str) -> Callable[[], Iterator[bytes]]:
            return lambda: (_proxied(_question(n), path=path) for n in fresh)

        for name, running, path in (
            ("direct", upstream, "/v1/chat/completions"),
            ("miss", service, _CHAT),
        ):
            figures = await load.run(
                running.port,
                questions(path),
                clients=clients,
                seconds=seconds,
                pid=running.pid,
                expect=b"chat.completion",
            )
            found.append((f"{name}_{latency_s:g}s_c{clients}", figures))
        if latency_s:
            continue
        for name, requests, mark in (
            ("proxy_hit", [_proxied(_stored(n)) for n in range(STORED)], b"chat.completion"),
            ("sidecar_hit", [_sidecar(n) for n in range(STORED)], b'"tier":"exact"'),
        ):
            figures = await load.run(
                service.port,
                requests,
                clients=clients,
                seconds=seconds,
                pid=service.pid,
                expect=mark,
            )
            found.append((f"{name}_c{clients}", figures))
    return found


def _question(n: int) -> dict[str, Any]:
    return _body(f"What does article {n} of the handbook say?")


def _stored(n: int) -> dict[str, Any]:
    return _body(f"Which rule has number {n}?")


def _body(text: str) -> dict[str, Any]:
    return {"model": "fake-small", "messages": [{"role": "user", "content": text}]}


def _proxied(body: dict[str, Any], *, path: str = _CHAT) -> bytes:
    return load.request(path, orjson.dumps(body), headers=_AUTHORIZATION + _LINE)


def _sidecar(n: int) -> bytes:
    """The lookup that finds the same entry: the proxy's key holds the API's name beside the body."""
    request = _stored(n) | {"$wire": {"api": "openai.chat"}}
    return load.request("/v1/lookup", orjson.dumps({"line": "bench", "request": request}))


def _median(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {
        name: statistics.median(row[name] for row in rows)
        for name in rows[0]
        if all(row[name] is not None for row in rows)
    }


def _ratios(
    medians: dict[str, dict[str, float]], latencies_s: tuple[float, ...]
) -> dict[str, dict[str, float]]:
    found = {}
    for latency_s, clients in itertools.product(latencies_s, CLIENTS):
        direct = medians[f"direct_{latency_s:g}s_c{clients}"]
        missed = medians[f"miss_{latency_s:g}s_c{clients}"]
        found[f"miss / direct, provider {latency_s:g} s, c={clients}"] = {
            "p50": missed["p50_ms"] / direct["p50_ms"],
            "p99": missed["p99_ms"] / direct["p99_ms"],
            "added_p50_ms": missed["p50_ms"] - direct["p50_ms"],
        }
    for clients in CLIENTS if 0.0 in latencies_s else ():
        hit, sidecar = medians[f"proxy_hit_c{clients}"], medians[f"sidecar_hit_c{clients}"]
        found[f"proxy hit / sidecar hit, c={clients}"] = {
            "p50": hit["p50_ms"] / sidecar["p50_ms"],
            "p99": hit["p99_ms"] / sidecar["p99_ms"],
            "added_p50_ms": hit["p50_ms"] - sidecar["p50_ms"],
        }
    return found


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    rows = [f"{found['database']}, {found['rounds']} rounds, {found['machine']['cpu']}"]
    for name, m in found["medians"].items():
        rows.append(
            f"  {name:18} {m['rps']:8.0f}/s  p50 {m['p50_ms']:8.2f} ms  p99 {m['p99_ms']:8.2f} ms  "
            f"failures {m['failures']:.0f}"
        )
    for name, ratio in found["ratios"].items():
        rows.append(
            f"  {name:42} p50 {ratio['p50']:6.2f}  p99 {ratio['p99']:6.2f}  "
            f"added {ratio['added_p50_ms']:7.2f} ms"
        )
    return "\n".join(rows)


def table(found: dict[str, Any]) -> str:
    """The ratios as a Markdown table."""
    lines = [f"{found['database']}.", "", "| ratio | p50 | p99 | added p50 |", "|---|---|---|---|"]
    for name, ratio in found["ratios"].items():
        lines.append(
            f"| {name} | {ratio['p50']:.2f} | {ratio['p99']:.2f} | {ratio['added_p50_ms']:.2f} ms |"
        )
    return "\n".join(lines)
