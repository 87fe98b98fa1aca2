"""`surehit bench score --pairs`: a learned score on labelled pairs, learned on one part and judged on the other.

Texts that may share an answer form one group, and a group is on one side; pairs of two groups that come to lie on two
sides are left out. So no text of the judged part was learned from; its vectors, without labels, are in the space of
places. "learned" is the kind that foretells unseen entries of the learned part better, as `surehit tune` takes it.
"verifier" is a cross-encoder trained on four fifths of the learned part (at most 3,000 pairs) and calibrated on the
rest: as a score of its own, and behind the learned one in a band that the learned part chose (English, with torch).
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.bench.score_traffic import embed
from evaluation.evidence import BoolArray, FloatArray
from evaluation.score.grouping import Groups
from evaluation.score.pairs import Rows
from evaluation.score.region_training import fit_region, space_of
from evaluation.score.training import fit
from evaluation.score.verifier_training import LANGUAGE, Reviewed, parts_of, probabilities, train
from evaluation.score.verifier_trial import rule_for
from index.embedding import catalog
from service.guards import judge
from service.score import Context, features
from service.score.weights import weights_of

SETS = {
    "banking77": ("en", "banking77/intents.jsonl.gz"),
    "fow_cache": ("en", "fow_cache/pairs.jsonl"),
    "crosswoz_zh": ("zh", "crosswoz_zh/pairs.jsonl.gz"),
    "pawsx_zh": ("zh", "pawsx_zh/pairs.jsonl.gz"),
    "code_humaneval": ("en", "code_humaneval/pairs.jsonl.gz"),
}
CAPS = (0.01, 0.03)
MOST_TRAINED = 3_000
"""Pairs of the learned part that a verifier is trained on; more take more than some minutes."""
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Recall:
    """Share of the reusable judged pairs that the loosest threshold admits at a cap on its share of false ones.

    The threshold is chosen on the judged labels themselves: what a curve can give, not what could be certified.
    """

    name: str
    learned_from: int
    judged_on: int
    reusable: int
    rule: str
    at: dict[str, float]
    ms: float = 0.0
    """Per judged pair, beyond the cosine."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def run(
    names: Sequence[str],
    *,
    data: Path,
    models_dir: Path,
    folder: Path,
    tell: Tell = lambda text: None,
) -> list[Recall]:
    """Every set of `SETS` named. Raises FileNotFoundError without the data."""
    found: list[Recall] = []
    for name in names:
        language, file = SETS[name]
        rows = _read(data / file)
        embedder = catalog.load(catalog.default_for(language), models_dir)  # type: ignore[arg-type]
        if "intent" in rows[0]:
            texts = [r["text"] for r in rows]
            vectors = embed(texts, embedder, folder, tell=tell)
            pairs = _intent_pairs(rows, vectors)
        else:
            pairs = [(r["a"], r["b"], bool(r["label"])) for r in rows]
        readable = {t: embedder.readability(t).reason is None for p in pairs for t in p[:2]}
        pairs = [p for p in pairs if readable[p[0]] and readable[p[1]]]
        tell(f"{name}: {len(pairs)} pairs")
        texts = list(dict.fromkeys(t for p in pairs for t in p[:2]))
        vector = dict(zip(texts, embed(texts, embedder, folder, tell=tell), strict=True))
        found += _judge(name, pairs, vector, language=language, tell=tell)
    return found


