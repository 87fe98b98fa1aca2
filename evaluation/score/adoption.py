"""A learned score on trial: trained on earlier labels, compared on later ones, adopted only when those say better.

What is adopted is the very scorer that was compared. Adopting it starts a new body of evidence: other scores, so no
label of before certifies anything (docs/certificate.md, assumption 7), and the line goes to shadow until the tuner has
certified a threshold on the new scale.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import orjson

from evaluation.desk import Desk, log
from evaluation.evidence import FloatArray, make_labels
from evaluation.planning import next_plan
from evaluation.score import reading
from evaluation.score.comparison import Comparison, Foretold, compare, foretold
from evaluation.score.pairs import Pair, cut, cut_at, rows_of
from evaluation.score.training import train, train_place
from index.types import Vector
from service import lines
from service.errors import Conflict
from service.lines import LineRecord, Sampling
from service.policy import Policy
from service.score import COSINE, Scorer
from service.score.weights import WordWeights
from service.storage import lines as line_rows
from service.storage import scorers as scorer_rows
from service.storage.database import Transaction

LEARN_SHARE = 0.6
LEARN_FROM = 400
JUDGE_ON = 200
OF_EACH_VERDICT = 40
ENTRIES = 20
"""Below these a trained score lost to the cosine on English questions (0.83 against 0.89 AUC at 50 labels)."""
PLACE_FROM = 200
PLACE_OF_EACH = 10
"""Of a score of places: it has one slope to learn, and is the cosine where labels say nothing else."""
MOST_WANTED = 20_000
"""Labels that somebody may be told to give; a difference that needs more is none."""
MOST_IN_SPACE = 3_000
"""Of the line's newest texts, so many are embedded to see where its queries lie: some seconds."""
UNCERTIFIED = 0.95
"""Threshold of a line that waits for its certificate: nothing is served by it unless somebody sets the mode by hand."""

Answer = Literal["better", "not_better", "too_few"]


@dataclass(frozen=True)
class Trial:
    """What a trial came to. `labels_missing` is None when more would not help, or none are missing."""

    answer: Answer
    against: str
    learned_from: int
    judged_on: int
    labels_missing: int | None = None
    comparison: Comparison | None = None
    scorer: Scorer | None = None
    judged_after_ms: int = 0
    held_out: tuple[Pair, ...] = ()
    unseen: tuple[float, ...] | None = None
    """Of a cross-fitted trial: what was said of each held-out pair by a fit that had not seen its entry."""
    foretold: Foretold | None = None
    is_past: bool = False
    """True when it was learned from labels before the present evidence alone."""

    @property
    def may_be_certified(self) -> bool:
        """True when the present evidence can certify the score: fixed before it, and of the same candidates."""
        return self.is_past and self.scorer is not None and self.scorer.keeps_order

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "answer": self.answer,
            "against": self.against,
            "learned_from": self.learned_from,
            "judged_on": self.judged_on,
            "labels_missing": self.labels_missing,
            "score": None if self.scorer is None else self.scorer.version,
            "kind": None if self.scorer is None else self.scorer.kind,
            "comparison": None if self.comparison is None else asdict(self.comparison),
            "foretold": None if self.foretold is None else asdict(self.foretold),
            "text": self.sentence(),
        }

    def sentence(self) -> str:
        """For a person."""
        stay = f"stay with {'the cosine' if self.against == COSINE else self.against}"
        if self.answer == "too_few" or self.comparison is None:
            return f"{stay}: about {self.labels_missing} more labels needed before a score can be learned"
        c = self.comparison
        measured = (
            f"{c.new_hit_rate:.1%} of lookups against {c.old_hit_rate:.1%} at {c.cap:.1%} false hits, "
            f"on {c.labels} later labels; difference {c.lower:+.1%} to {c.upper:+.1%}"
        )
        if self.answer == "better" and self.unseen is not None:
            return (
                f"a score learned from {self.learned_from} labels is better on entries that it has not seen: "
                f"{c.new_hit_rate:.1%} of lookups against {c.old_hit_rate:.1%} at {c.cap:.1%} false hits; "
                f"difference {c.lower:+.1%} to {c.upper:+.1%}{self._loss()}"
            )
        if self.answer == "better":
            return f"a score learned from {self.learned_from} labels is better: {measured}"
        more = (
            "more labels are not likely to change that"
            if self.labels_missing is None
            else f"about {self.labels_missing} more labels would show such a difference if it is real"
        )
        return f"{stay}: a score learned from {self.learned_from} labels is not shown to be better ({measured}); {more}"

    def _loss(self) -> str:
        gain = self.foretold
        return "" if gain is None else f"; log loss less by {gain.lower:.3f} to {gain.upper:.3f}"


