"""The guard scorecard: how many wrong reuses the guards stop, and how many right ones they lose.

Reads pair files of two forms, one JSON object a line, also gzipped: `{a, b, reusable, kind}` and
`{id, a, b, label, lang, kind}`. Pairs of whole conversations, and labels other than 0 and 1, are
counted as skipped.
"""

import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from service.guards import GUARD_VERSION, GUARDS, analyse, compare, judge_all


@dataclass(frozen=True, slots=True)
class Pair:
    """Two queries and whether the answer to `a` may be served for `b`."""

    a: str
    b: str
    reusable: bool
    kind: str
    language: str


@dataclass(slots=True)
class Share:
    """Counts of one group: pairs that must be refused, pairs that should be kept."""

    wrong: int = 0
    wrong_refused: int = 0
    right: int = 0
    right_kept: int = 0

    @property
    def refused_share(self) -> float | None:
        """Share of non-reusable pairs that were refused; None where there are none."""
        return self.wrong_refused / self.wrong if self.wrong else None

    @property
    def kept_share(self) -> float | None:
        """Share of reusable pairs that were kept; None where there are none."""
        return self.right_kept / self.right if self.right else None

    def add(self, pair: Pair, *, refused: bool) -> None:
        """Count one pair."""
        if pair.reusable:
            self.right += 1
            self.right_kept += not refused
        else:
            self.wrong += 1
            self.wrong_refused += refused


@dataclass(slots=True)
class GuardCount:
    """One guard by itself. `only` counts the pairs that no other guard refused."""

    false_hits_stopped: int = 0
    good_hits_lost: int = 0
    only_false_hits_stopped: int = 0
    only_good_hits_lost: int = 0


LENGTH_CLASSES = (100, 400, 2000)
"""Upper ends, in characters of the longer text, of the classes in which cost is told; the last is open."""


@dataclass(slots=True)
class Cost:
    """Processor time of the pairs of one length class, in microseconds.

    A text is read once and kept, so `reading` has one value per new text and `comparing` one per pair.
    """

    reading: list[float] = field(default_factory=list)
    comparing: list[float] = field(default_factory=list)

    def plain(self) -> dict[str, float | int]:
        """Medians and 99th percentiles, and how many pairs they rest on."""
        figures: dict[str, float | int] = {"pairs": len(self.comparing)}
        for name, values in (("reading", self.reading), ("comparing", self.comparing)):
            if values:
                p50, p99 = np.percentile(values, [50, 99])
                figures |= {f"{name}_p50_us": float(p50), f"{name}_p99_us": float(p99)}
        return figures


@dataclass(slots=True)
class FileScore:
    """Scores of one file: in all, by kind, by language, by guard; cost by length of text."""

    name: str
    total: Share = field(default_factory=Share)
    kinds: dict[str, Share] = field(default_factory=dict)
    languages: dict[str, Share] = field(default_factory=dict)
    guards: dict[str, GuardCount] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Scorecard:
    """Scores of all files given, under one version of the guards."""

    guard_version: str
    files: tuple[FileScore, ...]


def scorecard(paths: Sequence[Path]) -> Scorecard:
    """Judge every pair of the files. Raises ValueError that names file and line of a broken row."""
    return Scorecard(GUARD_VERSION, tuple(_score(path) for path in paths))


def run(files: list[Path], *, as_json: bool) -> str:
    """What `surehit bench guards` prints."""
    card = scorecard(files)
    return (
        json.dumps(to_plain(card), ensure_ascii=False, indent=2) if as_json else render_text(card)
    )


def to_plain(card: Scorecard) -> dict[str, Any]:
    """The scorecard as JSON data, shares included."""
    return {
        "guard_version": card.guard_version,
        "files": [
            {
                "name": score.name,
                "total": _share_plain(score.total),
                "kinds": {name: _share_plain(share) for name, share in score.kinds.items()},
                "languages": {name: _share_plain(share) for name, share in score.languages.items()},
                "guards": {name: asdict(count) for name, count in score.guards.items()},
                "costs": {name: cost.plain() for name, cost in score.costs.items()},
                "skipped": dict(score.skipped),
            }
            for score in card.files
        ],
    }


