"""Metrics: a tenant sees its own series without its name; the operator sees all."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.metrics import MAX_SERIES, Metrics
from tests.harness import running
from tests.service.proxy.rig import rigged
from tests.service.ways import problem

_ORDER = ("tenant", "line", "tier", "outcome", "reason", "kind")


def _rank(label: tuple[str, str]) -> int:
    return _ORDER.index(label[0])


def series(text: str, name: str) -> dict[tuple[str, ...], float]:
    """Samples of one metric by their label values."""
    return {
        tuple(v for _, v in sorted(sample.labels.items(), key=_rank)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


async def test_a_tenant_sees_its_own_series_alone(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path, metrics_token="operator") as client:
        t1, t2 = await client.key("tenant-one"), await client.key("tenant-two")
        await client.store("q", "a", line="mine", headers=t1)
        await client.lookup("q", line="mine", headers=t1)
        await client.lookup("other", line="mine", headers=t1)
        await client.lookup("q", line="theirs", headers=t2)
        seen = (await client.call("GET", "/metrics", headers=t1)).text
        assert series(seen, "surehit_lookups_total") == {
            ("mine", "exact", "hit", ""): 1.0,
            ("mine", "semantic", "miss", "below_threshold"): 1.0,
        }
        assert series(seen, "surehit_stores_total") == {("mine",): 1.0}
        for word in ("tenant-one", "tenant-two", "theirs", "surehit_index", "duration"):
            assert word not in seen
        whole = (
            await client.call("GET", "/metrics", headers={"authorization": "Bearer operator"})
        ).text
        lookups = series(whole, "surehit_lookups_total")
        assert {labels[0] for labels in lookups} == {"tenant-one", "tenant-two"}
        assert "surehit_build_info{version=" in whole
        assert series(whole, "surehit_request_duration_seconds_count")[("exact_hit",)] == 1.0
        for bad in (None, {"authorization": "Bearer wrong"}, {"authorization": b"Bearer \xe9"}):
            problem(await client.call("GET", "/metrics", headers=bad), 401)


async def test_every_lookup_is_counted_once(sqlite_url: str, tmp_path: Path) -> None:
    """Outcomes add up to the number of requests, whatever became of each."""
    async with running(sqlite_url, tmp_path) as client:
        await client.line()
        await client.line("off", mode="off")
        asked = [
            "Where is the manual",
            "Where is the manual?",
            "unlike anything",
            "",
            "What is it today?",
        ]
        await client.store(asked[0], "a")
        for text in asked:
            await client.lookup(text)
            await client.lookup(text, tiers=["exact"])
            await client.lookup(text, line="off")
        text = (await client.call("GET", "/metrics")).text
        assert sum(series(text, "surehit_lookups_total").values()) == 3 * len(asked)
        stats = (await client.call("GET", "/v1/stats")).json()["lines"]
        counted = sum(
            line["exact"]["hits"]
            + line["semantic"]["lookups"]
            + sum(line["not_looked_up"].values())
            for line in stats.values()
        )
        assert counted == 3 * len(asked)
        exact = stats["faq"]["exact"]
        assert exact["hit_rate"] == exact["hits"] / exact["lookups"] > 0
        assert exact["lookups"] == 2 * len(asked)
        assert stats["off"]["exact"] == {"lookups": len(asked), "hits": 0, "hit_rate": 0}
        semantic = stats["faq"]["semantic"]
        assert semantic["lookups"] == semantic["hits"] + sum(semantic["misses"].values())
        assert semantic["hit_rate"] == semantic["hits"] / semantic["lookups"]


def test_series_are_bounded() -> None:
    """Lines beyond the limit are counted as `other`, and none is lost."""
    metrics = Metrics("1")
    for n in range(MAX_SERIES + 50):
        metrics.count(("t", f"line {n}", "none", "miss", "mode"))
    assert len(metrics.outcomes) == MAX_SERIES + 1
    assert sum(metrics.outcomes.values()) == MAX_SERIES + 50
    assert metrics.outcomes["t", "other", "none", "miss", "mode"] == 50


def test_names_follow_prometheus(sqlite_url: str, tmp_path: Path) -> None:
    """Counters end in `_total`, times in `_seconds`, sizes in `_bytes`; no gauge pretends to be a counter, and no
    series says when another one was created (https://prometheus.io/docs/practices/naming/).
    """
    with rigged(sqlite_url, tmp_path) as rig:
        rig.chat("Count me")
        text = rig.http.get(f"{rig.base}/metrics").text
    families = {f.name: f for f in text_string_to_metric_families(text)}
    assert {"surehit_lookups", "surehit_proxy_requests", "surehit_journal_dropped"} <= set(families)
    for name, family in families.items():
        samples = {sample.name for sample in family.samples}
        assert name.startswith("surehit_"), name
        assert family.documentation, name
        assert not any(sample.endswith("_created") for sample in samples), name
        if family.type == "counter":
            assert samples <= {f"{name}_total"}, name
        elif family.type == "histogram":
            assert name.endswith(("_seconds", "_bytes")), name
        else:
            assert family.type == "gauge", name
            assert not name.endswith(("_total", "_count", "_sum")), name


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_monitors_may_ask_by_head(sqlite_url: str, tmp_path: Path, path: str) -> None:
    async with running(sqlite_url, tmp_path) as client:
        await client.settled()
        asked = await client.call("GET", path)
        told = await client.call("HEAD", path)
        assert (told.status_code, asked.status_code) == (200, 200)
        assert told.headers["content-type"] == asked.headers["content-type"]
        paths = (await client.call("GET", "/openapi.json")).json()["paths"]
        assert list(paths[path]) == ["get"]
