"""Scores of pairs of texts under a model of the catalog, for jobs beside the service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from index.embedding import catalog
from index.types import Embedder, EmbeddingError, Vector
from service.errors import Unavailable

BATCH = 64
ScorePairs = Callable[[Sequence[tuple[str, str]]], Awaitable[list[float | None]]]


def scorer(name: str, models_dir: Path) -> ScorePairs:
    """(pairs of texts) → cosines, None where the model cannot read one. The model is loaded at the first call."""
    loaded: list[Embedder] = []

    async def score(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        if not loaded:
            try:
                loaded.append(await asyncio.to_thread(catalog.load, name, models_dir))
            except EmbeddingError as error:
                raise Unavailable(f"embedder {name}: {error}") from error
        return await asyncio.to_thread(score_with, loaded[0], pairs)

    return score


def score_with(embedder: Embedder, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
    """Cosine of each pair; None where one of the texts cannot be read."""
    return cosines(vectors_of(embedder, [text for pair in pairs for text in pair]), pairs)


def cosines(vector: Mapping[str, Vector], pairs: Sequence[tuple[str, str]]) -> list[float | None]:
    """Cosine of each pair of texts whose vectors are given; None where one is missing."""
    return [
        float(np.dot(vector[a], vector[b])) if a in vector and b in vector else None
        for a, b in pairs
    ]


def vectors_of(embedder: Embedder, texts: Iterable[str]) -> dict[str, Vector]:
    """The vector of each distinct text that the model can read."""
    distinct = dict.fromkeys(texts)
    readable = sorted((t for t in distinct if embedder.readability(t).reason is None), key=len)
    vector: dict[str, Vector] = {}
    for start in range(0, len(readable), BATCH):
        part = readable[start : start + BATCH]
        vector |= dict(zip(part, embedder.embed(part), strict=True))
    return vector
