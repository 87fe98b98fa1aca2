"""`surehit bench http`: the service over HTTP against a bare ASGI route and a bare embedding call, interleaved."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import orjson

from evaluation.bench import embed, load, processes
from evaluation.bench.machine import machine
from index.embedding import catalog
from index.types import Embedder

CLIENTS = (1, 8, 32)
_NAIVE_CLIENTS = 8
_KNOWN = 1_000
"""Rewordings whose vectors are remembered (of 4,096), so that a hit takes everything but the embedding."""
_WIDE = 8_000
"""Different exact hits, of which the service remembers an eighth."""
_NAIVE_ENTRIES = 10_000
"""More would only make the comparison with every vector slower."""
_VERBS = "set change remove find share copy archive rename".split()
_WORDS = "invoice account limit report team plan key region backup export filter alert domain seat webhook".split()
_ANSWER = {"text": "x" * 1880}


def run(
    *,
    entries: int,
    rounds: int,
    seconds: float,
    models_dir: Path,
    database_url: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """All workloads at c = 1, 8, 32, `rounds` times in turn; medians, and ratios to the floor of the same run."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        data = Path(folder)
        (data / "models").symlink_to(models_dir.resolve())
        key = _prepare(data, database_url)
        service = stack.enter_context(processes.service(data, database_url=database_url))
        floor = stack.enter_context(processes.floor())
        model = catalog.default_for("en")
        embedder = catalog.load(model, models_dir)
        embeds = stack.enter_context(processes.embedding_floor(model, models_dir))
        naive = _naive(stack, data, embedder, min(entries, _NAIVE_ENTRIES))
        tell(f"filling {entries} entries")
        asyncio.run(_fill(service, key, entries))
        load.until_steady(service.pid)
        samples: dict[str, list[dict[str, Any]]] = {}
        fresh = itertools.count(1_000_000)
        for n in range(rounds):
            tell(f"round {n + 1} of {rounds}")
            found = asyncio.run(_round(service, floor, embeds, naive, key, entries, seconds, fresh))
            for name, figures in found:
                samples.setdefault(name, []).append(asdict(figures))
            samples.setdefault("bare_embed", []).append({"p50_ms": _bare_embedding(embedder)})
        memory = load.memory_mb(service.pid)
    medians = {name: _medians(rows) for name, rows in samples.items()}
    return {
        "machine": machine(),
        "database": "postgresql" if database_url.startswith("postgresql") else "sqlite",
        "entries": entries,
        "rounds": rounds,
        "memory_mb": memory,
        "medians": medians,
        "ratios": _ratios(medians),
    }


async def _round(
    service: processes.Running,
    floor: processes.Running,
    embeds: processes.Running,
    naive: processes.Running | None,
    key: str,
    entries: int,
    seconds: float,
    fresh: Iterator[int],
) -> list[tuple[str, load.Figures]]:
    """Every workload once."""
    authorization = f"Authorization: Bearer {key}\r\n"
    exact = [_lookup(_question(n % entries), authorization) for n in range(0, 2000, 7)]
    # more requests than are remembered, in a row that is asked for again only after all others
    wide = [_lookup(_question(n), authorization) for n in range(_WIDE)]
    hits = _each(fresh, authorization, entries, hit=True)
    misses = _each(fresh, authorization, entries, hit=False)
    known = [_lookup(_reworded(n), authorization) for n in range(min(entries, _KNOWN))]

    async def measure(
        server: processes.Running, source: Any, clients: int, expect: bytes = b""
    ) -> load.Figures:
        return await load.run(
            server.port, source, clients=clients, seconds=seconds, pid=server.pid, expect=expect
        )

    found = []
    for c in CLIENTS:
        found.append((f"floor_c{c}", await measure(floor, exact, c)))
        found.append((f"exact_c{c}", await measure(service, exact, c, b'"tier":"exact"')))
        found.append((f"exact_wide_c{c}", await measure(service, wide, c, b'"tier":"exact"')))
        found.append((f"semantic_c{c}", await measure(service, hits, c, b'"tier":"semantic"')))
        found.append((f"embeds_c{c}", await measure(embeds, hits, c)))
        found.append((f"miss_c{c}", await measure(service, misses, c, b'"below_threshold"')))
        found.append((f"store_c{c}", await measure(service, _stores(fresh, authorization), c)))
        if naive is not None and c <= _NAIVE_CLIENTS:
            plain = _each(fresh, "", min(entries, _NAIVE_ENTRIES), hit=True)
            found.append((f"naive_c{c}", await measure(naive, plain, c, b'"tier":"semantic"')))
    await load.run(service.port, known, clients=4, seconds=60, most=len(known))
    found.append(("known_c1", await measure(service, known, 1, b'"tier":"semantic"')))
    busy, _ = await asyncio.gather(
        measure(service, exact, 1, b'"tier":"exact"'), measure(service, misses, 8)
    )
    found.append(("exact_beside_8_misses", busy))
    return found


