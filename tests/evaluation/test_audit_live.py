"""The audit of live traffic: four rows side by side, each from what the service keeps of it, against counts by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.audit import live
from evaluation.audit.records import Record
from index.testing import RiggedEmbedder
from service import prices
from service.ledger import Spent, four_rows
from tests.service.proxy.rig import Rig, rigged

RULE = live.InForce("serve", 0.9, 0.03, is_certified=False)
LAYERS = ["exact", "semantic", "provider_prompt_cache", "prefix_kv"]


def layers(counts: live.Counts, **more: Any) -> dict[str, live.LiveLayer]:
    """The rows by name, without traffic unless given."""
    given: dict[str, Any] = {
        "at": live.thresholds_of([]),
        "logged": 0,
        "ledger": four_rows({}, prices.bundled(), pays_for_embedding=False),
        "found": live.prefix_findings([]),
        "rule": RULE,
        "currency": "USD",
    } | more
    return {layer.layer: layer for layer in live.layers_of(counts, **given)}


def test_outcomes_are_counted_by_the_tier_that_gave_them() -> None:
    """Stores are no lookups, and what passed the cache by asked no tier."""
    rows = [
        ("exact", "hit", "", 30),
        ("semantic", "hit", "", 5),
        ("semantic", "miss", "below_threshold", 15),
        ("none", "miss", "volatile", 10),
        ("none", "bypass", "hosted_tool", 7),
        ("none", "store", "", 99),
    ]
    counts = live.count_outcomes(rows)
    assert counts == live.Counts(30, 5, 20, 10, 7)
    assert layers(counts)["exact"].share == 30 / 60
    assert "7 requests passed the cache by" in layers(counts)["exact"].saves


def test_thresholds_count_candidates_and_what_the_guards_refuse() -> None:
    """A pair counts at every threshold up to its score."""
    same = ("How do I reset my password?", "How can I reset my password?")
    near = [
        live.Near(0.96, *same),
        live.Near(0.91, "Flights on 3 May", "Flights on 4 May"),
        live.Near(0.70, *same),
    ]
    found = {a.threshold: a for a in live.thresholds_of(near)}
    assert (found[0.80].with_candidate, found[0.80].refused_by_guards, found[0.80].left) == (
        2,
        1,
        1,
    )
    assert (found[0.95].with_candidate, found[0.95].left) == (1, 1)
    assert found[0.99].with_candidate == 0
    semantic = layers(live.Counts(), at=live.thresholds_of(near), logged=4)["semantic"]
    assert semantic.share == 1 / 4  # at 0.90, the threshold in force or the next below
    assert "not known" in semantic.saves
    assert "certify 3.0%" in semantic.next_step


def test_money_is_the_ledgers_and_absent_without_usage() -> None:
    """Per layer its own; nothing is added up."""
    table = prices.bundled()
    booked = {
        ("m", "exact"): Spent(requests=2, input_tokens=1_000_000),
        ("m", "semantic"): Spent(requests=1, without_usage=1),
        ("m", "provider"): Spent(requests=9, input_tokens=1_000_000, cached_read=500_000),
    }
    rows = four_rows(booked, table, pays_for_embedding=False)
    found = layers(live.Counts(2, 1, 5), ledger=rows)
    price = table.of("m")
    assert found["exact"].saved == pytest.approx(price.input)
    assert found["semantic"].saved is None
    assert found["provider_prompt_cache"].share == 0.5
    assert found["provider_prompt_cache"].saved == pytest.approx(price.input / 2 * (1 - price.read))


def test_no_traffic_is_no_advice_to_buy_anything() -> None:
    """Four rows all the same, with nothing claimed."""
    found = layers(live.Counts())
    assert list(found) == LAYERS
    assert [f.share for f in found.values()] == [None] * 4
    assert not any(f.is_worth_it or f.saved for f in found.values())


def test_prefixes_of_stored_requests() -> None:
    """Requests that share a long system message share its whole blocks; one that begins otherwise shares none."""
    system = {"role": "system", "content": "Answer politely and briefly. " * 40}
    same = [
        Record(
            n, {"model": "m", "messages": [system, {"role": "user", "content": f"Question {n}"}]}
        )
        for n in range(4)
    ]
    row = layers(live.Counts(), found=live.prefix_findings(same))["prefix_kv"]
    assert row.share is not None
    assert 0.5 < row.share < 0.75  # three of four, but for the questions
    other = [
        Record(n, {"model": "m", "messages": [{"role": "user", "content": f"{n} " * 60}]})
        for n in range(4)
    ]
    assert layers(live.Counts(), found=live.prefix_findings(other))["prefix_kv"].share == 0.0


@pytest.fixture
def busy(sqlite_url: str, tmp_path: Path) -> Iterator[Rig]:
    """A line that serves, with known scores between its questions."""
    near = RiggedEmbedder({("How do I reset it?", "How can I reset it?"): 0.95})
    with rigged(sqlite_url, tmp_path, embedder=near) as rig:
        rig.line(threshold=0.9)
        yield rig


def test_route_reports_what_the_traffic_was(busy: Rig) -> None:
    """One call, two exact hits, one semantic hit, one request that passes by; another line stays apart."""
    for question in ("How do I reset it?",) * 3 + ("How can I reset it?",):
        assert busy.chat(question).status_code == 200
    busy.chat("How do I reset it?", n=2)
    busy.chat("Elsewhere", headers={"x-surehit-line": "other"})
    reply = busy.http.get(f"{busy.base}/v1/lines/default/audit", params={"days": 7})
    assert reply.status_code == 200, reply.text
    found = reply.json()
    exact, semantic, provider, prefix = found["layers"]
    assert [layer["layer"] for layer in found["layers"]] == LAYERS
    assert exact["saves"].startswith("2 of 4 lookups")
    assert exact["share"] == 0.5
    assert exact["saved"] > 0
    assert "1 requests passed" in exact["saves"]
    assert semantic["saves"].startswith("1 of 2 lookups")
    assert (found["lookups_read"], semantic["share"]) == (2, 0.5)
    assert "uncertified" in semantic["risk"]
    assert "in 2 calls" in provider["saves"]  # the miss, and the one that passed by
    assert found["requests_read"] == 1
    assert "1 stored requests" in prefix["saves"]
    assert len(found["covers"]) == 4
    assert not any("total" in name for name in found)


def test_route_keeps_tenants_apart_and_checks_its_fields(busy: Rig) -> None:
    """An unknown line is 404, also when another tenant has one of that name."""
    busy.chat("Mine")
    key = busy.key("stranger")
    url = f"{busy.base}/v1/lines/default/audit"
    assert busy.http.get(url, headers={"authorization": f"Bearer {key}"}).status_code == 404
    busy.post(
        "/openai/v1/embeddings",
        {"model": "fake-small", "input": "no prompt"},
        headers={"x-surehit-key": key},
    )
    own = busy.http.get(url, headers={"authorization": f"Bearer {key}"}).json()
    assert own["requests_read"] == 0
    assert own["layers"][1]["share"] is None
    for field, value in (("days", 0), ("lookups_read", 50_001), ("requests_read", -1)):
        reply = busy.http.get(
            url, params={field: value}, headers={"authorization": f"Bearer {key}"}
        )
        assert reply.status_code == 422
        assert field in reply.text
