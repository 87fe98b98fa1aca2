"""Reviewer quality from rows: gold against the known answer, others against each other."""

from __future__ import annotations

from evaluation.reviewers import Judged, by_reviewer, quality


def test_gold_counts_against_the_known_answer_and_twice_judged_items_against_the_other() -> None:
    rows = [
        (1, "ann", "reusable", "sampled", None),
        (1, "bo", "not_reusable", "sampled", None),
        (2, "ann", "reusable", "gold", "not_reusable"),
        (3, "ann", "not_reusable", "gold", "not_reusable"),
        (3, "bo", "not_reusable", "gold", "not_reusable"),
    ]
    found = by_reviewer(rows)
    assert found["ann"] == Judged(
        gold=[("reusable", "not_reusable"), ("not_reusable", "not_reusable")],
        beside=[("reusable", "not_reusable"), ("not_reusable", "not_reusable")],
    )
    assert quality(found["ann"])["gold"] == {"n": 2, "sensitivity": 0.5, "false_alarm": None}
    assert quality(found["bo"])["agreed"] == 1


def test_without_anything_nothing_is_claimed() -> None:
    found = quality(Judged([], []))
    assert found["gold"] == {"n": 0, "sensitivity": None, "false_alarm": None}
    assert found["kappa"] is None
