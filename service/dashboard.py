"""A Grafana dashboard of our Prometheus series, made from this list so that it can be checked against a scrape.

Exact and semantic hits stand side by side and are never added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_RATE = "[$__rate_interval]"


@dataclass(frozen=True)
class Panel:
    """One graph: its title, what it tells, queries with their legends, the unit in Grafana's spelling."""

    title: str
    words: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"


def _per_second(series: str, by: str, where: str = "") -> str:
    return f"sum by ({by}) (rate({series}{where}{_RATE}))"


def _quantile(q: float, series: str, by: str) -> str:
    return f"histogram_quantile({q}, sum by (le, {by}) (rate({series}_bucket{_RATE})))"


PANELS: tuple[Panel, ...] = (
    Panel(
        "Exact hits",
        "Answers to byte-identical requests, per line.",
        (
            (
                _per_second("surehit_lookups_total", "line", '{tier="exact",outcome="hit"}'),
                "{{line}}",
            ),
        ),
        "reqps",
    ),
    Panel(
        "Semantic hits",
        "Answers to requests of the same meaning, per line. How many of them are wrong is on the review page.",
        (
            (
                _per_second("surehit_lookups_total", "line", '{tier="semantic",outcome="hit"}'),
                "{{line}}",
            ),
        ),
        "reqps",
    ),
    Panel(
        "Misses by reason",
        "`degraded` means trouble of ours; `guarded` look-alikes that were refused.",
        ((_per_second("surehit_lookups_total", "reason", '{outcome="miss"}'), "{{reason}}"),),
        "reqps",
    ),
    Panel(
        "Answers stored",
        "Per line.",
        ((_per_second("surehit_stores_total", "line"), "{{line}}"),),
        "reqps",
    ),
    Panel(
        "Time of a request, median and 99th percentile",
        "From a whole request body to its reply.",
        (
            (_quantile(0.5, "surehit_request_duration_seconds", "kind"), "{{kind}} p50"),
            (_quantile(0.99, "surehit_request_duration_seconds", "kind"), "{{kind}} p99"),
        ),
        "s",
    ),
    Panel(
        "Proxied requests",
        "By what the caller got.",
        ((_per_second("surehit_proxy_requests_total", "outcome"), "{{outcome}}"),),
        "reqps",
    ),
    Panel(
        "Time of upstream calls, 99th percentile",
        "From sending a request to the end of its answer.",
        ((_quantile(0.99, "surehit_upstream_duration_seconds", "provider"), "{{provider}}"),),
        "s",
    ),
    Panel(
        "Upstream errors",
        "By status, or unreachable, timeout, cut.",
        (
            (
                _per_second("surehit_upstream_errors_total", "provider, code"),
                "{{provider}} {{code}}",
            ),
        ),
        "reqps",
    ),
    Panel(
        "Embedding",
        "Texts waiting, embedded, and turned away or timed out (those lookups were misses).",
        (
            ("sum(surehit_embedding_queue)", "waiting"),
            (f"sum(rate(surehit_embedded_texts_total{_RATE}))", "embedded per s"),
            (f"sum(rate(surehit_embedding_timeouts_total{_RATE}))", "timed out per s"),
            (f"sum(rate(surehit_embedding_refused_total{_RATE}))", "turned away per s"),
        ),
    ),
    Panel(
        "Indexes in memory",
        "Bytes over all workers.",
        (("sum(surehit_index_bytes)", "bytes"),),
        "bytes",
    ),
    Panel(
        "Entries dropped for size limits",
        "The least valuable first.",
        ((_per_second("surehit_evicted_entries_total", "line"), "{{line}}"),),
    ),
    Panel(
        "Alarms and lost log records",
        "Both should stay at zero. An alarm has tightened its line already.",
        (
            ("sum(surehit_alarms_raised_total)", "alarms"),
            ("sum(surehit_journal_dropped_total)", "lost log records"),
        ),
    ),
)


def grafana() -> dict[str, Any]:
    """The dashboard as Grafana imports it (schema 39); the data source is asked for at import."""
    return {
        "title": "Surehit",
        "uid": "surehit",
        "schemaVersion": 39,
        "timezone": "browser",
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {
            "list": [{"name": "source", "type": "datasource", "query": "prometheus"}],
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.words,
        "datasource": source,
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(65 + n), "expr": query, "legendFormat": legend, "datasource": source}
            for n, (query, legend) in enumerate(panel.queries)
        ],
    }
