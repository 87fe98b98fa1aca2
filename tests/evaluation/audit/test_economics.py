"""Prices, the provider's rules and the best that could be had, against cases counted by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.audit.economics import EconomicsLayer, EconomicsReport, input_cost
from evaluation.audit.prices import (
    ModelPrice,
    PricesUnusable,
    PriceTable,
    break_even_reads,
    load_prices,
)
from evaluation.audit.prompt import Renderer
from evaluation.audit.prompt_cache import BestCache, Billed, Boundary, RuledCache, boundaries
from evaluation.audit.records import parse_record

PRICE = ModelPrice(("",), 2.0, 10.0, read=0.1, write_5m=1.25, write_1h=2.0, min_tokens=100)
SYSTEM = "Answer politely. " * 100


def mark(ttl: str | None = None) -> dict[str, Any]:
    return {"cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


def request(
    question: str, *, marked: bool = True, model: str = "claude-sonnet-9"
) -> dict[str, Any]:
    system = [{"type": "text", "text": SYSTEM, **(mark() if marked else {})}]
    return {"model": model, "system": system, "messages": [{"role": "user", "content": question}]}


def bill(renderer: Renderer, rows: list[dict[str, Any]], prices: PriceTable) -> EconomicsReport:
    layer = EconomicsLayer(prices)
    for number, row in enumerate(rows):
        record = parse_record(row, number)
        layer.add(record, renderer.render(record.request))
    return layer.report()


def table(price: ModelPrice) -> PriceTable:
    whole = load_prices()
    return PriceTable(whole.as_of, "USD", "", whole.embedding_per_million, (price,))


@pytest.mark.parametrize(
    ("write", "read", "reads"),
    [(1.25, 0.1, 0.25 / 0.9), (2.0, 0.1, 1 / 0.9), (1.0, 0.5, 0.0), (1.25, 1.0, math.inf)],
)
def test_break_even_is_where_both_cost_the_same(write: float, read: float, reads: float) -> None:
    assert reads == pytest.approx(break_even_reads(write, read))


@given(st.floats(1.01, 3), st.floats(0, 0.95))
def test_caching_is_cheaper_exactly_above_the_break_even(write: float, read: float) -> None:
    reads = break_even_reads(write, read)
    for more in (0.5, 1.5):
        assert (write + read * reads * more < 1 + reads * more) == (more > 1)


def test_the_cost_of_one_call_is_the_sum_by_hand() -> None:
    # 1,000 tokens: 600 read, 200 written for 5 m, 100 for 1 h, 100 plain, at 2 USD per million
    by_hand = (600 * 0.1 + 200 * 1.25 + 100 * 2.0 + 100) * 2.0 / 1e6
    assert by_hand == pytest.approx(input_cost(PRICE, 1000, Billed(600, 200, 100)))


def test_a_marked_prefix_is_written_once_and_read_while_it_lives(renderer: Renderer) -> None:
    cache = RuledCache()
    prompt = renderer.render(request("a"))
    blocks = boundaries(prompt)
    prefix = blocks[0].tokens
    times = (0.0, 299.0, 598.0, 899.0)  # renewed twice, then a second too late
    billed = [cache.serve(prompt, blocks, PRICE, now, b"") for now in times]
    assert [Billed(0, prefix), Billed(prefix), Billed(prefix), Billed(0, prefix)] == billed


def test_a_prefix_below_the_minimum_is_not_cached(renderer: Renderer) -> None:
    prompt = renderer.render(request("a"))
    blocks = boundaries(prompt)
    strict = ModelPrice(("",), 2.0, 10.0, 0.1, 1.25, min_tokens=blocks[0].tokens + 1)
    cache = RuledCache()
    assert [Billed(0), Billed(0)] == [cache.serve(prompt, blocks, strict, 0.0, b"") for _ in "ab"]


@pytest.mark.parametrize(("added", "is_found"), [(19, True), (20, False)])
def test_the_look_back_ends_after_twenty_blocks(
    renderer: Renderer, added: int, is_found: bool
) -> None:
    def long(parts: int) -> dict[str, Any]:
        content: list[dict[str, Any]] = [
            {"type": "text", "text": f"part {n} of the document, " * 5} for n in range(parts)
        ]
        content[-1] |= mark()
        return {"messages": [{"role": "user", "content": content}]}

    cache = RuledCache()
    first, second = renderer.render(long(5)), renderer.render(long(5 + added))
    cache.serve(first, boundaries(first), PRICE, 0.0, b"")
    billed = cache.serve(second, boundaries(second), PRICE, 0.0, b"")
    assert is_found == (billed.read > 0)
    if is_found:
        assert boundaries(first)[4].tokens == billed.read


def test_at_most_four_breakpoints_count(renderer: Renderer) -> None:
    content = [{"type": "text", "text": f"part {n} " * 60, **mark()} for n in range(6)]
    prompt = renderer.render({"messages": [{"role": "user", "content": content}]})
    blocks = boundaries(prompt)
    assert Billed(0, blocks[3].tokens) == RuledCache().serve(prompt, blocks, PRICE, 0.0, b"")


def test_an_hour_mark_writes_for_an_hour(renderer: Renderer) -> None:
    content = [{"type": "text", "text": SYSTEM, **mark("1h")}, {"type": "text", "text": "q"}]
    prompt = renderer.render({"messages": [{"role": "user", "content": content}]})
    blocks = boundaries(prompt)
    cache = RuledCache()
    assert Billed(0, 0, blocks[0].tokens) == cache.serve(prompt, blocks, PRICE, 0.0, b"")
    assert Billed(blocks[0].tokens) == cache.serve(prompt, blocks, PRICE, 3500.0, b"")


def test_an_automatic_cache_reads_whole_steps_above_its_minimum(renderer: Renderer) -> None:
    price = ModelPrice(("",), 2.0, 10.0, 0.5, 1.0, min_tokens=1024, step_tokens=128, automatic=True)
    cache = RuledCache()
    long = renderer.render(" word" * 1500)
    assert Billed(0, 11 * 128) == cache.serve(long, [], price, 0.0, b"")
    assert Billed(11 * 128, 0) == cache.serve(long, [], price, 100.0, b"")
    branch = renderer.render(" word" * 1200 + " other" * 300)
    assert Billed(9 * 128, 2 * 128) == cache.serve(branch, [], price, 100.0, b"")
    short = renderer.render(" word" * 1000)
    assert Billed(0, 0) == cache.serve(short, [], price, 100.0, b"")


def test_the_best_cost_of_one_prefix_read_twice_is_the_sum_by_hand() -> None:
    best = BestCache(300.0)
    blocks = [Boundary(1000, 1, "system", None), Boundary(1010, 2, "", None)]
    for number, now in enumerate((0.0, 100.0, 200.0)):
        tail = Boundary(1010, 100 + number, "", None)
        best.serve([blocks[0], tail], PRICE, PRICE.write_5m, now, 1.0)
    # the prefix written once and read twice, three tails of 10 tokens at the full price
    by_hand = (1000 * (1.25 + 2 * 0.1) + 3 * 10) * PRICE.input
    assert by_hand == pytest.approx(best.cost_per_million())


def test_the_best_placement_writes_nothing_that_is_not_read() -> None:
    best = BestCache(300.0)
    for number in range(5):
        best.serve([Boundary(500, number, "", None)], PRICE, 1.25, float(number), 1.0)
    assert 5 * 500 * PRICE.input == pytest.approx(best.cost_per_million())


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 400)),
        min_size=1,
        max_size=25,
    )
)
def test_no_marked_cache_is_ever_cheaper_than_the_best(
    renderer: Renderer, plan: list[tuple[int, int, int]]
) -> None:
    """Requests of four families, one to four parts each, every part marked, at rising times."""
    price = ModelPrice(("",), 2.0, 10.0, 0.1, 1.25, min_tokens=1)
    cache, best, paid, now = RuledCache(), BestCache(300.0), 0.0, 0.0
    for family, parts, pause in plan:
        now += pause
        content = [
            {"type": "text", "text": f"family {family} part {n} " * 10, **mark()}
            for n in range(parts)
        ]
        prompt = renderer.render({"messages": [{"role": "user", "content": content}]})
        blocks = boundaries(prompt)
        billed = cache.serve(prompt, blocks, price, now, b"")
        total = blocks[-1].tokens
        paid += input_cost(price, total, billed) * 1e6
        best.serve(blocks, price, price.write_5m, now, 1.0)
    assert best.cost_per_million() <= paid * (1 + 1e-9)


def test_reported_usage_is_taken_as_it_is(renderer: Renderer) -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 300,
        "output_tokens": 5,
    }
    found = bill(renderer, [{"request": request("a"), "usage": usage}], table(PRICE))
    by_hand = (100 + 600 * 0.1 + 300 * 1.25) * 2.0 / 1e6
    assert (by_hand, "usage") == (pytest.approx(found.cost_as_is), found.as_is_from)
    assert pytest.approx(found.cost_without_cache) == 1000 * 2.0 / 1e6


def test_an_unmarked_system_message_that_repeats_is_where_the_breakpoint_belongs(
    renderer: Renderer,
) -> None:
    rows = [{"request": request(f"question {n}", marked=False), "ts": 10.0 * n} for n in range(20)]
    found = bill(renderer, rows, table(PRICE))
    (place,) = found.placements
    assert (place.place, place.is_worth_it, place.reads_per_write) == ("system", True, 19.0)
    assert found.cost_without_cache == pytest.approx(found.cost_as_is)
    assert found.cost_perfect_5m < 0.25 * found.cost_as_is


def test_marks_that_sit_right_come_near_the_best(renderer: Renderer) -> None:
    rows = [{"request": request(f"question {n}"), "ts": 10.0 * n} for n in range(20)]
    found = bill(renderer, rows, table(PRICE))
    assert found.cost_perfect_5m <= found.cost_as_is <= 1.05 * found.cost_perfect_5m


def test_tenants_do_not_read_each_others_prefixes(renderer: Renderer) -> None:
    rows = [{"request": request("a"), "ts": 0.0, "tenant": t} for t in ("one", "two")]
    found = bill(renderer, rows, table(PRICE))
    assert found.read_tokens == 0


def test_the_bundled_table_is_dated_and_names_every_rule() -> None:
    prices = load_prices()
    assert prices.as_of.year >= 2026
    sonnet, gpt, unknown = (prices.of(n) for n in ("anthropic/claude-sonnet-4-5", "gpt-4o", "zz"))
    assert (sonnet.write_5m, sonnet.write_1h, sonnet.read) == (1.25, 2.0, 0.1)
    assert (gpt.automatic, gpt.step_tokens) == (True, 128)
    assert unknown.match == ("",)


@pytest.mark.parametrize("text", ["", "as_of = 1", "[[model]]\nmatch = ['x']", "not toml ["])
def test_a_price_file_that_lacks_something_is_refused_with_its_name(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(PricesUnusable, match=r"mine\.toml"):
        load_prices(path)


def test_an_edited_copy_of_the_table_is_used(tmp_path: Path) -> None:
    import service.prices as module

    bundled = Path(module.__file__).with_name("prices.toml")
    path = tmp_path / "mine.toml"
    path.write_text(bundled.read_text().replace("input = 2.5", "input = 1.5"))
    assert (load_prices().of("gpt-4o").input, load_prices(path).of("gpt-4o").input) == (2.5, 1.5)


def test_ledger_and_audit_read_the_same_table_and_bill_alike(tmp_path: Path) -> None:
    """One table, one formula: the ledger's cost of a call is the audit's."""
    from service import ledger, prices

    assert load_prices() is prices.in_force(tmp_path)
    price = load_prices().of("claude-sonnet-4-5")
    spent = ledger.Spent(input_tokens=1000, cached_read=300, cache_write_5m=200, cache_write_1h=100)
    billed = Billed(300, 200, 100)
    by_audit = input_cost(price, 1000, billed)
    assert by_audit == pytest.approx(3 / 1e6 * (400 + 300 * 0.1 + 200 * 1.25 + 100 * 2.0))
    rows = ledger.four_rows(
        {("claude-sonnet-4-5", "provider"): spent}, load_prices(), pays_for_embedding=False
    )
    assert rows[2]["cost"] == pytest.approx(by_audit)