async def trial(
    desk: Desk,
    policy: Policy,
    *,
    cap: float | None = None,
    confidence: float | None = None,
    since_ms: int | None = None,
) -> Trial:
    """Learn a score from the earlier labels of a line and compare it, on the later ones, with the one in force.

    Earlier is before `since_ms`, the beginning of the present evidence, where both sides have enough labels: what is
    learned from them knows nothing of that evidence, which may then certify it. Otherwise it is a share of all labels.
    """
    pairs = await reading.pairs(desk, policy)
    against = policy.config.score
    earlier, later = cut_at(pairs, 0 if since_ms is None else since_ms)
    is_past = labels_missing(earlier, later) == 0 and against == COSINE
    if not is_past:
        earlier, later = cut(pairs, LEARN_SHARE)
        across = await _cross_fitted(desk, policy, pairs, cap=cap, confidence=confidence)
        if across is not None and across.answer == "better":
            return across
    missing = labels_missing(earlier, later)
    if missing:
        return Trial("too_few", against, len(earlier), len(later), missing)
    until = earlier[-1].at_ms
    texts = await reading.texts(desk, policy, until=until)
    lookups = await reading.lookups_after(desk, policy, after=until)
    fingerprint = await desk.fingerprint(policy)
    vectors = await desk.vectors(policy, [*texts[:MOST_IN_SPACE], *(p.query for p in pairs)])

    def work() -> tuple[Scorer, Comparison]:
        # what the present evidence had no chance to draw, it cannot certify
        least = policy.sampling.certify_floor if is_past else -1.0
        scorer = train(earlier, texts, vectors, fingerprint=fingerprint, least_cosine=least)
        rows = rows_of(later, scorer.weigh)
        found = compare(
            _scores(policy.scorer, later, vectors),
            _scores(scorer, later, vectors),
            rows.bad,
            1.0 / np.asarray([p.inclusion_probability for p in later], dtype=np.float64),
            rows.cluster,
            lookups=max(lookups, 1),
            cap=policy.config.target_false_hit_rate if cap is None else cap,
            confidence=policy.config.confidence if confidence is None else confidence,
        )
        return scorer, found

    scorer, found = await asyncio.to_thread(work)
    return Trial(
        "better" if found.is_better else "not_better",
        against,
        len(earlier),
        len(later),
        None if found.is_better else _would_show(found),
        found,
        scorer,
        until,
        tuple(later),
        is_past=is_past,
    )


