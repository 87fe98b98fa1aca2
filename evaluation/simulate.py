"""Makes windows of lookups whose truth is known, to see how often a promise is broken.

Five shapes: two ordinary ones, one with traps at the very top of the score range, one that no
threshold can serve, and one that sits just above the target everywhere, the adversary of whoever
looks at many thresholds. Used by the tests and by the benchmark; absolute hit rates are no forecast
for real traffic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from evaluation.certificate import Certificate, certify
from evaluation.evidence import (
    BoolArray,
    FloatArray,
    Labels,
    Lookups,
    default_grid,
    hits_at,
    make_labels,
)
from evaluation.planning import bin_edges, choose_certify_floor, next_plan

Shape = Literal[
    "faq",  # good and bad well apart
    "mixed",  # more overlap, fewer good ones
    "top-traps",  # faq with identifier swaps above 0.98: stricter is worse again
    "hard",  # no threshold meets 5 %
    "flat",  # a little above the target at every threshold
]
SHAPES: tuple[Shape, ...] = get_args(Shape)

Design = Literal[
    "uniform",  # one rate for everything from the lowest threshold up
    "per-bin",  # equal expected labels in eight score bins: very unequal rates
    "top-heavy",  # rates that rise with the score, tenfold from bottom to top
    "floor",  # one rate above a floor taken from an earlier window's pilot
    "streams",  # the product's plan: certify above that floor, explore everywhere
]
DESIGNS: tuple[Design, ...] = get_args(Design)

LOOKUPS = 20_000
PILOT_LABELS = 200
TRAP_SHARE = 0.0018


@dataclass(frozen=True)
class Window:
    """Lookups with their latent truth, ascending by score.

    Attributes
    ----------
    score : float64, shape (N,), ascending
    is_false_hit : bool, shape (N,)
        What a reviewer who knows the truth would say.
    """

    score: FloatArray
    is_false_hit: BoolArray


@dataclass(frozen=True)
class Oracle:
    """The best that full knowledge of a window allows; threshold ``None`` and rate 0 if nothing."""

    threshold: float | None
    hit_rate: float


@dataclass(frozen=True)
class Cell:
    """What came out of many runs of one design on one shape.

    ``violations`` of ``runs`` certified a threshold whose true rate exceeds the target.
    ``hit_rate_kept`` is the mean hit rate over the oracle's, a violating run counting 0; ``None``
    where the oracle serves nothing. ``labels`` is the mean number used.
    """

    shape: Shape
    design: Design
    target_level: float
    label_budget: int
    runs: int
    violations: int
    certified: int
    hit_rate_kept: float | None
    labels: float

    @property
    def violation_rate(self) -> float:
        """Share of runs that broke the promise."""
        return self.violations / self.runs


def make_window(
    shape: Shape,
    rng: np.random.Generator,
    *,
    target_level: float,
    lookups: int = LOOKUPS,
    flat_multiple: float = 1.1,
) -> Window:
    """Draw a window.

    Parameters
    ----------
    shape : Shape
    rng : numpy Generator
    target_level : in (0, 1)
        Only *flat* depends on it.
    lookups : int > 0
    flat_multiple : > 0
        Of the target: the false-hit rate of *flat* at every threshold above 0.8. False hits are
        laid out evenly, so that it is met exactly there and not only on average.
    """
    if shape == "flat":
        return _flat_window(rng, flat_multiple * target_level, lookups)
    good_share, good, bad = {
        "faq": (0.43, (0.90, 0.05), (0.69, 0.063)),
        "mixed": (0.26, (0.90, 0.05), (0.68, 0.07)),
        "top-traps": (0.43, (0.90, 0.05), (0.69, 0.063)),
        "hard": (0.40, (0.86, 0.07), (0.83, 0.07)),
    }[shape]
    is_good = rng.random(lookups) < good_share
    score = np.where(is_good, rng.normal(*good, lookups), rng.normal(*bad, lookups))
    if shape == "top-traps":
        traps = rng.random(lookups) < TRAP_SHARE
        score = np.where(traps, rng.uniform(0.98, 1.0, lookups), score)
        is_good &= ~traps
    score = np.where(score > 1.0, 2.0 - score, score)
    order = np.argsort(score)
    return Window(score[order], ~is_good[order])


def oracle(window: Window, *, target_level: float, thresholds: FloatArray | None = None) -> Oracle:
    """Return the loosest grid threshold whose true false-hit rate is at most the target."""
    grid = default_grid() if thresholds is None else thresholds
    hits = hits_at(window.score, grid)
    met = np.flatnonzero((hits > 0) & (true_rates(window, grid) <= target_level))
    if met.size == 0:
        return Oracle(None, 0.0)
    return Oracle(float(grid[met[0]]), float(hits[met[0]] / window.score.size))


def true_rates(window: Window, thresholds: FloatArray) -> FloatArray:
    """Return the true false-hit rate at each threshold: float64 in [0, 1], 0 where nothing hits."""
    hits = hits_at(window.score, thresholds)
    bad = hits_at(window.score[window.is_false_hit], thresholds)
    return bad / np.maximum(hits, 1)


def inclusion_probabilities(
    window: Window,
    design: Design,
    *,
    label_budget: int,
    target_level: float,
    pilot: Labels,
) -> tuple[FloatArray, float]:
    """Return each lookup's probability under a design, and the floor it certifies from.

    Parameters
    ----------
    pilot : Labels
        Of another window; only the designs *floor* and *streams* use it.

    Returns
    -------
    probability : float64, shape (N,), in [0, 1]; their sum is about ``label_budget``
    floor : float
    """
    lowest = float(default_grid()[0])
    score = window.score
    if design == "streams":
        plan = next_plan(
            pilot,
            score,
            guarded_score=np.empty(0),
            target_level=target_level,
            label_budget=label_budget,
        )
        rates = np.asarray((0.0, *plan.explore_rates))
        explore = rates[np.searchsorted(np.asarray(plan.bin_edges), score, side="right")]
        certify_rate = np.where(score >= plan.certify_floor, plan.certify_rate, 0.0)
        return 1.0 - (1.0 - certify_rate) * (1.0 - explore), plan.certify_floor
    floor = choose_certify_floor(pilot, target_level=target_level) if design == "floor" else lowest
    eligible = score >= floor
    if design == "per-bin":
        edges = np.asarray(bin_edges())
        position = np.searchsorted(edges, score, side="right")
        size = np.bincount(position, minlength=edges.size + 1)
        wanted = 1.0 / np.maximum(size, 1)[position]
    elif design == "top-heavy":
        wanted = 10.0 ** ((score - lowest) / (1.0 - lowest))
    else:
        wanted = np.ones_like(score)
    wanted = np.where(eligible, wanted, 0.0)
    return np.minimum(wanted * label_budget / max(float(wanted.sum()), 1e-12), 1.0), floor


def draw_labels(window: Window, probability: FloatArray, rng: np.random.Generator) -> Labels:
    """Draw each lookup independently and label what was drawn with the truth."""
    drawn = rng.random(probability.size) < probability
    return make_labels(
        window.score[drawn],
        window.is_false_hit[drawn],
        inclusion_probability=probability[drawn],
    )


def run_cell(
    shape: Shape,
    design: Design,
    rng: np.random.Generator,
    *,
    target_level: float,
    label_budget: int,
    runs: int,
    confidence: float = 0.95,
    windows: Sequence[Window] | None = None,
) -> Cell:
    """Certify ``runs`` times and compare each outcome with the truth of its own window.

    Parameters
    ----------
    windows : at least two, of this shape and target; four fresh ones when not given
        The runs take turns on them, each with a fresh pilot from its neighbour and fresh draws.
    """
    pool = windows or [make_window(shape, rng, target_level=target_level) for _ in range(4)]
    truths = [oracle(w, target_level=target_level) for w in pool]
    violations = certified = labels_used = 0
    kept = possible = 0.0
    for run in range(runs):
        window, truth = pool[run % len(pool)], truths[run % len(pool)]
        pilot = _pilot(pool[run % len(pool) - 1], rng)
        probability, floor = inclusion_probabilities(
            window, design, label_budget=label_budget, target_level=target_level, pilot=pilot
        )
        labels = draw_labels(window, probability, rng)
        result = certify(
            labels,
            Lookups(window.score, probability),
            target_level=target_level,
            confidence=confidence,
            floor=floor,
        )
        labels_used += len(labels)
        possible += truth.hit_rate
        if isinstance(result, Certificate):
            certified += 1
            is_broken = true_rates(window, np.asarray([result.threshold]))[0] > target_level
            violations += bool(is_broken)
            kept += 0.0 if is_broken else result.hit_rate
    return Cell(
        shape=shape,
        design=design,
        target_level=target_level,
        label_budget=label_budget,
        runs=runs,
        violations=violations,
        certified=certified,
        hit_rate_kept=kept / possible if possible > 0.0 else None,
        labels=labels_used / runs,
    )


def _pilot(window: Window, rng: np.random.Generator) -> Labels:
    first = int(np.searchsorted(window.score, default_grid()[0], side="left"))
    chosen = rng.integers(first, window.score.size, size=PILOT_LABELS)
    return make_labels(window.score[chosen], window.is_false_hit[chosen])


def _flat_window(rng: np.random.Generator, rate: float, lookups: int) -> Window:
    score = np.sort(rng.uniform(0.60, 1.0, lookups))
    # From the strictest score down, the k-th lookup is bad whenever rate * k passes a whole number,
    # beginning with the very first: no prefix has a rate below the one asked for.
    rank = np.arange(lookups, dtype=np.float64)
    bad_so_far = np.ceil(rate * (rank + 1.0))
    is_bad_from_top = np.diff(bad_so_far, prepend=0.0) > 0.0
    is_bad = is_bad_from_top[::-1] | ((score < 0.80) & (rng.random(lookups) < 0.5))
    return Window(score, is_bad)
