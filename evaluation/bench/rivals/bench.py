"""`surehit bench peers`: Surehit and other semantic caches as servers on one machine, measured in turn.

All get the same questions, the same model (all-MiniLM-L6-v2; ours from the 8-bit file, theirs in float32 from
sentence-transformers) and the same least cosine. Every workload of a round is measured for all products before the
next one, in an order that moves on with each round; the medians over rounds are reported. What cannot be installed or
does not start is a row of its own with the reason.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx2

from evaluation.bench import http, load, processes
from evaluation.bench.machine import machine
from evaluation.bench.processes import Running
from evaluation.bench.rivals import recipes
from evaluation.bench.rivals.products import PRODUCTS, THRESHOLD, Product, Site
from evaluation.bench.rivals.recipes import Environment, NotInstalled
from evaluation.bench.rivals.wire import Wire

WORKLOADS = ("exact", "semantic", "miss", "store")
CLIENTS = (1, 8)
_MOST_STORES = 150
"""Per measurement, so that the quick ones do not end up with far more entries than the slow ones."""
_REWORDINGS = ("How can I", "How could I", "How might I", "How would I", "How will I")
"""Five of each question: more texts than the 4,096 vectors that Surehit remembers. Their cosine is at least 0.97."""
_ASKED = 280
"""Different questions that exact hits ask for."""

_TROUBLE = (RuntimeError, OSError, EOFError, ValueError, httpx2.HTTPError)
"""What a product that ends, breaks off, answers in another form or not in time makes of a measurement."""
_PATIENCE_S = 120.0

Tell = Callable[[str], None]


@dataclass
class Entrant:
    """A product that runs, with the texts it has had so far."""

    product: Product
    running: Running
    wire: Wire
    fresh: Iterator[int]
    entries: int
    trouble: str = ""
    """Why it was dropped while we measured."""


def run(
    *,
    work: Path,
    models_dir: Path,
    entries: int = 2_000,
    rounds: int = 5,
    seconds: float = 1.5,
    products: Sequence[Product] = PRODUCTS,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Measure the products.

    Parameters
    ----------
    work : folder that keeps the virtual environments from one run to the next.
    entries : stored in each product before anything is measured, at least 300.
    rounds : how often everything is measured.
    seconds : length of each measurement.

    Returns
    -------
    `machine`, `entries`, `rounds`, `threshold`; per product `title`, `note`, `memory_mb` and `medians` of its workloads
    (`exact_c1` and so on, see `load.Figures`; `failed` is the share of replies that were not what they should be);
    `left_out` with product and reason; `aims` and `ahead`, the cells in which a peer is ahead of Surehit.
    """
    if entries < 300:
        raise ValueError(f"entries must be at least 300, got {entries}")
    began_on = machine()
    work.mkdir(parents=True, exist_ok=True)
    environments, failed = _environments(products, work, tell)
    left_out: dict[str, str] = {}
    samples: dict[str, dict[str, list[dict[str, Any]]]] = {}
    memory: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory(dir=work) as folder, ExitStack() as stack:
        upstream = stack.enter_context(processes.upstream(0.0))
        site = Site(Path(folder), models_dir, environments, upstream, stack)
        entrants = []
        for product in products:
            reason = next((failed[r.name] for r in product.needs if r.name in failed), None)
            if reason is None:
                tell(f"starting and filling {product.title}")
                entrant = _entered(product, site, entries)
                if isinstance(entrant, Entrant):
                    entrants.append(entrant)
                    continue
                reason = entrant
            left_out[product.name] = reason
        for n in range(rounds):
            tell(f"round {n + 1} of {rounds}")
            turn = n % max(len(entrants), 1)
            for entrant, name, figures in _round(entrants[turn:] + entrants[:turn], site, seconds):
                row = samples.setdefault(entrant.product.name, {})
                row.setdefault(name, []).append(figures)
        memory = {e.product.name: load.memory_mb(e.running.pid) for e in entrants}
    for entrant in entrants:
        if entrant.trouble:
            left_out[entrant.product.name] = entrant.trouble
            samples.pop(entrant.product.name, None)
    found = _found(products, samples, memory, left_out)
    return {
        "machine": began_on,
        "entries": entries,
        "rounds": rounds,
        "threshold": THRESHOLD,
        **found,
    }


