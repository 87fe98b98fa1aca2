"""A verifier for a line on trial: trained on past labels, given a band, compared on labels that it never saw.

Nothing is put in force here: the operator sets the line, whose scores then have another version, and labels drawn after
that certify a threshold of them.
"""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evaluation.desk import Desk
from evaluation.evidence import BoolArray, FloatArray, IntArray
from evaluation.score import reading
from evaluation.score.comparison import Comparison, compare
from evaluation.score.pairs import Pair
from evaluation.score.verifier_training import (
    LANGUAGE,
    SHARES,
    Reviewed,
    acceptance,
    parts_of,
    probabilities,
    train,
)
from index.embedding.cross_encoder import CrossEncoder, digest_of
from service.errors import InvalidRequest
from service.policy import Policy
from service.score import COSINE, VerifierRule

LABELS = (240, 80, 80)
OF_EACH_VERDICT = (40, 10, 10)
"""Labels, and labels of the rarer verdict, that each part of `SHARES` must have."""
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Trained:
    """What a training came to. `missing` is None when a verifier was written."""

    line: str
    labels: tuple[int, ...]
    missing: int | None
    folder: str | None = None
    rule: VerifierRule | None = None
    comparison: Comparison | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "line": self.line,
            "labels": self.labels,
            "labels_missing": self.missing,
            "folder": self.folder,
            "verifier": None if self.rule is None else msgspec.to_builtins(self.rule),
            "comparison": None if self.comparison is None else asdict(self.comparison),
            "text": self.sentence(),
        }

    def sentence(self) -> str:
        """For a person."""
        if self.missing is not None or self.rule is None or self.comparison is None:
            return f"{self.line}: about {self.missing} more labels needed to train a verifier"
        c, rule = self.comparison, self.rule
        said = "is better" if c.is_better else "is not shown to be better"
        setting = msgspec.json.encode({"verifier": rule}).decode()
        return (
            f"{self.line}: trained on {self.labels[0]} labels, calibrated on {self.labels[1]}; on {self.labels[2]} "
            f"that it has not seen it {said}: {c.new_hit_rate:.1%} of candidates against {c.old_hit_rate:.1%} at "
            f"{c.cap:.1%} false hits; difference {c.lower:+.1%} to {c.upper:+.1%}\n"
            f"wrote {self.folder}; to collect labels on its scale, set the line (in shadow): {setting}"
        )


async def train_for(
    desk: Desk,
    policy: Policy,
    *,
    folder: Path,
    target: float | None = None,
    tell: Tell = lambda text: None,
) -> Trained:
    """Train a verifier from all labels of a line and write it to `folder`, which must be new.

    Raises InvalidRequest where it exists or the line's language is not that of the bundled weights, ImportError without
    torch, Unavailable.
    """
    if policy.config.language != LANGUAGE:
        raise InvalidRequest.field(
            "language", f"must be {LANGUAGE}: the bundled weights read no other language"
        )
    if await asyncio.to_thread(folder.exists):
        raise InvalidRequest.field("name", f"is taken: {folder} exists, and a line may use it")
    tell("reading labels")
    pairs = await reading.pairs(desk, policy)
    base = await _base(desk, policy, pairs)
    target = policy.config.target_false_hit_rate if target is None else target
    return await asyncio.to_thread(_train, policy, pairs, base, folder, target, tell)


