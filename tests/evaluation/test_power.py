"""The number of labels still needed follows from the certificate's own arithmetic."""

import numpy as np
import pytest

from evaluation.certificate import Certificate, certify
from evaluation.curve import Curve, estimate_curve
from evaluation.evidence import make_labels, make_lookups
from evaluation.power import labels_above, labels_needed, most_bad_allowed


def curve_of(bad: int, labels: int) -> Curve:
    scores = np.full(labels, 0.9)
    return estimate_curve(make_labels(scores, np.arange(labels) < bad), make_lookups(scores))


@pytest.mark.parametrize("bad", [0, 1, 4, 9])
def test_allowed_number_of_bad_labels_is_where_the_certificate_gives_out(bad: int) -> None:
    n = 1
    while most_bad_allowed(n, target_level=0.05, confidence=0.95) < bad:
        n += 1
    for labels, expected in ((n, True), (n - 1, False)):
        result = certify(
            make_labels([0.9] * labels, np.arange(labels) < bad),
            make_lookups([0.9] * labels),
            target_level=0.05,
            confidence=0.95,
            floor=0.7,
        )
        assert isinstance(result, Certificate) is expected


def test_predicted_number_gives_about_the_predicted_chance() -> None:
    rng = np.random.default_rng(11)
    n = labels_above(0.01, target_level=0.05, confidence=0.95, power=0.8)
    assert n is not None
    allowed = most_bad_allowed(n, target_level=0.05, confidence=0.95)
    share = float((rng.binomial(n, 0.01, 20_000) <= allowed).mean())

    assert 0.79 <= share <= 0.88


def test_cleaner_lines_and_looser_targets_need_fewer_labels() -> None:
    needed = [labels_above(r, target_level=0.03, confidence=0.95) for r in (0.001, 0.01, 0.02)]
    by_target = [labels_above(0.001, target_level=a, confidence=0.95) for a in (0.01, 0.03, 0.05)]

    assert needed == sorted(needed)  # type: ignore[type-var]  # none is None here
    assert by_target == sorted(by_target, reverse=True)  # type: ignore[type-var]  # none is None here


def test_a_rate_at_the_target_cannot_be_certified_by_any_number() -> None:
    assert labels_above(0.05, target_level=0.05, confidence=0.95) is None
    assert labels_above(0.0499, target_level=0.05, confidence=0.95) is None


def test_no_labels_give_a_planning_figure() -> None:
    figure = labels_needed(curve_of(0, 0), target_level=0.03, confidence=0.95, floor=0.7)

    assert figure == labels_above(0.0075, target_level=0.03, confidence=0.95)


def test_a_handful_of_bad_labels_does_not_rule_the_line_out() -> None:
    few = labels_needed(curve_of(8, 8), target_level=0.03, confidence=0.95, floor=0.7)
    many = labels_needed(curve_of(100, 200), target_level=0.03, confidence=0.95, floor=0.7)

    assert few is not None
    assert many is None


def test_labels_are_counted_from_the_floor_up() -> None:
    """Only a third of the labels above the floor lie above the threshold that can be certified."""
    scores = np.repeat([0.72, 0.9], [400, 200])
    bad = scores < 0.8
    curve = estimate_curve(make_labels(scores, bad), make_lookups(scores))
    wide = labels_needed(curve, target_level=0.05, confidence=0.95, floor=0.7)
    narrow = labels_needed(curve, target_level=0.05, confidence=0.95, floor=0.8)

    assert wide is not None
    assert narrow is not None
    assert wide == pytest.approx(3 * narrow, rel=0.02)
