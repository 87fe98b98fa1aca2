"""C-135: an embedding model that hangs, fails or cannot be loaded costs semantic hits and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from index.testing import RiggedEmbedder
from index.types import ModelNotInstalled, Vectors
from service.cache import Cache
from tests.service.proxy.rig import Rig, cache_status, rigged
from tests.two_workers import two_rigged, until
from tests.workers import steer

ASKED = "How do I enable audit logging for a workspace?"
REWORDED = "How can I switch on audit logging for a workspace?"
LATER = "Which plan includes single sign-on?"
LATER_REWORDED = "Single sign-on is part of which plan?"
BUDGET_S = 2.0


class Moody(RiggedEmbedder):
    """A model that can be told to hang or to fail."""

    def __init__(self) -> None:
        super().__init__({(ASKED, REWORDED): 0.97, (LATER, LATER_REWORDED): 0.97})
        self.mood = "well"
        self.released = threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed, hang until released, or raise."""
        if self.mood == "hangs":
            self.released.wait(60)
        elif self.mood == "raises":
            raise RuntimeError("the model is ill")
        return super().embed(texts)

    def recover(self) -> None:
        """Be well again."""
        self.mood = "well"
        self.released.set()


def semantic(rig: Rig) -> str:
    """What readiness says of the semantic tier."""
    found: str = rig.http.get(f"{rig.base}/readyz").json()["semantic"]
    return found


def eventually(rig: Rig, asked: str, *, within_s: float) -> bool:
    """Whether a rewording is served by meaning before the time is up."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        reply = rig.chat(asked, headers={"cache-control": "no-store"})
        if cache_status(reply).get("detail") == "semantic":
            return True
        time.sleep(0.2)
    return False


@pytest.mark.parametrize("mood", ["hangs", "raises"])
def test_c135_model_falls_ill_and_recovers(sqlite_url: str, tmp_path: Path, mood: str) -> None:
    """(a), (b), (d): exact hits go on, others reach the upstream within the budget, and all comes back by itself."""
    model = Moody()
    with rigged(sqlite_url, tmp_path, embedder=model, embed_budget_ms=300) as rig:
        rig.line()
        rig.chat(ASKED)
        assert cache_status(rig.chat(REWORDED))["detail"] == "semantic"
        model.mood = mood
        assert cache_status(rig.chat(ASKED))["detail"] == "exact"
        began = time.monotonic()
        ill = rig.chat(LATER)
        assert time.monotonic() - began < BUDGET_S
        assert ill.status_code == 200
        assert cache_status(ill) == {"fwd": "miss", "stored": True, "detail": "degraded"} or (
            mood == "hangs" and cache_status(ill)["detail"] == "degraded"
        )
        assert semantic(rig) == "degraded"

        async def without_vector() -> int:
            rows = await rig.cache.db.write(
                lambda tx: tx.text(
                    "SELECT count(*) FROM entries WHERE partition IS NOT NULL AND vector IS NULL"
                )
            )
            return int(rows[0][0])

        time.sleep(0.5)
        assert rig.run(without_vector()) == 0
        model.recover()
        assert eventually(rig, LATER_REWORDED, within_s=30)
        assert semantic(rig) == "ready"


def test_c135_model_cannot_be_loaded(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(c): the exact tier alone, and readiness says so."""

    def nothing(_: Cache) -> None:
        return

    def gone(name: str, *_: object, **__: object) -> Any:
        raise ModelNotInstalled(f"{name} is not installed")

    monkeypatch.setattr("index.embedding.catalog.load", gone)

    with rigged(sqlite_url, tmp_path, prepare=nothing, embed_budget_ms=300) as rig:
        rig.line(embedder="minilm")
        began = time.monotonic()
        assert rig.chat(ASKED).status_code == 200
        assert time.monotonic() - began < BUDGET_S
        assert cache_status(rig.chat(ASKED))["detail"] == "exact"
        assert rig.chat(REWORDED).status_code == 200
        assert rig.call_count == 2
        assert semantic(rig) == "degraded"


@pytest.mark.slow
def test_c135_models_of_two_workers_fall_ill_and_recover(database_url: str, tmp_path: Path) -> None:
    """(a) to (d) for the model of two workers, one trouble after the other, the first at their start."""
    budget = {"SUREHIT_EMBED_BUDGET_MS": "300"}
    knobs = {"service.embedders.RETRY_S": 1.0, "service.maintenance.PASS_S": 0.3}
    with two_rigged(database_url, tmp_path, knobs=knobs, model="absent", **budget) as rig:
        rig.line()
        for trouble, of in (("absent", "billing"), ("stuck", "parking"), ("broken", "catering")):
            asked, later = f"How do I enable {of}?", f"Where do I find the plan for {of}?"
            if trouble != "absent":
                assert rig.chat(asked).status_code == 200
                until(lambda a=asked: _details(rig, a + "?"), {"semantic"})
            steer(rig.pair.model, trouble)
            assert rig.chat(asked).status_code == 200
            assert _details(rig, asked) == {"exact"}
            for n in range(2):  # once to each worker
                began = time.monotonic()
                ill = rig.chat(f"{later} Number {n}, please.")
                assert time.monotonic() - began < BUDGET_S
                assert ill.status_code == 200
                assert cache_status(ill)["detail"] == "degraded"
            until(lambda: {semantic(rig) for _ in range(2)}, {"degraded"})
            steer(rig.pair.model, "hash")
            until(lambda a=asked: _details(rig, a + "??"), {"semantic"})
            # what was stored meanwhile is found by meaning, too
            until(lambda a=later: _details(rig, f"{a} Number 0, please?"), {"semantic"})
            until(lambda: {semantic(rig) for _ in range(2)}, {"ready"})


def _details(rig: Rig, text: str) -> set[str]:
    """How each of two workers comes by an answer; nothing is stored."""
    replies = [rig.chat(text, headers={"cache-control": "no-store"}) for _ in range(2)]
    assert {reply.status_code for reply in replies} == {200}
    return {cache_status(reply).get("detail", "") for reply in replies}
