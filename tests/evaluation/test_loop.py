"""The whole loop on real traffic, small: what it reports is what happened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluation.bench import loop
from tests.harness import SHARED, shared


def a_run(**changes: object) -> loop.Run:
    """A run with round figures."""
    values: dict[str, object] = {
        "line": "faq",
        "language": "en",
        "seed": 1,
        "requests": 100,
        "labels": 50,
        "unlabelled": 0,
        "answer": "certified",
        "threshold": 0.9,
        "target": 0.03,
        "point_estimate": 0.01,
        "forecast_hit_rate": 0.3,
        "window_hits": 100,
        "window_false_hits": 2,
        "served_lookups": 80,
        "served_hits": 40,
        "served_false_hits": 1,
        "exact_hits": 20,
        "best_hit_rate": 0.6,
        "seconds": 1.0,
    }
    return loop.Run(**(values | changes))  # type: ignore[arg-type]  # named as the fields are


def test_a_promise_is_broken_when_its_own_window_was_worse_than_certified() -> None:
    """What was served later may be worse by chance or change; the certificate speaks of its window."""
    assert not a_run(window_false_hits=3).is_broken
    assert a_run(window_false_hits=4).is_broken
    assert not a_run(served_false_hits=20).is_broken
    assert not a_run(threshold=None, window_hits=0, window_false_hits=0).is_broken


def test_the_table_counts_broken_promises_over_all_runs() -> None:
    runs = [
        a_run(),
        a_run(seed=2, window_false_hits=9),
        a_run(seed=3, threshold=None, answer="missing"),
    ]
    text = loop.render(runs)
    assert "certified in 2 of 3 runs" in text
    assert "wrong about its window in 1" in text
    assert "2.50% of 80 hits served were false" in text


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_from_an_empty_database_to_a_threshold_in_force(
    models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a lax target some two hundred labels do; the labels, the log and what was served fit together."""
    shared("tools", "make_traffic.py")
    monkeypatch.setitem(os.environ, "SUREHIT_SHARED", str(SHARED))
    (found,) = loop.run(
        ["faq"], seeds=[1], requests=600, target=0.2, label_budget=250, models_dir=models_dir
    )
    assert found.is_certified
    assert found.unlabelled == 0
    assert 50 < found.labels < 500
    assert not found.is_broken
    assert 0 < found.served_hits <= found.served_lookups
    assert found.served_false_hits <= found.served_hits
    assert found.as_dict()["served_rate"] == found.served_rate
