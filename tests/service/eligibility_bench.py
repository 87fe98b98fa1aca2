"""Recall and false refusals of the eligibility rules on the labelled data: `python -m tests.service.eligibility_bench`.

`--misses CLASS` prints what was wrongly judged in the tuning half. The others are never printed.
"""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from service.eligibility import classify
from tests.harness import SHARED
from tests.service.eligibility_labels import HELD, Labelled, labelled

HALVES = ("tune", "held", "unseen")


def measure(
    data: Path, halves: Sequence[str] = HALVES
) -> dict[tuple[str, str, str, str], Counter[str]]:
    """Counts of reasons ("" = eligible) by half, label, language and source, each with "all" as source too."""
    counts: dict[tuple[str, str, str, str], Counter[str]] = {}
    for row in labelled(data):
        if row.half not in halves:
            continue
        found = classify(row.text)
        reason = found.reason if found else ""
        for source in ("all", row.source.split("/")[0]):
            key = (row.half, row.label, row.language, source)
            counts.setdefault(key, Counter())[reason] += 1
    return counts


def held_back(counts: Counter[str]) -> float:
    """Share of the texts that may not be answered by meaning."""
    return 1 - counts[""] / counts.total()


def main() -> None:
    data = SHARED / "data"
    if "--misses" in sys.argv:
        label = sys.argv[sys.argv.index("--misses") + 1]
        _print_misses([row for row in labelled(data) if row.label == label], *sys.argv[3:])
        return
    for key, counts in sorted(measure(data).items()):
        half, label, language, source = key
        _say(
            f"{half:6} {label:12} {language:3} {source:18} {counts.total():6} {held_back(counts):7.1%}",
            dict(counts.most_common()),
        )
    texts = [row.text for row in labelled(data)][::7]
    start = time.process_time()
    for text in texts:
        classify(text)
    _say(f"{(time.process_time() - start) / len(texts) * 1e6:.0f} µs per text")


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def _print_misses(chosen: list[Labelled], source: str = "", language: str = "") -> None:
    by_intent: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in chosen:
        if row.half != "tune" or not row.source.startswith(source) or language not in row.language:
            continue
        found = classify(row.text)
        total[row.source] += 1
        if (found is None) == (row.label in HELD):
            by_intent[row.source] += 1
            _say(f"{row.source} | {row.text[:160]} | {found or ''}")
    for intent, n in by_intent.most_common():
        _say(f"# {intent}: {n} of {total[intent]}")


if __name__ == "__main__":
    main()
