"""Tokens are booked once, where a request was answered, and priced by the table of the day."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import prices
from service.errors import Unavailable
from service.ledger import Spent, diagnosis, four_rows
from service.wire.usage import Usage
from tests.service.proxy.rig import chat, rigged

TABLE = """
as_of = 2026-01-02
currency = "EUR"
embedding_per_million = 1.0

[[model]]
match = ["auto-"]
input = 10.0
output = 20.0
read = 0.5
write_5m = 1.0
min_tokens = 1024
automatic = true

[[model]]
match = [""]
input = 10.0
output = 20.0
read = 0.1
write_5m = 1.25
write_1h = 2.0
min_tokens = 1024
"""
PRICES = prices.parse(TABLE)
MILLION = 1_000_000
COUNTS = st.integers(0, MILLION)


def test_prices_of_each_layer_by_hand() -> None:
    """Numbers small enough to check in one's head: 10 per million in, 20 out, reads a tenth, writes 1.25 and 2."""
    found = {
        ("m", "exact"): Spent(
            requests=2, input_tokens=MILLION, cached_read=200_000, output_tokens=MILLION
        ),
        ("m", "semantic"): Spent(input_tokens=MILLION, output_tokens=500_000),
        ("m", "provider"): Spent(
            requests=3,
            input_tokens=MILLION,
            cached_read=400_000,
            cache_write_5m=100_000,
            cache_write_1h=100_000,
            output_tokens=MILLION,
            embedded_tokens=2 * MILLION,
        ),
    }
    exact, semantic, provider, kv = four_rows(found, PRICES, pays_for_embedding=True)
    assert exact["saved"] == pytest.approx(8.0 + 0.2 + 20.0)
    assert semantic["saved"] == pytest.approx(10.0 + 10.0)
    assert semantic["embedding_cost"] == pytest.approx(2.0)
    assert semantic["net"] == pytest.approx(18.0)
    spent_on_input = 4.0 + 0.4 + 1.25 + 2.0
    assert provider["cost"] == pytest.approx(spent_on_input + 20.0)
    assert provider["saved"] == pytest.approx(10.0 - spent_on_input)
    assert kv["layer"] == "prefix_kv"
    local = four_rows(found, PRICES, pays_for_embedding=False)[1]
    assert local["net"] == local["saved"]


def test_writes_that_were_never_read_cost() -> None:
    """The prompt cache's row may be negative."""
    row = four_rows(
        {("m", "provider"): Spent(input_tokens=MILLION, cache_write_5m=MILLION)},
        PRICES,
        pays_for_embedding=False,
    )[2]
    assert row["saved"] == pytest.approx(-2.5)


@given(st.lists(st.tuples(st.sampled_from(["provider", "exact", "semantic"]), COUNTS, COUNTS)))
def test_every_token_is_in_exactly_one_row(booked: list[tuple[str, int, int]]) -> None:
    """The rows' tokens add up to what was booked, whatever the layers."""
    found: dict[tuple[str, str], Spent] = {}
    for layer, given_in, given_out in booked:
        before = found.get(("m", layer), Spent(requests=0))
        found["m", layer] = before + Spent(input_tokens=given_in, output_tokens=given_out)
    rows = four_rows(found, PRICES, pays_for_embedding=True)[:3]
    assert sum(row["input_tokens"] for row in rows) == sum(i for _, i, _ in booked)
    assert sum(row["output_tokens"] for row in rows) == sum(o for _, _, o in booked)
    assert sum(row["requests"] for row in rows) == len(booked)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_a_read_never_costs_more_than_the_plain_input(
    plain: int, read: int, written: int, out: int
) -> None:
    """What the prompt cache saved lies between all writes wasted and all input read."""
    total = plain + read + written
    spent = Spent(input_tokens=total, cached_read=read, cache_write_5m=written, output_tokens=out)
    row = four_rows({("m", "provider"): spent}, PRICES, pays_for_embedding=False)[2]
    assert row["saved"] <= total * 10 / MILLION + 1e-9
    assert row["saved"] >= -written * 2.5 / MILLION - 1e-9


@pytest.mark.parametrize(
    ("model", "spent", "words"),
    [
        ("m", Spent(requests=10, input_tokens=5000), "below the minimum"),
        ("m", Spent(requests=10, input_tokens=90_000, cache_write_5m=80_000), "none was read"),
        ("m", Spent(requests=10, input_tokens=90_000), "no breakpoint"),
        ("auto-1", Spent(requests=10, input_tokens=90_000), "beginning changes"),
    ],
)
def test_diagnosis_of_a_cache_that_is_never_read(model: str, spent: Spent, words: str) -> None:
    """Each cause has its own sentence."""
    assert words in str(diagnosis(spent, PRICES.of(model)))


