"""`surehit bench score`: what a learned score brings over the cosine at a certified rate, and beside other caches.

Traffic with known truth is replayed in shadow: every request is stored, so that all rules meet the same lookups and the
same entries, and what a rule would have stored otherwise is not replayed (vCache alone is, since its labels depend on
it). Of four quarters the last is judged. The others give labels, as many to each rule: the cosine plans with the first
quarter and certifies on the next two. A score of places learns from a pilot of the first quarter, on which fits that
had not seen an entry compare it with the cosine, and certifies on the next two. A score of words may take another
candidate: it learns from 60 % of the labels of two quarters, is compared on the rest and certified on the third. A
verifier (English lines, with torch) is a cross-encoder trained on four fifths of that same pilot; the rest chooses its
band on the score of places, and both together are certified on the next two quarters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.bench import score_peers as peers
from evaluation.bench import score_verifier
from evaluation.bench.loop import make_traffic
from evaluation.bench.score_outcomes import Bench, Outcome, row
from evaluation.bench.score_traffic import Log, Traffic, load, shadow_log
from evaluation.evidence import (
    LOWEST_THRESHOLD,
    BoolArray,
    FloatArray,
    Labels,
    make_labels,
    make_lookups,
)
from evaluation.planning import first_plan, next_plan
from evaluation.score.adoption import LEARN_SHARE, MOST_IN_SPACE, foretells_better
from evaluation.score.comparison import Comparison, compare, foretold
from evaluation.score.pairs import Rows
from evaluation.score.region_training import fit_region, space_of
from evaluation.score.training import fit
from evaluation.threshold import Recommendation, recommend
from evaluation.tuning import PROBABILITIES
from index.embedding import catalog
from service.sampling import SamplingPlan, inclusion_probability
from service.score import Scorer
from service.score.weights import WordWeights

LINES = {"faq": "en", "search-en": "en", "search-zh": "zh", "code": "en"}
TARGETS = (0.01, 0.03, 0.05)
CONFIDENCE = 0.95
PILOT_SHARE = 0.3
"""Of the labels; the cosine's pilot."""
LEARN_LABELS = 0.6
"""Of the labels of a score of words: for learning and comparing, the rest certifies."""
PLACE_LABELS = 0.3
"""Of the labels of a score of places: for learning and comparing, the rest certifies."""
Tell = Callable[[str], None]


@dataclass(frozen=True)
class _Scored:
    """One score over a log: of each lookup the best candidate's value (-inf: none is left), whether it is right."""

    score: FloatArray
    right: BoolArray
    column: Any


@dataclass(frozen=True)
class _Placed:
    """A score of places over the log, and its pilot: lookups, log odds that did not see them, verdicts, weights."""

    scored: _Scored
    rows: Any
    unseen: FloatArray
    bad: BoolArray
    weight: FloatArray


def run(
    lines: Sequence[str],
    *,
    seeds: Sequence[int],
    requests: int,
    labels: int,
    models_dir: Path,
    folder: Path,
    tell: Tell = lambda text: None,
) -> Bench:
    """Every line with every seed. `folder` keeps embedded texts for the next run."""
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    times: dict[str, dict[str, float]] = {}
    best: dict[str, list[float]] = {}
    for line in lines:
        language = LINES[line]
        embedder = catalog.load(catalog.default_for(language), models_dir)  # type: ignore[arg-type]
        for seed in seeds:
            tell(f"{line} seed {seed}: making and embedding traffic")
            rows = make_traffic(line.split("-")[0], language, requests=requests, seed=seed)
            traffic = load(
                rows, embedder, folder, line=line, language=language, seed=seed, tell=tell
            )
            tell(f"{line} seed {seed}: {len(traffic.requests)} requests in shadow")
            log = shadow_log(
                traffic, floor=LOWEST_THRESHOLD, words_from=0.5 * LEARN_SHARE, tell=tell
            )
            found, ms = _one(traffic, log, labels=labels, tell=tell)
            outcomes += found
            times[f"{line} {seed}"] = ms
            for outcome in found:
                tell(row([outcome]))
            best.setdefault(line, []).append(float(log.could_hit[quarters(log) == 3].mean()))
    return Bench(
        outcomes,
        times,
        {line: float(np.mean(v)) for line, v in best.items()},
        time.perf_counter() - began,
    )


