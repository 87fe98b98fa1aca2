"""`surehit bench peers`: recipes, what is left out, where a peer is ahead; no peer is installed here."""

from __future__ import annotations

import copy
import os
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evaluation.bench import everything, http
from evaluation.bench.rivals import bench, recipes, wire
from evaluation.bench.rivals.products import PRODUCTS, Product, Site
from evaluation.bench.rivals.recipes import Environment, NotInstalled, Recipe
from evaluation.bench.rivals.wire import Wire

MISSING = Recipe("missing", (("--no-index", "surehit-no-such-package==1.0"),))


def _row(title: str, **p50_ms: float) -> dict[str, Any]:
    medians = {}
    for workload, ms in p50_ms.items():
        for clients in bench.CLIENTS:
            medians[f"{workload}_c{clients}"] = {
                "p50_ms": ms,
                "p99_ms": 2 * ms,
                "rps": 1000 * clients / ms,
                "cpu_ms": ms / 2,
                "failed": 0.0,
            }
    return {"title": title, "note": f"about {title}", "memory_mb": 100.0, "medians": medians}


FOUND: dict[str, Any] = {
    "machine": {"cpu": "some", "cores": 2, "load": 1.0, "python": "3.11.7", "day": "2026-11-29"},
    "entries": 2000,
    "rounds": 5,
    "threshold": 0.9,
    "products": {
        "surehit": _row("Surehit", exact=0.1, semantic=1.0, miss=2.0, store=3.0),
        "gptcache": _row("GPTCache 0.1.44, its server", exact=40, semantic=50, miss=50, store=60),
        "mneme": _row("mneme-cache 1.0.1", exact=0.2, semantic=2.9, miss=2.5, store=1.5),
    },
    "left_out": [{"product": "redisvl", "title": "redisvl 0.28.0", "reason": "no | such\nwheel"}],
}
FOUND["aims"] = bench.aims(FOUND["products"])
FOUND["ahead"] = bench.ahead(FOUND["products"])


def test_every_requirement_of_a_peer_is_pinned_and_torch_comes_first_and_alone() -> None:
    for recipe in recipes.RECIPES:
        requirements = [r for step in recipe.steps for r in step]
        assert all("==" in requirement for requirement in requirements), recipe.name
        if any("sentence-transformers" in requirement for requirement in requirements):
            assert recipe.steps[0] == ("torch==2.13.0",), recipe.name
    assert recipes.LITELLM.version("litellm")[0].isdigit()
    with pytest.raises(KeyError, match="numpy is not pinned"):
        recipes.LITELLM.version("numpy")


def test_no_peer_is_a_dependency_of_the_repository() -> None:
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    named = [*project["dependencies"], *(name for extra in extras for name in extra)]
    for peer in ("gptcache", "litellm", "mneme", "redisvl", "valkey", "redis"):
        assert not [n for n in named if n.startswith(peer)], peer


def test_environment_is_kept_until_its_recipe_changes(tmp_path: Path) -> None:
    folder = tmp_path / "env" / "missing"
    folder.mkdir(parents=True)
    mark = "--no-index surehit-no-such-package==1.0\n" + sys.version + "\n"
    (folder / "recipe.txt").write_text(mark, encoding="utf-8")
    kept = recipes.ensure(MISSING, tmp_path)
    assert kept == Environment(folder)
    assert kept.variables["PATH"].split(os.pathsep)[0] == str(kept.python.parent)
    with pytest.raises(FileNotFoundError, match=r"redisearch\.so"):
        kept.file("redisearch.so")


@pytest.mark.timeout(300)
def test_peer_that_cannot_be_installed_or_started_is_reported(
    tmp_path: Path, models_dir: Path
) -> None:
    """A real environment and a real pip that finds nothing; and a product that ends at once."""

    def ends(site: Site) -> tuple[bench.Running, Wire]:
        raise RuntimeError("litellm did not start")

    products = [
        Product("gptcache", "GPTCache", ends, needs=(MISSING,)),
        Product("litellm-local", "LiteLLM", ends),
    ]
    found = bench.run(work=tmp_path, models_dir=models_dir, rounds=1, products=products)
    reasons = {gone["product"]: gone["reason"] for gone in found["left_out"]}
    assert "surehit-no-such-package" in reasons["gptcache"]
    assert "litellm did not start" in reasons["litellm-local"]
    assert found["products"] == {}
    assert "| GPTCache | not measured: missing could not be installed:" in bench.table(found)
    assert "left out: LiteLLM: did not start" in bench.render(found)
    # the half-made environment is not taken for a finished one
    assert not (tmp_path / "env" / "missing" / "recipe.txt").exists()


def test_product_that_breaks_off_while_measured_is_left_out(
    tmp_path: Path, models_dir: Path
) -> None:
    """It takes its entries and answers the warm-up, then hangs up."""
    hangs_up = threading.Event()

    def started(site: Site) -> tuple[bench.Running, Wire]:
        port = site.stack.enter_context(_server(hangs_up))
        return bench.Running(port, os.getpid(), 0.0), wire.route()

    def tell(text: str) -> None:
        if text.startswith("round"):
            hangs_up.set()

    found = bench.run(
        work=tmp_path,
        models_dir=models_dir,
        entries=300,
        rounds=2,
        products=[Product("mneme", "mneme-cache", started)],
        tell=tell,
    )
    assert found["products"] == {}
    assert found["left_out"][0]["reason"].startswith("broke off at exact, c=1: ")


