"""Every query of the dashboard finds its series in a real scrape, with the labels that it asks for."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
from prometheus_client.parser import text_string_to_metric_families

from service.dashboard import PANELS
from tests.service.proxy.rig import rigged
from tests.service.test_cli import surehit

_SERIES = re.compile(r"surehit_[a-z_]+")
_GROUPED = re.compile(r"sum by \(([a-z_, ]+)\) \(rate\((surehit_[a-z_]+)")
_RARE = {"surehit_evicted_entries_total"}
"""Series that need more than a few requests; their family must be there all the same."""


def test_the_dashboard_agrees_with_a_scrape(sqlite_url: str, tmp_path: Path) -> None:
    with rigged(sqlite_url, tmp_path) as rig:
        rig.line()
        rig.chat("Where is the manual?")
        rig.chat("Where is the manual?")
        rig.chat("Where is our manual?")
        rig.fault(status=500)
        rig.chat("Something else entirely")
        text = rig.http.get(f"{rig.base}/metrics").text
    labels: dict[str, set[str]] = {}
    families = set()
    for family in text_string_to_metric_families(text):
        families |= {family.name, f"{family.name}_total"}
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    assert len(PANELS) > 10
    for panel in PANELS:
        for query, _ in panel.queries:
            for name in _SERIES.findall(query):
                assert name in (families if name in _RARE else labels), (panel.title, name)
            for grouped, name in _GROUPED.findall(query):
                if name not in _RARE:
                    assert set(grouped.split(", ")) <= labels[name], (panel.title, name)


def test_no_query_adds_the_layers_up() -> None:
    """A hit of one layer is never counted together with a hit of another."""
    for panel in PANELS:
        for query, _ in panel.queries:
            if 'outcome="hit"' in query:
                assert 'tier="exact"' in query or 'tier="semantic"' in query


def test_it_is_printed_as_grafana_reads_it(tmp_path: Path) -> None:
    made = orjson.loads(surehit(tmp_path, "dashboard").stdout)
    places = {(p["gridPos"]["x"], p["gridPos"]["y"]) for p in made["panels"]}
    assert len(places) == len(made["panels"]) == len(PANELS)
    assert all(p["targets"] for p in made["panels"])