def _one(
    traffic: Traffic, log: Log, *, labels: int, tell: Tell
) -> tuple[list[Outcome], dict[str, float]]:
    line, seed = traffic.line, traffic.seed
    quarter = quarters(log)
    bare, guarded = _cosine(log, with_guards=False), _cosine(log, with_guards=True)
    outcomes = []
    trained: Scorer | None = None
    verifying: score_verifier.Verifying | None = None
    may_verify = score_verifier.can_train(traffic)
    ms = {"guards": log.guards_ms, "features": log.features_ms, "trees": 0.0}
    for target in TARGETS:
        learned_rows: list[Outcome] = []
        blank = Outcome(line, seed, "", target, None, int((quarter == 3).sum()), 0, 0, 0)
        for name, scored in (("cosine", bare), ("cosine + guards", guarded)):
            outcomes.append(_certified(replace(blank, rule=name), scored, quarter, labels))
        for suffix, scored in ((" + guards", guarded), (", guards off", bare)):
            stay = outcomes[-2 if scored is bare else -1]
            placed, place = _placed(traffic, log, scored, quarter, target, labels)
            if place is not None and scored is guarded and may_verify:
                if verifying is None:
                    verifying = score_verifier.trained(
                        traffic, log, scored.column, place.rows, place.bad, place.weight, tell
                    )
                    may_verify = verifying is not None
                if verifying is not None:
                    rule = "place + guards + verifier, always"
                    learned_rows.append(
                        _verified(replace(blank, rule=rule), place, verifying, quarter, labels)
                    )
            always = replace(placed, line=line, seed=seed, rule=f"place{suffix}, always")
            chosen = always if always.adopted else replace(stay, gain_low=always.gain_low)
            rule = f"place{suffix}, where shown better"
            learned_rows += [replace(chosen, rule=rule, adopted=bool(always.adopted)), always]
            always = replace(blank, rule=f"words{suffix}, always")
            learned = _learned(
                log, scored, quarter, target, labels, seed, with_guards=scored is guarded
            )
            always = replace(always, labels=learned.used)
            if learned.scored is not None and learned.found is not None:
                found = learned.found
                always = _certified_on(
                    replace(always, adopted=found.is_better, gain_low=found.lower),
                    learned.scored,
                    quarter,
                    found_labels=learned.judged_on,
                    budget=labels - learned.used,
                )
                trained = learned.scorer
            learned_rows.append(always)
        outcomes += learned_rows
    if trained is not None:
        sample = log.x[np.isfinite(log.cosine)][:2_000].tolist()
        began = time.perf_counter()
        for row in sample:
            trained.of_row(row)
        per_row = (time.perf_counter() - began) / max(len(sample), 1)
        ms["trees"] = 1000 * per_row * float(np.isfinite(log.cosine).sum()) / max(len(log), 1)
    if verifying is not None:
        ms["verifier, per pair in its band"] = verifying.ms_per_pair
    tell(f"{line} seed {seed}: peers")
    return outcomes + _peers(traffic, log, bare, quarter, labels), ms


def quarters(log: Log) -> Any:
    """0 … 3 by order of arrival, as many lookups in each: exact repeats grow, and quarters of requests would empty."""
    return 4 * np.arange(len(log)) // max(len(log), 1)


def _cosine(log: Log, *, with_guards: bool) -> _Scored:
    return _best(log, np.where(log.refused, -np.inf, log.cosine) if with_guards else log.cosine)


def _best(log: Log, value: FloatArray) -> _Scored:
    """Of each lookup the candidate that the serving rule takes first: the best that no guard refuses."""
    column = np.argmax(value, axis=1)
    row = np.arange(len(log))
    score = value[row, column]
    return _Scored(np.asarray(score), log.right[row, column] & np.isfinite(score), column)