def _train(
    policy: Policy,
    pairs: Sequence[Pair],
    base: FloatArray,
    folder: Path,
    target: float,
    tell: Tell,
) -> Trained:
    texts = [(p.entry_query, p.query) for p in pairs]
    bad = np.asarray([p.is_bad or p.is_unsure for p in pairs], dtype=np.bool_)
    part = parts_of(texts)
    counts = tuple(int((part == n).sum()) for n in range(len(SHARES)))
    missing = labels_missing(bad, part)
    if missing:
        return Trained(policy.line, counts, missing)
    weight = 1.0 / np.asarray([p.inclusion_probability for p in pairs], dtype=np.float64)
    partial = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        model = train(Reviewed(texts, ~bad, weight / weight.mean(), part), partial, tell=tell)
        tell("judging")
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    is_set = policy.is_certified or policy.config.mode == "serve"
    rows = np.flatnonzero(part == 1)
    rule = rule_for(
        model,
        [texts[i] for i in rows.tolist()],
        base[rows],
        bad[rows],
        weight[rows],
        name=folder.name,
        digest=digest_of(folder),
        target=target,
        high=policy.config.threshold if is_set else None,
    )
    rows = np.flatnonzero(part == 2)
    new = effective(rule, model, [texts[i] for i in rows.tolist()], base[rows])
    stored = [texts[i][0] for i in rows.tolist()]
    found = compare(
        base[rows],
        new,
        bad[rows],
        weight[rows],
        np.unique(stored, return_inverse=True)[1],
        lookups=float(weight[rows].sum()),
        cap=target,
        confidence=policy.config.confidence,
    )
    return Trained(policy.line, counts, None, str(folder), rule, found)


def rule_for(
    model: CrossEncoder,
    texts: Sequence[tuple[str, str]],
    base: FloatArray,
    bad: BoolArray,
    weight: FloatArray,
    *,
    name: str,
    digest: str,
    target: float,
    high: float | None = None,
) -> VerifierRule:
    """Band and acceptance from labels that the model was not fitted on.

    The band ends at `high`, by default the loosest threshold of these labels that keeps the target without a verifier
    (1 where none does: all are verified), and begins at their lowest score.
    """
    low = float(base.min())
    high = loosest(base, bad, weight, target) if high is None else high
    # few digits, since a person types them: a narrower band, a stricter end
    high = min(math.ceil(high * 1000) / 1000, 1.0)
    low = min(math.floor(low * 1000) / 1000, high - 0.001)
    inside = (base >= low) & (base < high)
    said = probabilities(model, [t for t, is_in in zip(texts, inside, strict=True) if is_in])
    accept = math.ceil(acceptance(said, weight[inside], target) * 1000) / 1000
    return VerifierRule(name=name, digest=digest, low=low, high=high, accept=min(accept, 1.0))


def loosest(base: FloatArray, bad: BoolArray, weight: FloatArray, target: float) -> float:
    """Smallest score down to which at most `target` of the weight is bad; 1 where none is."""
    order = np.argsort(-base, kind="stable")
    ordered, w = base[order], weight[order]
    ends = np.append(ordered[1:] != ordered[:-1], True)
    fits = ends & (np.cumsum(w * bad[order]) <= target * np.cumsum(w))
    return float(ordered[fits].min()) if fits.any() else 1.0


def effective(
    rule: VerifierRule,
    model: CrossEncoder,
    texts: Sequence[tuple[str, str]],
    base: FloatArray,
) -> FloatArray:
    """Scores as the verifier leaves them; it is asked about the band alone."""
    asked = [i for i, score in enumerate(base.tolist()) if rule.asks_about(score)]
    said = probabilities(model, [texts[i] for i in asked])
    found = base.copy()
    for i, probability in zip(asked, said.tolist(), strict=True):
        found[i] = rule.effective(float(base[i]), probability)
    return found


def labels_missing(bad: BoolArray, part: IntArray) -> int:
    """About how many more labels a training needs, as these are; 0 when it can begin."""
    wanted = float(bad.size)
    for n, share in enumerate(SHARES):
        own = bad[part == n]
        rarer = min(int(own.sum()), int((~own).sum()))
        wanted = max(wanted, bad.size + (LABELS[n] - own.size) / share)
        wanted = max(wanted, bad.size * OF_EACH_VERDICT[n] / max(rarer, 1))
    return max(math.ceil(wanted - bad.size), 0)


async def _base(desk: Desk, policy: Policy, pairs: Sequence[Pair]) -> FloatArray:
    """What the line's own score says of each pair, before any verifier."""
    scorer = policy.scorer
    if policy.config.score == COSINE or scorer is None:
        return np.asarray([p.cosine for p in pairs], dtype=np.float64)
    lifts = await reading.lifts(desk, policy, scorer, (p.query for p in pairs))
    return np.asarray(
        [reading.probability(scorer, p.entry_query, p.query, p.context, lifts) for p in pairs],
        dtype=np.float64,
    )
