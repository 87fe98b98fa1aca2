"""Logged lookups through the serving rule again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.backtest import Rule, _Tally, backtest
from evaluation.desk import desk_of
from service.guards import GUARDS
from tests.evaluation.desks import label, next_item, queue, rigged
from tests.harness import Client, Clock, running

ALL = frozenset(GUARDS)


async def test_the_rule_in_force_gives_what_was_done(database_url: str, tmp_path: Path) -> None:
    async with running(database_url, tmp_path, clock=Clock(), embedder=rigged(6)) as client:
        desk = await queue(client, 6)
        policy = await desk.policy("default", "faq")
        (found,) = await backtest(desk, policy, [Rule(policy.config.threshold, policy.guards)])
        served = await hits(client)
        assert found.hits == served > 0
        assert (found.gained, found.lost) == (0, 0)
        assert found.lookups == 6


async def test_another_threshold_moves_hits_and_labels_follow_the_draw(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(4)) as client:
        desk = await queue(client, 4)
        for i in range(4):
            for who in ("ann", "bo"):
                item = await next_item(client, who)
                if item is not None:
                    verdict = "not_reusable" if i == 0 else "reusable"
                    await label(client, item, who, verdict)
        policy = await desk.policy("default", "faq")
        at, over = await backtest(
            desk, policy, [Rule(0.93, policy.guards), Rule(0.94, policy.guards)]
        )
        assert (over.hits, over.lost, over.false_hit_rate) == (0, at.hits, None)
        assert at.labelled_hits == at.hits
        assert at.false_hit_rate is not None
        assert at.false_hit_low is not None
        assert at.false_hit_low <= at.false_hit_rate <= (at.false_hit_high or 0.0)


async def test_another_model_scores_the_logged_texts(sqlite_url: str, tmp_path: Path) -> None:
    async with running(sqlite_url, tmp_path, clock=Clock(), embedder=rigged(3)) as client:
        await queue(client, 3)
        desk = desk_of(client.cache)
        policy = await desk.policy("default", "faq")
        asked_of: list[tuple[str, str]] = []

        async def scores(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
            asked_of.extend(pairs)
            return [0.5] * (len(pairs) - 1) + [None]

        (found,) = await backtest(
            desk, policy, [Rule(0.4, policy.guards, "other")], score_pairs=scores
        )
        assert asked_of
        assert all(
            entry.startswith("stored") and query.startswith("asked") for entry, query in asked_of
        )
        assert found.unscored == 1
        assert found.hits == len(asked_of) - 1


async def test_without_a_guard_its_refusals_become_hits(sqlite_url: str, tmp_path: Path) -> None:
    pair = ("What does a plan for 12 people cost?", "What does a plan for 21 people cost?")
    from index.testing import RiggedEmbedder

    async with running(
        sqlite_url, tmp_path, clock=Clock(), embedder=RiggedEmbedder({pair: 0.97})
    ) as client:
        await queue(client, 0)
        await client.store(pair[0], "a")
        refused = await client.lookup(pair[1])
        assert refused["reason"] == "guarded"
        await client.cache.journal.flush()
        desk = desk_of(client.cache)
        policy = await desk.policy("default", "faq")
        rules = [Rule(0.9, policy.guards), Rule(0.9, frozenset())]
        with_guards, without = await backtest(desk, policy, rules)
        assert (with_guards.hits, without.hits) == (0, 1)
        assert with_guards.refused_by_guard == {refused["guard"]: 1}


ROWS = st.lists(
    st.tuples(
        st.floats(-1.0, 1.0), st.sampled_from(["hit", "miss"]), st.sampled_from([None, "blocked"])
    ),
    max_size=30,
)


@given(ROWS, st.floats(-1.0, 1.0))
def test_a_stricter_threshold_never_hits_more_and_a_blocked_pair_never_hits(
    rows: list[tuple[float, str, str | None]], threshold: float
) -> None:
    found = []
    for t in (threshold, min(threshold + 0.1, 1.0)):
        tally = _Tally(Rule(t, ALL))
        for score, outcome, guard in rows:
            row: tuple[Any, ...] = (1, "same text", 1, "same text", b"h", score, guard, outcome)
            tally.take(row, score, None)
        found.append(tally.result())
    assert found[1].hits <= found[0].hits
    assert found[0].hits == sum(s >= threshold and g is None for s, _, g in rows)
    assert found[0].lookups == len(rows)


async def hits(client: Client) -> int:
    """Semantic hits that were counted."""
    await client.cache.journal.flush()
    rows = await client.cache.db.write(
        lambda tx: tx.text("SELECT count(*) FROM lookups WHERE outcome='hit'")
    )
    return int(rows[0][0])


def test_an_empty_log_has_no_rate() -> None:
    found = _Tally(Rule(0.9, ALL)).result()
    assert (found.lookups, found.hit_rate, found.false_hit_rate) == (0, 0.0, None)
    assert "unknown" in found.sentence()
    assert found.as_dict()["rule"]["threshold"] == pytest.approx(0.9)
