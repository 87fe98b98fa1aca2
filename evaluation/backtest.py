"""Logged lookups once more through the serving rule, with another threshold, guard set or embedding model.

The same `service.decision.decide` that serves. A lookup is compared with the candidate that it met, whose text and
score the log holds; with another model both texts are embedded anew. What another rule would have *stored* is not
replayed: fewer hits mean more entries, so hit rates of a looser rule are a forecast of first order.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import bindparam, select

from evaluation.bounds import korn_graubard
from evaluation.desk import Desk
from evaluation.evidence import FloatArray
from evaluation.score import reading
from service.decision import Candidate, Judge, Refused, decide
from service.errors import InvalidRequest
from service.guards import judge as guard_judge
from service.policy import Policy
from service.score import COSINE, Context, Scorer
from service.storage.models import Lookup, ReviewItem
from service.storage.query import Query

ScorePairs = Callable[[Sequence[tuple[str, str]]], Awaitable[list[float | None]]]


@dataclass(frozen=True)
class Rule:
    """What is tried: a threshold, guards by name, and (None: the scores as logged) another model."""

    threshold: float
    guards: frozenset[str]
    embedder: str | None = None


@dataclass(frozen=True)
class Backtest:
    """What the rule would have done to the logged lookups, beside what was done.

    ``hits`` of ``lookups``; ``gained`` were misses, ``lost`` were hits (in shadow: would-be hits count as misses).
    ``false_hit_rate`` is the weighted rate over those of the hits that were reviewed, with its interval; ``None``
    without any. It is no certificate: the labels were not drawn for this rule.
    """

    rule: Rule
    lookups: int
    hits: int
    gained: int
    lost: int
    labelled_hits: int
    labelled_false_hits: int
    false_hit_rate: float | None
    false_hit_low: float | None
    false_hit_high: float | None
    refused_by_guard: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0

    @property
    def hit_rate(self) -> float:
        """Hits of all lookups that reached the semantic tier; 0 for none."""
        return self.hits / self.lookups if self.lookups else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rule = {**asdict(self.rule), "guards": sorted(self.rule.guards)}
        return {**asdict(self), "rule": rule, "hit_rate": self.hit_rate}

    def sentence(self) -> str:
        """One line for a person."""
        rate = "unknown: no reviewed hit"
        if self.false_hit_rate is not None:
            rate = (
                f"{self.false_hit_rate:.2%} ({self.false_hit_low:.2%}–{self.false_hit_high:.2%}, "
                f"{self.labelled_hits} labels)"
            )
        return (
            f"threshold {self.rule.threshold:.3f}: {self.hits} hits of {self.lookups} lookups ({self.hit_rate:.1%}), "
            f"{self.gained} gained, {self.lost} lost; false-hit rate {rate}"
        )


_LOG = Query(
    "lookups_for_backtest",
    select(
        Lookup.id,
        Lookup.query,
        Lookup.entry_id,
        Lookup.entry_query,
        Lookup.response_hash,
        Lookup.score,
        Lookup.guard,
        Lookup.outcome,
        Lookup.cosine,
        Lookup.second_score,
        Lookup.entry_age_ms,
    )
    .where(
        Lookup.tenant_id == bindparam("tenant"),
        Lookup.line == bindparam("of_line"),
        Lookup.at_ms >= bindparam("since"),
        Lookup.id > bindparam("after"),
    )
    .order_by(Lookup.id)
    .limit(5_000),
)
_LABELS = Query(
    "labels_for_backtest",
    select(ReviewItem.lookup_id, ReviewItem.verdict, ReviewItem.inclusion_probability).where(
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
        ReviewItem.kind == "sampled",
        ReviewItem.verdict.is_not(None),
        ReviewItem.created_ms >= bindparam("since"),
    ),
)


async def backtest(
    desk: Desk,
    policy: Policy,
    rules: Sequence[Rule],
    *,
    since_ms: int = 0,
    score_pairs: ScorePairs | None = None,
    tell: Callable[[int], None] = lambda done: None,
) -> list[Backtest]:
    """Try each rule on every logged lookup since a time.

    ``score_pairs`` gives cosines of (entry text, query text) under the rules' model; without it the logged ones count.
    A line with a learned score is tried with its probabilities, its earlier lookups too.
    """
    is_own = policy.config.score != COSINE or policy.config.verifier is not None
    if score_pairs is not None and is_own:
        raise InvalidRequest.field(
            "embedder",
            "cannot be tried on a line whose score or verifier was made for its own model's cosines",
        )
    params = {"tenant": policy.tenant, "of_line": policy.line, "since": since_ms}
    labels = {row[0]: (row[1], float(row[2])) for row in await desk.db.read(_LABELS, params)}
    tallies = [_Tally(rule) for rule in rules]
    after, done = -1, 0
    while True:
        batch = await desk.db.read(_LOG, {**params, "after": after})
        scores = await _scores(desk, batch, policy, score_pairs)
        for row, score in zip(batch, scores, strict=True):
            for tally in tallies:
                tally.take(row, score, labels.get(row[0]))
        done += len(batch)
        tell(done)
        if len(batch) < 5_000:
            return [tally.result() for tally in tallies]
        after = batch[-1][0]


class _Tally:
    """One rule's counts while the log goes by."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._judge = _judge_of(rule.guards)
        self._n: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._bad: list[bool] = []
        self._weight: list[float] = []

    def take(
        self, row: Sequence[Any], score: float | None, label: tuple[str, float] | None
    ) -> None:
        """One logged lookup."""
        _, query, entry_id, entry_query, response_hash, logged, guard, outcome = row[:8]
        self._n["lookups"] += 1
        was_hit = outcome == "hit"
        if entry_id is None or entry_query is None or score is None:
            self._n["unscored"] += logged is not None
            self._n["lost"] += was_hit
            return
        if guard == "blocked" and score >= self._rule.threshold:
            # somebody's verdict on this very pair: no guard set undoes it
            self._refused["blocked"] += 1
            return
        candidate = Candidate(entry_id, score, entry_query, bytes(response_hash or b""))
        choice = decide(query, [candidate], threshold=self._rule.threshold, judge=self._judge)
        if choice.guard is not None:
            self._refused[choice.guard] += 1
        is_hit = choice.candidate is not None
        self._n["hits"] += is_hit
        self._n["gained"] += is_hit and not was_hit
        self._n["lost"] += was_hit and not is_hit
        if is_hit and label is not None:
            self._bad.append(label[0] != "reusable")
            self._weight.append(1.0 / label[1])

    def result(self) -> Backtest:
        """What it came to."""
        bad = np.asarray(self._bad, dtype=np.bool_)
        weight: FloatArray = np.asarray(self._weight, dtype=np.float64)
        rate = low = high = None
        if bad.size:
            rate = float((weight * bad).sum() / weight.sum())
            low, high = korn_graubard(bad, weight, confidence=0.975)
        return Backtest(
            rule=self._rule,
            lookups=self._n["lookups"],
            hits=self._n["hits"],
            gained=self._n["gained"],
            lost=self._n["lost"],
            labelled_hits=int(bad.size),
            labelled_false_hits=int(bad.sum()),
            false_hit_rate=rate,
            false_hit_low=low,
            false_hit_high=high,
            refused_by_guard=dict(self._refused),
            unscored=self._n["unscored"],
        )