async def _cross_fitted(
    desk: Desk,
    policy: Policy,
    pairs: Sequence[Pair],
    *,
    cap: float | None,
    confidence: float | None,
) -> Trial | None:
    """A score of places, learned from all labels and compared on all of them; None where it cannot be.

    Each label is judged by a fit that saw no label of its entry, so none has to be laid aside. What is adopted is the
    fit of them all. That is proof enough to collect labels on its scale, in shadow; it serves after these certify it.
    """
    bad = sum(p.is_bad or p.is_unsure for p in pairs)
    entries = len({p.entry_query for p in pairs})
    enough = len(pairs) >= PLACE_FROM and min(bad, len(pairs) - bad) >= PLACE_OF_EACH
    if policy.config.score != COSINE or not enough or entries < ENTRIES:
        return None
    until = pairs[-1].at_ms
    texts = (await reading.texts(desk, policy, until=until))[:MOST_IN_SPACE]
    vectors = await desk.vectors(policy, [*texts, *(p.query for p in pairs)])
    lookups = await reading.lookups_after(desk, policy, after=pairs[0].at_ms - 1)
    fingerprint = await desk.fingerprint(policy)

    def work() -> tuple[Scorer, Comparison, Foretold, FloatArray] | None:
        rows = rows_of(pairs, WordWeights({}))
        place = train_place(pairs, rows, texts, vectors, fingerprint=fingerprint)
        if place is None:
            return None
        unseen = 1.0 / (1.0 + np.exp(-place.unseen))
        weight = 1.0 / np.asarray([p.inclusion_probability for p in pairs], dtype=np.float64)
        level = policy.config.confidence if confidence is None else confidence
        found = compare(
            _scores(None, pairs, {}),
            unseen,
            rows.bad,
            weight,
            rows.cluster,
            lookups=max(lookups, 1),
            cap=policy.config.target_false_hit_rate if cap is None else cap,
            confidence=level,
        )
        gain = foretold(place.alone, place.unseen, rows.bad, weight, rows.cluster, confidence=level)
        return place.scorer, found, gain, unseen

    made = await asyncio.to_thread(work)
    if made is None:
        return None
    scorer, found, gain, unseen = made
    better = foretells_better(found, gain)
    return Trial(
        "better" if better else "not_better",
        COSINE,
        len(pairs),
        len(pairs),
        None if better else _would_show(found),
        found,
        scorer,
        pairs[0].at_ms - 1,
        tuple(pairs),
        unseen=tuple(unseen.tolist()),
        foretold=gain,
    )


def foretells_better(found: Comparison, gain: Foretold) -> bool:
    """Whether a score is worth collecting labels for, in shadow: it hits more, or foretells more and hits no less."""
    return found.is_better or (gain.lower > 0.0 and found.new_hit_rate >= found.old_hit_rate)


def labels_missing(earlier: list[Pair], later: list[Pair]) -> int:
    """About how many more labels a trial needs; 0 when it can be made."""
    n = len(earlier)
    bad = sum(p.is_bad or p.is_unsure for p in earlier)
    wanted = float(max(LEARN_FROM, n))
    for have in (bad, n - bad):
        if have < OF_EACH_VERDICT:
            wanted = max(wanted, OF_EACH_VERDICT * max(n, 1) / max(have, 1))
    to_learn = math.ceil((wanted - n) / LEARN_SHARE)
    if len({p.entry_query for p in earlier}) < ENTRIES:
        to_learn = max(
            to_learn, JUDGE_ON
        )  # of other entries: a score must not learn a handful of them by heart
    return max(to_learn, JUDGE_ON - len(later), 0)


async def adopt(
    desk: Desk,
    policy: Policy,
    found: Trial,
    *,
    by: str,
    reason: str,
    label_budget: int | None = None,
    traffic_ratio: float = 1.0,
) -> None:
    """Put a proven score in force, in shadow, with a sampling plan on its own scale. Raises Conflict.

    The plan is for `traffic_ratio` times the traffic that the score was judged on, and for `label_budget` labels: as
    many as that traffic had when none is given.
    """
    scorer = found.scorer
    if scorer is None or found.answer != "better":
        raise Conflict("only a score that was shown to be better can be adopted")
    rows = await reading.candidates_after(desk, policy, after=found.judged_after_ms)
    lookups = await reading.lookups_after(desk, policy, after=found.judged_after_ms)
    logged = await reading.scored(desk, policy, scorer, rows)
    plan = await asyncio.to_thread(
        _plan,
        await _held_out_scores(desk, policy, scorer, found),
        found.held_out,
        logged,
        target=policy.config.target_false_hit_rate,
        budget=len(found.held_out) if label_budget is None else label_budget,
        ratio=traffic_ratio * lookups / max(min(lookups, reading.MOST_LOOKUPS), 1),
    )
    scorer_id, change_id, now = desk.new_id(), desk.new_id(), desk.clock_ms()

    def work(tx: Transaction) -> None:
        row = line_rows.get_in(tx, policy.tenant, line=policy.line)
        if row is None or row[0] != policy.revision:
            raise Conflict("the line was changed at the same moment; look at it and try again")
        _add(tx, policy, found, scorer_id=scorer_id, by=by, now=now)
        config = msgspec.structs.replace(
            lines.record_from_json(row[1]).config,
            mode="shadow",
            score=scorer.version,
            threshold=UNCERTIFIED,
            sampling=plan,
        )
        line_rows.save(
            tx,
            policy.tenant,
            line=policy.line,
            config=lines.record_to_json(LineRecord(config=config)),
            before=row[1],
            change_id=change_id,
            by=by,
            reason=reason,
            now=now,
        )

    await desk.db.write(work, durable=True)
    log.info("score_adopted", tenant=policy.tenant, line=policy.line, score=scorer.version, by=by)


