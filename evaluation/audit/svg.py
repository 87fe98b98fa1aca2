"""Small plots as inline SVG: nothing to fetch, nothing to run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _BAR, _LABEL = 680, 22, 220


def bars(
    title: str, rows: Sequence[tuple[str, float, str]], *, unit_max: float | None = None
) -> str:
    """Horizontal bars of (label, value, text at the bar); the longest is `unit_max` or the
    largest."""
    top = unit_max or max((value for _, value, _ in rows), default=0) or 1.0
    room = _WIDTH - _LABEL - 130
    height = _BAR * len(rows) + 30
    parts = [_open(title, height)]
    for at, (label, value, text) in enumerate(rows):
        y = 26 + at * _BAR
        width = max(0.0, min(1.0, value / top)) * room
        parts.append(
            f'<text x="{_LABEL - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
            f'<rect class="bar" x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR - 6}"/>'
            f'<text x="{_LABEL + width + 6:.1f}" y="{y + 12}">{escape(text)}</text>'
        )
    return "".join(parts) + "</svg>"


def curves(
    title: str,
    xs: Sequence[float],
    series: Sequence[tuple[str, Sequence[float]]],
    *,
    x_label: str,
) -> str:
    """Lines over shared x values; y are shares, from 0 to the next round figure above the
    largest."""
    left, top, width, height = 60, 30, _WIDTH - 240, 200
    low, high = min(xs), max(xs)
    span = (high - low) or 1.0
    largest = max((y for _, ys in series for y in ys), default=1.0)
    most = next((m for m in (0.01, 0.05, 0.1, 0.25, 0.5) if largest <= m), 1.0)
    parts = [_open(title, top + height + 40)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + height * (1 - tick)
        parts.append(
            f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y}" y2="{y}"/>'
            f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{tick * most:.2%}</text>'
        )
    for x in xs:
        at = left + width * (x - low) / span
        parts.append(
            f'<text x="{at:.1f}" y="{top + height + 16}" text-anchor="middle">{x:g}</text>'
        )
    for number, (name, ys) in enumerate(series):
        points = " ".join(
            f"{left + width * (x - low) / span:.1f},{top + height * (1 - y / most):.1f}"
            for x, y in zip(xs, ys, strict=True)
        )
        parts.append(f'<polyline class="line s{number}" points="{points}"/>')
        y = top + 14 + 18 * number
        parts.append(
            f'<line class="line s{number}" x1="{left + width + 14}" x2="{left + width + 34}"'
            f' y1="{y - 4}" y2="{y - 4}"/><text x="{left + width + 40}" y="{y}">{escape(name)}</text>'
        )
    parts.append(
        f'<text x="{left + width / 2}" y="{top + height + 34}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
    )
    return "".join(parts) + "</svg>"


def _open(title: str, height: float) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f'<text class="title" x="0" y="14">{escape(title)}</text>'
    )
