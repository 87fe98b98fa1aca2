"""The serving rule, as a table and as properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.decision import Candidate, MissReason, Refused, decide


def candidate(entry_id: int, score: float, *, quarantined: bool = False) -> Candidate:
    return Candidate(entry_id, score, f"q{entry_id}", b"", quarantined)


def refusing(*ids: int):  # type: ignore[no-untyped-def]
    """A judge that refuses these entries."""

    def judge(of: Candidate, query: str) -> Refused | None:
        return Refused("number", f"{of.entry_id}") if of.entry_id in ids else None

    return judge


A, B, C = candidate(1, 0.97), candidate(2, 0.95), candidate(3, 0.80)
NEW = candidate(4, 0.98, quarantined=True)


@pytest.mark.parametrize(
    ("candidates", "refused", "served", "reason", "score", "guard"),
    [
        ([], (), None, MissReason.EMPTY, None, None),
        ([A, B, C], (), 1, None, 0.97, None),
        ([A, B, C], (1,), 2, None, 0.95, None),  # a refused one doesn't end the search
        ([A, B, C], (1, 2), None, MissReason.GUARDED, 0.97, "number"),  # the threshold does
        ([C], (), None, MissReason.BELOW_THRESHOLD, 0.80, None),
        ([C], (3,), None, MissReason.BELOW_THRESHOLD, 0.80, None),
        ([NEW, A], (), 1, None, 0.97, None),
        ([NEW, C], (), None, MissReason.QUARANTINED, 0.98, "quarantine"),
        ([candidate(5, 0.9)], (), 5, None, 0.9, None),  # exactly at the threshold
    ],
)
def test_candidates_to_outcome(
    candidates: list[Candidate],
    refused: tuple[int, ...],
    served: int | None,
    reason: MissReason | None,
    score: float | None,
    guard: str | None,
) -> None:
    choice = decide("q", candidates, threshold=0.9, judge=refusing(*refused))
    assert served == (choice.candidate.entry_id if choice.candidate else None)
    assert (reason, score, guard) == (choice.reason, choice.score, choice.guard)


def test_guard_that_raises_refuses() -> None:
    """Guards fail closed, and the error is named."""

    def broken(of: Candidate, query: str) -> Refused | None:
        raise RuntimeError("no")

    choice = decide("q", [A], threshold=0.9, judge=broken)
    assert (choice.candidate, choice.guard, choice.detail) == (None, "error", "RuntimeError")


SCORES = st.lists(st.floats(-1, 1), max_size=8).map(lambda s: sorted(s, reverse=True))


@given(SCORES, st.floats(-1, 1), st.sets(st.integers(0, 7)))
def test_never_under_the_threshold_and_never_a_refused_one(
    scores: list[float], threshold: float, refused: set[int]
) -> None:
    """What is served is the nearest that may be; nothing is served only when nothing may."""
    candidates = [candidate(n, score) for n, score in enumerate(scores)]
    choice = decide("q", candidates, threshold=threshold, judge=refusing(*refused))
    allowed = [c for c in candidates if c.score >= threshold and c.entry_id not in refused]
    assert choice.candidate == (allowed[0] if allowed else None)
    assert (choice.candidate is None) == (choice.reason is not None)


def test_nan_scores_are_never_served() -> None:
    choice = decide("q", [candidate(1, float("nan"))], threshold=-1.0, judge=refusing())
    assert choice.candidate is None