def _certified(blank: Outcome, scored: _Scored, quarter: Any, budget: int) -> Outcome:
    """A score that needs no training: a pilot on the first quarter, the certificate on the next two."""
    pilot_budget = round(PILOT_SHARE * budget)
    first = quarter == 0
    plan = first_plan(
        lookups_expected=max(float((scored.score[first] >= LOWEST_THRESHOLD).sum()), 1.0),
        label_budget=round(pilot_budget / PILOT_SHARE),
    )
    pilot = _draw(scored, first, plan, blank.seed)
    window = (quarter == 1) | (quarter == 2)
    return _with_window(blank, scored, quarter, window, pilot, budget - len(pilot), used=len(pilot))


def _certified_on(
    blank: Outcome, scored: _Scored, quarter: Any, *, found_labels: Labels, budget: int
) -> Outcome:
    """A learned score: planned with the labels that it was judged on, certified on the third quarter."""
    return _with_window(
        blank, scored, quarter, quarter == 2, found_labels, budget, used=blank.labels
    )


def _with_window(
    blank: Outcome,
    scored: _Scored,
    quarter: Any,
    window: BoolArray,
    earlier: Labels,
    budget: int,
    *,
    used: int,
    thresholds: FloatArray | None = None,
) -> Outcome:
    before = scored.score[quarter < int(quarter[window].min())]
    plan = next_plan(
        earlier,
        before,
        guarded_score=np.zeros(0),
        target_level=blank.target or 0.0,
        label_budget=budget,
        traffic_ratio=float(window.sum()) / max(before.size, 1),
    )
    labels = _draw(scored, window, plan, blank.seed + 1_000)
    rates = np.asarray(
        [inclusion_probability(plan, s, guarded=False) for s in scored.score[window]]
    )
    answer = recommend(
        labels,
        make_lookups(scored.score[window], rates),
        target_level=blank.target or 0.0,
        floor=plan.certify_floor,
        confidence=CONFIDENCE,
        thresholds=thresholds,
    )
    best = _most_within(scored, quarter == 3, blank.target or 0.0)
    done = replace(blank, labels=used + len(labels), best_hits=best)
    if not isinstance(answer, Recommendation):
        return done
    done = _served(done, scored, quarter == 3, answer.threshold)
    inside = window & (scored.score >= answer.threshold)
    return replace(
        done,
        window_hits=int(inside.sum()),
        window_false_hits=int((inside & ~scored.right).sum()),
    )


def _most_within(scored: _Scored, judged: BoolArray, target: float) -> int:
    judged = judged & np.isfinite(scored.score)
    score, bad = scored.score[judged], ~scored.right[judged]
    found = compare(
        score,
        score,
        bad,
        np.ones(score.size),
        np.arange(score.size),
        lookups=1.0,
        cap=target,
        resamples=2,
    )
    return round(found.old_hit_rate)


def _served(blank: Outcome, scored: _Scored, judged: BoolArray, threshold: float) -> Outcome:
    hit = judged & (scored.score >= threshold)
    return replace(
        blank,
        threshold=threshold,
        lookups=int(judged.sum()),
        hits=int(hit.sum()),
        false_hits=int((hit & ~scored.right).sum()),
    )


def _draw(scored: _Scored, window: BoolArray, plan: SamplingPlan, seed: int) -> Labels:
    """Labels of independently drawn lookups, by reviewers who know the truth."""
    rows, rate = _drawn(scored.score, window, plan, seed)
    return make_labels(scored.score[rows], ~scored.right[rows], inclusion_probability=rate)


def _drawn(
    score: FloatArray, window: BoolArray, plan: SamplingPlan, seed: int
) -> tuple[Any, FloatArray]:
    rng = np.random.default_rng(seed)
    rate = np.asarray([inclusion_probability(plan, s, guarded=False) for s in score])
    rows = np.flatnonzero(window & (rng.uniform(size=score.size) < rate))
    return rows, rate[rows]


@dataclass(frozen=True)
class _Learned:
    """A score on trial: over the log, the comparison, the labels it was judged on, and how many were used in all."""

    used: int
    judged_on: Labels
    scored: _Scored | None = None
    found: Comparison | None = None
    scorer: Scorer | None = None