async def _held_out_scores(desk: Desk, policy: Policy, scorer: Scorer, found: Trial) -> FloatArray:
    if found.unseen is not None:
        return np.asarray(found.unseen, dtype=np.float64)
    vectors = await desk.vectors(policy, [p.query for p in found.held_out])
    return _scores(scorer, found.held_out, vectors)


async def keep(desk: Desk, policy: Policy, found: Trial, *, by: str) -> None:
    """Store a scorer without putting it in force: a decision made for it can then be applied."""
    scorer_id, now = desk.new_id(), desk.clock_ms()

    def work(tx: Transaction) -> None:
        _add(tx, policy, found, scorer_id=scorer_id, by=by, now=now)

    await desk.db.write(work, durable=True)


def _add(
    tx: Transaction, policy: Policy, found: Trial, *, scorer_id: int, by: str, now: int
) -> None:
    if found.scorer is None:
        raise Conflict("there is no score to keep")
    scorer_rows.add(
        tx,
        policy.tenant,
        scorer_id=scorer_id,
        line=policy.line,
        version=found.scorer.version,
        blob=found.scorer.blob,
        report_json=orjson.dumps(found.as_dict()).decode(),
        by=by,
        now=now,
    )


def _plan(
    scores: FloatArray,
    later: Sequence[Pair],
    logged: Sequence[tuple[float, bool]],
    *,
    target: float,
    budget: int,
    ratio: float,
) -> Sampling:
    """Rates and floor on the new scale, from the labels that the score was judged on: not from those it learned."""
    earlier = make_labels(
        scores,
        np.asarray([p.is_bad for p in later], dtype=np.bool_),
        unsure=np.asarray([p.is_unsure for p in later], dtype=np.bool_),
        inclusion_probability=np.asarray([p.inclusion_probability for p in later]),
    )
    plan = next_plan(
        earlier,
        np.asarray([s for s, guarded in logged if not guarded], dtype=np.float64),
        guarded_score=np.asarray([s for s, guarded in logged if guarded], dtype=np.float64),
        target_level=target,
        label_budget=budget,
        traffic_ratio=ratio,
    )
    return Sampling(**asdict(plan))


def _scores(
    scorer: Scorer | None, pairs: Sequence[Pair], vectors: Mapping[str, Vector]
) -> FloatArray:
    """What a score says of pairs; None stands for the cosine."""
    if scorer is None:
        return np.asarray([p.cosine for p in pairs], dtype=np.float64)
    lifts = {p.query: scorer.lift(vectors[p.query]) for p in pairs if p.query in vectors}
    found = [reading.probability(scorer, p.entry_query, p.query, p.context, lifts) for p in pairs]
    return np.asarray(found, dtype=np.float64)


def _would_show(c: Comparison) -> int | None:
    """Labels until a difference of this size would be told from chance; None for no difference or a hopeless one."""
    gain = c.new_hit_rate - c.old_hit_rate
    if gain <= 0.0:
        return None
    wanted = c.labels * ((gain - c.lower) / gain) ** 2 / (1.0 - LEARN_SHARE)
    more = math.ceil(wanted - c.labels / (1.0 - LEARN_SHARE))
    return more if 0 < more <= MOST_WANTED else None
