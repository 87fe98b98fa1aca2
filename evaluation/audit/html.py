"""The report as one HTML file: tables and plots, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from io import StringIO

from rich.console import Console

from evaluation.audit import svg
from evaluation.audit.report import AuditReport, Findings
from evaluation.audit.terminal import render

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;
color:#1d2733;background:#fff}
table{border-collapse:collapse;width:100%;margin:1rem 0}
th,td{text-align:left;vertical-align:top;padding:.45rem .6rem;border-bottom:1px solid #d9e0e7}
th{background:#f3f6f9}td.share{white-space:nowrap;font-variant-numeric:tabular-nums}
tr.worth td:first-child{border-left:4px solid #16794a}
svg{display:block;width:100%;max-width:760px;margin:1.2rem 0;font:12px system-ui,sans-serif}
svg text{fill:#1d2733}.title{font-weight:600;font-size:14px}.bar{fill:#2f6db5}.grid{stroke:#d9e0e7}
.line{fill:none;stroke-width:2}.s0{stroke:#2f6db5}.s1{stroke:#16794a}.s2{stroke:#b5542f}
pre{overflow-x:auto;background:#f3f6f9;padding:1rem;font:12px/1.35 ui-monospace,monospace}
@media(prefers-color-scheme:dark){body{background:#12181f;color:#dbe3ea}svg text{fill:#dbe3ea}
th,pre{background:#1c242d}th,td{border-color:#2d3843}.grid{stroke:#2d3843}}
"""


def page(report: AuditReport) -> str:
    """A whole HTML document. All text of the log is escaped."""
    rows = "".join(
        f'<tr class="{"worth" if row.is_worth_it else ""}"><td>{escape(row.layer.value)}</td>'
        f'<td class="share">{"" if row.share is None else f"{row.share:.1%} of {escape(row.unit)}"}'
        f"</td><td>{escape(row.saves)}</td><td>{escape(row.risk)}</td>"
        f"<td>{escape(row.next_step)}</td></tr>"
        for row in report.layers
    )
    plots = "".join(_plots(report.findings))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Surehit audit of {escape(report.source)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>Audit of {escape(report.source)}</h1>"
        f"<p>{report.rows:,} requests, {report.bad_lines:,} unreadable lines.</p>"
        "<h2>Which layer?</h2><table><thead><tr><th>layer</th><th>share</th><th>saves</th>"
        f"<th>risk</th><th>next step</th></tr></thead><tbody>{rows}</tbody></table>"
        "<p>Shares are of different things and never add up to one hit rate.</p>"
        f"{plots}<h2>All figures</h2><pre>{escape(_plain(report))}</pre></body></html>"
    )


def _plots(found: Findings) -> Iterator[str]:
    if found.exact is not None and found.exact.overall.rows:
        forms = found.exact.overall.forms
        yield svg.bars(
            "Requests that repeat an earlier one, by what counts as the same",
            [(f.form, f.share, f"{f.repeats:,} ({f.share:.1%})") for f in forms],
            unit_max=1.0,
        )
        canonical = forms[1]
        if canonical.by_ttl_s is not None:
            rows = found.exact.overall.rows
            hits = [(f"{t / 3600:g} h", n / rows, f"{n:,}") for t, n in canonical.by_ttl_s]
            yield svg.bars("Exact hits within a time to live", hits, unit_max=1.0)
    if found.semantic is not None and found.semantic.lookups:
        at = found.semantic.thresholds
        whole = found.semantic.lookups
        yield svg.curves(
            "Different queries with a candidate (not: with a right answer)",
            [t.threshold for t in at],
            [
                ("with a candidate", [t.share for t in at]),
                ("let through by guards", [t.left / whole for t in at]),
            ],
            x_label="threshold",
        )
    if found.prefix is not None and found.prefix.requests:
        yield svg.bars(
            "Prompt tokens reused, by pool size",
            [
                (
                    f"{p.capacity_blocks:,} blocks{'' if p.salt_per_tenant else ', shared'}",
                    p.reused_share,
                    f"{p.reused_share:.1%}",
                )
                for p in found.prefix.pools
            ],
            unit_max=1.0,
        )
    if found.why is not None and found.why.causes:
        yield svg.bars(
            "Prompt tokens lost, by cause",
            [(c.cause.value, c.lost_tokens, f"{c.lost_tokens:,}") for c in found.why.causes],
        )
    costs = found.prompt_cache
    if costs is not None and costs.requests:
        figures = [
            ("without a cache", costs.cost_without_cache),
            ("as is", costs.cost_as_is),
            ("best, 5 minutes", costs.cost_perfect_5m),
        ]
        if costs.cost_perfect_1h is not None:
            figures.append(("best, 1 hour", costs.cost_perfect_1h))
        yield svg.bars(
            f"Input cost in {costs.currency}, list prices of {costs.as_of}",
            [(name, cost, f"{cost:,.2f}") for name, cost in figures],
        )


def _plain(report: AuditReport) -> str:
    out = StringIO()
    Console(file=out, width=140, color_system=None, force_terminal=False).print(render(report))
    return out.getvalue()