def render_text(card: Scorecard) -> str:
    """The scorecard as a table to read."""
    lines = [f"guards, version {card.guard_version}"]
    for score in card.files:
        lines += ["", score.name, _row("", "refused of non-reusable", "kept of reusable")]
        lines.append(_share_row("all", score.total))
        for title, groups in (("language", score.languages), ("kind", score.kinds)):
            lines += [_share_row(f"{title} {name}", share) for name, share in groups.items()]
        lines.append(
            _row("guard by itself", "false hits stopped (alone)", "good hits lost (alone)")
        )
        for name, count in score.guards.items():
            stopped = f"{count.false_hits_stopped} ({count.only_false_hits_stopped})"
            lost = f"{count.good_hits_lost} ({count.only_good_hits_lost})"
            lines.append(_row(name, stopped, lost))
        if score.costs:
            lines.append(_row("cost by characters", "read a text, p50 / p99", "compare, p50 / p99"))
        for name, cost in score.costs.items():
            told = cost.plain()
            lines.append(
                _row(
                    f"{name} ({told['pairs']} pairs)",
                    _microseconds(told, "reading"),
                    _microseconds(told, "comparing"),
                )
            )
        lines += [f"  skipped: {count} {why}" for why, count in sorted(score.skipped.items())]
    return "\n".join(lines)


def read_pairs(path: Path, skipped: Counter[str]) -> Iterator[Pair]:
    """Pairs of one file; what is left out is counted in `skipped` by reason."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as rows:
        for number, row in enumerate(rows, 1):
            if not row.strip():
                continue
            try:
                data = json.loads(row)
                a, b = data["a"], data["b"]
                label = data["reusable"] if "reusable" in data else data["label"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path.name}, line {number}: not a pair with a label") from error
            if not isinstance(a, str) or not isinstance(b, str):
                skipped["context pairs (whole conversations)"] += 1
            elif label not in (0, 1):
                skipped["pairs without a plain label"] += 1
            else:
                language = str(data.get("lang") or ("zh" if _is_chinese(a + b) else "en"))
                yield Pair(a, b, bool(label), str(data.get("kind", "")), language)


def _score(path: Path) -> FileScore:
    score = FileScore(
        path.name if path.parent.name in ("", ".") else f"{path.parent.name}/{path.name}"
    )
    for pair in read_pairs(path, score.skipped):
        _clock(pair, score.costs.setdefault(_length_class(pair), Cost()))
        refusals = {refusal.guard for refusal in judge_all(pair.a, pair.b)}
        for share in (
            score.total,
            score.kinds.setdefault(pair.kind, Share()),
            score.languages.setdefault(pair.language, Share()),
        ):
            share.add(pair, refused=bool(refusals))
        for name in refusals:
            count = score.guards.setdefault(name, GuardCount())
            alone = len(refusals) == 1
            count.false_hits_stopped += not pair.reusable
            count.good_hits_lost += pair.reusable
            count.only_false_hits_stopped += alone and not pair.reusable
            count.only_good_hits_lost += alone and pair.reusable
    known = [*GUARDS, "error"]
    score.guards = {name: score.guards[name] for name in known if name in score.guards}
    score.costs = {name: score.costs[name] for name in _class_names() if name in score.costs}
    score.kinds = dict(sorted(score.kinds.items()))
    score.languages = dict(sorted(score.languages.items()))
    return score


def _clock(pair: Pair, cost: Cost) -> None:
    """Read and compare a pair once; a text that was read before adds nothing to `reading`."""
    readings = []
    for text in (pair.a, pair.b):
        known, start = analyse.cache_info().misses, time.thread_time()
        readings.append(analyse(text))
        if analyse.cache_info().misses > known:
            cost.reading.append((time.thread_time() - start) * 1e6)
    start = time.thread_time()
    compare(*readings)
    cost.comparing.append((time.thread_time() - start) * 1e6)


def _length_class(pair: Pair) -> str:
    longest = max(len(pair.a), len(pair.b))
    return _class_names()[sum(longest > end for end in LENGTH_CLASSES)]


def _class_names() -> list[str]:
    return [*(f"up to {end}" for end in LENGTH_CLASSES), f"over {LENGTH_CLASSES[-1]}"]


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def _share_plain(share: Share) -> dict[str, Any]:
    return {**asdict(share), "refused_share": share.refused_share, "kept_share": share.kept_share}


def _share_row(name: str, share: Share) -> str:
    return _row(
        name,
        _fraction(share.wrong_refused, share.wrong),
        _fraction(share.right_kept, share.right),
    )


def _fraction(part: int, whole: int) -> str:
    return f"{part}/{whole} {100 * part / whole:.1f} %" if whole else "-"


def _microseconds(told: dict[str, float | int], name: str) -> str:
    if f"{name}_p50_us" not in told:
        return "-"
    return f"{told[f'{name}_p50_us']:.0f} / {told[f'{name}_p99_us']:.0f} µs"


def _row(name: str, left: str, right: str) -> str:
    return f"  {name:<40} {left:>28} {right:>26}"
