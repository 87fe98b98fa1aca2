"""A picture claims nothing where no label stands behind it."""

from __future__ import annotations

from typing import Any

from review_ui import charts
from review_ui.replies import Curve, Present, PromiseState

THRESHOLDS = [0.8, 0.9, 1.0]


def curve(labels: list[int]) -> Curve:
    """As the service sends it: a rate of 1 where nothing is known."""
    known = [bool(n) for n in labels]
    return Curve(
        thresholds=THRESHOLDS,
        hit_rate=[0.5, 0.3, 0.1],
        hit_rate_low=[0.4, 0.2, 0.0],
        hit_rate_high=[0.6, 0.4, 0.2],
        false_hit_rate=[0.04 if k else 1.0 for k in known],
        false_hit_rate_low=[0.01 if k else 0.0 for k in known],
        false_hit_rate_high=[0.09 if k else 1.0 for k in known],
        labels=labels,
        effective_labels=[float(n) for n in labels],
        is_thin=[n < 50 for n in labels],
        expected_value=[0.1, 0.1, 0.1],
        expected_saved=[0.2, 0.2, 0.2],
        expected_lost=[0.1, 0.1, 0.1],
        lookups=1000,
        labelled=max(labels),
        target=0.03,
        confidence=0.95,
        present=Present(threshold=0.9, certified=False),
        state=PromiseState(state="collecting", text="collecting"),
    )


def _values(chart: Any, key: str) -> list[dict[str, Any]]:
    """The rows of the layers that have such a column, each data set once."""
    found: list[dict[str, Any]] = []

    def look(part: Any) -> None:
        rows = part.get("data", {}).get("values", [])
        if rows and key in rows[0] and rows != found:
            found.extend(rows)
        for layer in part.get("layer", []):
            look(layer)

    look(chart.to_dict())
    return found


def test_a_false_hit_rate_is_drawn_only_where_there_are_labels() -> None:
    rows = _values(charts.false_hits(curve([120, 0, 0])), "rate")
    assert [row["rate"] for row in rows[:3]] == [0.04, None, None]
    assert [row["high"] for row in rows[:3]] == [0.09, 1.0, 1.0]


def test_a_hit_rate_needs_no_labels() -> None:
    rows = _values(charts.hits(curve([0, 0, 0])), "rate")
    assert [row["rate"] for row in rows[:3]] == [0.5, 0.3, 0.1]


def test_money_is_told_only_where_there_are_labels() -> None:
    rows = _values(charts.money(curve([120, 60, 0])), "money")
    assert sorted({row["threshold"] for row in rows}) == [0.8, 0.9]
    assert _values(charts.money(curve([0, 0, 0])), "money") == []
