"""The windows have the truth they claim, so that the guarantee test can fail."""

import numpy as np
import pytest

from evaluation.evidence import default_grid, make_labels
from evaluation.simulate import (
    DESIGNS,
    SHAPES,
    Design,
    Shape,
    draw_labels,
    inclusion_probabilities,
    make_window,
    oracle,
    true_rates,
)

# The note's own oracle hit rates at 1, 3 and 5 %.
NOTE = {"faq": (0.36, 0.42, 0.44), "mixed": (0.15, 0.23, 0.25), "top-traps": (0.30, 0.38, 0.41)}


@pytest.mark.parametrize("shape", ["faq", "mixed", "top-traps"])
def test_oracle_hit_rates_are_near_those_of_the_note(shape: Shape) -> None:
    for alpha, expected in zip((0.01, 0.03, 0.05), NOTE[shape], strict=True):
        windows = [
            make_window(shape, np.random.default_rng(s), target_level=alpha) for s in range(5)
        ]
        rates = [oracle(w, target_level=alpha).hit_rate for w in windows]
        assert float(np.median(rates)) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("shape", ["hard", "flat"])
def test_no_threshold_of_the_hopeless_shapes_meets_a_target(shape: Shape) -> None:
    for alpha in (0.01, 0.03, 0.05):
        window = make_window(shape, np.random.default_rng(1), target_level=alpha)
        assert oracle(window, target_level=alpha).threshold is None


def test_flat_sits_just_above_the_target_at_every_strict_threshold() -> None:
    window = make_window("flat", np.random.default_rng(1), target_level=0.05)
    grid = default_grid()
    strict = true_rates(window, grid)[(grid >= 0.8) & (grid <= 0.98)]

    assert np.all((strict > 0.055) & (strict < 0.06))


def test_top_traps_get_worse_towards_the_top() -> None:
    window = make_window("top-traps", np.random.default_rng(1), target_level=0.03)
    loose, strict = true_rates(window, np.array([0.9, 0.99]))

    assert strict > 3 * loose


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_design_draws_about_its_budget_and_leaves_no_gap(
    shape: Shape, design: Design
) -> None:
    rng = np.random.default_rng(2)
    window = make_window(shape, rng, target_level=0.03)
    none = make_labels([], [])
    p, floor = inclusion_probabilities(
        window, design, label_budget=1_000, target_level=0.03, pilot=none
    )

    assert 900 <= p.sum() <= 1_000 + 1e-6
    assert np.all(p[window.score >= floor] > 0.0)
    assert abs(len(draw_labels(window, p, rng)) - p.sum()) < 5.0 * np.sqrt(p.sum())


def test_a_seed_fixes_a_window() -> None:
    one, other = (make_window("mixed", np.random.default_rng(3), target_level=0.03) for _ in "ab")

    np.testing.assert_array_equal(one.score, other.score)
    np.testing.assert_array_equal(one.is_false_hit, other.is_false_hit)
