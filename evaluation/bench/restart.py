"""`surehit bench restart`: how soon a service with many entries answers again, by key and by meaning.

The entries are real rows with real keys; their vectors are random directions around a hundred centres, since only
their number matters here. The one that is looked up by meaning is embedded by the model.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from evaluation.bench import load, processes
from evaluation.bench.machine import machine
from index.embedding import catalog
from service import key
from service.app import build_cache, wall_clock_ms
from service.metrics import Metrics
from service.policy import LineChange
from service.settings import Settings
from service.storage import entries as rows
from service.storage import migrate
from service.storage.database import Transaction

_BATCH = 2000
_ASKED = "How do I reset my password?"
_REWORDED = "How can I reset my password?"


def run(
    *, entries: int, models_dir: Path, database_url: str = "", tell: Callable[[str], None]
) -> dict[str, Any]:
    """Fill, start, stop, start again; seconds until the first exact and the first semantic hit of each start."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        (data / "models").symlink_to(models_dir.resolve())
        settings = Settings(data_dir=data, database_url=database_url)
        migrate.upgrade(settings.database)
        tell(f"writing {entries} entries")
        asyncio.run(_fill(settings, entries, models_dir))
        starts: list[dict[str, Any]] = []
        for name in ("first start (no snapshot)", "restart"):
            tell(name)
            starts.append({"start": name, **_start(data, database_url, wait=not starts)})
    return {"machine": machine(), "entries": entries, "starts": starts}


def _start(data: Path, database_url: str, *, wait: bool) -> dict[str, Any]:
    began = time.perf_counter()
    with processes.service(data, database_url=database_url) as service:
        found: dict[str, Any] = {"health_s": service.ready_s}
        with httpx2.Client(base_url=service.url, timeout=60) as http:
            for name, prompt, tier in (
                ("exact", _ASKED, "exact"),
                ("semantic", _REWORDED, "semantic"),
            ):
                while True:
                    body = {"line": "bench", "prompt": prompt}
                    if http.post("/v1/lookup", json=body).json().get("tier") == tier:
                        break
                    time.sleep(0.02)
                found[f"{name}_hit_s"] = time.perf_counter() - began
            if wait:  # let the graph be built, so that the stop leaves a snapshot
                load.until_steady(service.pid)
                found["graph_built_s"] = time.perf_counter() - began
            found["memory_mb"] = load.memory_mb(service.pid)
    return found


async def _fill(settings: Settings, count: int, models_dir: Path) -> None:
    cache = build_cache(settings, Metrics("bench"), wall_clock_ms)
    await cache.db.open()
    try:
        policy = await cache.policies.change(
            "default",
            "bench",
            change=LineChange({"mode": "serve", "threshold": 0.9}, partial=False),
            change_id=cache.new_id(),
            by="bench",
            now=wall_clock_ms(),
        )
        embedder = catalog.load(catalog.default_for("en"), models_dir)
        rng = np.random.default_rng(7)
        centres = rng.standard_normal((100, embedder.dimensions))
        for start in range(0, count, _BATCH):
            vectors = centres[rng.integers(0, 100, _BATCH)] + rng.standard_normal(
                (_BATCH, embedder.dimensions)
            )
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            if start == 0:
                vectors[0] = embedder.embed([_ASKED])[0]
            made = [
                _entry(
                    cache.new_id(), policy.config.policy_version, embedder.fingerprint, start + n, v
                )
                for n, v in enumerate(vectors.astype("<f4"))
            ]

            def write(tx: Transaction, batch: list[rows.NewEntry] = made) -> None:
                for entry in batch:
                    rows.put(tx, "default", entry)

            await cache.db.write(write)
    finally:
        await cache.db.close()


def _entry(
    number: int, policy_version: str, fingerprint: str, n: int, vector: np.ndarray[Any, Any]
) -> rows.NewEntry:
    prompt = _ASKED if n == 0 else f"Question number {n}"
    canonical = key.canonicalize({"messages": [{"role": "user", "content": prompt}]})
    named = {"tenant": "default", "scope": "", "line": "bench", "policy_version": policy_version}
    return rows.NewEntry(
        id=number,
        exact_key=key.exact_key(**named, body=canonical.body),
        tenant="default",
        line="bench",
        scope="",
        policy_version=policy_version,
        model="",
        created_ms=wall_clock_ms(),
        expires_ms=None,
        response=b'{"text":"' + b"x" * 600 + b'"}',
        request=canonical.body,
        query=canonical.query,
        partition=key.partition_key(
            **named, fingerprint=fingerprint, context_hash=canonical.context_hash
        ),
        fingerprint=fingerprint,
        context_hash=canonical.context_hash,
        vector=vector.tobytes(),
        tags=(),
        quarantined=False,
        stored_by="bench",
    )


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [f"{found['entries']} entries, {found['machine']['cpu']}"]
    for start in found["starts"]:
        figures = ", ".join(f"{k} {v:.2f}" for k, v in start.items() if isinstance(v, float))
        lines.append(f"  {start['start']:26} {figures}")
    return "\n".join(lines)


def table(found: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = [
        f"{found['entries']:,} entries.",
        "",
        "| start | process answers | first exact hit | first semantic hit | memory |",
        "|---|---|---|---|---|",
    ]
    for start in found["starts"]:
        memory = f"{start['memory_mb']:.0f} MB" if start["memory_mb"] else "–"
        lines.append(
            f"| {start['start']} | {start['health_s']:.1f} s | {start['exact_hit_s']:.1f} s | "
            f"{start['semantic_hit_s']:.1f} s | {memory} |"
        )
    return "\n".join(lines)
