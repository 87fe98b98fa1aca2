"""The band is what docs/certificate.md says it is, at ties, weights and thresholds alike."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.certificate import (
    ALTERNATIVES,
    Certificate,
    NotCertified,
    capital_band,
    certify,
    miss_rate_upper,
    smallest_probability,
)
from evaluation.evidence import Labels, default_grid, make_labels, make_lookups
from evaluation.fallback import fallback_sequence
from evaluation.power import most_bad_allowed

ALPHA = 0.05
GRID = np.array([0.7, 0.8, 0.9])
label_rows = st.lists(
    st.tuples(
        st.sampled_from([0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]), st.booleans(), st.floats(0.1, 1.0)
    ),
    min_size=1,
    max_size=40,
)


def labels_of(rows: list[tuple[float, bool, float]]) -> Labels:
    scores, bad, p = (np.asarray(column) for column in zip(*rows, strict=True))
    return make_labels(scores, bad, inclusion_probability=p)


def clean_line(n: int, *, bad: int = 0, score: float = 0.9, rate: float = 0.5) -> Labels:
    return make_labels([score] * n, np.arange(n) < bad, inclusion_probability=rate)


@given(label_rows)
def test_capital_is_the_mean_product_of_the_factors_above_each_threshold(
    rows: list[tuple[float, bool, float]],
) -> None:
    """The formula of the proof, written out without sorting, sums of logs or vectors."""
    band = capital_band(
        labels_of(rows), target_level=ALPHA, smallest_probability=0.1, thresholds=GRID
    )
    for t, log_capital in zip(GRID, band.log_capital, strict=True):
        capitals = []
        for share in ALTERNATIVES:
            p1 = share * ALPHA
            capital = 1.0
            for score, bad, p in rows:
                rho = p1 / ALPHA if bad else (1.0 - p1) / (1.0 - ALPHA)
                if score >= t:
                    capital *= 1.0 + 0.1 / p * (rho - 1.0)
            capitals.append(capital)
        assert math.exp(log_capital) == pytest.approx(sum(capitals) / len(capitals))


@given(label_rows, st.randoms(use_true_random=False))
def test_order_of_rows_never_matters(rows: list[tuple[float, bool, float]], random) -> None:  # type: ignore[no-untyped-def]  # hypothesis has no public type for it
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = (
        capital_band(labels_of(r), target_level=ALPHA, smallest_probability=0.1, thresholds=GRID)
        for r in (rows, shuffled)
    )

    np.testing.assert_allclose(one.log_capital, other.log_capital, atol=1e-9)


@given(label_rows, st.integers(0, 39))
def test_a_worse_verdict_never_raises_the_capital(
    rows: list[tuple[float, bool, float]], index: int
) -> None:
    """Why counting undecided items as bad is safe."""
    i = index % len(rows)
    worse = [(s, bad or j == i, p) for j, (s, bad, p) in enumerate(rows)]
    before, after = (
        capital_band(labels_of(r), target_level=ALPHA, smallest_probability=0.1, thresholds=GRID)
        for r in (rows, worse)
    )

    assert np.all(after.log_capital <= before.log_capital + 1e-12)


def test_expected_factor_is_the_same_for_every_sampling_rate() -> None:
    """The one line of the proof that the weights are for: E = 1 + pi_min (rho - 1)."""
    for p in (0.1, 0.35, 1.0):
        for bad in (False, True):
            band = capital_band(
                make_labels([0.9], [bad], inclusion_probability=p),
                target_level=ALPHA,
                smallest_probability=0.1,
                thresholds=np.array([0.9]),
            )
            expected = 1.0 - p + p * math.exp(band.log_capital[0])
            rhos = [s if bad else (1.0 - s * ALPHA) / (1.0 - ALPHA) for s in ALTERNATIVES]
            assert expected == pytest.approx(1.0 + 0.1 * (np.mean(rhos) - 1.0))


def test_mean_capital_over_all_draws_is_at_most_one_where_the_target_is_violated() -> None:
    """Every subset of a tiny window, with its probability: unequal rates, exactly alpha bad."""
    bad = np.array([True, False, False, False])
    p = np.array([0.9, 0.3, 0.5, 0.3])
    mean = 0.0
    for subset in range(16):
        drawn = np.array([bool(subset >> i & 1) for i in range(4)])
        chance = float(np.prod(np.where(drawn, p, 1.0 - p)))
        band = capital_band(
            make_labels(np.full(4, 0.9)[drawn], bad[drawn], inclusion_probability=p[drawn]),
            target_level=0.25,
            smallest_probability=0.3,
            thresholds=np.array([0.9]),
        )
        mean += chance * math.exp(band.log_capital[0])

    assert mean <= 1.0
    assert mean == pytest.approx(1.0, abs=0.05)


def test_a_tie_is_one_step() -> None:
    """Good labels first inside a tie must not lift the capital over the mark half way."""
    n = most_bad_allowed_first()
    tied = make_labels([0.9] * (2 * n), np.arange(2 * n) >= n)
    result = certify(
        tied, make_lookups([0.9] * (2 * n)), target_level=ALPHA, confidence=0.95, floor=0.7
    )

    assert isinstance(result, NotCertified)


def most_bad_allowed_first() -> int:
    n = 1
    while most_bad_allowed(n, target_level=ALPHA, confidence=0.95) < 0:
        n += 1
    return n


def test_the_fewest_good_labels_that_certify() -> None:
    n = most_bad_allowed_first()
    enough, too_few = (
        certify(
            clean_line(k, rate=1.0),
            make_lookups([0.9] * 100),
            target_level=ALPHA,
            confidence=0.95,
            floor=0.7,
        )
        for k in (n, n - 1)
    )

    assert n == 77
    assert isinstance(enough, Certificate)
    assert isinstance(too_few, NotCertified)
    assert too_few.capital < too_few.capital_needed == pytest.approx(20.0)


def test_certificate_tells_what_it_rests_on() -> None:
    labels = make_labels(
        [0.9] * 300 + [0.72] * 50,
        [True] * 2 + [False] * 298 + [True] * 50,
        unsure=[False] * 2 + [True] + [False] * 347,
        inclusion_probability=0.5,
    )
    log = make_lookups([0.9] * 600 + [0.72] * 200 + [-np.inf] * 200, 0.5)
    result = certify(labels, log, target_level=ALPHA, confidence=0.95, floor=0.7)

    assert isinstance(result, Certificate)
    assert result.threshold == 0.725
    assert (result.labels, result.false_hits, result.unsure) == (300, 2, 1)
    assert result.point_estimate == pytest.approx(3 / 300)
    assert result.hit_rate == pytest.approx(0.6)
    assert result.capital >= result.capital_needed


def test_undecided_labels_count_as_bad() -> None:
    decided = clean_line(200)
    half_decided = make_labels(
        decided.score, decided.false_hit, unsure=np.arange(200) < 100, inclusion_probability=0.5
    )
    log = make_lookups([0.9] * 400, 0.5)

    assert isinstance(
        certify(decided, log, target_level=ALPHA, confidence=0.95, floor=0.7), Certificate
    )
    assert isinstance(
        certify(half_decided, log, target_level=ALPHA, confidence=0.95, floor=0.7), NotCertified
    )


def test_traps_at_the_top_forbid_strict_thresholds_but_not_loose_ones() -> None:
    """Rounding a certified threshold upward would land on one that is not certified."""
    scores = np.concatenate([np.full(6, 0.99), np.full(800, 0.85)])
    labels = make_labels(scores, scores > 0.9)
    log = make_lookups(scores)
    loose = certify(labels, log, target_level=ALPHA, confidence=0.95, floor=0.7)
    strict = certify(
        labels, log, target_level=ALPHA, confidence=0.95, floor=0.7, thresholds=np.array([0.9])
    )

    assert isinstance(loose, Certificate)
    assert loose.threshold <= 0.85
    assert isinstance(strict, NotCertified)


@given(label_rows)
@settings(deadline=None)
def test_only_a_grid_point_with_enough_capital_is_ever_certified(
    rows: list[tuple[float, bool, float]],
) -> None:
    many = labels_of(rows * 20)
    log = make_lookups(many.score, 0.1)
    result = certify(many, log, target_level=0.2, confidence=0.8, floor=0.7, thresholds=GRID)
    band = capital_band(many, target_level=0.2, smallest_probability=0.1, thresholds=GRID)
    passed = GRID[band.log_capital >= math.log(5.0)]

    if isinstance(result, Certificate):
        assert result.threshold == passed[0]
    else:
        assert passed.size == 0


def test_caution_moves_to_the_next_certified_threshold_and_no_further() -> None:
    labels = make_labels([0.9] * 300 + [0.72] * 10, [False] * 310)
    log = make_lookups(labels.score)
    options = {"target_level": ALPHA, "confidence": 0.95, "floor": 0.7}
    bold = certify(labels, log, **options, thresholds=GRID)  # type: ignore[arg-type]  # all floats
    careful = certify(labels, log, **options, thresholds=GRID, cautious=True)  # type: ignore[arg-type]  # all floats
    only = certify(labels, log, **options, thresholds=GRID[2:], cautious=True)  # type: ignore[arg-type]  # all floats

    assert isinstance(bold, Certificate)
    assert isinstance(careful, Certificate)
    assert isinstance(only, Certificate)
    assert (bold.threshold, careful.threshold, only.threshold) == (0.7, 0.8, 0.9)


def test_lookups_that_could_not_be_drawn_forbid_a_certificate() -> None:
    """Half of the hits had no chance of being seen: nothing is known of them."""
    log = make_lookups(np.full(800, 0.9), np.where(np.arange(800) < 400, 0.5, 0.0))
    result = certify(clean_line(400), log, target_level=ALPHA, confidence=0.95, floor=0.7)

    assert isinstance(result, NotCertified)
    assert result.reason == "unsampled_lookups"


def test_the_smallest_rate_comes_from_the_log_and_not_from_the_labels() -> None:
    """Lookups with a tiny rate leave no label; the others then prove correspondingly little."""
    log = make_lookups(np.full(800, 0.9), np.where(np.arange(800) < 400, 0.5, 0.001))
    result = certify(clean_line(400), log, target_level=ALPHA, confidence=0.95, floor=0.7)

    assert isinstance(result, NotCertified)
    assert result.reason == "not_enough_evidence"
    assert smallest_probability(log, floor=0.7) == 0.001


def test_a_label_rarer_than_the_smallest_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="smaller probability"):
        capital_band(
            clean_line(3, rate=0.1), target_level=ALPHA, smallest_probability=0.5, thresholds=GRID
        )


def test_labels_without_a_probability_cannot_be_built() -> None:
    for p in (0.0, math.nan, 1.5):
        with pytest.raises(ValueError, match=r"\(0, 1\]"):
            make_labels([0.9], [False], inclusion_probability=p)


def test_no_labels_is_an_answer_and_not_an_error() -> None:
    result = certify(
        make_labels([], []), make_lookups([]), target_level=ALPHA, confidence=0.95, floor=0.7
    )

    assert isinstance(result, NotCertified)
    assert result.reason == "no_labels"
    assert result.best_threshold is None


def test_a_rare_hit_is_not_worth_a_certificate() -> None:
    log = make_lookups([0.9] * 200 + [-np.inf] * 99_800, 1.0)
    labels = clean_line(200, rate=1.0)
    options = {"target_level": ALPHA, "confidence": 0.95, "floor": 0.7}

    assert isinstance(certify(labels, log, **options), Certificate)  # type: ignore[arg-type]  # all floats
    assert isinstance(certify(labels, log, **options, minimum_hit_rate=0.01), NotCertified)  # type: ignore[arg-type]  # all floats


def test_reviewers_who_miss_some_make_the_test_stricter() -> None:
    upper = miss_rate_upper(missed=3, gold_traps=50, confidence=0.95)
    result = certify(
        clean_line(400),
        make_lookups([0.9] * 800, 0.5),
        target_level=ALPHA,
        confidence=0.95,
        floor=0.7,
        miss_rate_upper=upper,
    )

    assert upper == pytest.approx(0.148, abs=5e-4)
    assert isinstance(result, Certificate)
    assert result.tested_level == pytest.approx(ALPHA * (1.0 - upper))
    assert result.target_level == ALPHA
    assert miss_rate_upper(missed=0, gold_traps=0, confidence=0.95) == 1.0


def test_fallback_sequence_passes_a_clean_line_and_agrees_with_the_band() -> None:
    rng = np.random.default_rng(3)
    score = np.sort(rng.uniform(0.7, 1.0, 4_000))
    bad = (score < 0.85) & (rng.random(4_000) < 0.5)
    drawn = rng.random(4_000) < 0.25
    labels = make_labels(score[drawn], bad[drawn], inclusion_probability=0.25)
    log = make_lookups(score, 0.25)
    exact = fallback_sequence(labels, log, target_level=ALPHA, confidence=0.95, floor=0.7)
    band = certify(labels, log, target_level=ALPHA, confidence=0.95, floor=0.7)

    assert isinstance(band, Certificate)
    assert exact is not None
    assert exact == pytest.approx(band.threshold, abs=0.02)


def test_fallback_sequence_refuses_unequal_rates_and_knows_nothing_without_labels() -> None:
    log = make_lookups([0.9, 0.8], np.array([0.1, 0.2]))
    with pytest.raises(ValueError, match="constant"):
        fallback_sequence(clean_line(3), log, target_level=ALPHA, confidence=0.95, floor=0.7)
    empty = fallback_sequence(
        make_labels([], []), log, target_level=ALPHA, confidence=0.95, floor=0.7
    )
    assert empty is None


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, math.nan])
def test_levels_outside_the_open_interval_are_refused(level: float) -> None:
    with pytest.raises(ValueError, match="target_level"):
        certify(clean_line(3), make_lookups([0.9]), target_level=level, confidence=0.95, floor=0.7)
    with pytest.raises(ValueError, match="confidence"):
        certify(clean_line(3), make_lookups([0.9]), target_level=0.1, confidence=level, floor=0.7)


def test_default_grid_holds_the_numbers_that_people_type() -> None:
    grid = default_grid()

    assert grid.size == 60
    assert {0.7, 0.8, 0.85, 0.93, 0.995} <= set(grid.tolist())
