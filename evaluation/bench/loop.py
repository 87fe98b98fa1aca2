"""`surehit bench loop`: the whole loop on traffic whose truth is known, and how the promise held.

From an empty database: N requests in shadow, the first quarter of them to plan the sampling with; simulated reviewers,
who know the truth, judge what was sampled through the functions that the routes call; the tuner certifies and applies;
the next N requests are served. The false-hit rate of what was really served then stands beside the certified bound.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from sqlalchemy import bindparam, select

from evaluation import plans, reviews, tuning, watch
from evaluation.bounds import clopper_pearson_lower, clopper_pearson_upper
from evaluation.desk import Desk, desk_of
from index.embedding import catalog
from index.types import Embedder, Readability, Vectors
from service.app import build_cache
from service.ask import Ask
from service.cache import Cache, Caller
from service.lookup import lookup
from service.metrics import Metrics
from service.outcome import Hit
from service.policy import LineChange
from service.settings import Settings
from service.storage import migrate
from service.storage.models import Lookup
from service.storage.query import Query
from service.store import Put, store

Tell = Callable[[str], None]
REVIEWERS = ("reviewer-1", "reviewer-2", "reviewer-3")
LANGUAGES = {"faq": "en", "search": "zh", "code": "en"}
_ME = Caller("default", "bench", "admin")
PILOT_SHARE = 0.25
_EPOCH_MS = 1_800_000_000_000


@dataclass(frozen=True)
class Run:
    """One line with one seed. Rates are shares of semantic hits; hit rates of semantic lookups.

    ``window_*`` is the truth about the window that was certified, at the certified threshold: what the certificate
    speaks of. ``served_*`` is the truth about the next window, which was really served. ``None`` where nothing was.
    """

    line: str
    language: str
    seed: int
    requests: int
    labels: int
    unlabelled: int
    answer: str
    threshold: float | None
    target: float
    point_estimate: float | None
    forecast_hit_rate: float | None
    window_hits: int
    window_false_hits: int
    served_lookups: int
    served_hits: int
    served_false_hits: int
    exact_hits: int
    best_hit_rate: float
    seconds: float

    @property
    def is_certified(self) -> bool:
        """True when a threshold was put in force."""
        return self.threshold is not None

    @property
    def window_rate(self) -> float | None:
        """True false-hit rate of the certified window."""
        return self.window_false_hits / self.window_hits if self.window_hits else None

    @property
    def served_rate(self) -> float | None:
        """True false-hit rate of what was served."""
        return self.served_false_hits / self.served_hits if self.served_hits else None

    @property
    def is_broken(self) -> bool:
        """True when the certificate was wrong about its own window."""
        return self.window_rate is not None and self.window_rate > self.target

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "window_rate": self.window_rate,
            "served_rate": self.served_rate,
            "served_hit_rate": self.served_hits / self.served_lookups if self.served_lookups else 0,
            "is_broken": self.is_broken,
        }


class Remembering:
    """An embedder that embeds each text once, over all seeds."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._known: dict[str, Any] = {}
        self.fingerprint = inner.fingerprint
        self.dimensions = inner.dimensions
        self.languages = inner.languages
        self.max_tokens = inner.max_tokens
        self.preferred_batch = inner.preferred_batch

    def readability(self, text: str) -> Readability:
        """See `Embedder`."""
        return self._inner.readability(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            for text, vector in zip(new, self._inner.embed(new), strict=True):
                self._known[text] = vector
        return np.asarray([self._known[text] for text in texts], dtype=np.float32).reshape(
            len(texts), self.dimensions
        )


@dataclass
class _Clock:
    now_ms: int = _EPOCH_MS

    def __call__(self) -> int:
        return self.now_ms


def run(
    lines: Sequence[str],
    *,
    seeds: Sequence[int],
    requests: int,
    target: float,
    label_budget: int,
    models_dir: Path,
    tell: Tell = lambda text: None,
) -> list[Run]:
    """Every line with every seed, one after the other."""
    found = []
    for line in lines:
        language = LANGUAGES[line]
        embedder = Remembering(catalog.load(catalog.default_for(language), models_dir))  # type: ignore[arg-type]
        for seed in seeds:
            tell(f"{line} seed {seed}: making traffic")
            traffic = make_traffic(line, language, requests=2 * requests, seed=seed)
            result = asyncio.run(
                _one(line, seed, traffic, embedder, target=target, budget=label_budget, tell=tell)
            )
            tell(row_of(result))
            found.append(result)
    return found


def make_traffic(line: str, language: str, *, requests: int, seed: int) -> list[dict[str, Any]]:
    """Requests in order of arrival, each with the group of requests that may share its answer.

    Raises FileNotFoundError without the shared data.
    """
    shared = shared_folder()
    tool = shared / "tools" / "make_traffic.py"
    if not tool.exists():
        raise FileNotFoundError(f"{tool}: set SUREHIT_SHARED to the folder with tools and data")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "traffic.jsonl"
        options = {"--line": line, "--lang": language, "--n": requests, "--seed": seed}
        command = [sys.executable, str(tool), "--data", str(shared / "data"), "--out", str(out)]
        for name, value in options.items():
            command += [name, str(value)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603 - a tool of our own
        with out.open(encoding="utf-8") as file:
            return [json.loads(row) for row in file]


def shared_folder() -> Path:
    """Where the labelled data and its tools are: `SUREHIT_SHARED`, or beside the repository."""
    return Path(os.environ.get("SUREHIT_SHARED") or Path(__file__).parents[3] / "shared")


async def _one(
    line: str,
    seed: int,
    traffic: list[dict[str, Any]],
    embedder: Embedder,
    *,
    target: float,
    budget: int,
    tell: Tell,
) -> Run:
    began = time.perf_counter()
    language = LANGUAGES[line]
    half = len(traffic) // 2
    pilot = round(PILOT_SHARE * half)
    clock = _Clock()
    group_of = {request["id"]: request["group"] for request in traffic}
    with tempfile.TemporaryDirectory() as folder:
        cache = await _open(Path(folder), clock, embedder, language)
        desk = desk_of(cache)
        try:
            await _configure(cache, line, {"language": language, "target_false_hit_rate": target})
            groups: dict[str, str] = {}
            await _plan(desk, line, budget, guess=pilot // 2)
            tell(f"{line} seed {seed}: {pilot} requests in shadow to plan with")
            await _replay(cache, line, traffic[:pilot], clock, group_of, groups)
            labels = await review_all(desk, line, groups, group_of)
            await _plan(desk, line, budget - labels, traffic_ratio=(half - pilot) / max(pilot, 1))
            clock.now_ms += 1
            began_ms = clock.now_ms
            tell(f"{line} seed {seed}: {half - pilot} more in shadow")
            await _replay(cache, line, traffic[pilot:half], clock, group_of, groups)
            labels += await review_all(desk, line, groups, group_of)
            tuned = await tuning.tune(
                desk,
                "default",
                line=line,
                target=target,
                apply=True,
                score="cosine",
                by="bench",
                reason="bench",
            )
            threshold = tuned.report.get("threshold") if tuned.applied else None
            window = await _truth(cache, line, groups, group_of, threshold, began_ms)
            clock.now_ms += 1
            tell(f"{line} seed {seed}: {tuned.sentence()}")
            tell(f"{line} seed {seed}: {len(traffic) - half} requests served")
            served = await _replay(cache, line, traffic[half:], clock, group_of, groups)
        finally:
            await cache.journal.close()
            await cache.embedders.close()
            await cache.db.close()
    certificate = tuned.report.get("certificate", {})
    return Run(
        line=line,
        language=language,
        seed=seed,
        requests=half,
        labels=labels,
        unlabelled=tuned.report["waiting"],
        answer=tuned.answer,
        threshold=threshold,
        target=target,
        point_estimate=certificate.get("point_estimate"),
        forecast_hit_rate=certificate.get("hit_rate"),
        window_hits=window[0],
        window_false_hits=window[1],
        served_lookups=served.lookups,
        served_hits=served.hits,
        served_false_hits=served.false_hits,
        exact_hits=served.exact_hits,
        best_hit_rate=served.could_hit / max(served.lookups, 1),
        seconds=time.perf_counter() - began,
    )


async def _open(folder: Path, clock: _Clock, embedder: Embedder, language: str) -> Cache:
    settings = Settings(
        data_dir=folder, database_url=f"sqlite:///{folder / 'bench.db'}", embed_budget_ms=60_000
    )
    migrate.upgrade(settings.database)
    cache = build_cache(settings, Metrics("bench"), clock)
    await cache.db.open()
    cache.embedders.put(catalog.default_for(language), embedder)  # type: ignore[arg-type]
    cache.journal.start()
    return cache


async def _plan(
    desk: Desk, line: str, budget: int, *, traffic_ratio: float = 1.0, guess: int = 1
) -> None:
    """Sample by what is known: nothing at first, then the pilot's labels and scores."""
    policy = await desk.policy("default", line)
    proposal = await plans.propose(
        desk,
        policy,
        label_budget=max(budget, 0),
        traffic_ratio=traffic_ratio,
        lookups_guessed=max(guess, 1),
    )
    await plans.put_in_force(
        desk, "default", line=line, plan=proposal.plan, by="bench", reason="bench"
    )


async def _configure(cache: Cache, line: str, settings: dict[str, Any]) -> None:
    await cache.policies.change(
        "default",
        line,
        change=LineChange(settings, partial=False),
        change_id=cache.new_id(),
        by="bench",
        now=cache.clock_ms(),
    )


@dataclass
class _Served:
    lookups: int = 0
    hits: int = 0
    false_hits: int = 0
    exact_hits: int = 0
    could_hit: int = 0


async def _replay(
    cache: Cache,
    line: str,
    requests: Sequence[dict[str, Any]],
    clock: _Clock,
    group_of: dict[str, str],
    groups: dict[str, str],
) -> _Served:
    """Look up, and store the request's own id after a miss; `groups` takes in the group of each lookup."""
    served = _Served()
    for request in requests:
        clock.now_ms = max(clock.now_ms, _EPOCH_MS + int(request["ts_ms"]))
        asked = {"model": "m", "temperature": 0, "messages": request["messages"]}
        found = await lookup(cache, _ME, Ask(line, asked))
        if isinstance(found, Hit):
            if found.tier == "exact":
                served.exact_hits += 1
                continue
            served.lookups += 1
            served.hits += 1
            served.could_hit += request["seen"]
            served.false_hits += group_of[orjson.loads(found.response)] != request["group"]
            groups[found.lookup_id] = request["group"]
            continue
        groups[found.lookup_id] = request["group"]
        if found.reason in ("empty", "below_threshold", "guarded", "shadow"):
            served.lookups += 1
            served.could_hit += request["seen"]
        await store(cache, _ME, Put(orjson.dumps(request["id"]), found.lookup_id))
    await cache.journal.flush()
    return served


async def review_all(
    desk: Desk, line: str, group_of_lookup: dict[str, str], group_of: dict[str, str]
) -> int:
    """Reviewers who know the truth judge until nobody has anything left; how many labels they gave."""
    from service import ids

    given, idle = 0, 0
    while idle < len(REVIEWERS):
        for reviewer in REVIEWERS:
            shown = await reviews.next_item(desk, "default", line=line, reviewer=reviewer)
            if shown is None:
                idle += 1
                continue
            idle = 0
            item = shown.item
            asked = group_of_lookup[ids.encode("lkp", item.lookup_id or 0)]
            is_right = group_of[orjson.loads(item.entry_response)] == asked
            done = await reviews.label(
                desk,
                "default",
                item_id=item.id,
                reviewer=reviewer,
                verdict="reusable" if is_right else "not_reusable",
                reason=None if is_right else "different_intent",
            )
            await watch.after_label(desk, "default", done)
            given += 1
    return given


_LOGGED = Query(
    "logged_candidates",
    select(Lookup.id, Lookup.entry_id).where(
        Lookup.tenant_id == "default",
        Lookup.line == bindparam("of_line"),
        Lookup.guard.is_(None),
        Lookup.score >= bindparam("threshold"),
        Lookup.at_ms >= bindparam("since"),
    ),
)


async def _truth(
    cache: Cache,
    line: str,
    group_of_lookup: dict[str, str],
    group_of: dict[str, str],
    threshold: float | None,
    since_ms: int,
) -> tuple[int, int]:
    """(hits, false hits) that the threshold would have had in the logged window."""
    from service import ids
    from service.storage import entries

    if threshold is None:
        return 0, 0
    hits = false_hits = 0
    answers: dict[int, str] = {}
    for lookup_id, entry_id in await cache.db.read(
        _LOGGED, {"of_line": line, "threshold": threshold, "since": since_ms}
    ):
        if entry_id not in answers:
            entry = await entries.get(cache.db, "default", entry_id=entry_id, now=cache.clock_ms())
            answers[entry_id] = "" if entry is None else orjson.loads(entry.response)
        hits += 1
        group = group_of_lookup[ids.encode("lkp", lookup_id)]
        false_hits += group_of.get(answers[entry_id]) != group
    return hits, false_hits


def render(runs: Sequence[Run]) -> str:
    """The table as text, and per line how often the promise broke."""
    text = [HEAD, *(row_of(r) for r in runs), ""]
    for line in dict.fromkeys(r.line for r in runs):
        own = [r for r in runs if r.line == line]
        certified = [r for r in own if r.is_certified]
        broken = sum(r.is_broken for r in certified)
        hits = sum(r.served_hits for r in certified)
        false_hits = sum(r.served_false_hits for r in certified)
        upper = float(clopper_pearson_upper(broken, len(own), confidence=0.975)) if own else 1.0
        lower = float(clopper_pearson_lower(broken, len(own), confidence=0.975)) if own else 0.0
        served = f"{false_hits / hits:.2%} of {hits} hits served were false" if hits else "no hits"
        text.append(
            f"{line}: certified in {len(certified)} of {len(own)} runs; the certificate was wrong about its window in "
            f"{broken} ({lower:.1%}–{upper:.1%} of runs); {served}"
        )
    return "\n".join(text)


HEAD = (
    "line    seed  labels  threshold  target  window: false of hits   served: false of hits    "
    "hit rate (forecast, best)  exact hits  seconds"
)


def row_of(r: Run) -> str:
    """One run."""
    if r.threshold is None:
        return f"{r.line:7} {r.seed:4}  {r.labels:6}  {r.answer}; nothing served  {r.seconds:.0f} s"
    rate = r.served_hits / max(r.served_lookups, 1)
    return (
        f"{r.line:7} {r.seed:4}  {r.labels:6}  {r.threshold:9.3f}  {r.target:6.1%}  "
        f"{_share(r.window_false_hits, r.window_hits):>22}  {_share(r.served_false_hits, r.served_hits):>22}  "
        f"{rate:9.1%} ({r.forecast_hit_rate or 0:.1%}, {r.best_hit_rate:.1%})  {r.exact_hits:10}  {r.seconds:7.0f}"
    )


def _share(bad: int, hits: int) -> str:
    return f"{bad / hits:.2%} ({bad}/{hits})" if hits else "–"