def _environments(
    products: Sequence[Product], work: Path, tell: Tell
) -> tuple[dict[str, Environment], dict[str, str]]:
    """What could be made of the products' recipes, and the reasons for the rest."""
    made: dict[str, Environment] = {}
    failed: dict[str, str] = {}
    for recipe in dict.fromkeys(r for product in products for r in product.needs):
        outcome = recipes.ensure(recipe, work, tell)
        if isinstance(outcome, NotInstalled):
            failed[recipe.name] = f"{recipe.name} could not be installed: {outcome.reason}"
        else:
            made[recipe.name] = outcome
    return made, failed


def _entered(product: Product, site: Site, entries: int) -> Entrant | str:
    """The product started, filled and warmed up; or why that did not work."""
    try:
        running, wire = product.start(site)
        held = min(entries, product.holds or entries)
        entrant = Entrant(product, running, wire, itertools.count(), held)
        asyncio.run(_fill(entrant))
        for name in _workloads(product):
            _measured(entrant, site, name, 1, 0.3)
    except _TROUBLE as error:
        return f"did not start or could not be filled: {error!r}"
    return entrant


def _workloads(product: Product) -> list[str]:
    return [w for w in WORKLOADS if not (product.is_exact_only and w == "semantic")]


async def _fill(entrant: Entrant) -> None:
    requests = iter([entrant.wire.fill(http._question(n)) for n in range(entrant.entries)])
    done = await load.run(entrant.running.port, lambda: requests, clients=8, seconds=1200)
    if done.failures or done.requests < entrant.entries:
        raise RuntimeError(
            f"{done.requests - done.failures} of {entrant.entries} entries were taken"
        )


def _round(
    entrants: list[Entrant], site: Site, seconds: float
) -> Iterator[tuple[Entrant, str, dict[str, Any]]]:
    """Every workload once for every entrant; one that breaks off is asked no more."""
    for name, clients in itertools.product(WORKLOADS, CLIENTS):
        for entrant in entrants:
            if name not in _workloads(entrant.product) or entrant.trouble:
                continue
            try:
                if entrant.product.holds and name == "exact":
                    asyncio.run(_fill(entrant))  # what it stored since has pushed them out
                figures = _measured(entrant, site, name, clients, seconds)
            except _TROUBLE as error:
                entrant.trouble = f"broke off at {name}, c={clients}: {error!r}"
                continue
            yield entrant, f"{name}_c{clients}", figures


def _measured(
    entrant: Entrant, site: Site, name: str, clients: int, seconds: float
) -> dict[str, Any]:
    """The figures of one workload, `failed` among them."""
    source, expected = _requests(entrant, name)
    counted = entrant.product.calls_provider
    if counted:
        httpx2.delete(f"{site.upstream.url}/__calls")
    sending = load.run(
        entrant.running.port,
        source,
        clients=clients,
        seconds=seconds,
        most=_MOST_STORES if name == "store" else 1_000_000,
        pid=entrant.running.pid,
        expect=expected,
    )
    figures = asyncio.run(asyncio.wait_for(sending, seconds + _PATIENCE_S))
    if counted:
        calls = int(httpx2.get(f"{site.upstream.url}/__calls", timeout=60).json()["total"])
        wrong = calls if name in ("exact", "semantic") else max(figures.requests - calls, 0)
        figures = replace(figures, failures=max(figures.failures, wrong))
    return asdict(figures) | {"failed": figures.failures / max(figures.requests, 1)}


