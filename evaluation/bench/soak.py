"""`surehit bench soak`: everything at once against two workers, for minutes, and then: was anybody told wrong?

Clients of two tenants store (by lookup id and directly), look up, invalidate by entry, tag and scope, erase, and give
verdicts, on either worker at random; owners change thresholds, modes and policy versions and apply decisions. What each
was told is kept (`history.py`) and searched for what can't be.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from evaluation import decision_rows
from evaluation.bench import history, processes
from evaluation.bench.history import UNKNOWN, Change, Checker, History, Key
from evaluation.bench.machine import machine, sentence
from evaluation.publish import public_id
from service.auth import new_key
from service.ids import IdSource
from service.journal import score_version
from service.policy import Policies
from service.storage import entries, migrate, tenants
from service.storage.database import Database, open_database

TENANTS = ("acme", "globex")
LINES = ("faq", "docs")
"""`faq` changes its threshold, by hand and by decision, and its mode; `docs` its policy version."""
THRESHOLDS = (0.85, 0.9, 0.95)
CLIENTS = 4
"""Per tenant."""
SCOPES = ("", "team-a", "team-b", "kept")
"""Nothing of the last is invalidated or erased: what was stored there must be there at the end."""
TAGS = ("doc:1", "doc:2", "doc:3")
KEPT = 300
"""Prompts per client that are stored and never dropped."""
CONTEXTS = ("You answer in one sentence.", "You answer with all details.")
SAMPLE_S = 1.0
TOKEN = "soak"  # noqa: S105 - of a service that lives as long as the benchmark

_QUESTIONS = (
    ("How do I reset my password?", "How can I reset my password?", "How do I reset the password?"),
    ("How do I change the delivery address?", "How can I change the delivery address?"),
    ("How do I export a report as a file?", "How can I export a report as a file?"),
    ("How do I invite a colleague to the workspace?", "How can I invite a colleague to the workspace?"),
    ("How do I connect the printer to the network?", "How can I connect the printer to the network?"),
    ("How do I turn off notifications?", "How can I turn off notifications?"),
    ("How do I merge two documents?", "How can I merge two documents?"),
    ("How do I restore a deleted folder?", "How can I restore a deleted folder?"),
)  # fmt: skip


@dataclass
class _Run:
    """What all clients share."""

    history: History = field(default_factory=History)
    sent: Counter[str] = field(default_factory=Counter)
    troubles: Counter[str] = field(default_factory=Counter)
    """Replies that were no success, and requests without one."""
    serials: Iterator[int] = field(default_factory=itertools.count)
    rules: dict[tuple[str, str], Change] = field(default_factory=dict)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)


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
) -> tuple[_Run, list[_Sample]]:
    run = _Run()
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
            _Client(run, http[tenant], tenant, number, random.Random(seed * 1000 + number))  # noqa: S311
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


class _Client:
    """One client of a tenant, with a connection to each worker."""

    def __init__(
        self,
        run: _Run,
        http: list[httpx2.AsyncClient],
        tenant: str,
        number: int,
        rng: random.Random,
    ) -> None:
        self._run, self._http, self.tenant = run, http, tenant
        self._number, self._rng = number, rng
        self._numbers = itertools.cycle(range(KEPT))
        self._was_kept: set[Key] = set()
        self._entries: dict[str, Key] = {}
        """Entries of the newest stores, to be deleted by their id."""

    async def prepare(self) -> None:
        """Make the lines, and wait until both workers answer by meaning."""
        for line in LINES:
            await self._change(line, {"mode": "serve", "threshold": 0.9}, method="PUT")
        for http in self._http:
            ends = time.perf_counter() + 60
            asked = _QUESTIONS[0]
            while True:
                await self._store(Key(self.tenant, "", "faq", CONTEXTS[0], asked[0]), http=http)
                found = await self._lookup(
                    Key(self.tenant, "", "faq", CONTEXTS[0], asked[1]), http=http
                )
                if found is not None and found.get("tier") == "semantic":
                    break
                if time.perf_counter() > ends:
                    raise RuntimeError("no semantic hit within a minute")
                await asyncio.sleep(0.2)

    async def work(self) -> None:
        """Until the run is over."""
        acts: list[tuple[Callable[[], Any], float]] = [
            (self._look_then_store, 50),
            (lambda: self._lookup(self._any_key()), 30),
            (lambda: self._store(self._any_key(), ttl_s=self._rng.choice([None, None, 2.0])), 6),
            (self._keep, 8),
            (self._invalidate, 3),
            (self._erase, 0.3),
            (self._judge, 1.5),
        ]
        choices, weights = zip(*acts, strict=True)
        while not self._run.is_over.is_set():
            (act,) = self._rng.choices(choices, weights)
            await act()

    async def own(self, line: str, decisions: list[tuple[str, float]]) -> None:
        """Change a line again and again, as the only one who does."""
        for number in itertools.count(2):
            pause = self._rng.uniform(0.2, 1.2) if line == "faq" else self._rng.uniform(4, 8)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._run.is_over.wait(), pause)
            if self._run.is_over.is_set():
                return
            if line == "docs":
                await self._change(line, {"policy_version": str(number)})
            elif self._rng.random() < 0.4:
                await self._apply(*self._rng.choice(decisions))
            else:
                mode = self._rng.choice(["serve"] * 4 + ["shadow"])
                await self._change(line, {"mode": mode, "threshold": self._rng.choice(THRESHOLDS)})

    async def look_at_what_was_kept(self) -> None:
        """Everything in the scope that nobody clears; the checker knows what must be there."""
        for key in sorted(self._was_kept):
            await self._lookup(key)

    def _kept_key(self, line: str, n: int) -> Key:
        text = f"How do I use option {n} of client {self._number}?"
        return Key(self.tenant, "kept", line, CONTEXTS[0], text)

    def _any_key(self) -> Key:
        return Key(
            self.tenant,
            self._rng.choice(SCOPES[:-1]),
            self._rng.choice(LINES),
            self._rng.choice(CONTEXTS),
            self._rng.choice(self._rng.choice(_QUESTIONS)),
        )

    async def _look_then_store(self) -> None:
        key = self._any_key()
        began = time.perf_counter()
        found = await self._lookup(key)
        asked = (began, time.perf_counter())
        if found is not None and found.get("fill"):
            if self._rng.random() < 0.3:
                await asyncio.sleep(self._rng.uniform(0, 0.2))  # the model thinks
            await self._store(key, lookup_id=found["lookup_id"], asked=asked)

    async def _keep(self) -> None:
        key = self._kept_key(self._rng.choice(LINES), next(self._numbers))
        self._was_kept.add(key)
        await self._store(key, tags=())

    async def _lookup(self, key: Key, *, http: httpx2.AsyncClient | None = None) -> Any:
        began = time.perf_counter()
        reply = await self._send("POST", "/v1/lookup", _asked(key), "lookup", http=http)
        if reply is None:
            return None
        found = reply.json()
        tier = found.get("tier", "none")
        self._run.history.lookups.append(
            history.Lookup(
                began=began,
                ended=time.perf_counter(),
                key=key,
                tier=tier,
                reason=found.get("reason", ""),
                serial=_serial(found["response"]) if tier != "none" else None,
                score=found["score"],
                threshold=found.get("threshold"),
            )
        )
        return found

    async def _store(
        self,
        key: Key,
        *,
        ttl_s: float | None = None,
        tags: tuple[str, ...] | None = None,
        lookup_id: str | None = None,
        asked: tuple[float, float] | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        serial = next(self._run.serials)
        tags = tuple(self._rng.sample(TAGS, self._rng.randrange(2))) if tags is None else tags
        answer = {"serial": serial, "of": list(key)}
        named = _asked(key) if lookup_id is None else {"lookup_id": lookup_id}
        body = (
            named | {"response": answer, "tags": list(tags)} | ({"ttl_s": ttl_s} if ttl_s else {})
        )
        began = time.perf_counter()
        # by lookup id: 409 when an invalidation covers it, 404 when it was erased; nothing was written
        expected = (201,) if lookup_id is None else (201, 409, 404)
        reply = await self._send("POST", "/v1/store", body, "store", expected=expected, http=http)
        if reply is not None and reply.status_code != 201:
            return
        ended = UNKNOWN if reply is None else time.perf_counter()
        entry = "" if reply is None else reply.json()["entry_id"]
        self._run.history.stores.append(
            history.Store(began, ended, key, serial, tags, ttl_s, asked, entry)
        )
        if reply is not None:
            self._entries[entry] = key
            while len(self._entries) > 8:
                del self._entries[next(iter(self._entries))]

    async def _invalidate(self) -> None:
        kind = self._rng.choice(["entry", "entry", "tag", "scope"])
        if kind == "entry":
            mine = sorted(i for i, key in self._entries.items() if key.scope != "kept")
            if not mine:
                return
            entry = self._rng.choice(mine)
            await self._drop("/v1/invalidate", {"entry_id": entry}, entry=entry)
        elif kind == "tag":
            tag = self._rng.choice(TAGS)
            await self._drop("/v1/invalidate", {"tag": tag}, tag=tag)
        else:
            scope = self._rng.choice(SCOPES[1:-1])
            await self._drop("/v1/invalidate", {"scope": scope}, scope=scope)

    async def _erase(self) -> None:
        scope = self._rng.choice(SCOPES[1:-1])
        await self._drop("/v1/erase", {"scope": scope}, scope=scope, is_erasure=True)

    async def _drop(self, path: str, body: dict[str, Any], **what: Any) -> None:
        began = time.perf_counter()
        reply = await self._send("POST", path, body, path[4:])
        ended = UNKNOWN if reply is None else time.perf_counter()
        if "entry" in what and reply is not None and not reply.json()["invalidated"]:
            return  # it was gone already
        self._run.history.drops.append(history.Drop(began, ended, self.tenant, **what))

    async def _judge(self) -> None:
        """Look something up; what was found by meaning is called wrong."""
        key = self._any_key()
        found = await self._lookup(key)
        if found is None or found.get("tier") != "semantic":
            return
        body = {"lookup_id": found["lookup_id"], "verdict": "not_reusable", "reason": "other"}
        began = time.perf_counter()
        # 404: its log was erased with its scope in the meantime
        reply = await self._send("POST", "/v1/feedback", body, "feedback", expected=(200, 404))
        serial = _serial(found["response"])
        if reply is not None and reply.status_code == 200 and serial is not None:
            block = history.Block(began, time.perf_counter(), key, serial)
            self._run.history.blocks.append(block)

    async def _change(self, line: str, settings: dict[str, Any], *, method: str = "PATCH") -> None:
        await self._set(line, settings, method, f"/v1/lines/{line}", settings)

    async def _apply(self, decision_id: str, threshold: float) -> None:
        path = f"/v1/lines/faq/decisions/{decision_id}/apply"
        settings = {"mode": "serve", "threshold": threshold}
        await self._set("faq", settings, "POST", path, {"reason": "soak"})

    async def _set(
        self, line: str, settings: dict[str, Any], method: str, path: str, body: dict[str, Any]
    ) -> None:
        before = self._run.rules.get((self.tenant, line))
        began = time.perf_counter()
        reply = await self._send(method, path, body, "change")
        change = Change(
            began=began,
            ended=UNKNOWN if reply is None else time.perf_counter(),
            tenant=self.tenant,
            line=line,
            threshold=settings.get("threshold", before.threshold if before else 0.0),
            mode=settings.get("mode", before.mode if before else ""),
            version=settings.get("policy_version", before.version if before else "1"),
        )
        self._run.history.changes.append(change)
        self._run.rules[self.tenant, line] = change

    async def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any],
        kind: str,
        *,
        expected: tuple[int, ...] = (200,),
        http: httpx2.AsyncClient | None = None,
    ) -> httpx2.Response | None:
        """The reply, None when it was none of the expected ones; on a worker at random."""
        self._run.sent[kind] += 1
        try:
            reply = await (http or self._rng.choice(self._http)).request(method, path, json=body)
        except httpx2.HTTPError as error:
            self._run.troubles[f"{kind}: {type(error).__name__}"] += 1
            return None
        if reply.status_code not in expected:
            self._run.troubles[f"{kind}: {reply.status_code}"] += 1
            return None
        return reply


def _asked(key: Key) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": key.context},
        {"role": "user", "content": key.prompt},
    ]
    return {
        "line": key.line,
        "scope": key.scope,
        "request": {"model": "soak", "messages": messages},
    }


def _serial(answer: Any) -> int | None:
    return answer.get("serial") if isinstance(answer, dict) else None


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
