"""`surehit bench replay FILE`: labelled traffic through the real lookup and store, one line per threshold.

Every threshold gets a line of its own in one cache, since a served hit is not stored and so changes what is found
later. On a miss the request's own id is stored as the answer; on a hit the group of the returned id says whether it
was right.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from service.app import build_cache, wall_clock_ms
from service.ask import Ask
from service.cache import Cache, Caller
from service.eligibility import RULES
from service.guards import GUARDS
from service.lookup import lookup
from service.metrics import Metrics
from service.outcome import Hit
from service.policy import LineChange
from service.settings import Settings
from service.storage import migrate
from service.store import Put, store

THRESHOLDS = (0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)
_ME = Caller("default", "bench", "admin")
Tell = Callable[[int, int], None]


@dataclass
class Row:
    """What one threshold came to. Rates are of semantic hits, or of lookups that reached the semantic tier."""

    threshold: float
    guarded: bool
    exact_hits: int = 0
    false_exact_hits: int = 0
    semantic_lookups: int = 0
    semantic_hits: int = 0
    false_hits: int = 0
    hits_by_kind: Counter[str] = field(default_factory=Counter)
    false_by_kind: Counter[str] = field(default_factory=Counter)
    refused_by_guard: Counter[str] = field(default_factory=Counter)
    misses: Counter[str] = field(default_factory=Counter)

    @property
    def hit_rate(self) -> float:
        """Semantic hits over lookups that reached the semantic tier."""
        return self.semantic_hits / self.semantic_lookups if self.semantic_lookups else 0.0

    @property
    def false_hit_rate(self) -> float | None:
        """False hits over semantic hits; None without any."""
        return self.false_hits / self.semantic_hits if self.semantic_hits else None


@dataclass(frozen=True)
class Replay:
    """A replay's table, with what a perfect cache could have done."""

    file: str
    requests: int
    best_exact_hits: int
    best_semantic_hits: int
    seconds: float
    rows: list[Row]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = []
        for row in self.rows:
            # asdict would rebuild a Counter from pairs, and so count the pairs
            plain = {f.name: getattr(row, f.name) for f in fields(row)}
            counts = {name: dict(v) for name, v in plain.items() if isinstance(v, Counter)}
            rates = {"hit_rate": row.hit_rate, "false_hit_rate": row.false_hit_rate}
            rows.append(plain | counts | rates)
        return {
            "file": self.file,
            "requests": self.requests,
            "best_exact_hits": self.best_exact_hits,
            "best_semantic_hits": self.best_semantic_hits,
            "seconds": self.seconds,
            "rows": rows,
        }


def run(
    file: Path,
    *,
    language: str,
    thresholds: Sequence[float] = THRESHOLDS,
    guards: Iterable[bool] = (True,),
    limit: int | None = None,
    models_dir: Path,
    tell: Tell | None = None,
) -> Replay:
    """Replay a file of make_traffic.py. `guards` may hold True, False or both."""
    with file.open(encoding="utf-8") as lines:
        requests = [json.loads(line) for line in lines]
    return asyncio.run(
        _run(file.name, requests[:limit], language, thresholds, tuple(guards), models_dir, tell)
    )


async def _run(
    name: str,
    requests: list[dict[str, Any]],
    language: str,
    thresholds: Sequence[float],
    guards: tuple[bool, ...],
    models_dir: Path,
    tell: Tell | None,
) -> Replay:
    rows = [Row(t, g) for g in guards for t in thresholds]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        cache = await _open(Path(folder), models_dir)
        try:
            lines = [await _line(cache, row, language) for row in rows]
            group_of: dict[str, str] = {}
            for n, request in enumerate(requests):
                group_of[request["id"]] = request["group"]
                await asyncio.gather(
                    *(
                        _one(cache, line, row, request, group_of)
                        for line, row in zip(lines, rows, strict=True)
                    )
                )
                if tell is not None and n % 50 == 49:
                    tell(n + 1, len(requests))
        finally:
            await cache.journal.close()
            await cache.embedders.close()
            await cache.db.close()
    exact = sum(1 for r in requests if r["byte_seen"] and r["seen"])
    return Replay(
        file=name,
        requests=len(requests),
        best_exact_hits=exact,
        best_semantic_hits=sum(1 for r in requests if r["seen"]) - exact,
        seconds=time.perf_counter() - began,
        rows=rows,
    )