def _naive(
    stack: ExitStack, data: Path, embedder: Embedder, entries: int
) -> processes.Running | None:
    """The cache of an afternoon with the same questions; None without sentence-transformers."""
    folder = embed.model_folder()
    if folder is None:
        return None
    file = data / "vectors.npy"
    np.save(file, embedder.embed([_question(n) for n in range(entries)]))
    return stack.enter_context(processes.naive(folder, file))


def _question(n: int) -> str:
    """Question n of the stored set: 405,000 different ones, told apart by their words."""
    verb, n = _VERBS[n % 8], n // 8
    a, b, c, d = (_WORDS[n // 15**place % 15] for place in range(4))
    return f"How do I {verb} the {a} of the {b} in the {c} {d}?"


def _reworded(n: int) -> str:
    return _question(n).replace("How do I", "How can I")


def _lookup(question: str, headers: str, line: str = "bench") -> bytes:
    body = {
        "line": line,
        "request": {"model": "m", "messages": [{"role": "user", "content": question}]},
    }
    return load.request("/v1/lookup", orjson.dumps(body), headers=headers)


def _each(
    fresh: Iterator[int], headers: str, entries: int, *, hit: bool
) -> Callable[[], Iterator[bytes]]:
    """Questions never asked before: rewordings of stored ones, or about things that are not stored."""

    def source() -> Iterator[bytes]:
        for n in fresh:
            # each rewording once in `entries` requests, more than the vectors that are remembered
            text = (
                _reworded(n % entries)
                if hit
                else f"Which river passes town number {n} of the north?"
            )
            yield _lookup(text, headers)

    return source


def _stores(fresh: Iterator[int], headers: str) -> Callable[[], Iterator[bytes]]:
    def source() -> Iterator[bytes]:
        for n in fresh:
            prompt = f"Stored question {n}"
            body = {"line": "bench-exact", "prompt": prompt, "response": _ANSWER}
            yield load.request("/v1/store", orjson.dumps(body), headers=headers)

    return source


async def _fill(service: processes.Running, key: str, entries: int) -> None:
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=service.url, headers=headers, timeout=120) as http:
        settings = {"mode": "serve", "threshold": 0.9, "sampling": {"certify_rate": 0.01}}
        (await http.put("/v1/lines/bench", json=settings)).raise_for_status()
        (await http.put("/v1/lines/bench-exact", json={"mode": "exact"})).raise_for_status()
        while (await http.get("/readyz")).json()["semantic"] == "loading":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
        gate = asyncio.Semaphore(32)

        async def one(n: int) -> None:
            async with gate:
                request = {"model": "m", "messages": [{"role": "user", "content": _question(n)}]}
                body = {"line": "bench", "request": request, "response": _ANSWER}
                (await http.post("/v1/store", json=body)).raise_for_status()

        for start in range(0, entries, 2000):
            await asyncio.gather(*(one(n) for n in range(start, min(entries, start + 2000))))


def _prepare(data: Path, database_url: str) -> str:
    """Migrate and make an API key: authentication is on while we measure."""
    import subprocess
    import sys

    environment = {
        **os.environ,
        "SUREHIT_DATA_DIR": str(data),
        "SUREHIT_DATABASE_URL": database_url,
    }
    for command in (["migrate"], ["key", "create", "--role", "admin", "--json"]):
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "service.cli", *command],
            env=environment,
            check=True,
            capture_output=True,
        )
    return str(orjson.loads(done.stdout)["key"])


def _bare_embedding(embedder: Embedder) -> float:
    """Median milliseconds of one bare call of the same model on the same kind of text."""
    took = []
    for n in range(200):
        text = _reworded(n)
        began = time.perf_counter()
        embedder.embed([text])
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000


