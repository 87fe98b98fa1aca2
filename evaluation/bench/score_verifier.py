"""A verifier behind a score, on replayed traffic: trained on the pilot's labels, asked about winners in its band."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.bench.score_traffic import Log, Traffic
from evaluation.evidence import BoolArray, FloatArray
from evaluation.score.verifier_training import LANGUAGE, Reviewed, parts_of, probabilities, train
from evaluation.score.verifier_trial import rule_for
from index.embedding.cross_encoder import CrossEncoder
from service.score import VerifierRule

Tell = Callable[[str], None]


def can_train(traffic: Traffic) -> bool:
    """True where the bundled weights read the language and torch is installed."""
    return traffic.language == LANGUAGE and importlib.util.find_spec("torch") is not None


@dataclass
class Verifying:
    """A trained verifier, and what it has said of a log's lookups so far: float64, shape (n,), NaN where unasked."""

    model: CrossEncoder
    texts: list[tuple[str, str]]
    """(stored, asked) of each lookup's winner; empty where there is none."""
    pilot: Any
    """Lookups that it was calibrated on."""
    said: FloatArray
    spent_s: float = 0.0
    _known: set[int] = field(default_factory=set)

    @property
    def ms_per_pair(self) -> float:
        """Mean over all pairs that it has read."""
        return 1000 * self.spent_s / max(len(self._known), 1)

    def rule(
        self, base: FloatArray, bad: BoolArray, weight: FloatArray, target: float
    ) -> VerifierRule:
        """The band for a target; base, bad and weight of the pilot lookups that it was calibrated on."""
        return rule_for(
            self.model,
            [self.texts[n] for n in self.pilot],
            base,
            bad,
            weight,
            name="bench",
            digest="0" * 12,
            target=target,
        )

    def said_of(self, rule: VerifierRule, rows: Any, base: FloatArray) -> FloatArray:
        """Scores of some lookups, `base` in their order."""
        found = base.copy()
        for i, n in enumerate(rows.tolist()):
            if rule.asks_about(float(base[i])):
                found[i] = rule.effective(float(base[i]), self._ask(n))
        return found

    def effective(self, rule: VerifierRule, base: FloatArray) -> FloatArray:
        """Scores of all lookups as the verifier leaves them, `base` float64, shape (n,), -inf without a winner."""
        return self.said_of(rule, np.arange(base.size), base)

    def _ask(self, n: int) -> float:
        if n not in self._known:
            began = time.perf_counter()
            self.said[n] = probabilities(self.model, [self.texts[n]])[0]
            self.spent_s += time.perf_counter() - began
            self._known.add(n)
        return float(self.said[n])


def trained(
    traffic: Traffic,
    log: Log,
    column: Any,
    rows: Any,
    bad: BoolArray,
    weight: FloatArray,
    tell: Tell,
) -> Verifying | None:
    """A verifier from the labels of lookups `rows`; `column` tells each lookup's winner. None: too few of a verdict."""
    texts = []
    for n, j in enumerate(column.tolist()):
        stored = int(log.entry[n, j])
        asked = traffic.requests[int(log.at[n])].text
        texts.append((traffic.requests[stored].text if stored >= 0 else "", asked))
    mine = [texts[n] for n in rows.tolist()]
    part = (parts_of(mine) == 2).astype(np.int64)
    tell(
        f"{traffic.line} seed {traffic.seed}: training a verifier on {int((part == 0).sum())} labels"
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            model = train(Reviewed(mine, ~bad, weight, part), Path(folder), tell=tell)
    except ValueError:
        return None
    pilot = rows[part == 1].tolist()
    return Verifying(model, texts, pilot, np.full(len(log), np.nan))
