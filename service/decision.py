"""The serving rule: from candidates, threshold and guards to a hit or a miss. No I/O.

Live lookups, shadow lookups and backtests all call `decide`, so that a threshold means the same wherever it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class MissReason(StrEnum):
    """Why a lookup was not answered from the cache."""

    EMPTY = "empty"
    """No live entry that the query may be compared with."""
    BELOW_THRESHOLD = "below_threshold"
    """The nearest candidate scores under the line's threshold."""
    GUARDED = "guarded"
    """Every candidate over the threshold was refused by a guard or a blocked pair."""
    SHADOW = "shadow"
    """A candidate would have been served; the line is in shadow mode."""
    MODE = "mode"
    """The line, or the caller, does not use the semantic tier (or the cache)."""
    BYPASS = "bypass"
    """The request can't be compared by meaning: no user text at its end, blank, or the caller forbade serving."""
    DEGRADED = "degraded"
    """Database, embedder or index did not answer within its budget."""
    UNREADABLE = "unreadable"
    """The line's embedding model cannot read this script."""
    TOO_LONG = "too_long"
    """The text is longer than the embedding model reads; a cut text would match another with the same start."""
    QUARANTINED = "quarantined"
    """The candidate is new and has not been reviewed yet."""
    # requests that must not be reused by meaning (service.eligibility)
    VOLATILE = "volatile"
    PERSONAL = "personal"
    ACTING = "acting"
    CREATIVE = "creative"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live entry near the query. `score` is a similarity in [-1, 1] or a probability: never a distance."""

    entry_id: int
    score: float
    query: str
    response_hash: bytes
    quarantined: bool = False
    cosine: float | None = None
    """Of the embeddings, where the score is another."""

    @property
    def similarity(self) -> float:
        """Cosine of the embeddings, whatever the score is."""
        return self.score if self.cosine is None else self.cosine


@dataclass(frozen=True, slots=True)
class Refused:
    """Who refused a candidate over the threshold, and what it saw."""

    guard: str
    detail: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome for one query: `candidate` may be served, or `reason` says why none may.

    On a miss `score`, `guard` and `detail` belong to the nearest candidate that was looked at.
    """

    candidate: Candidate | None
    reason: MissReason | None
    score: float | None
    guard: str | None = None
    detail: str | None = None
    nearest: Candidate | None = None


Judge = Callable[[Candidate, str], Refused | None]
"""(a candidate, the new query) → a refusal, or None."""


def decide(
    query: str,
    candidates: Sequence[Candidate],
    *,
    threshold: float,
    judge: Judge,
) -> Choice:
    """Take the nearest candidate that scores at least `threshold` and that no guard refuses.

    `candidates` come best score first. A refused candidate doesn't end the search, the threshold does. A judge that
    raises counts as a refusal: guards fail closed.
    """
    first: Choice | None = None
    for candidate in candidates:
        # so written that a score which is no number is never served
        if not candidate.score >= threshold:
            break
        refused = _judged(judge, candidate, query)
        if refused is None:
            return Choice(candidate, None, candidate.score, nearest=candidate)
        if first is None:
            reason = MissReason.QUARANTINED if refused.guard == "quarantine" else MissReason.GUARDED
            first = Choice(
                None, reason, candidate.score, refused.guard, refused.detail, nearest=candidate
            )
    if first is not None:
        return first
    if not candidates:
        return Choice(None, MissReason.EMPTY, None)
    return Choice(None, MissReason.BELOW_THRESHOLD, candidates[0].score, nearest=candidates[0])


def _judged(judge: Judge, candidate: Candidate, query: str) -> Refused | None:
    if candidate.quarantined:
        return Refused("quarantine", "a new entry that nobody has reviewed")
    try:
        return judge(candidate, query)
    except Exception as error:
        return Refused("error", type(error).__name__)