@contextmanager
def _server(hangs_up: threading.Event) -> Iterator[int]:
    """Answers anything, until told to close its connections unanswered; gives its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if hangs_up.is_set():
                self.close_connection = True
                return
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_failed_command_tells_its_error() -> None:
    assert recipes._failure([sys.executable, "-c", "raise SystemExit('ERROR: no wheel')"]) == (
        "ERROR: no wheel"
    )
    assert recipes._failure([sys.executable, "-c", ""]) == ""
    assert isinstance(NotInstalled("x"), NotInstalled)


def test_aims_are_ratios_of_the_same_run() -> None:
    by_name = {(a["what"], a["clients"]): a for a in FOUND["aims"]}
    gptcache = by_name[("GPTCache's server, exact hit", 1)]
    assert gptcache["times"] == pytest.approx(400)
    assert gptcache["cpu_times"] == pytest.approx(400)
    assert gptcache["is_met"] is True
    mneme = by_name[("mneme behind FastAPI, semantic hit", 1)]
    assert mneme["times"] == pytest.approx(2.9)
    assert mneme["is_met"] is False
    assert not [a for a in FOUND["aims"] if "redisvl" in a["what"]]  # not measured, no ratio


def test_table_says_where_a_peer_is_ahead_and_what_was_left_out() -> None:
    text = bench.table(FOUND)
    assert "| mneme-cache 1.0.1 | 0.20 ms, 5,000 / 40,000 | 2.90 ms" in text
    assert "| **1.50 ms, 667 / 5,333** |" in text  # mneme's store alone is ahead
    assert text.count("**") == 6  # that cell, and two aims that were missed
    assert "mneme-cache 1.0.1 over Surehit: store, c=1, p50, 2.00x" in text
    assert "mneme-cache 1.0.1 over Surehit: store, c=8, throughput, 2.00x" in text
    assert "| redisvl 0.28.0 | not measured: no / such wheel |" in text
    assert "400x | 400x | ≥ 300 | met |" in text
    assert "2.9x | 2.9x | ≥ 3 | **missed** |" in text


def test_table_says_so_when_no_peer_is_ahead() -> None:
    found = copy.deepcopy(FOUND)
    del found["products"]["mneme"]
    found["ahead"] = bench.ahead(found["products"])
    assert "No peer is ahead of Surehit in any of these figures." in bench.table(found)
    assert "No peer is ahead" in bench.render(found)


def test_cell_names_replies_that_were_not_hits() -> None:
    found = copy.deepcopy(FOUND)
    found["products"]["gptcache"]["medians"]["semantic_c8"]["failed"] = 0.25
    assert "(25% failed)" in bench.table(found)
    assert "25.0% failed" in bench.render(found)


def test_proxies_are_compared_with_the_proxy_too() -> None:
    rows = {
        "surehit": _row("Surehit", exact=0.1),
        "surehit-proxy": _row("Surehit, OpenAI proxy", exact=0.3),
        "litellm-local": _row("LiteLLM", exact=0.2),
        "mneme": _row("mneme", exact=0.2),
    }
    over = {(a["peer"], a["over"]) for a in bench.ahead(rows)}
    assert over == {("litellm-local", "surehit-proxy")}


def test_rewordings_come_again_only_after_more_than_are_remembered() -> None:
    entries = 2000
    texts = [bench.reworded(n, entries) for n in range(5 * entries)]
    assert len(set(texts)) == 5 * entries > 4096
    assert not set(texts) & {http._question(n) for n in range(entries)}
    assert bench.reworded(5 * entries, entries) == texts[0]


def test_table_goes_between_the_marks_of_the_document(tmp_path: Path) -> None:
    document = tmp_path / "figures.md"
    document.write_text("before\n<!-- bench:peers -->\n<!-- /bench:peers -->\nafter\n", "utf-8")
    everything.keep("peers", FOUND, bench.table(FOUND), out=tmp_path / "out", document=document)
    text = document.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- bench:peers -->\nOn 2 cores (some)")
    assert text.endswith("<!-- /bench:peers -->\nafter\n")
    assert (tmp_path / "out" / "peers.json").stat().st_size > 100
    everything.keep("peers", FOUND, "x", out=None, document=None)


def test_too_few_entries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="entries must be at least 300, got 10"):
        bench.run(work=tmp_path, models_dir=tmp_path, entries=10)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_our_own_rows_are_the_hits_and_misses_they_claim_to_be(
    tmp_path: Path, models_dir: Path
) -> None:
    """The sidecar by its replies, the proxy by what the provider was asked."""
    ours = [product for product in PRODUCTS if not product.needs]
    assert [product.name for product in ours] == ["surehit", "surehit-proxy"]
    found = bench.run(
        work=tmp_path, models_dir=models_dir, entries=300, rounds=1, seconds=0.3, products=ours
    )
    assert found["left_out"] == []
    for row in found["products"].values():
        assert len(row["medians"]) == len(bench.WORKLOADS) * len(bench.CLIENTS)
        for name, figures in row["medians"].items():
            assert figures["failed"] < 0.01, (row["title"], name)
            assert figures["rps"] > 0
