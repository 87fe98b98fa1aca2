"""The page's client meets the double and the service itself, so that the double cannot drift away from it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from review_ui.client import Client, ServiceError
from tests.review_ui.conftest import Running, real_service

LINE = "support-faq"


@pytest.fixture(scope="module")
def service_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The service with a line all of whose lookups go to review."""
    with real_service(tmp_path_factory.mktemp("data")) as url:
        with httpx2.Client(base_url=url, timeout=120, trust_env=False) as http:
            seed(http)
        yield url


def seed(http: httpx2.Client) -> None:
    """Stored answers, and lookups near them."""
    sampling = {"certify_rate": 1.0, "certify_floor": 0.7, "explore_rates": [1.0] * 8}
    line = {"mode": "serve", "threshold": 0.8, "sampling": sampling}
    http.put(f"/v1/lines/{LINE}", json=line).raise_for_status()
    http.post(  # waits for the model, which a first lookup would not
        "/v1/review/gold",
        json={"line": LINE, "query": "a", "entry_query": "b", "answer": "c", "verdict": "reusable"},
    ).raise_for_status()
    for thing in ("password", "invoice", "address"):
        asked = {"line": LINE, "prompt": f"How do I change my {thing}?"}
        stored = asked | {"response": f"Settings > {thing}"}
        http.post("/v1/store", json=stored).raise_for_status()
        for words in ("How can I change my", "how do i change my", "Where do I change my"):
            near = {"line": LINE, "prompt": f"{words} {thing}?"}
            http.post("/v1/lookup", json=near).raise_for_status()


@pytest.mark.slow
def test_the_service_answers_as_the_page_expects(service_url: str) -> None:
    with httpx2.Client(base_url=service_url, timeout=60, trust_env=False) as http:
        walk(Client(http))


def test_the_double_answers_as_the_page_expects(service: Running) -> None:
    with httpx2.Client(base_url=service.url, trust_env=False) as http:
        walk(Client(http))


def walk(client: Client) -> None:
    """One call of every route, in the order in which people would make them."""
    assert LINE in [line["line"] for line in client.lines()]
    waiting = client.progress(LINE).open
    first = client.next_item(LINE, "Ann").item
    assert first is not None
    again = client.next_item(LINE, "Ann").item
    assert again is not None
    assert again.item_id == first.item_id
    other = client.next_item(LINE, "Bo").item
    assert other is not None
    assert other.item_id != first.item_id
    client.release(other.item_id, reviewer="Bo")

    client.flag(first.item_id, reviewer="Ann", note="odd")
    no = {"reviewer": "Ann", "verdict": "not_reusable", "reason": "number"}
    labelled = client.label(first.item_id, **no)
    assert (labelled.state, labelled.already) == ("second", False)
    assert labelled.score is not None
    assert client.label(first.item_id, **no).already
    with pytest.raises(ServiceError) as refused:
        client.label(first.item_id, reviewer="Ann", verdict="reusable")
    assert refused.value.status == 409
    assert [(r.item_id, r.verdict) for r in client.recent(LINE, "Ann")] == [
        (first.item_id, "not_reusable")
    ]
    assert first.item_id in [d.item_id for d in client.disputes(LINE)]
    by = client.progress(LINE).by_reviewer
    assert [(r.reviewer, r.labels) for r in by] == [("Ann", 1)]

    reopened = client.reopen(first.item_id, reviewer="Ann")
    assert reopened is not None
    assert reopened.item_id == first.item_id
    client.label(first.item_id, reviewer="Ann", verdict="unsure")
    undone = client.undo(LINE, "Ann")
    assert undone is not None
    assert undone.item_id == first.item_id
    assert client.undo(LINE, "Nobody") is None
    assert client.progress(LINE).open == waiting
    client.skip(first.item_id, reviewer="Ann")
    client.decide(first.item_id, reviewer="Ann", verdict="unsure", reason=None)
    client.add_gold(LINE, query="a", entry_query="b", answer="c", verdict="not_reusable")

    curve = client.curve(LINE, saved_per_hit=0.01, cost_of_wrong=1.0)
    lists = (curve.hit_rate, curve.false_hit_rate_high, curve.expected_lost, curve.is_thin)
    assert {len(values) for values in lists} == {len(curve.thresholds)}
    assert client.tune(LINE, target=0.004, confidence=0.95).text
    client.decisions(LINE)
    with pytest.raises(ServiceError) as missing:
        client.apply_decision(LINE, "dec_0000000000000000", reason="test")
    assert missing.value.status == 404

    assert client.change_line(LINE, {"mode": "shadow"}, reason="test")["mode"] == "shadow"
    assert client.line(LINE)["changes"]
    client.create_line("new", {"mode": "shadow", "language": "en"}, reason="test")
    found = client.entries(LINE, text="password").entries
    assert client.entry(found[0].entry_id)["query"] == found[0].query
    client.evict(found[0].entry_id)
    with pytest.raises(ServiceError, match="no live entry"):
        client.entry(found[0].entry_id)
    assert LINE in client.stats(days=7)["lines"]
    audit = client.audit(LINE, days=7)
    names = ["exact", "semantic", "provider_prompt_cache", "prefix_kv"]
    assert [layer.layer for layer in audit.layers] == names
    assert len(audit.covers) == 4
