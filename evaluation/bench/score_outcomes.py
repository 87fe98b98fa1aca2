"""What `surehit bench score` found, by rule and line: as JSON, and as a table of all seeds together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.bounds import clopper_pearson_lower, clopper_pearson_upper


@dataclass(frozen=True)
class Outcome:
    """One rule on one traffic. `window_*` is the truth about what was certified, the rest about the judged quarter."""

    line: str
    seed: int
    rule: str
    target: float | None
    """None for rules that promise nothing on hits."""
    threshold: float | None
    lookups: int
    hits: int
    false_hits: int
    labels: int
    window_hits: int = 0
    window_false_hits: int = 0
    best_hits: int | None = None
    """Most hits of the judged quarter that any threshold has within the target: the curve, no certificate."""
    adopted: bool | None = None
    gain_low: float | None = None
    """Lower end of the gain's interval when the score was on trial."""

    @property
    def is_broken(self) -> bool:
        """True when what was certified about its own window is not so."""
        return (
            self.target is not None
            and self.window_hits > 0
            and self.window_false_hits > self.target * self.window_hits
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON: rates with 95 % intervals."""
        low, high = _interval(self.false_hits, self.hits)
        return asdict(self) | {
            "hit_rate": self.hits / self.lookups if self.lookups else 0.0,
            "false_of_hits": self.false_hits / self.hits if self.hits else None,
            "false_of_hits_low": low,
            "false_of_hits_high": high,
            "false_of_all": self.false_hits / self.lookups if self.lookups else 0.0,
            "is_broken": self.is_broken,
        }


@dataclass(frozen=True)
class Bench:
    """All outcomes, and milliseconds per lookup of what each rule adds."""

    outcomes: list[Outcome]
    times_ms: dict[str, dict[str, float]]
    best: dict[str, float]
    """Share of the judged lookups that a perfect cache would hit, by line."""
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "outcomes": [o.as_dict() for o in self.outcomes],
            "ms_per_lookup": self.times_ms,
            "best_hit_rate": self.best,
            "seconds": self.seconds,
        }


def _interval(bad: int, n: int) -> tuple[float, float]:
    """95 % by Clopper and Pearson; 0 … 1 of nothing."""
    if not n:
        return 0.0, 1.0
    low = clopper_pearson_lower(bad, n, confidence=0.975)
    return float(low), float(clopper_pearson_upper(bad, n, confidence=0.975))


HEAD = (
    f"{'line':10} {'target':>6}  {'rule':40} {'hit rate':>8}   {'false/hits (95 %)':24} {'false/all':>9}  at best  "
    "labels  certified  broken  adopted"
)


def row(own: Sequence[Outcome]) -> str:
    """Runs of one line, target and rule, added up; labels are a mean."""
    first = own[0]
    hits, false_hits = sum(o.hits for o in own), sum(o.false_hits for o in own)
    lookups = max(sum(o.lookups for o in own), 1)
    share = "–"
    if hits:
        low, high = _interval(false_hits, hits)
        share = f"{false_hits / hits:6.2%} ({low:.2%}–{high:.2%})"
    target = certified = broken = was_adopted = best = "–"
    if all(o.best_hits is not None for o in own):
        best = f"{sum(o.best_hits or 0 for o in own) / lookups:.1%}"
    if first.target is not None:
        target = f"{first.target:.0%}"
        certified = f"{sum(o.threshold is not None for o in own)}/{len(own)}"
        broken = str(sum(o.is_broken for o in own))
    adopted = [o.adopted for o in own if o.adopted is not None]
    if adopted:
        was_adopted = f"{sum(adopted)}/{len(adopted)}"
    return (
        f"{first.line:10} {target:>6}  {first.rule:40} {hits / lookups:8.1%}   {share:24} "
        f"{false_hits / lookups:9.2%}  {best:>7}  {sum(o.labels for o in own) // len(own):6}  "
        f"{certified:>9}  {broken:>6}  {was_adopted:>7}"
    )


def render(bench: Bench) -> str:
    """One row per line, target and rule, seeds added up."""
    rows = [HEAD]
    keys = dict.fromkeys((o.line, o.target, o.rule) for o in bench.outcomes)
    for key in keys:
        rows.append(row([o for o in bench.outcomes if (o.line, o.target, o.rule) == key]))
    rows.append("")
    for line, best in bench.best.items():
        ms = [v for k, v in bench.times_ms.items() if k.rsplit(" ", 1)[0] == line]
        names = dict.fromkeys(
            name for m in ms for name in m
        )  # a verifier is not trained on each seed
        mean = {name: float(np.mean([m[name] for m in ms if name in m])) for name in names}
        rows.append(
            f"{line}: a perfect cache would hit {best:.1%}; ms per lookup: "
            + ", ".join(f"{name} {value:.2f}" for name, value in mean.items())
        )
    return "\n".join(rows)
