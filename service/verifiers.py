"""The verifiers of this process: folders that the operator put there, loaded when a line needs one, asked in a thread.

A verifier that is missing, changed, broken, busy or slow verifies nothing: lookups go on with the score they have. Its
calls run one after the other in a thread of its own, so neither the event loop nor an exact hit waits for one.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter

from index.embedding.cross_encoder import CrossEncoder, digest_of, open_folder
from index.embedding.pool import stand_back
from index.types import EmbedderBusy, EmbedderUnavailable, ModelNotInstalled
from service.errors import InvalidRequest
from service.score.verifier import FOLDER_NAME, VerifierRule

log = structlog.get_logger("surehit.verifiers")

RETRY_S = 30.0
"""Seconds between two attempts to load a folder that could not be loaded."""
MOST_WAITING = 64
"""Pairs in one verifier's queue; beyond them nothing is verified, since it would come too late."""


@dataclass(slots=True)
class _Slot:
    """One folder with one content: being loaded, ready, or failed since a time."""

    rule: VerifierRule
    reader: _Reader | None = None
    loading: asyncio.Task[None] | None = None
    error: str | None = None
    failed_at: float = 0.0
    trouble: str | None = None
    """Why the newest pair got no answer; None once one got one."""


class Verifiers:
    """Cross-encoders by name and content. On one event loop."""

    def __init__(
        self, folder: Path, *, budget_ms: int, registry: CollectorRegistry | None = None
    ) -> None:
        self._folder = folder
        self._budget_s = budget_ms / 1000
        self._slots: dict[tuple[str, str], _Slot] = {}
        self._asked = Counter(
            "surehit_verifications",
            "Winners in the band of a line's verifier, by what came of it: passed (the score was raised), "
            "failed, or nothing because the verifier was late, broken or not loaded.",
            ["outcome"],
            registry=registry,
        )

    def names(self) -> list[str]:
        """Folders that a line may name."""
        if not self._folder.is_dir():
            return []
        return sorted(
            p.name for p in self._folder.iterdir() if p.is_dir() and re.match(FOLDER_NAME, p.name)
        )

    def pin(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of a line, as sent, with the digest of the verifier that they name. Reads files.

        Raises InvalidRequest for a folder that is not there, is no cross-encoder, or is not the one that was meant.
        """
        sent = settings.get("verifier")
        if not isinstance(sent, dict) or not ("name" in sent or "digest" in sent):
            return dict(settings)
        name, names = sent.get("name"), self.names()
        if name not in names:
            raise InvalidRequest.field(
                "verifier.name",
                f"is not known; available: {', '.join(names) or f'none (no folder in {self._folder})'}",
            )
        try:
            digest = digest_of(self._folder / name)
            open_folder(self._folder / name)
        except (OSError, ModelNotInstalled) as error:
            raise InvalidRequest.field("verifier.name", f"cannot be used: {error}") from error
        if sent.get("digest") not in (None, digest):
            raise InvalidRequest.field(
                "verifier.digest",
                f"is not that of the folder, {digest}; without one the folder is taken as it is",
            )
        return {**settings, "verifier": {**sent, "digest": digest}}

    def prepare(self, rule: VerifierRule) -> None:
        """Begin to load a verifier that a line names."""
        self._slot(rule)

    async def ask(
        self, rule: VerifierRule, stored: str, asked: str, *, timeout_s: float | None = None
    ) -> float | None:
        """The probability that both texts want one answer; None where there is none in time, for whatever reason."""
        budget_s = self._budget_s if timeout_s is None else timeout_s
        slot = self._slot(rule)
        try:
            async with asyncio.timeout(budget_s):
                if slot.loading is not None:
                    await asyncio.shield(slot.loading)
                if slot.reader is None:
                    raise EmbedderUnavailable(slot.error or "not loaded")
                said = await slot.reader.read(stored, asked)
        except TimeoutError:
            self._silent(slot, "late", f"no answer within {budget_s:g} s")
            return None
        except EmbedderBusy as error:
            self._silent(slot, "late", str(error))
            return None
        except Exception as error:  # whatever it is, it verifies nothing and breaks no lookup
            self._silent(slot, "broken" if slot.reader else "not_loaded", str(error))
            return None
        slot.trouble = None
        self._asked.labels("passed" if rule.passes(said) else "failed").inc()
        return said

    def states(self) -> dict[str, str]:
        """`ready`, `loading` or what went wrong, by name."""
        return {
            slot.rule.name: slot.trouble or slot.error or ("ready" if slot.reader else "loading")
            for slot in self._slots.values()
        }

    async def close(self) -> None:
        """Stop the threads."""
        for slot in self._slots.values():
            if slot.loading is not None:
                slot.loading.cancel()
            if slot.reader is not None:
                slot.reader.close()

    def _silent(self, slot: _Slot, outcome: str, why: str) -> None:
        self._asked.labels(outcome).inc()
        if slot.trouble is None:  # a verifier that is down is down for every lookup
            log.warning("verifier_silent", verifier=slot.rule.name, outcome=outcome, reason=why)
        slot.trouble = why

    def _slot(self, rule: VerifierRule) -> _Slot:
        key = (rule.name, rule.digest)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = _Slot(rule)
        idle = slot.reader is None and slot.loading is None
        if idle and (slot.error is None or time.monotonic() - slot.failed_at > RETRY_S):
            slot.loading = asyncio.create_task(self._load(slot))
        return slot

    async def _load(self, slot: _Slot) -> None:
        folder = self._folder / slot.rule.name

        def work() -> CrossEncoder:
            found = digest_of(folder)
            if found != slot.rule.digest:
                raise ModelNotInstalled(
                    f"the folder's digest is {found}, the line was set up with {slot.rule.digest}"
                )
            return open_folder(folder)

        try:
            slot.reader = _Reader(await asyncio.to_thread(work), name=slot.rule.name)
            slot.error = None
        except Exception as error:
            slot.error = f"{type(error).__name__}: {error}"
            slot.failed_at = time.monotonic()
            log.error("verifier_not_loaded", verifier=slot.rule.name, reason=slot.error)
        finally:
            slot.loading = None


@dataclass(eq=False)
class _Reader:
    """A model and its thread. Whoever stops waiting cancels its future, and the pair is passed over."""

    model: CrossEncoder
    name: str
    _pairs: queue.SimpleQueue[Callable[[], None] | None] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        # a daemon: a model that hangs for ever must not keep the process from ending
        threading.Thread(target=self._work, name=f"verify-{self.name}", daemon=True).start()

    async def read(self, stored: str, asked: str) -> float:
        """Raises EmbedderBusy, EmbedderUnavailable, and what the model raises."""
        if self._pairs.qsize() >= MOST_WAITING:
            raise EmbedderBusy(f"{MOST_WAITING} pairs are waiting")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[float] = loop.create_future()

        def settle(said: float | None, error: Exception | None) -> None:
            if future.done():
                return
            if error is not None or said is None:
                future.set_exception(error or EmbedderUnavailable("no answer"))
            else:
                future.set_result(said)

        def work() -> None:
            if future.cancelled():
                return
            said, error = None, None
            try:
                said = self.model.probability(stored, asked)
            except Exception as raised:  # it must reach the caller, and must not end the thread
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed and nobody waits
                loop.call_soon_threadsafe(settle, said, error)

        self._pairs.put(work)
        return await future

    def close(self) -> None:
        """Let the thread end after the pair that it reads."""
        self._pairs.put(None)

    def _work(self) -> None:
        stand_back()
        while (work := self._pairs.get()) is not None:
            work()