def _learned(
    log: Log,
    of_cosine: _Scored,
    quarter: Any,
    target: float,
    budget: int,
    seed: int,
    *,
    with_guards: bool,
) -> _Learned:
    """What a trial comes to against the cosine, whose pairs are reviewed; both with guards or both without."""
    window = quarter <= 1
    wanted = round(LEARN_LABELS * budget)
    above = max(float((of_cosine.score[window] >= LOWEST_THRESHOLD).sum()), 1.0)
    rate = min(1.0, wanted / above)
    plan = SamplingPlan(rate, LOWEST_THRESHOLD, (LOWEST_THRESHOLD,), (0.0,), 0.0)
    rows, probability = _drawn(of_cosine.score, window, plan, seed + 500)
    at = round(LEARN_SHARE * rows.size)
    judge = rows[at:]
    none = make_labels(np.zeros(0), np.zeros(0, dtype=np.bool_))
    picked = log.x[rows, of_cosine.column[rows]]
    bad = ~of_cosine.right[rows]
    cluster = log.entry[rows, of_cosine.column[rows]]
    try:
        learned_rows = Rows(picked[:at], bad[:at], np.ones(at), cluster[:at])
        scorer = fit(learned_rows, WordWeights({}), fingerprint="").scorer
    except ValueError:  # too few of one verdict
        return _Learned(int(rows.size), none)
    value = np.full(log.cosine.shape, -np.inf)
    servable = np.isfinite(log.cosine) & (log.cosine >= scorer.model.least_cosine)
    if with_guards:
        servable &= ~log.refused
    value[servable] = [scorer.of_row(row) for row in log.x[servable].tolist()]
    learned = _best(log, value)
    # on trial each score is given the pair that was reviewed, as in production
    new = value[judge, of_cosine.column[judge]]
    new = np.where(np.isfinite(new), new, 0.0)
    found = compare(
        of_cosine.score[judge],
        new,
        bad[at:],
        1.0 / probability[at:],
        np.unique(cluster[at:], return_inverse=True)[1],
        lookups=float(window[: judge.max() + 1].sum() - window[: judge.min()].sum()),
        cap=target,
        confidence=CONFIDENCE,
    )
    judged_on = make_labels(new, bad[at:], inclusion_probability=probability[at:])
    return _Learned(int(rows.size), judged_on, learned, found, scorer)


def _placed(
    traffic: Traffic, log: Log, of_cosine: _Scored, quarter: Any, target: float, budget: int
) -> tuple[Outcome, _Placed | None]:
    """A score of places: learned and tried on a pilot of the first quarter, certified on the next two."""
    judged = int((quarter == 3).sum())
    blank = Outcome(traffic.line, traffic.seed, "", target, None, judged, 0, 0, 0)
    first = quarter == 0
    candidates = max(float((of_cosine.score[first] >= LOWEST_THRESHOLD).sum()), 1.0)
    rate = min(1.0, PLACE_LABELS * budget / candidates)
    pilot_plan = SamplingPlan(rate, LOWEST_THRESHOLD, (LOWEST_THRESHOLD,), (0.0,), 0.0)
    rows, probability = _drawn(of_cosine.score, first, pilot_plan, traffic.seed + 700)
    vectors = traffic.vectors[[traffic.requests[n].vector_id for n in log.at]]
    bad = ~of_cosine.right
    cluster = np.unique(log.entry[rows, of_cosine.column[rows]], return_inverse=True)[1]
    try:
        fitted = fit_region(
            Rows(of_cosine.score[rows, None], bad[rows], np.ones(rows.size), cluster),
            vectors[rows],
            space_of(vectors[first][-MOST_IN_SPACE:]),
            fingerprint="",
        )
    except ValueError:  # too few of one verdict
        return replace(blank, labels=int(rows.size), adopted=False), None
    unseen = 1.0 / (1.0 + np.exp(-fitted.unseen))
    found = compare(
        of_cosine.score[rows],
        unseen,
        bad[rows],
        1.0 / probability,
        cluster,
        lookups=float(first.sum()),
        cap=target,
        confidence=CONFIDENCE,
    )
    scorer = fitted.scorer
    value = np.full(len(log), -np.inf)
    for n in np.flatnonzero(of_cosine.score >= scorer.model.least_cosine).tolist():
        value[n] = scorer.of_row([float(of_cosine.score[n])], scorer.lift(vectors[n]))
    placed = _Scored(value, of_cosine.right & np.isfinite(value), of_cosine.column)
    done = _with_window(
        replace(blank, gain_low=found.lower),
        placed,
        quarter,
        (quarter == 1) | (quarter == 2),
        make_labels(unseen, bad[rows], inclusion_probability=probability),
        budget - int(rows.size),
        used=int(rows.size),
        thresholds=PROBABILITIES,
    )
    gain = foretold(fitted.alone, fitted.unseen, bad[rows], 1.0 / probability, cluster)
    adopted = replace(done, adopted=foretells_better(found, gain))
    return adopted, _Placed(placed, rows, unseen, bad[rows], 1.0 / probability)