def test_no_diagnosis_where_there_is_nothing_to_explain() -> None:
    """A cache that is read, too few calls, or calls whose usage is not known."""
    price = PRICES.of("m")
    assert diagnosis(Spent(requests=10, input_tokens=9, cached_read=1), price) is None
    assert diagnosis(Spent(requests=2, input_tokens=9), price) is None
    assert diagnosis(Spent(requests=10, without_usage=10), price) is None


def test_usage_that_was_not_reported_is_counted_as_such() -> None:
    """Not as zero tokens of a call that cost nothing."""
    assert Spent.of(None) == Spent(requests=1, without_usage=1)
    assert Spent.of(Usage(5, 7, cached_read=2)).plain == 3


def test_price_file_of_the_data_directory_wins(tmp_path: Path) -> None:
    """And the shipped one is readable, dated, and matches every model."""
    shipped = prices.load(tmp_path)
    assert shipped.of("no-such-model").input > 0
    sonnet = shipped.of("anthropic/claude-sonnet-4-5")
    assert sonnet.write_1h is not None
    assert sonnet.write_1h > sonnet.write_5m
    (tmp_path / "prices.toml").write_text(TABLE)
    assert prices.load(tmp_path).currency == "EUR"
    assert prices.load(tmp_path).as_of.isoformat() == "2026-01-02"


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "as_of = 2026-01-01",
        TABLE.replace('[""]', '["x"]'),
        TABLE.replace("10.0", "-1.0"),
        TABLE.replace("10.0", '"dear"'),
        TABLE.replace("10.0", "nan"),
        TABLE.replace("2026-01-02", '"soon"'),
        TABLE.replace("min_tokens", "minimum_tokens"),
        TABLE.replace("min_tokens = 1024", "min_tokens = -1"),
        TABLE.replace("automatic = true", 'automatic = "yes"'),
    ],
)
def test_broken_price_file_is_named(tmp_path: Path, text: str) -> None:
    """The message says which file."""
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(Unavailable, match=r"prices\.toml"):
        prices.load(tmp_path)


def test_ledger_over_http(database_url: str, tmp_path: Path) -> None:
    """A miss and two hits: the call's tokens in the provider's row, the same tokens twice in the exact row."""
    with rigged(database_url, tmp_path) as rig:
        usage = rig.chat("How many tokens?").json()["usage"]
        for _ in range(2):
            rig.chat("How many tokens?", stream=True)
        report = rig.http.get(f"{rig.base}/v1/ledger", params={"days": 1}).json()
        assert report["prices_as_of"]
        exact, semantic, provider, kv = report["lines"]["default"]
        assert (provider["requests"], exact["requests"], semantic["requests"]) == (1, 2, 0)
        assert provider["input_tokens"] == usage["prompt_tokens"]
        assert exact["input_tokens"] == 2 * usage["prompt_tokens"]
        assert exact["output_tokens"] == 2 * usage["completion_tokens"]
        assert exact["saved"] == pytest.approx(2 * provider["cost"])
        assert "surehit audit" in kv["note"]
        assert rig.http.get(f"{rig.base}/v1/ledger", params={"days": 0}).status_code == 422


def test_providers_prompt_cache_is_read_from_usage(sqlite_url: str, tmp_path: Path) -> None:
    """A long prefix that comes again: written by the first call, read by the others, in Anthropic's own counts."""
    with rigged(sqlite_url, tmp_path) as rig:
        prefix = "One rule of many that never change. " * 400
        system = [{"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}}]
        for n in range(3):
            body = chat(f"Question {n}") | {"system": system, "max_tokens": 50}
            reply = rig.post(
                "/anthropic/v1/messages", body, headers={"anthropic-version": "2023-06-01"}
            )
            assert reply.status_code == 200
        row = rig.http.get(f"{rig.base}/v1/ledger").json()["lines"]["default"][2]
        assert row["cache_write_5m"] > 1000
        assert row["cached_read"] == 2 * row["cache_write_5m"]
        assert row["saved"] > 0
        assert row["diagnosis"] == {}


def test_tenants_see_their_own_ledger(sqlite_url: str, tmp_path: Path) -> None:
    """Nothing crosses tenants."""
    with rigged(sqlite_url, tmp_path) as rig:
        acme, globex = rig.key("acme"), rig.key("globex")
        rig.chat("Mine", headers={"x-surehit-key": acme})
        for key, lines in ((acme, ["default"]), (globex, [])):
            headers = {"authorization": f"Bearer {key}"}
            report = rig.http.get(f"{rig.base}/v1/ledger", headers=headers).json()
            assert list(report["lines"]) == lines