def _judge(
    name: str,
    pairs: Sequence[tuple[str, str, bool]],
    vector: Mapping[str, Any],
    *,
    language: str = "",
    tell: Tell = lambda text: None,
) -> list[Recall]:
    sides = sides_of(pairs)
    kept = [n for n, (a, b, _) in enumerate(pairs) if sides[a] == sides[b]]
    pairs = [pairs[n] for n in kept]
    cosines = [float(vector[a] @ vector[b]) for a, b, _ in pairs]
    learn = np.asarray([sides[a] for a, _, _ in pairs])
    weigh = weights_of(t for p, mine in zip(pairs, learn, strict=True) if mine for t in p[:2])
    clock = _Clock(len(pairs))
    x = np.asarray(
        [features(a, b, Context(c), weigh) for (a, b, _), c in zip(pairs, cosines, strict=True)]
    )
    clock.stop("words")
    good = np.asarray([label for _, _, label in pairs], dtype=np.bool_)
    clock.start()
    refused = np.asarray([judge(a, b) is not None for a, b, _ in pairs], dtype=np.bool_)
    clock.stop("guards")
    entry = np.unique([a for a, _, _ in pairs], return_inverse=True)[1]
    rows = Rows(x[learn], ~good[learn], np.ones(int(learn.sum())), entry[learn])
    of_words = fit(rows, weigh, fingerprint="")
    queries = np.asarray([vector[b] for _, b, _ in pairs])
    space = space_of([vector[t] for t in dict.fromkeys(t for p in pairs for t in p[:2])])
    of_places = fit_region(rows, queries[learn], space, fingerprint="")
    clock.start()
    words = np.asarray([of_words.scorer.of_row(row) for row in x.tolist()])
    clock.stop("words")
    clock.start()
    place = np.asarray(
        [
            of_places.scorer.of_row([c], of_places.scorer.lift(v))
            for c, v in zip(cosines, queries, strict=True)
        ]
    )
    clock.stop("place")
    is_place = of_places.loss < of_words.loss
    fitted = of_places if is_place else of_words
    learned = place if is_place else words
    own = "place" if is_place else "words"
    cosine = np.asarray(cosines)

    def guarded(score: FloatArray) -> FloatArray:
        return np.where(refused, -np.inf, score)

    rules = {
        "cosine": (cosine, ""),
        "cosine + guards": (guarded(cosine), "guards"),
        "words + guards": (guarded(words), "guards words"),
        "place + guards": (guarded(place), "guards place"),
        "learned": (learned, own),
        "learned + guards": (guarded(learned), f"guards {own}"),
    }
    found = {
        rule: (
            {_percent(cap): recall_at(score[~learn], good[~learn], cap) for cap in CAPS},
            clock.total(parts),
        )
        for rule, (score, parts) in rules.items()
    }
    if language == LANGUAGE and importlib.util.find_spec("torch") is not None:
        unseen = 1.0 / (1.0 + np.exp(-fitted.unseen))
        found |= _with_verifier(pairs, good, refused, learn, learned, unseen, clock, own, tell)
    return [
        Recall(
            name,
            int(learn.sum()),
            int((~learn).sum()),
            int(good[~learn].sum()),
            rule,
            at,
            ms,
        )
        for rule, (at, ms) in found.items()
    ]


def _with_verifier(
    pairs: Sequence[tuple[str, str, bool]],
    good: BoolArray,
    refused: BoolArray,
    learn: BoolArray,
    learned: FloatArray,
    unseen: FloatArray,
    clock: _Clock,
    own: str,
    tell: Tell,
) -> dict[str, tuple[dict[str, float], float]]:
    """Recalls, and milliseconds, of a verifier alone and in a band of the learned score; both with guards."""
    texts = [(a, b) for a, b, _ in pairs]
    mine = [texts[i] for i in np.flatnonzero(learn).tolist()]
    theirs = [texts[i] for i in np.flatnonzero(~learn).tolist()]
    part = (parts_of(mine) == 2).astype(np.int64)
    learners = np.random.default_rng(0).permutation(np.flatnonzero(part == 0))
    part[learners[MOST_TRAINED:]] = 2  # of no part
    tell(f"training a verifier on {int((part == 0).sum())} pairs")
    one = np.ones(len(mine))
    with tempfile.TemporaryDirectory() as folder:
        model = train(Reviewed(mine, good[learn], one, part), Path(folder), tell=tell)
    own_clock = _Clock(len(theirs))
    said = probabilities(model, theirs)
    own_clock.stop("verifier")
    out = refused[~learn]
    alone = np.where(out | ~np.isfinite(said), -np.inf, said)
    kept = (part == 1) & ~refused[learn]
    at: dict[str, float] = {}
    asked = 0.0
    for cap in CAPS:
        rule = rule_for(
            model,
            [t for t, is_kept in zip(mine, kept.tolist(), strict=True) if is_kept],
            unseen[kept],
            ~good[learn][kept],
            one[kept],
            name="bench",
            digest="0" * 12,
            target=cap,
        )
        base = np.where(out, -np.inf, learned[~learn])
        verified = [rule.effective(s, p) for s, p in zip(base.tolist(), said.tolist(), strict=True)]
        at[_percent(cap)] = recall_at(np.asarray(verified), good[~learn], cap)
        asked = max(asked, float(np.mean([rule.asks_about(s) for s in base.tolist()])))
    each = own_clock.total("verifier")
    return {
        "verifier": (
            {
                _percent(cap): recall_at(np.nan_to_num(said, nan=-np.inf), good[~learn], cap)
                for cap in CAPS
            },
            each,
        ),
        "verifier + guards": (
            {_percent(cap): recall_at(alone, good[~learn], cap) for cap in CAPS},
            clock.total("guards") + each,
        ),
        "learned + verifier": (at, clock.total(f"guards {own}") + asked * each),
    }