def _verified(
    blank: Outcome,
    place: _Placed,
    verifying: score_verifier.Verifying,
    quarter: Any,
    budget: int,
) -> Outcome:
    """A score of places with a verifier, both from the same pilot, certified on the next two quarters.

    It is planned with the pilot's labels that the verifier was not fitted on.
    """
    kept = np.isin(place.rows, verifying.pilot)
    unseen, bad, weight = place.unseen[kept], place.bad[kept], place.weight[kept]
    rule = verifying.rule(unseen, bad, weight, blank.target or 0.0)
    said = verifying.said_of(rule, place.rows[kept], unseen)
    value = verifying.effective(rule, place.scored.score)
    return _with_window(
        blank,
        _Scored(value, place.scored.right, place.scored.column),
        quarter,
        (quarter == 1) | (quarter == 2),
        make_labels(said, bad, inclusion_probability=1.0 / weight),
        budget - int(place.rows.size),
        used=int(place.rows.size),
        thresholds=np.unique([*PROBABILITIES, rule.high]),
    )


def _peers(traffic: Traffic, log: Log, bare: _Scored, quarter: Any, labels: int) -> list[Outcome]:
    blank = Outcome(traffic.line, traffic.seed, "", None, None, 0, 0, 0, 0)
    judged = quarter == 3
    found = [
        _served(replace(blank, rule=f"cosine >= {t:.2f}"), bare, judged, t)
        for t in (0.80, 0.90, 0.95)
    ]
    # the log holds no candidate under the lowest threshold: its first one counts as it is
    gptcache = replace(blank, rule=f"GPTCache's default (cosine >= {peers.GPTCACHE_COSINE})")
    start = int(log.at[judged].min())
    found.append(_gptcache(gptcache, traffic, start))
    rng = np.random.default_rng(traffic.seed)
    pool = np.flatnonzero((quarter < 3) & np.isfinite(bare.score))
    drawn = rng.choice(pool, min(labels, pool.size), replace=False)
    threshold = peers.best_f1(bare.score[drawn], bare.right[drawn])
    redis = replace(blank, rule="best F1 (RedisVL's optimiser)", labels=int(drawn.size))
    found.append(_served(redis, bare, judged, threshold))
    for delta in (0.01, 0.03):
        counted = peers.vcache(traffic, delta=delta, judged_from=start, seed=traffic.seed)
        found.append(
            replace(
                blank,
                rule=f"vCache, {delta:.0%} of all requests",
                lookups=counted.lookups,
                hits=counted.hits,
                false_hits=counted.false_hits,
                labels=counted.labels,
            )
        )
    return found


def _gptcache(blank: Outcome, traffic: Traffic, start: int) -> Outcome:
    from evaluation.bench.score_traffic import Entries

    entries = Entries(traffic)
    lookups = hits = false_hits = 0
    for n, request in enumerate(traffic.requests):
        if entries.has_exact(n):
            continue
        if n >= start:
            near = entries.nearest(n, 1)
            is_hit = bool(near) and near[0][1] >= peers.GPTCACHE_COSINE
            lookups += 1
            hits += is_hit
            false_hits += is_hit and traffic.requests[near[0][0]].group != request.group
        entries.put(n)
    return replace(
        blank,
        threshold=peers.GPTCACHE_COSINE,
        lookups=lookups,
        hits=hits,
        false_hits=false_hits,
    )
