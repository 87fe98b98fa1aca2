"""Block hashes and the pool of blocks, against direct simulations."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.audit.pool import BlockPool, block_hashes
from evaluation.audit.prefix import PrefixLayer
from evaluation.audit.prompt import Renderer
from evaluation.audit.reading import ReadingTally, read_records
from evaluation.audit.records import Record


class ListPool:
    """The same rules written as plainly as possible: one list, oldest first, one request at a time."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.blocks = capacity, list[int]()

    def serve(self, ids: list[int], reusable: int, private: int) -> int:
        if len(ids) + private > self.capacity:
            return 0
        reused = 0
        while reused < reusable and ids[reused] in self.blocks:
            reused += 1
        others = [b for b in self.blocks if b not in ids]
        room = self.capacity - len(ids) - private
        others = others[len(others) - min(room, len(others)) :]
        self.blocks = others + list(reversed(ids))
        return reused


chains = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=30
)


@given(chains, st.integers(1, 12))
def test_the_pool_equals_a_plain_list_that_evicts_the_oldest_block(
    requests: list[tuple[int, int, int]], capacity: int
) -> None:
    """Chains of four families share their front, as chained hashes do."""
    pool, plain = BlockPool(capacity), ListPool(capacity)
    for family, length, private in requests:
        ids = [family * 100 + n for n in range(length)]
        expected = plain.serve(ids, len(ids), private)
        assert expected == pool.serve(ids, reusable=len(ids), private_blocks=private)


@given(chains, st.integers(1, 12), st.integers(2, 4))
def test_blocks_in_use_never_exceed_the_pool(
    requests: list[tuple[int, int, int]], capacity: int, running: int
) -> None:
    pool = BlockPool(capacity, running=running)
    for family, length, private in requests:
        ids = [family * 100 + n for n in range(length)]
        pool.serve(ids, reusable=length, private_blocks=private)
        assert len(pool._references) + len(pool._free) + pool._private <= capacity


def test_a_running_request_keeps_its_blocks_from_being_evicted() -> None:
    held, dropped = BlockPool(6, running=2), BlockPool(6, running=1)
    for pool in (held, dropped):
        pool.serve([1, 2, 3], reusable=3)
        pool.serve([7, 8], reusable=2)
        pool.serve([9, 10], reusable=2)  # seven blocks in a pool of six
    assert (
        dropped.serve([1, 2, 3], reusable=3),
        reused_after([1, 2, 3], [7], [8], running=2),
    ) == (2, 3)


def reused_after(first: list[int], *others: list[int], running: int) -> int:
    pool = BlockPool(6, running=running)
    for ids in (first, *others):
        pool.serve(ids, reusable=len(ids))
    return pool.serve(first, reusable=len(first))


def test_only_whole_blocks_are_shared_and_the_last_token_is_always_computed(
    renderer: Renderer,
) -> None:
    text = " word" * 64
    tokens = len(renderer.tokenizer.encode(text))
    assert tokens == 64
    layer = PrefixLayer(pool_blocks=[100])
    assert layer.add(Record(1, text), renderer.render(text)) == 0
    assert layer.add(Record(2, text), renderer.render(text)) == 48
    longer = text + " word" * 10
    assert layer.add(Record(3, longer), renderer.render(longer)) == 64


def test_a_changed_block_changes_every_hash_behind_it(renderer: Renderer) -> None:
    a = block_hashes(renderer.render(" word" * 64), 16)
    b = block_hashes(renderer.render(" word" * 20 + " other" + " word" * 43), 16)
    assert [x == y for x, y in zip(a, b, strict=True)] == [True, False, False, False]


def test_a_salt_keeps_tenants_apart_and_its_absence_does_not(renderer: Renderer) -> None:
    text = " word" * 80
    layer = PrefixLayer(pool_blocks=[100])
    layer.add(Record(1, text, tenant="a"), renderer.render(text))
    layer.add(Record(2, text, tenant="b"), renderer.render(text))
    salted, shared = layer.report().pools
    assert (salted.salt_per_tenant, salted.reused_tokens) == (True, 0)
    assert (shared.salt_per_tenant, shared.reused_tokens) == (False, 64)


def test_a_hidden_setting_breaks_the_blocks_behind_it_and_none_before(renderer: Renderer) -> None:
    def request(choice: str) -> dict[str, object]:
        messages = [
            {"role": "system", "content": " word" * 40},
            {"role": "user", "content": " word" * 40},
        ]
        return {"messages": messages, "tool_choice": choice}

    a, b = (block_hashes(renderer.render(request(c)), 16) for c in ("auto", "none"))
    same = [x == y for x, y in zip(a, b, strict=True)]
    assert same == [True, True, False, False, False]


@pytest.mark.parametrize("capacity", [500, 4096, 262_144])
def test_reuse_of_the_mooncake_trace_equals_a_direct_simulation(
    shared_log: Callable[[str], Path], capacity: int
) -> None:
    path = shared_log("trace_mooncake/trace.jsonl.gz")
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    rows = rows[:600] if capacity < 100_000 else rows
    plain, seen, expected = ListPool(capacity), set[int](), 0
    for row in rows:
        whole = row["blocks"][: row["i"] // 512]
        limit = (row["i"] - 1) // 512
        if capacity < 100_000:
            rest = row["i"] - 512 * len(whole) + row["o"]
            expected += plain.serve(whole, limit, -(-rest // 512))
        else:  # nothing is ever evicted: a set says it all
            front = 0
            while front < min(limit, len(whole)) and whole[front] in seen:
                front += 1
            expected += front
            seen.update(whole)
    layer = PrefixLayer(pool_blocks=[capacity])
    for record in read_records(path, ReadingTally(), limit=len(rows)):
        layer.add(record, None)
    report = layer.report()
    assert report.best is not None
    assert expected * 512 == report.best.reused_tokens
    assert sum(row["i"] for row in rows) == report.prompt_tokens
