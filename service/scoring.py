"""Candidates under a learned score or a verifier: which of the nearest is likeliest to be right. No I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from service.decision import Candidate, Judge, Refused, decide
from service.score import Context, Scorer, VerifierRule

MOST_SCORED = 4
"""Nearest candidates that are scored. Each costs some tenths of a millisecond on the event loop."""


def rescore(
    scorer: Scorer,
    query: str,
    candidates: Sequence[Candidate],
    ages_s: Mapping[int, float],
    vector: npt.NDArray[np.float32],
) -> list[Candidate]:
    """The candidates with probabilities for scores, best first; of equal ones the nearest first.

    `candidates` come nearest first, with cosines for scores; `ages_s` is by entry id, `vector` the query's. One that
    cannot be scored gets probability 0: a failing score never serves.
    """
    lift = _lift(scorer, vector)
    scored = []
    for candidate in candidates:
        others = [c.score for c in candidates if c is not candidate]
        context = Context(
            candidate.score,
            max(others, default=-math.inf),
            ages_s.get(candidate.entry_id, math.nan),
            lift,
        )
        try:
            probability = scorer.probability(candidate.query, query, context)
        except (
            Exception
        ):  # as with guards: whatever it is, it must not serve and must not break the lookup
            probability = 0.0
        scored.append(replace(candidate, score=probability, cosine=candidate.score))
    return sorted(scored, key=lambda c: -c.score)


def _lift(scorer: Scorer, vector: npt.NDArray[np.float32]) -> float:
    try:
        return scorer.lift(vector)
    except Exception:  # as above: an unknown lift gives no candidate a probability
        return math.nan


def to_verify(
    rule: VerifierRule, query: str, candidates: Sequence[Candidate], judge: Judge
) -> Candidate | None:
    """The winner, where its score lies in the verifier's band: guards, blocks and quarantine have passed it."""
    winner = decide(query, candidates, threshold=rule.low, judge=judge).candidate
    return winner if winner is not None and rule.asks_about(winner.score) else None


def verified(
    rule: VerifierRule,
    candidates: Sequence[Candidate],
    winner: Candidate,
    probability: float | None,
) -> list[Candidate]:
    """The candidates, best first, after the verifier spoke; None stands for no answer."""
    score = rule.effective(winner.score, probability)
    raised = replace(winner, score=score, cosine=winner.similarity)
    return sorted((raised if c is winner else c for c in candidates), key=lambda c: -c.score)


def judged_once(judge: Judge) -> Judge:
    """The same judge, asked once about each entry."""
    known: dict[int, Refused | None] = {}

    def remembered(candidate: Candidate, query: str) -> Refused | None:
        if candidate.entry_id not in known:
            known[candidate.entry_id] = judge(candidate, query)
        return known[candidate.entry_id]

    return remembered