async def _scores(
    desk: Desk, batch: Sequence[Any], policy: Policy, score_pairs: ScorePairs | None
) -> list[float | None]:
    """Scores under the line's present rule, whatever rule each lookup was logged under."""
    scores = await _cosines(batch, score_pairs)
    if policy.config.score != COSINE:
        if policy.scorer is None:
            return [None] * len(batch)
        lifts = await reading.lifts(desk, policy, policy.scorer, (row[1] for row in batch))
        scores = await asyncio.to_thread(_probabilities, policy.scorer, batch, scores, lifts)
    return await desk.verify(policy, [(row[3], row[1]) for row in batch], scores)


def _probabilities(
    scorer: Scorer,
    batch: Sequence[Any],
    cosines: list[float | None],
    lifts: Mapping[str, float],
) -> list[float | None]:
    found: list[float | None] = []
    for row, cosine in zip(batch, cosines, strict=True):
        if row[3] is None or cosine is None:
            found.append(None)
            continue
        other = -math.inf if row[9] is None else row[9]
        age_s = math.nan if row[10] is None else row[10] / 1000
        context = Context(cosine, other, age_s)
        found.append(reading.probability(scorer, row[3], row[1], context, lifts))
    return found


async def _cosines(batch: Sequence[Any], score_pairs: ScorePairs | None) -> list[float | None]:
    if score_pairs is None:
        return [row[5] if row[8] is None else row[8] for row in batch]
    found: list[float | None] = [None] * len(batch)
    with_texts = [i for i, row in enumerate(batch) if row[3] is not None]
    for start in range(0, len(with_texts), 256):
        part = with_texts[start : start + 256]
        pairs = [(batch[i][3], batch[i][1]) for i in part]
        for i, score in zip(part, await score_pairs(pairs), strict=True):
            found[i] = score
    return found


def _judge_of(guards: frozenset[str]) -> Judge:
    def judge(candidate: Candidate, query: str) -> Refused | None:
        refusal = guard_judge(candidate.query, query, enabled=guards)
        return None if refusal is None else Refused(refusal.guard, refusal.detail)

    return judge
