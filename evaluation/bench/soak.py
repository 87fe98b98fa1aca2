"""`surehit bench soak`: everything at once against two workers, for minutes, and then: was anybody told wrong?

Clients of two tenants store (by lookup id and directly), look up, invalidate by entry, tag and scope, erase, and give
verdicts, on either worker at random; owners change thresholds, modes and policy versions and apply decisions. What each
was told is kept (`history.py`) and searched for what can't be.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from evaluation import decision_rows
from evaluation.bench import processes
from evaluation.bench.history import Checker
from evaluation.bench.machine import machine, sentence
from evaluation.bench.soak_client import LINES, THRESHOLDS, Client, Run
from evaluation.publish import public_id
from service.auth import new_key
from service.ids import IdSource
from service.journal import score_version
from service.policy import Policies
from service.storage import entries, migrate, tenants
from service.storage.database import Database, open_database

TENANTS = ("acme", "globex")
CLIENTS = 4
"""Per tenant."""
SAMPLE_S = 1.0
TOKEN = "soak"  # noqa: S105 - of a service that lives as long as the benchmark


def run(
    *,
    minutes: float,
    models_dir: Path,
    database_url: str = "",
    seed: int = 1,
    tell: Callable[[str], None] = lambda _: None,
    start: Callable[..., contextlib.AbstractContextManager[processes.Running]] = processes.service,
) -> dict[str, Any]:
    """Operations, violations, memory and queues of two workers under mixed traffic; `start` starts a worker."""
    at_start = machine()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        data = Path(folder)
        models_dir.mkdir(parents=True, exist_ok=True)
        (data / "models").symlink_to(models_dir.resolve())
        url = database_url or f"sqlite:///{data / 'surehit.db'}"
        migrate.upgrade(url)
        keys = {tenant: new_key() for tenant in TENANTS}
        asyncio.run(_with(url, lambda db: _add_keys(db, keys)))
        settings = {"SUREHIT_EMBED_THREADS": "1", "SUREHIT_METRICS_TOKEN": TOKEN}
        workers = [
            stack.enter_context(
                start(data, database_url=url, log=data / f"worker-{n}.log", **settings)
            )
            for n in range(2)
        ]
        tell(f"two workers for {minutes:g} min")
        texts = {tenant: key[0] for tenant, key in keys.items()}
        run, samples = asyncio.run(_traffic(url, workers, texts, minutes * 60, seed))
    tell("checking")
    violations = Checker(run.history).violations()
    return {
        "machine": at_start,
        "database": "postgresql" if url.startswith("postgresql") else "sqlite",
        "seconds": samples[-1].at - samples[0].at,
        "operations": sum(run.sent.values()),
        "by_kind": dict(sorted(run.sent.items())),
        "outcomes": dict(Counter(lookup.tier for lookup in run.history.lookups)),
        "degraded": sum(lookup.reason == "degraded" for lookup in run.history.lookups),
        "troubles": dict(sorted(run.troubles.items())),
        "violations": dict(Counter(v.kind for v in violations)),
        "examples": [f"{v.kind}: {v.what}" for v in violations[:20]],
        **_figures(samples),
    }


async def _with(url: str, work: Callable[[Database], Any]) -> Any:
    db = open_database(url, budget_ms=10_000)
    await db.open()
    try:
        return await work(db)
    finally:
        await db.close()


async def _add_keys(db: Database, keys: dict[str, tuple[str, bytes, str]]) -> None:
    now = time.time_ns() // 1_000_000
    for tenant, (_, key_hash, key_id) in keys.items():
        await db.write(
            lambda tx, t=tenant, h=key_hash, i=key_id: tenants.add_key(  # type: ignore[misc]
                tx, t, key_id=i, key_hash=h, name="soak", role="admin", max_stores_per_hour=None, now=now
            )
        )  # fmt: skip


async def _traffic(
    url: str, workers: list[processes.Running], keys: dict[str, str], seconds: float, seed: int
) -> tuple[Run, list[_Sample]]:
    run = Run()
    samples: list[_Sample] = []
    async with contextlib.AsyncExitStack() as stack:
        http = {
            tenant: [
                await stack.enter_async_context(
                    httpx2.AsyncClient(
                        base_url=worker.url,
                        timeout=60,
                        headers={"authorization": f"Bearer {keys[tenant]}"},
                    )
                )
                for worker in workers
            ]
            for tenant in TENANTS
        }
        clients = [
            Client(run, http[tenant], tenant, number, random.Random(seed * 1000 + number))  # noqa: S311
            for number, tenant in enumerate(TENANTS * CLIENTS)
        ]
        for client in clients[: len(TENANTS)]:
            await client.prepare()
        decisions = await _with(url, _decide)
        tasks = [asyncio.create_task(client.work()) for client in clients]
        tasks += [
            asyncio.create_task(client.own(line, decisions[client.tenant]))
            for client in clients[: len(TENANTS)]
            for line in LINES
        ]
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends and not any(task.done() for task in tasks):
            samples.append(await _sample(workers))
            await asyncio.sleep(min(SAMPLE_S, max(0.0, ends - time.perf_counter())))
        run.is_over.set()
        await asyncio.gather(*tasks)
        samples.append(await _sample(workers))
        for client in clients:
            await client.look_at_what_was_kept()
    return run, samples


async def _decide(db: Database) -> dict[str, list[tuple[str, float]]]:
    """Decisions to be applied: (id, threshold) per tenant. Their evidence is made up: nobody tunes here."""
    new_id = IdSource()
    found: dict[str, list[tuple[str, float]]] = {}
    for tenant in TENANTS:
        policy = await Policies(db).load(tenant, "faq")
        kept = await entries.count_by_line(db, tenant, now=time.time_ns() // 1_000_000)
        fingerprints = [row[2] for row in kept if row[0] == "faq" and row[4]]
        if policy is None or not fingerprints:
            raise RuntimeError("the line has no entry with a vector")
        for threshold in THRESHOLDS:
            decision = decision_rows.Decided(
                id=new_id(),
                line="faq",
                created_ms=time.time_ns() // 1_000_000,
                by="soak",
                threshold=threshold,
                target_false_hit_rate=0.03,
                confidence=0.95,
                score_version=score_version(fingerprints[0], policy),
                policy_version=policy.config.policy_version,
                evidence_json="{}",
            )
            await db.write(
                lambda tx, t=tenant, d=decision: decision_rows.add(tx, t, d)  # type: ignore[misc]
            )
            found.setdefault(tenant, []).append((public_id(decision.id), threshold))
    return found


@dataclass(frozen=True, slots=True)
class _Sample:
    """The workers at a moment."""

    at: float
    memory_mb: tuple[float, ...]
    embedding_queue: float
    journal_dropped: float


async def _sample(workers: list[processes.Running]) -> _Sample:
    queue = dropped = 0.0
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=60) as http:
        for worker in workers:
            text = (await http.get(f"{worker.url}/metrics")).text
            queue = max(queue, _series(text, "surehit_embedding_queue"))
            dropped += _series(text, "surehit_journal_dropped_total")
    memory = tuple(_memory_mb(worker.pid) for worker in workers)
    return _Sample(time.perf_counter(), memory, queue, dropped)


def _series(text: str, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/metrics has no series {name}")
    return float(found[1])


def _memory_mb(pid: int) -> float:
    """Resident memory of a process, mapped files (SQLite's database) not included (Linux; 0 elsewhere)."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    found = re.search(r"^RssAnon:\s+(\d+) kB", status.read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def _figures(samples: list[_Sample]) -> dict[str, Any]:
    """Memory at the start, at each tenth and at the end; queues at their longest."""
    tenths = [samples[round(n * (len(samples) - 1) / 10)] for n in range(11)]
    return {
        "memory_mb": [[round(mb, 1) for mb in sample.memory_mb] for sample in tenths],
        "longest_embedding_queue": max(sample.embedding_queue for sample in samples),
        "log_records_dropped": samples[-1].journal_dropped,
    }


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    first, half, last = (found["memory_mb"][n] for n in (0, 5, 10))
    kinds = ", ".join(f"{kind} {n}" for kind, n in found["by_kind"].items())
    outcomes = ", ".join(f"{tier} {n}" for tier, n in sorted(found["outcomes"].items()))
    violations = sum(found["violations"].values())
    lines = [
        f"two workers, {found['database']}, on {sentence(found)}",
        f"{found['operations']} requests in {found['seconds']:.0f} s: {kinds}",
        f"lookups by tier: {outcomes}; degraded: {found['degraded']}; other replies: {found['troubles'] or 'none'}",
        f"violations: {violations} {found['violations'] or ''}",
        f"memory of the workers: {first} MB at the start, {half} MB half-way, {last} MB at the end",
        f"longest embedding queue: {found['longest_embedding_queue']:.0f}; log records dropped: "
        f"{found['log_records_dropped']:.0f}",
        *found["examples"],
    ]
    return "\n".join(lines)
