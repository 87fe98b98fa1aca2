"""What the labels of an item come to: no rows, no clock, no chance but the keyed draw of second opinions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.review_rows import Given
from service.sampling import draw


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the labels of an item come to."""

    state: str
    verdict: str | None
    reason: str | None


def outcome_of(given: Sequence[Given], *, yes_seen_twice: bool) -> Outcome:
    """What labels come to, in the order in which they were given.

    An adjudication is final. Of three labels the majority decides; three different ones make `unsure`.
    """
    verdicts = [g for g in given if g.is_verdict]
    final = [g for g in verdicts if g.adjudicates]
    if final:
        return Outcome("done", final[-1].verdict, _reason(final[-1:], final[-1].verdict))
    if not verdicts:
        return Outcome("open", None, None)
    counted = Counter(g.verdict for g in verdicts).most_common()
    leader, votes = counted[0]
    if len(verdicts) == 1:
        waits = leader == "not_reusable" or (leader == "reusable" and yes_seen_twice)
        return Outcome("second" if waits else "done", leader, _reason(verdicts, leader))
    if len(verdicts) == 2 and votes == 1:
        return Outcome("disputed", "unsure", None)
    if len(counted) > 1 and counted[1][1] == votes:
        return Outcome("done", "unsure", None)
    return Outcome("done", leader, _reason(verdicts, leader))


def forbids(found: Outcome, given: Sequence[Given]) -> bool:
    """Whether the pair must not be served as things stand: one «not reusable» holds until others have outvoted it."""
    if found.state == "done":
        return found.verdict == "not_reusable"
    return any(g.is_verdict and g.verdict == "not_reusable" for g in given)


def is_seen_twice(desk_key: bytes, item_id: int, share: float) -> bool:
    """Whether a «reusable» on this item goes to a second person: fixed by the item, unknown to reviewers."""
    return draw(desk_key, "second", str(item_id)) < share


def _reason(given: Sequence[Given], verdict: str) -> str | None:
    """Of those who gave the verdict; «answer bad» only when all of them said so."""
    reasons = [g.reason for g in given if g.verdict == verdict and g.reason is not None]
    if not reasons:
        return None
    other = [r for r in reasons if r != "answer_bad"]
    return other[0] if other else reasons[0]
