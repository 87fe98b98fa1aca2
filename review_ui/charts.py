"""The pictures of a curve. Everything drawn is what the service said; nothing is estimated here."""

from __future__ import annotations

from typing import Any

import altair as alt

from review_ui.replies import Audit, Curve

IN_FORCE, PROPOSED, GREY = "#7c3aed", "#16a34a", "#9ca3af"
HEIGHT_PX = 230


def false_hits(curve: Curve) -> Any:
    """The false-hit rate with its interval, the target, and both thresholds; without labels only the interval."""
    rows = _rows(curve, "false_hit_rate", "false_hit_rate_low", "false_hit_rate_high")
    found = _band(
        [row | {"rate": row["rate"] if row["labels"] else None} for row in rows], color="#dc2626"
    )
    rule = alt.Chart(_data([{"target": curve.target}])).mark_rule(
        strokeDash=[2, 3], color="#dc2626"
    )
    tip = [alt.Tooltip("target:Q", format=".1%")]
    found += rule.encode(y="target:Q", tooltip=tip)
    return _with_thresholds(found, curve)


def hits(curve: Curve) -> Any:
    """The hit rate with its interval. It comes from the log and needs no labels, so no point of it is grey."""
    rows = [
        row | {"thin": False} for row in _rows(curve, "hit_rate", "hit_rate_low", "hit_rate_high")
    ]
    return _with_thresholds(_band(rows, color="#2563eb"), curve)


def labels(curve: Curve) -> Any:
    """How many labels lie at or above each threshold."""
    rows = [
        {"threshold": t, "labels": n, "effective": e, "thin": thin}
        for t, n, e, thin in zip(
            curve.thresholds, curve.labels, curve.effective_labels, curve.is_thin, strict=True
        )
    ]
    whole = alt.Axis(tickMinStep=1, format="d")
    base = alt.Chart(_data(rows)).encode(x=_x(), y=alt.Y("labels:Q", title=None, axis=whole))
    tip = ["threshold:Q", "labels:Q", alt.Tooltip("effective:Q", format=".0f")]
    dots = base.mark_circle(size=28, opacity=1).encode(color=_thin("#64748b"), tooltip=tip)
    return _with_thresholds(base.mark_area(opacity=0.25, color="#64748b") + dots, curve)


def money(curve: Curve) -> Any:
    """What 1,000 lookups would save and lose at the two prices, and the difference, where labels tell."""
    parts = (
        ("saved", curve.expected_saved, 1.0),
        ("lost", curve.expected_lost, -1.0),
        ("remains", curve.expected_value, 1.0),
    )
    rows = [
        {"threshold": t, "what": name, "money": 1000 * sign * value}
        for name, values, sign in parts
        for t, value, labels_behind in zip(curve.thresholds, values, curve.labels, strict=True)
        if labels_behind and value is not None
    ]
    names = [name for name, _, _ in parts]
    scale = alt.Scale(domain=names, range=["#2563eb", "#dc2626", "#0f766e"])
    drawn = (
        alt.Chart(_data(rows))
        .mark_line()
        .encode(
            x=_x(),
            y=alt.Y("money:Q", title=None),
            color=alt.Color("what:N", scale=scale, legend=alt.Legend(title=None, orient="bottom")),
            strokeWidth=alt.condition("datum.what == 'remains'", alt.value(3), alt.value(1.2)),
            tooltip=["threshold:Q", "what:N", alt.Tooltip("money:Q", format=".2f")],
        )
    )
    zero = alt.Chart(_data([{"zero": 0}])).mark_rule(color=GREY).encode(y="zero:Q")
    return _with_thresholds(zero + drawn, curve)


def candidates(audit: Audit) -> Any:
    """Logged lookups with a candidate from each threshold on: those that the guards let pass, and those they refuse."""
    names = ("guards let pass", "guards refuse")
    rows = [
        {"threshold": f"{at.threshold:.2f}", "what": name, "lookups": count}
        for at in audit.thresholds
        for name, count in zip(names, (at.left, at.refused_by_guards), strict=True)
    ]
    scale = alt.Scale(domain=list(names), range=["#2563eb", GREY])
    return (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            x=alt.X("threshold:N", title="score from … on", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("lookups:Q", title=None, axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("what:N", scale=scale, legend=alt.Legend(title=None, orient="bottom")),
            tooltip=["threshold:N", "what:N", "lookups:Q"],
        )
        .properties(height=HEIGHT_PX)
    )


def _rows(curve: Curve, *names: str) -> list[dict[str, Any]]:
    rate, low, high = (getattr(curve, name) for name in names)
    return [
        {"threshold": t, "rate": r, "low": a, "high": b, "labels": n, "thin": thin}
        for t, r, a, b, n, thin in zip(
            curve.thresholds, rate, low, high, curve.labels, curve.is_thin, strict=True
        )
    ]


def _band(rows: list[dict[str, Any]], *, color: str) -> Any:
    base = alt.Chart(_data(rows)).encode(x=_x())
    area = base.mark_area(opacity=0.18, color=color).encode(
        y=alt.Y("low:Q", title=None, axis=alt.Axis(format="%")), y2="high:Q"
    )
    line = base.mark_line(color=color, strokeWidth=2).encode(y="rate:Q")
    tip = [
        "threshold:Q",
        *(alt.Tooltip(f"{n}:Q", format=".2%") for n in ("rate", "low", "high")),
        "labels:Q",
    ]
    dots = base.mark_circle(size=28, opacity=1).encode(y="rate:Q", color=_thin(color), tooltip=tip)
    return area + line + dots


def _with_thresholds(drawn: Any, curve: Curve) -> Any:
    """Both thresholds as upright lines with their names."""
    rows = [{"threshold": curve.present.threshold, "name": "in force", "color": IN_FORCE}]
    if curve.proposed is not None:
        rows.append({"threshold": curve.proposed.threshold, "name": "proposed", "color": PROPOSED})
    base = alt.Chart(_data(rows)).encode(
        x=_x(), color=alt.Color("color:N", scale=None, legend=None)
    )
    rule = base.mark_rule(strokeWidth=2, strokeDash=[6, 3])
    name = base.mark_text(align="right", dx=-4, y=10, fontSize=11).encode(text="name:N")
    return (
        alt.layer(drawn, rule, name)
        .properties(height=HEIGHT_PX)
        .resolve_scale(color="independent", strokeWidth="independent")
    )


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]  # altair leaves it untyped


def _x() -> Any:
    return alt.X("threshold:Q", title=None, scale=alt.Scale(zero=False, nice=False))


def _thin(color: str) -> Any:
    return alt.condition("datum.thin", alt.value(GREY), alt.value(color))