def _medians(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {
        name: statistics.median(row[name] for row in rows)
        for name in rows[0]
        if all(row[name] is not None for row in rows)
    }


def _ratios(m: dict[str, dict[str, float]]) -> dict[str, float]:
    """The ratios that ../README.md states, each within this run."""
    found = {}
    for c in CLIENTS:
        found[f"exact rps / floor rps, c={c}"] = m[f"exact_c{c}"]["rps"] / m[f"floor_c{c}"]["rps"]
        found[f"exact p50 / floor p50, c={c}"] = (
            m[f"exact_c{c}"]["p50_ms"] / m[f"floor_c{c}"]["p50_ms"]
        )
        found[f"exact, each read, rps / floor rps, c={c}"] = (
            m[f"exact_wide_c{c}"]["rps"] / m[f"floor_c{c}"]["rps"]
        )
    bare_ms = m["bare_embed"]["p50_ms"]
    found["semantic p50 / bare embed p50, c=1"] = m["semantic_c1"]["p50_ms"] / bare_ms
    found["semantic p50 - bare embed p50, c=1, ms"] = m["semantic_c1"]["p50_ms"] - bare_ms
    found["bare route that only embeds p50 / bare embed p50, c=1"] = (
        m["embeds_c1"]["p50_ms"] / bare_ms
    )
    for c in CLIENTS:
        found[f"semantic p50 / bare route that only embeds p50, c={c}"] = (
            m[f"semantic_c{c}"]["p50_ms"] / m[f"embeds_c{c}"]["p50_ms"]
        )
    found["semantic p50, vector remembered, c=1, ms"] = m["known_c1"]["p50_ms"]
    found["exact p99 beside 8 misses / idle"] = (
        m["exact_beside_8_misses"]["p99_ms"] / m["exact_c1"]["p99_ms"]
    )
    if f"naive_c{_NAIVE_CLIENTS}" in m:
        found[f"semantic rps / naive rps, c={_NAIVE_CLIENTS}"] = (
            m[f"semantic_c{_NAIVE_CLIENTS}"]["rps"] / m[f"naive_c{_NAIVE_CLIENTS}"]["rps"]
        )
    found["miss p50 / bare embed p50, c=1"] = m["miss_c1"]["p50_ms"] / bare_ms
    if "cpu_ms" in m["semantic_c32"] and m["semantic_c1"].get("cpu_ms"):
        found["semantic CPU, c=32 / c=1"] = m["semantic_c32"]["cpu_ms"] / m["semantic_c1"]["cpu_ms"]
        found["exact CPU / floor CPU, c=1"] = m["exact_c1"]["cpu_ms"] / max(
            m["floor_c1"]["cpu_ms"], 1e-9
        )
    return found


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    rows = [
        f"{found['database']}, {found['entries']} entries, {found['rounds']} rounds, {found['machine']['cpu']}"
    ]
    for name, m in found["medians"].items():
        if "rps" in m:
            cpu = f"{m['cpu_ms']:7.3f}" if "cpu_ms" in m else "      –"
            rows.append(
                f"  {name:14} {m['rps']:9.0f}/s  p50 {m['p50_ms']:8.3f} ms  p99 {m['p99_ms']:8.3f} ms  "
                f"CPU {cpu} ms  failures {m['failures']:.0f}"
            )
        else:
            rows.append(f"  {name:14} p50 {m['p50_ms']:8.3f} ms")
    rows += [f"  {name:40} {value:6.2f}" for name, value in found["ratios"].items()]
    return "\n".join(rows)


def table(found: dict[str, Any]) -> str:
    """The figures as Markdown tables."""
    lines = [
        f"{found['database']}, {found['entries']:,} entries, {found['rounds']} rounds; "
        "API key, metrics and re-check on.",
        "",
        "| workload | c=1: per s, p50, p99 | c=8 | c=32 |",
        "|---|---|---|---|",
    ]
    medians = found["medians"]
    for name in _NAMES:
        cells = []
        for c in CLIENTS:
            m = medians.get(f"{name}_c{c}")
            cells.append(
                f"{m['rps']:,.0f}/s, {m['p50_ms']:.2f}, {m['p99_ms']:.2f} ms" if m else "–"
            )
        lines.append(f"| {_NAMES[name]} | {' | '.join(cells)} |")
    lines += ["", "| ratio within this run | |", "|---|---|"]
    lines += [f"| {name} | {value:.2f} |" for name, value in found["ratios"].items()]
    return "\n".join(lines)


_NAMES = {
    "floor": "bare ASGI route (the floor)",
    "exact": "exact hit, 286 requests again and again",
    "exact_wide": "exact hit, 8,000 requests in turn",
    "semantic": "semantic hit",
    "known": "semantic hit, vector remembered",
    "embeds": "bare ASGI route that only embeds",
    "miss": "miss",
    "store": "store",
    "naive": "FastAPI + SentenceTransformer.encode + flat search",
}
