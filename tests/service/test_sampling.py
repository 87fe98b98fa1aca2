"""Draws are repeatable, independent, and happen with the probability that is stored."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.sampling import (
    SamplingPlan,
    certify_probability,
    draw,
    explore_probability,
    inclusion_probability,
    sample,
    thin,
)

KEY = b"a key that nobody knows"
PLAN = SamplingPlan(
    certify_rate=0.3,
    certify_floor=0.85,
    bin_edges=(0.7, 0.8, 0.9),
    explore_rates=(0.5, 0.2, 0.1),
    guarded_rate=0.05,
)
rates = st.floats(0.0, 1.0)
plans = st.builds(
    SamplingPlan,
    certify_rate=rates,
    certify_floor=st.floats(0.7, 1.0),
    bin_edges=st.just((0.7, 0.8, 0.9)),
    explore_rates=st.tuples(rates, rates, rates),
    guarded_rate=rates,
)
scores = st.one_of(st.just(-math.inf), st.floats(-1.0, 1.0))


def test_same_arguments_give_the_same_draw() -> None:
    assert draw(KEY, "certify", "lookup-1") == draw(KEY, "certify", "lookup-1")


def test_key_stream_and_lookup_each_change_the_draw() -> None:
    base = draw(KEY, "certify", "lookup-1")

    assert base != draw(b"another key", "certify", "lookup-1")
    assert base != draw(KEY, "explore", "lookup-1")
    assert base != draw(KEY, "certify", "lookup-2")


def test_draws_do_not_change_between_releases() -> None:
    """A stored draw must be reproducible years later, so its value is pinned here."""
    assert draw(b"k" * 32, "certify", "lookup-1") == 0.2304392310815313


def test_stream_and_lookup_are_not_glued_together() -> None:
    assert draw(KEY, "a", "bc") != draw(KEY, "ab", "c")


def test_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="key is empty"):
        draw(b"", "certify", "lookup-1")


def test_draws_look_uniform_and_streams_uncorrelated() -> None:
    certify = np.array([draw(KEY, "certify", f"lookup-{i}") for i in range(20_000)])
    explore = np.array([draw(KEY, "explore", f"lookup-{i}") for i in range(20_000)])

    counts = np.histogram(certify, bins=20, range=(0.0, 1.0))[0]
    chi_square = float(((counts - 1000.0) ** 2 / 1000.0).sum())
    assert chi_square < 43.8  # 0.999 quantile at 19 degrees of freedom
    assert abs(float(np.corrcoef(certify, explore)[0, 1])) < 4.0 / math.sqrt(20_000)


@given(plans, scores, st.booleans(), st.text(min_size=1))
def test_stored_probability_is_always_that_of_the_plan(
    plan: SamplingPlan, score: float, guarded: bool, lookup_id: str
) -> None:
    drawn = sample(plan, KEY, lookup_id=lookup_id, score=score, guarded=guarded)
    c = certify_probability(plan, score, guarded=guarded)
    e = explore_probability(plan, score, guarded=guarded)

    assert drawn.inclusion_probability == inclusion_probability(plan, score, guarded=guarded)
    assert drawn.inclusion_probability == pytest.approx(1.0 - (1.0 - c) * (1.0 - e))
    assert 0.0 <= drawn.inclusion_probability <= 1.0
    assert drawn.certify_probability == c
    assert ("certify" in drawn.streams) == (drawn.certify_draw < c)
    assert ("explore" in drawn.streams) == (drawn.explore_draw < e)
    assert drawn.included == bool(drawn.streams)


@given(plans, st.floats(-1.0, 0.6999), st.booleans(), st.text(min_size=1))
def test_nothing_below_the_floor_is_ever_sampled(
    plan: SamplingPlan, score: float, guarded: bool, lookup_id: str
) -> None:
    drawn = sample(plan, KEY, lookup_id=lookup_id, score=score, guarded=guarded)

    assert not drawn.included
    assert drawn.inclusion_probability == 0.0


@given(plans, scores, st.text(min_size=1))
def test_a_guarded_lookup_is_never_in_the_certify_stream(
    plan: SamplingPlan, score: float, lookup_id: str
) -> None:
    drawn = sample(plan, KEY, lookup_id=lookup_id, score=score, guarded=True)

    assert "certify" not in drawn.streams
    assert drawn.certify_probability == 0.0


def test_a_score_on_an_edge_belongs_to_the_upper_bin() -> None:
    assert explore_probability(PLAN, 0.8, guarded=False) == 0.2
    assert explore_probability(PLAN, np.nextafter(0.8, 0.0), guarded=False) == 0.5
    assert certify_probability(PLAN, 0.85, guarded=False) == 0.3


def test_a_missing_score_is_never_sampled() -> None:
    for score in (math.nan, -math.inf):
        assert inclusion_probability(PLAN, score, guarded=False) == 0.0


def test_lookups_are_included_as_often_as_stated() -> None:
    p = inclusion_probability(PLAN, 0.86, guarded=False)
    included = sum(
        sample(PLAN, KEY, lookup_id=f"x{i}", score=0.86, guarded=False).included
        for i in range(20_000)
    )

    assert p == pytest.approx(1.0 - 0.7 * 0.8)
    assert abs(included / 20_000 - p) < 4.0 * math.sqrt(p * (1 - p) / 20_000)


def test_one_silent_stream_leaves_the_other_rate_to_the_bit() -> None:
    plan = SamplingPlan(0.1, 0.7, (0.7,), (0.0,), 0.0)

    assert inclusion_probability(plan, 0.9, guarded=False) == 0.1


def test_thinning_keeps_the_share_and_multiplies_the_probability() -> None:
    kept = [thin(KEY, f"x{i}", inclusion_probability=0.5, share=0.25) for i in range(8_000)]
    survivors = [p for p in kept if p is not None]

    assert set(survivors) == {0.125}
    assert abs(len(survivors) / 8_000 - 0.25) < 4.0 * math.sqrt(0.25 * 0.75 / 8_000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"certify_rate": 1.1}, "every rate"),
        ({"explore_rates": (0.1, 0.1)}, "equal length"),
        ({"bin_edges": (0.7, 0.7, 0.9)}, "strictly ascending"),
        ({"bin_edges": (-math.inf, 0.8, 0.9)}, "finite"),
        ({"certify_floor": 0.6}, "below the lowest"),
    ],
)
def test_an_impossible_plan_is_refused(changes: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {
        "certify_rate": 0.3,
        "certify_floor": 0.85,
        "bin_edges": (0.7, 0.8, 0.9),
        "explore_rates": (0.5, 0.2, 0.1),
        "guarded_rate": 0.05,
    }
    with pytest.raises(ValueError, match=message):
        SamplingPlan(**{**fields, **changes})  # type: ignore[arg-type]  # wrong on purpose
