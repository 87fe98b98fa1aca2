"""Usage of a hit."""

from __future__ import annotations

from service.wire.usage import Usage, count, zero_usage


def test_zero_usage_has_all_required_fields_and_those_of_the_original():
    original = {
        "prompt_tokens": 9,
        "cost": 0.25,
        "tier": "x",
        "prompt_tokens_details": {"image_tokens": 4},
        "completion_tokens_details": None,
    }
    template = {
        "prompt_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }

    expected = {
        "prompt_tokens": 0,
        "cost": 0,
        "tier": "x",
        "prompt_tokens_details": {"image_tokens": 0, "cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    assert expected == zero_usage(original, template)
    assert template == zero_usage(None, template)


def test_nonsense_counts_as_nothing():
    assert [count({"n": n}, "n") for n in (None, True, -1, "3", 10**30, 7)] == [0, 0, 0, 0, 0, 7]
    assert count(None, "n") == 0


def test_writes_are_summed_over_lifetimes():
    assert Usage(9, 1, cache_write_5m=1, cache_write_1h=2, cache_write_other=3).cache_write == 6
