"""A tuning run as text and as one self-contained HTML page per line: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from evaluation.tuning import Tuned

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 40
_BLUE, _RED, _GREY = "#2563eb", "#dc2626", "#6b7280"


def as_text(tuned: Tuned) -> str:
    """The answer, what it rests on, and the curve at a dozen thresholds."""
    report = tuned.report
    lines = [tuned.sentence(), ""]
    lines += [f"  {name:22} {value}" for name, value in facts(report)]
    lines += ["", "  threshold  hit rate  false-hit rate (interval)       labels"]
    curve = report["curve"]
    for i in _some(curve, 12):
        rate = "–" if not curve["labels"][i] else f"{curve['false_hit_rate'][i]:.2%}"
        hits = f"{curve['hit_rate'][i]:.1%}" if report["lookups"] else "–"
        bounds = f"{curve['false_hit_lower'][i]:.2%}–{curve['false_hit_upper'][i]:.2%}"
        lines.append(
            f"  {curve['thresholds'][i]:9.3f}  {hits:>8}  {rate:>9} ({bounds:>15})"
            f"  {curve['labels'][i]:9}"
        )
    return "\n".join(lines)


def as_html(tuned: Tuned) -> str:
    """The page of one line."""
    report = tuned.report
    title = html.escape(f"Surehit: {tuned.line}")
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in facts(report)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #111827 }}
h1 {{ font-size: 1.4rem }} table {{ border-collapse: collapse }}
th, td {{ text-align: left; padding: .15rem 1rem .15rem 0 }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums }} .answer {{ font-weight: 600 }}
text {{ font: 12px system-ui, sans-serif; fill: {_GREY} }} .thin {{ color: {_GREY} }}
</style></head><body>
<h1>{title}</h1>
<p class="answer">{html.escape(tuned.sentence())}</p>
{chart(report)}
<p>Red: false hits of all hits, with the {report["confidence"]:.0%} interval at each threshold by itself. Blue: hits of
all lookups. The interval is for looking at; the promise is the certificate, which holds for all thresholds at once.
It speaks of the lookups that were sampled from; the next ones are watched by the monitor.</p>
<table>{rows}</table>
<h2>Curve</h2>
{_table(report["curve"])}
</body></html>
"""


def facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What the answer rests on, as (name, value) to show."""
    found = [
        ("target", f"{report['target']:.2%} of hits, at {report['confidence']:.0%} confidence"),
        ("labels", f"{report['labels']} at or above {report['floor']}; {report['waiting']} wait"),
        ("lookups", f"{report['lookups']} in {report['windows']} closed windows"),
        ("from", _time(report["since_ms"])),
        ("to", _time(report["until_ms"])),
        ("look", str(report["look"])),
        ("scores of", str(report.get("score_version", ""))),
        ("score", str(report.get("score", {}).get("text", ""))),
        ("policy version", str(report.get("policy_version", ""))),
    ]
    certificate = report.get("certificate")
    if certificate:
        found += [
            ("certified threshold", f"{certificate['threshold']:.3f}"),
            ("hit rate there", f"{certificate['hit_rate']:.2%}"),
            ("estimate there", f"{certificate['point_estimate']:.2%} false (unsure as bad)"),
            (
                "evidence",
                f"{certificate['capital']:.3g}, {certificate['capital_needed']:.3g} needed",
            ),
            ("labels there", f"{certificate['labels']}, {certificate['false_hits']} false hits"),
        ]
        check = report.get("cross_check")
        found.append(("exact binomial check", "–" if check is None else f"{check:.3f}"))
    gold = report.get("gold")
    if gold:
        used = "" if report.get("gold_is_used") else " (too few to be used)"
        found.append(("gold traps", f"{gold['shown']} shown, {gold['missed']} missed{used}"))
    return found


def chart(report: dict[str, Any]) -> str:
    """Both rates over thresholds as inline SVG."""
    curve = report["curve"]
    thresholds: list[float] = curve["thresholds"]
    known = [i for i, n in enumerate(curve["labels"]) if n > 0]
    highest = max([report["target"], *(curve["false_hit_rate"][i] for i in known)], default=1.0)
    top = min(1.0, max(2.5 * report["target"], 1.3 * highest))

    def x(i: int) -> float:
        span = max(thresholds[-1] - thresholds[0], 1e-9)
        return LEFT + (WIDTH - LEFT - RIGHT) * (thresholds[i] - thresholds[0]) / span

    def y(share: float, full: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - min(max(share / full, 0.0), 1.0))

    def path(values: Sequence[float], indexes: Sequence[int], full: float) -> str:
        return " ".join(f"{x(i):.1f},{y(values[i], full):.1f}" for i in indexes)

    every = range(len(thresholds))
    band = (
        path(curve["false_hit_upper"], known, top)
        + " "
        + path(curve["false_hit_lower"], known[::-1], top)
    )
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="hit rate and false-hit rate over thresholds">',
        f'<polygon points="{band}" fill="{_RED}" opacity="0.15"/>',
        f'<polyline points="{path(curve["hit_rate"], every, 1.0)}" fill="none" stroke="{_BLUE}" stroke-width="2"/>',
        f'<polyline points="{path(curve["false_hit_rate"], known, top)}" fill="none" stroke="{_RED}" '
        'stroke-width="2"/>',
        _level(y(report["target"], top), f"target {report['target']:.1%}"),
    ]
    certificate = report.get("certificate")
    if certificate and certificate["threshold"] in thresholds:
        at = x(thresholds.index(certificate["threshold"]))
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#111827"/>'
            f'<text x="{at + 4:.1f}" y="{TOP + 12}">{certificate["threshold"]:.3f}</text>'
        )
    for i in _some(curve, 7):
        parts.append(
            f'<text x="{x(i):.1f}" y="{HEIGHT - 20}" text-anchor="middle">{thresholds[i]:.2f}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        parts.append(
            f'<text x="4" y="{y(share, 1.0) + 4:.1f}" fill="{_RED}">{share * top:.1%}</text>'
        )
    parts.append(
        f'<text x="{WIDTH // 2}" y="{HEIGHT - 4}" text-anchor="middle">threshold</text></svg>'
    )
    return "".join(parts)


def _level(at: float, text: str) -> str:
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="{_GREY}" '
        f'stroke-dasharray="4 4"/><text x="{WIDTH - RIGHT}" y="{at - 4:.1f}" text-anchor="end">{text}</text>'
    )


def _table(curve: dict[str, Any]) -> str:
    head = "".join(
        f"<th>{name}</th>"
        for name in ("threshold", "hit rate", "false-hit rate", "interval", "labels", "unsure")
    )
    rows = []
    for i in _some(curve, 30):
        kind = ' class="thin"' if curve["is_thin"][i] else ""
        cells = (
            f"{curve['thresholds'][i]:.3f}",
            f"{curve['hit_rate'][i]:.2%}",
            f"{curve['false_hit_rate'][i]:.2%}" if curve["labels"][i] else "–",
            f"{curve['false_hit_lower'][i]:.2%}–{curve['false_hit_upper'][i]:.2%}",
            str(curve["labels"][i]),
            str(curve["unsure"][i]),
        )
        rows.append(f"<tr{kind}>" + "".join(f'<td class="n">{c}</td>' for c in cells) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _some(curve: dict[str, Any], n: int) -> list[int]:
    last = len(curve["thresholds"]) - 1
    return sorted({round(i * last / max(n - 1, 1)) for i in range(n)}) if last >= 0 else []


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