class _Clock:
    """Milliseconds per pair by name; runs from the beginning."""

    def __init__(self, pairs: int) -> None:
        self._pairs = max(pairs, 1)
        self._ms: dict[str, float] = {}
        self.start()

    def start(self) -> None:
        self._began = time.perf_counter()

    def stop(self, name: str) -> None:
        spent = 1000 * (time.perf_counter() - self._began) / self._pairs
        self._ms[name] = self._ms.get(name, 0.0) + spent

    def total(self, names: str) -> float:
        return sum(self._ms[name] for name in names.split())


def _percent(cap: float) -> str:
    return f"{cap:.0%}"


def recall_at(score: FloatArray, good: BoolArray, cap: float) -> float:
    """Largest share of the good over all thresholds whose admitted ones are at most `cap` false. Ties go together."""
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    ends = np.append(ordered[1:] != ordered[:-1], True) & np.isfinite(ordered)
    bad, n = np.cumsum(~good[order]), np.arange(1, score.size + 1)
    fits = ends & (bad <= cap * n)
    return (
        float(np.cumsum(good[order])[fits].max() / max(int(good.sum()), 1)) if fits.any() else 0.0
    )


def sides_of(pairs: Sequence[tuple[str, str, bool]]) -> dict[str, bool]:
    """True for each text to learn from; texts joined by reusable pairs, however many, are on one side."""
    joined = Groups()
    for a, b, is_reusable in pairs:
        if is_reusable:
            joined.join(a, b)
    texts = dict.fromkeys(text for a, b, _ in pairs for text in (a, b))
    least: dict[str, str] = {}
    for text in texts:
        name = joined.root(text)
        least[name] = min(least.get(name, text), text)
    return {text: _side(least[joined.root(text)]) for text in texts}


def _side(text: str) -> bool:
    return hashlib.sha256(b"side:" + text.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0


def _intent_pairs(rows: Sequence[dict[str, Any]], vectors: Any) -> list[tuple[str, str, bool]]:
    """Each text of a canned intent with its nearest of its intent and its nearest of another, inside one block.

    Few of the latter are lost to the split that way: an intent's texts are often one group.
    """
    canned = [i for i, r in enumerate(rows) if r["reuse"] == "canned"]
    block = np.asarray([_block(rows[i]["intent"]) for i in canned])
    intent = np.asarray([rows[i]["intent"] for i in canned])
    found: list[tuple[str, str, bool]] = []
    for b in np.unique(block):
        mine = np.flatnonzero(block == b)
        v = vectors[[canned[i] for i in mine]]
        similar = v @ v.T
        np.fill_diagonal(similar, -np.inf)
        same = intent[mine][:, None] == intent[mine][None, :]
        for i in range(mine.size):
            text = rows[canned[mine[i]]]["text"]
            for is_same in (True, False):
                choice = np.where(same[i] == is_same, similar[i], -np.inf)
                j = int(np.argmax(choice))
                if np.isfinite(choice[j]):
                    found.append((text, rows[canned[mine[j]]]["text"], is_same))
    return found


def _block(intent: str) -> int:
    return hashlib.sha256(intent.encode()).digest()[0] % 12


def _read(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(row) for row in text.decode("utf-8").splitlines() if row.strip()]


def render(found: Sequence[Recall]) -> str:
    """One row per set and rule."""
    head = "set             learned  judged  reusable  rule                recall at 1 %   at 3 %  ms/pair"
    rows = [head]
    rows += [
        f"{r.name:15} {r.learned_from:7}  {r.judged_on:6}  {r.reusable:8}  {r.rule:18}  "
        f"{r.at['1%']:12.1%}  {r.at['3%']:7.1%}  {r.ms:7.2f}"
        for r in found
    ]
    return "\n".join(rows)
