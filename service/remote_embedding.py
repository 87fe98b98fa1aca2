"""Connecting to the shared embedding server, and finding out which model it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from index.embedding import catalog
from index.embedding.remote import RemoteEmbedder, is_same
from index.types import Language
from service.settings import Settings
from service.storage import remote_models
from service.storage.database import Database, DuplicateKey

WORKERS = 4
"""Calls to the server at once; more texts wait and go together."""


@dataclass(frozen=True)
class RemoteModels:
    """Models of the embedding server by name; their fingerprints are shared by all workers through the database."""

    settings: Settings
    db: Database
    clock_ms: Callable[[], int]

    def name_for(self, language: Language) -> str:
        """The model of lines that name none. What is installed here says nothing of what the server has."""
        return self.settings.embed_model or catalog.usual_for(language)

    async def load(self, name: str) -> RemoteEmbedder:
        """Connect and identify; raises EmbedderUnavailable, Unavailable."""
        settings = self.settings
        embedder = RemoteEmbedder(
            settings.embed_url,
            model=name,
            api_key=settings.embed_api_key.get_secret_value(),
            dimensions=settings.embed_dimensions,
            max_tokens=settings.embed_max_tokens,
        )
        probe = await asyncio.to_thread(embedder.probe)
        embedder.identify(await self._generation(embedder, np.asarray(probe)))
        return embedder

    async def _generation(self, embedder: RemoteEmbedder, probe: np.ndarray) -> int:
        """The number of the model with these probes: an earlier one's, or the next."""
        for _ in range(3):
            newest = 0
            for generation, blob in await remote_models.generations(
                self.db, name=embedder.model, dimensions=embedder.dimensions
            ):
                earlier = np.frombuffer(blob, dtype="<f4").reshape(-1, embedder.dimensions)
                if is_same(probe, earlier):
                    return int(generation)
                newest = int(generation)
            number = newest + 1
            add = partial(
                remote_models.add,
                name=embedder.model,
                dimensions=embedder.dimensions,
                generation=number,
                probe=probe.astype("<f4").tobytes(),
                now=self.clock_ms(),
            )
            try:
                await self.db.write(add)
            except DuplicateKey:
                continue  # another worker met this model at the same time: read what it wrote
            return number
        raise DuplicateKey("the generations of a remote model change faster than they can be read")
