"""`surehit bench score --pairs`: a learned score on labelled pairs, learned on one part and judged on the other.

Texts that may share an answer form one group, and a group is on one side; pairs of two groups that come to lie on two
sides are left out. So no text of the judged part was learned from; its vectors, without labels, are in the space of
places. "learned" is the kind that foretells unseen entries of the learned part better, as `surehit tune` takes it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.bench.score_traffic import embed
from evaluation.evidence import BoolArray, FloatArray
from evaluation.score.pairs import Rows
from evaluation.score.region_training import fit_region, space_of
from evaluation.score.training import fit
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
        found += _judge(name, pairs, vector)
    return found


def _judge(
    name: str, pairs: Sequence[tuple[str, str, bool]], vector: Mapping[str, Any]
) -> list[Recall]:
    sides = sides_of(pairs)
    kept = [n for n, (a, b, _) in enumerate(pairs) if sides[a] == sides[b]]
    pairs = [pairs[n] for n in kept]
    cosines = [float(vector[a] @ vector[b]) for a, b, _ in pairs]
    learn = np.asarray([sides[a] for a, _, _ in pairs])
    weigh = weights_of(t for p, mine in zip(pairs, learn, strict=True) if mine for t in p[:2])
    x = np.asarray(
        [features(a, b, Context(c), weigh) for (a, b, _), c in zip(pairs, cosines, strict=True)]
    )
    good = np.asarray([label for _, _, label in pairs], dtype=np.bool_)
    refused = np.asarray([judge(a, b) is not None for a, b, _ in pairs], dtype=np.bool_)
    entry = np.unique([a for a, _, _ in pairs], return_inverse=True)[1]
    rows = Rows(x[learn], ~good[learn], np.ones(int(learn.sum())), entry[learn])
    of_words = fit(rows, weigh, fingerprint="")
    queries = np.asarray([vector[b] for _, b, _ in pairs])
    space = space_of([vector[t] for t in dict.fromkeys(t for p in pairs for t in p[:2])])
    of_places = fit_region(rows, queries[learn], space, fingerprint="")
    words = np.asarray([of_words.scorer.of_row(row) for row in x.tolist()])
    place = np.asarray(
        [
            of_places.scorer.of_row([c], of_places.scorer.lift(v))
            for c, v in zip(cosines, queries, strict=True)
        ]
    )
    learned = place if of_places.loss < of_words.loss else words
    cosine = np.asarray(cosines)
    rules = {
        "cosine": cosine,
        "cosine + guards": np.where(refused, -np.inf, cosine),
        "words + guards": np.where(refused, -np.inf, words),
        "place + guards": np.where(refused, -np.inf, place),
        "learned": learned,
        "learned + guards": np.where(refused, -np.inf, learned),
    }
    return [
        Recall(
            name,
            int(learn.sum()),
            int((~learn).sum()),
            int(good[~learn].sum()),
            rule,
            {f"{cap:.0%}": recall_at(score[~learn], good[~learn], cap) for cap in CAPS},
        )
        for rule, score in rules.items()
    ]


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
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        parent.setdefault(text, text)
        while parent[text] != text:
            parent[text] = parent[parent[text]]
            text = parent[text]
        return text

    for a, b, is_reusable in pairs:
        first, second = root(a), root(b)
        if is_reusable:
            parent[first] = second
    least: dict[str, str] = {}
    for text in list(parent):
        name = root(text)
        least[name] = min(least.get(name, text), text)
    return {text: _side(least[root(text)]) for text in parent}


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
    rows = ["set             learned  judged  reusable  rule               recall at 1 %   at 3 %"]
    rows += [
        f"{r.name:15} {r.learned_from:7}  {r.judged_on:6}  {r.reusable:8}  {r.rule:17}  "
        f"{r.at['1%']:12.1%}  {r.at['3%']:7.1%}"
        for r in found
    ]
    return "\n".join(rows)