def _requests(
    entrant: Entrant, name: str
) -> tuple[list[bytes] | Callable[[], Iterator[bytes]], bytes]:
    """The requests of a workload, and what the body of each good reply holds."""
    wire, entries = entrant.wire, entrant.entries
    if name == "exact":
        asked = range(0, entries, max(entries // _ASKED, 1))
        return [wire.lookup(http._question(n)) for n in asked], wire.hit
    if name == "semantic":
        return lambda: (wire.lookup(reworded(n, entries)) for n in entrant.fresh), wire.semantic_hit
    if name == "miss":
        return lambda: (wire.lookup_only(_unknown(n)) for n in entrant.fresh), wire.miss
    return lambda: (wire.store(http._question(entries + n)) for n in entrant.fresh), b""


def reworded(n: int, entries: int) -> str:
    """The n-th rewording of a stored question; a text comes again after five times as many as there are entries."""
    opening = _REWORDINGS[n // entries % len(_REWORDINGS)]
    return http._question(n % entries).replace("How do I", opening)


def _unknown(n: int) -> str:
    return f"Which river passes town number {n} of the north?"


def _found(
    products: Sequence[Product],
    samples: Mapping[str, Mapping[str, list[dict[str, Any]]]],
    memory: Mapping[str, float | None],
    left_out: Mapping[str, str],
) -> dict[str, Any]:
    """The medians with what is concluded from them."""
    rows = {}
    for product in products:
        if product.name in samples:
            workloads = samples[product.name]
            rows[product.name] = {
                "title": product.title,
                "note": product.note,
                "memory_mb": memory.get(product.name),
                "medians": {name: http._medians(runs) for name, runs in workloads.items()},
            }
    titles = {product.name: product.title for product in products}
    return {
        "products": rows,
        "left_out": [
            {"product": name, "title": titles[name], "reason": reason}
            for name, reason in left_out.items()
        ],
        "aims": aims(rows),
        "ahead": ahead(rows),
    }


_AIMS = (
    # what, workload, clients, figure, ours, theirs, at least
    ("GPTCache's server, exact hit", "exact", 1, "p50_ms", "surehit", "gptcache", 300),
    ("LiteLLM's proxy, exact hits per s", "exact", 8, "rps", "surehit", "litellm-local", 50),
    ("the same, proxy against proxy", "exact", 8, "rps", "surehit-proxy", "litellm-local", None),
    ("mneme behind FastAPI, semantic hit", "semantic", 1, "p50_ms", "surehit", "mneme", 3),
    ("the same per s", "semantic", 8, "rps", "surehit", "mneme", 3),
    ("redisvl behind FastAPI, semantic hit", "semantic", 1, "p50_ms", "surehit", "redisvl", 3),
    ("the same per s", "semantic", 8, "rps", "surehit", "redisvl", 3),
    ("GPTCache's server, semantic hit", "semantic", 1, "p50_ms", "surehit", "gptcache", None),
    (
        "LiteLLM's redis-semantic, proxy against proxy",
        "semantic",
        1,
        "p50_ms",
        "surehit-proxy",
        "litellm-semantic",
        None,
    ),
)


def aims(rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How many times as fast Surehit is where issue 6 states an aim, and beside it where it states none."""
    found = []
    for what, workload, clients, figure, ours, theirs, least in _AIMS:
        name = f"{workload}_c{clients}"
        if ours in rows and theirs in rows:
            our_row, their_row = rows[ours]["medians"][name], rows[theirs]["medians"][name]
            times = _times(our_row, their_row, figure)
            found.append(
                {
                    "what": what,
                    "figure": "p50" if figure == "p50_ms" else "throughput",
                    "clients": clients,
                    "times": times,
                    "cpu_times": _cpu_times(our_row, their_row),
                    "aim": least,
                    "is_met": None if least is None else times >= least,
                }
            )
    return found


def ahead(rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where a peer is ahead of Surehit, by how much; proxies are compared with the proxy as well."""
    found = []
    for ours, theirs in itertools.product(("surehit", "surehit-proxy"), rows):
        is_proxy = theirs.startswith("litellm")
        if ours not in rows or theirs.startswith("surehit") or (ours != "surehit" and not is_proxy):
            continue
        for name, theirs_row in rows[theirs]["medians"].items():
            for figure in ("p50_ms", "rps"):
                times = _times(rows[ours]["medians"][name], theirs_row, figure)
                if times < 1:
                    found.append(
                        {
                            "peer": theirs,
                            "over": ours,
                            "workload": name,
                            "figure": figure,
                            "times": 1 / times,
                        }
                    )
    return found


def _times(ours: Mapping[str, float], theirs: Mapping[str, float], figure: str) -> float:
    """How many times as fast ours is."""
    if figure == "rps":
        return ours["rps"] / max(theirs["rps"], 1e-9)
    return theirs["p50_ms"] / max(ours["p50_ms"], 1e-9)


def _cpu_times(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float | None:
    """How many times the server's CPU per request theirs takes; None where the system does not tell."""
    if not ours.get("cpu_ms") or "cpu_ms" not in theirs:
        return None
    return theirs["cpu_ms"] / ours["cpu_ms"]


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [
        f"{found['entries']} entries, {found['rounds']} rounds, least cosine {found['threshold']}, "
        f"{found['machine']['cpu']}"
    ]
    for row in found["products"].values():
        lines.append(row["title"])
        for name, m in row["medians"].items():
            failed = f"  {m['failed']:.1%} failed" if m["failed"] else ""
            lines.append(
                f"  {name:12} p50 {m['p50_ms']:9.3f} ms  p99 {m['p99_ms']:9.3f} ms  {m['rps']:9.1f}/s{failed}"
            )
    lines += [f"left out: {gone['title']}: {gone['reason']}" for gone in found["left_out"]]
    for aim in found["aims"]:
        verdict = {None: "", True: f"aim {aim['aim']}, met", False: f"aim {aim['aim']}, NOT met"}
        lines.append(
            f"  {aim['what']}, {aim['figure']}, c={aim['clients']}: {_round_times(aim['times'])}x "
            f"{verdict[aim['is_met']]}".rstrip()
        )
    return "\n".join([*lines, *_ahead_sentences(found)])


def table(found: dict[str, Any]) -> str:
    """The figures as Markdown: a row per product, the aims, where a peer is ahead, what each one is."""
    lines = [
        f"{found['entries']:,} entries, {found['rounds']} rounds, least cosine {found['threshold']}. "
        "A cell holds the p50 with one client and the requests per second with one / eight clients. "
        "Server CPU is that of the server's process per request (without Redis or an embeddings endpoint), "
        "which other work on the machine does not lengthen as it does a latency.",
        "",
        "| product | exact hit | semantic hit | miss | store | memory |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in found["products"].items():
        cells = [_cell(row["medians"], name, workload, found["ahead"]) for workload in WORKLOADS]
        memory = f"{row['memory_mb']:,.0f} MB" if row["memory_mb"] else "–"
        lines.append(f"| {row['title']} | {' | '.join(cells)} | {memory} |")
    for gone in found["left_out"]:
        lines.append(f"| {gone['title']} | not measured: {_plain(gone['reason'])} | | | | |")
    lines += ["", "| Surehit is faster than | figure | times | server CPU, times | aim | |"]
    lines += ["|---|---|---|---|---|---|"]
    for aim in found["aims"]:
        verdict = {None: "", True: "met", False: "**missed**"}[aim["is_met"]]
        least = "–" if aim["aim"] is None else f"≥ {aim['aim']}"
        times = f"{_round_times(aim['times'])}x"
        cpu = "–" if aim["cpu_times"] is None else f"{_round_times(aim['cpu_times'])}x"
        lines.append(
            f"| {aim['what']} | {aim['figure']}, c={aim['clients']} | {times} | {cpu} | {least} | {verdict} |"
        )
    lines += ["", *_ahead_sentences(found), ""]
    lines += [
        f"- {row['title']}: {row['note']}" for row in found["products"].values() if row["note"]
    ]
    return "\n".join(lines).rstrip()


def _cell(
    medians: Mapping[str, Mapping[str, float]], product: str, workload: str, ahead: Any
) -> str:
    if f"{workload}_c1" not in medians:
        return "–"
    one, eight = (medians[f"{workload}_c{c}"] for c in CLIENTS)
    text = f"{one['p50_ms']:,.2f} ms, {one['rps']:,.0f} / {eight['rps']:,.0f}"
    if (failed := max(one["failed"], eight["failed"])) >= 0.01:
        text += f" ({failed:.0%} failed)"
    wins = any(a["peer"] == product and a["workload"].startswith(workload) for a in ahead)
    return f"**{text}**" if wins else text


def _ahead_sentences(found: dict[str, Any]) -> list[str]:
    """Each cell in which a peer is ahead, in words."""
    rows = found["products"]
    if "surehit" not in rows or len(rows) == 1:
        return []
    if not found["ahead"]:
        return ["No peer is ahead of Surehit in any of these figures."]
    return ["A peer is ahead (bold) in:"] + [
        f"- {rows[a['peer']]['title']} over {rows[a['over']]['title']}: {a['workload'].replace('_c', ', c=')}, "
        f"{'p50' if a['figure'] == 'p50_ms' else 'throughput'}, {a['times']:.2f}x"
        for a in found["ahead"]
    ]


def _round_times(times: float) -> str:
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}"


def _plain(reason: str) -> str:
    """A reason that fits into a cell."""
    return " ".join(reason.replace("|", "/").split())[:300]
