"""The embedding models of this process: loaded in the background, reached through one pool each.

A model that can't be loaded, fails or hangs degrades the semantic tier only: exact hits go on, and it is tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

import structlog

from index.embedding import catalog
from index.embedding.pool import EmbeddingPool
from index.embedding.remote import RemoteEmbedder
from index.types import Embedder, EmbedderUnavailable, Language
from service.errors import InvalidRequest
from service.remote_embedding import WORKERS, RemoteModels

log = structlog.get_logger("surehit.embedders")

RETRY_S = 30.0
"""Seconds between two attempts to load a model that could not be loaded."""

RETRY_REMOTE_S = 2.0
"""The same for an embedding server, which may be back at any moment."""


@dataclass(slots=True)
class Slot:
    """One model: being loaded, ready, or failed since a time."""

    name: str
    embedder: Embedder | None = None
    pool: EmbeddingPool | None = None
    loading: asyncio.Task[None] | None = None
    error: str | None = None
    failed_at: float = 0.0

    @property
    def is_ready(self) -> bool:
        """True when texts can be embedded."""
        return self.pool is not None


def check_name(name: str) -> None:
    """Raises InvalidRequest for the name of an embedder that the catalog does not know."""
    if not catalog.is_known(name):
        available = ", ".join(catalog.available())
        raise InvalidRequest.field("embedder", f"is not known; available: {available}")


class Embedders:
    """Models by name."""

    def __init__(
        self, *, models_dir: Path, threads: int, remote: RemoteModels | None = None
    ) -> None:
        """`remote`: models come from an embedding server, whatever is installed here."""
        self._models_dir = models_dir
        self._remote = remote
        self._threads = threads
        self._slots: dict[str, Slot] = {}
        self._closing: list[asyncio.Task[None]] = []
        self._defaults: dict[Language, str] = {}

    def check(self, name: object) -> None:
        """Raises InvalidRequest for a name that no model here can have; an embedding server may have any."""
        if self._remote is None and isinstance(name, str) and name not in self._slots:
            check_name(name)

    @property
    def pools(self) -> list[EmbeddingPool]:
        """Of the models that are loaded."""
        return [slot.pool for slot in self._slots.values() if slot.pool is not None]

    def name_for(self, language: Language, embedder: str | None) -> str:
        """The model of a line: its own, or the default of its language."""
        if embedder:
            return embedder
        if self._remote is not None:
            return self._remote.name_for(language)
        if language not in self._defaults:  # finding out what is installed looks into many folders
            self._defaults[language] = catalog.default_for(language)
        return self._defaults[language]

    def slot(self, name: str) -> Slot:
        """The model's slot; loading begins when it is asked for the first time."""
        slot = self._slots.get(name)
        if slot is not None and isinstance(slot.embedder, RemoteEmbedder):
            slot = self._unless_changed(slot, slot.embedder)
        if slot is None:
            slot = self._slots[name] = Slot(name)
        if slot.pool is None and slot.loading is None and self._may_try(slot):
            slot.loading = asyncio.create_task(self._load(slot))
        return slot

    async def ready(self, name: str, *, timeout_s: float) -> Slot:
        """The slot once its model is loaded; raises EmbedderUnavailable after `timeout_s` or a failure."""
        slot = self.slot(name)
        if slot.pool is None and slot.loading is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(slot.loading), timeout_s)
        if slot.pool is None:
            raise EmbedderUnavailable(slot.error or f"{name} is still being loaded")
        return slot

    def states(self) -> dict[str, str]:
        """`ready`, `loading` or the error, by model; a model whose newest call failed says how."""
        return {
            slot.name: (slot.pool.failure or "ready") if slot.pool else (slot.error or "loading")
            for slot in self._slots.values()
        }

    def put(self, name: str, embedder: Embedder) -> None:
        """Use an embedder that is at hand (tests, and models of the caller's own)."""
        self._slots[name] = Slot(name, embedder, EmbeddingPool(embedder))

    async def close(self) -> None:
        """Stop the pools."""
        for slot in self._slots.values():
            if slot.loading is not None:
                slot.loading.cancel()
            if slot.pool is not None:
                await slot.pool.close()
            if isinstance(slot.embedder, RemoteEmbedder):
                slot.embedder.close()

    def _unless_changed(self, slot: Slot, embedder: RemoteEmbedder) -> Slot | None:
        """The slot; None when the server has another model now, which must be loaded as what it is."""
        if not embedder.has_changed:
            return slot
        log.warning("embedding_model_changed", model=slot.name, was=embedder.fingerprint)
        if slot.pool is not None:
            self._closing.append(asyncio.create_task(slot.pool.close()))
        embedder.close()
        return None

    def _may_try(self, slot: Slot) -> bool:
        wait_s = RETRY_S if self._remote is None else RETRY_REMOTE_S
        return slot.error is None or time.monotonic() - slot.failed_at > wait_s

    async def _load(self, slot: Slot) -> None:
        try:
            if self._remote is not None:
                slot.embedder = await self._remote.load(slot.name)
                slot.pool = EmbeddingPool(slot.embedder, workers=WORKERS)
            else:
                slot.embedder = await asyncio.to_thread(catalog.load, slot.name, self._models_dir)
                slot.pool = EmbeddingPool(slot.embedder, workers=self._threads)
            slot.error = None
        except Exception as error:
            slot.error = f"{type(error).__name__}: {error}"
            slot.failed_at = time.monotonic()
        finally:
            slot.loading = None