async def _open(folder: Path, models_dir: Path) -> Cache:
    settings = Settings(
        data_dir=folder,
        database_url=f"sqlite:///{folder / 'bench.db'}",
        embed_budget_ms=60_000,
        database_budget_ms=60_000,
    )
    migrate.upgrade(settings.database)
    cache = build_cache(settings, Metrics("bench"), wall_clock_ms, models_dir=models_dir)
    await cache.db.open()
    cache.journal.start()
    return cache


async def _line(cache: Cache, row: Row, language: str) -> str:
    name = f"t{row.threshold}-{'guards' if row.guarded else 'bare'}"
    settings: dict[str, Any] = {"mode": "serve", "threshold": row.threshold, "language": language}
    if not row.guarded:
        settings |= {
            "guards": dict.fromkeys(GUARDS, False),
            "rules": dict.fromkeys(RULES, False),
            "personal_needs_scope": False,
        }
    await cache.policies.change(
        "default",
        name,
        change=LineChange(settings, partial=False),
        change_id=cache.new_id(),
        by="bench",
        now=wall_clock_ms(),
    )
    return name


async def _one(
    cache: Cache, line: str, row: Row, request: dict[str, Any], group_of: dict[str, str]
) -> None:
    """One request on one line: look up, judge a hit, store after a miss."""
    asked = {"model": "m", "temperature": 0, "messages": request["messages"]}
    found = await lookup(cache, _ME, Ask(line, asked, scope=request.get("tenant", "")[2:]))
    if isinstance(found, Hit):
        is_right = group_of[orjson.loads(found.response)] == request["group"]
        if found.tier == "exact":
            row.exact_hits += 1
            row.false_exact_hits += not is_right
            return
        row.semantic_lookups += 1
        row.semantic_hits += 1
        row.hits_by_kind[request["kind"]] += 1
        if not is_right:
            row.false_hits += 1
            row.false_by_kind[request["kind"]] += 1
        return
    row.misses[found.reason.value] += 1
    row.semantic_lookups += found.reason in ("empty", "below_threshold", "guarded")
    if found.guard is not None:
        row.refused_by_guard[found.guard] += 1
    await store(cache, _ME, Put(orjson.dumps(request["id"]), found.lookup_id))


def render(replay: Replay) -> str:
    """The table as text."""
    lines = [
        f"{replay.file}: {replay.requests} requests in {replay.seconds:.0f} s; a perfect cache: "
        f"{replay.best_exact_hits} exact hits, {replay.best_semantic_hits} semantic hits",
        "",
        "threshold  guards  exact hits (false)  semantic hits  of lookups  false hits  false-hit rate",
    ]
    for row in replay.rows:
        rate = "–" if row.false_hit_rate is None else f"{row.false_hit_rate:.2%}"
        lines.append(
            f"{row.threshold:9.2f}  {'on' if row.guarded else 'off':6}  {row.exact_hits:10} ({row.false_exact_hits})"
            f"  {row.semantic_hits:17}  {row.hit_rate:10.1%}  {row.false_hits:10}  {rate:>14}"
        )
    return "\n".join([*lines, "", *_by_kind(replay.rows)])


def _by_kind(rows: list[Row]) -> list[str]:
    """False hits of semantic hits per kind of request, without guards and with them side by side."""
    lines = [
        "false hits of semantic hits by kind of request",
        "threshold  kind         guards off   guards on",
    ]
    for threshold in sorted({row.threshold for row in rows}):
        pair = {row.guarded: row for row in rows if row.threshold == threshold}
        for kind in sorted({kind for row in pair.values() for kind in row.hits_by_kind}):
            off, on = (_count(pair.get(guarded), kind) for guarded in (False, True))
            lines.append(f"{threshold:9.2f}  {kind:11}  {off:>10}  {on:>10}")
    return lines


def _count(row: Row | None, kind: str) -> str:
    return "–" if row is None else f"{row.false_by_kind[kind]} of {row.hits_by_kind[kind]}"
