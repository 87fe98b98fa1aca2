"""Identifiers rise, survive their public spelling, and are not mistaken for another kind."""

from hypothesis import given
from hypothesis import strategies as st

from service import ids


@given(st.integers(0, ids.MAX_ID), st.sampled_from(["ent", "lkp"]))
def test_spelling_is_reversible_and_ordered(number: int, kind: str) -> None:
    text = ids.encode(kind, number)
    assert ids.decode(kind, text) == number
    assert (ids.encode(kind, max(0, number - 1)) <= text) is True


@given(st.text(max_size=24))
def test_anything_else_is_no_id(text: str) -> None:
    found = ids.decode("ent", text)
    assert found is None or ids.encode("ent", found) == text


def test_other_kind_length_or_size_is_no_id() -> None:
    text = ids.encode("ent", 7)
    for bad in (
        ids.encode("lkp", 7),
        text[:-1],
        text + "0",
        text.upper(),
        "ent_" + "f" * 16,
        "ent_٣000000000000007",
    ):
        assert ids.decode("ent", bad) is None, bad


def test_ids_rise_even_when_the_clock_stands_still_or_runs_back() -> None:
    times = iter([1_900_000_000_000] * 1000 + [1_800_000_000_000] * 1000)
    source = ids.IdSource(lambda: next(times))
    made = [source() for _ in range(2000)]
    assert made == sorted(set(made))
    assert 0 < made[-1] <= ids.MAX_ID


def test_ids_of_two_sources_differ() -> None:
    """Workers share no counter."""
    clock = lambda: 1_790_000_000_000  # noqa: E731 - two lines would say no more
    one, two = ids.IdSource(clock), ids.IdSource(clock)
    assert {one() for _ in range(50)}.isdisjoint({two() for _ in range(50)})
