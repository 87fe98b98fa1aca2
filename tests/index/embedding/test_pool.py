"""The pool: at most one embedding per text, and no caller ever waits beyond its budget."""

import asyncio
import itertools
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence

import numpy as np
import pytest

from index.embedding.pool import EmbeddingPool
from index.testing import HashEmbedder
from index.types import (
    EmbedderBusy,
    EmbedderUnavailable,
    TextRefused,
    TextTooLong,
    Vector,
    Vectors,
)

BUDGET_S = 5.0


class Engine(HashEmbedder):
    """Can be held, and can be made to fail."""

    def __init__(self, *, preferred_batch: int = 8) -> None:
        super().__init__(preferred_batch=preferred_batch)
        self.gate = threading.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.running = threading.Semaphore(0)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.running.release()
        self.gate.wait(10)
        if self.failure is not None:
            self.calls.append(list(texts))
            raise self.failure
        return super().embed(texts)

    async def is_running(self) -> None:
        """Until one more call has begun."""
        assert await asyncio.to_thread(self.running.acquire, timeout=10)


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
async def pools() -> AsyncIterator[Callable[..., EmbeddingPool]]:
    made: list[EmbeddingPool] = []

    def make(*arguments: object, **options: object) -> EmbeddingPool:
        made.append(EmbeddingPool(*arguments, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for pool in made:
        if isinstance(pool.embedder, Engine):
            pool.embedder.gate.set()
        await pool.close()


Pools = Callable[..., EmbeddingPool]


async def test_a_vector_is_that_of_the_engine(engine: Engine, pools: Pools) -> None:
    pool = pools(engine)
    vector = await pool.embed_one("how are you", BUDGET_S)
    assert np.array_equal(vector, HashEmbedder().embed(["how are you"])[0])
    assert not vector.flags.writeable


async def test_a_text_embedded_lately_is_remembered_in_any_spelling(
    engine: Engine, pools: Pools
) -> None:
    """The lookup that misses and the store that follows pay for one embedding."""
    pool = pools(engine)
    first = await pool.embed_one("How are you?", BUDGET_S)
    assert await pool.embed_one("hi, how are  you", BUDGET_S) is first
    assert len(engine.calls) == 1
    assert pool.counters.remembered == 1


async def test_the_least_recently_used_is_forgotten(engine: Engine, pools: Pools) -> None:
    pool = pools(engine, remembered=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await pool.embed_one(text, BUDGET_S)
    assert [text for call in engine.calls for text in call] == ["a", "b", "c", "b"]


async def test_equal_texts_in_flight_are_embedded_once(engine: Engine, pools: Pools) -> None:
    pool = pools(engine, workers=2)
    engine.gate.clear()
    asked = [asyncio.ensure_future(pool.embed_one("same text", BUDGET_S)) for _ in range(20)]
    await engine.is_running()
    engine.gate.set()
    vectors = await asyncio.gather(*asked)
    assert all(vector is vectors[0] for vector in vectors)
    assert engine.calls == [["same text"]]
    assert pool.counters.joined == 19


async def test_what_queued_up_goes_in_together_by_length(engine: Engine, pools: Pools) -> None:
    pool = pools(engine)
    engine.gate.clear()
    first = asyncio.ensure_future(pool.embed_one("first", BUDGET_S))
    await engine.is_running()
    short = [f"short text {n}" for n in range(5)]
    long = [f"{'a much longer text ' * 8}{n}" for n in range(3)]
    mixed = [short[0], long[0], *short[1:3], *long[1:], *short[3:]]
    rest = [asyncio.ensure_future(pool.embed_one(text, BUDGET_S)) for text in mixed]
    await asyncio.sleep(0)
    engine.gate.set()
    await asyncio.gather(first, *rest)
    assert engine.calls == [["first"], short, long]
    assert pool.counters.batches == 3
    assert pool.counters.embedded == 9


async def test_other_work_has_a_turn_between_the_texts_of_a_batch(
    engine: Engine, pools: Pools
) -> None:
    """Whoever is handed a vector goes on with it for a while; what else came in waits for one of them, not for all."""
    pool = pools(engine)
    engine.gate.clear()
    turns: list[str] = []

    async def ask(text: str) -> None:
        await pool.embed_one(text, BUDGET_S)
        turns.append(text)
        asyncio.get_running_loop().call_soon(turns.append, "other")

    asked = [asyncio.create_task(ask("first"))]
    await engine.is_running()
    asked += [asyncio.create_task(ask(f"text {n}")) for n in range(4)]
    await asyncio.sleep(0)
    engine.gate.set()
    await asyncio.gather(*asked)
    await asyncio.sleep(0.01)
    assert engine.calls[1:] == [[f"text {n}" for n in range(4)]]
    places = [turns.index(f"text {n}") for n in range(4)]
    assert all("other" in turns[a:b] for a, b in itertools.pairwise(places)), turns


async def test_an_engine_that_gains_nothing_by_batches_gets_single_texts(pools: Pools) -> None:
    engine = Engine(preferred_batch=1)
    pool = pools(engine)
    await asyncio.gather(*(pool.embed_one(f"text {n}", BUDGET_S) for n in range(6)))
    assert [len(call) for call in engine.calls] == [1] * 6


async def test_workers_share_what_is_waiting(engine: Engine, pools: Pools) -> None:
    """Two idle workers and four texts: two each, not four and none."""
    pool = pools(engine, workers=2)
    engine.gate.clear()
    busy = [asyncio.ensure_future(pool.embed_one(f"busy {n}", BUDGET_S)) for n in range(2)]
    await engine.is_running()
    await engine.is_running()
    rest = [asyncio.ensure_future(pool.embed_one(f"text {n}", BUDGET_S)) for n in range(4)]
    await asyncio.sleep(0)
    engine.gate.set()
    await asyncio.gather(*busy, *rest)
    assert max(len(call) for call in engine.calls) <= 2


async def test_a_refused_text_does_not_take_its_batch_with_it(engine: Engine, pools: Pools) -> None:
    pool = pools(engine)
    engine.gate.clear()
    first = asyncio.ensure_future(pool.embed_one("first", BUDGET_S))
    await engine.is_running()
    texts = ["good one", "?!?!?!", "good two"]
    rest = [asyncio.ensure_future(pool.embed_one(text, BUDGET_S)) for text in texts]
    await asyncio.sleep(0)
    engine.gate.set()
    _, one, refused, two = await asyncio.gather(first, *rest, return_exceptions=True)
    assert isinstance(refused, TextRefused)
    assert refused.readability.reason == "blank"
    assert isinstance(one, np.ndarray)
    assert isinstance(two, np.ndarray)
    assert pool.counters.failed == 0
    with pytest.raises(TextTooLong):
        await pool.embed_one("word " * 600, BUDGET_S)


async def test_a_failure_reaches_every_waiter_and_the_next_call_tries_again(
    engine: Engine, pools: Pools
) -> None:
    pool = pools(engine)
    engine.failure = RuntimeError("out of memory")
    results = await asyncio.gather(
        *(pool.embed_one("text", BUDGET_S) for _ in range(3)),
        pool.embed_one("other", BUDGET_S),
        return_exceptions=True,
    )
    assert all(isinstance(result, EmbedderUnavailable) for result in results)
    assert all("out of memory" in str(result) for result in results)
    assert pool.counters.failed >= 1
    engine.failure = None
    assert isinstance(await pool.embed_one("text", BUDGET_S), np.ndarray)


async def test_an_engine_that_returns_too_little_is_a_failure(pools: Pools) -> None:
    class Broken(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return super().embed(texts)[:0]

    pool = pools(Broken())
    with pytest.raises(EmbedderUnavailable):
        await pool.embed_one("text", BUDGET_S)


async def test_a_hanging_engine_holds_nobody_beyond_the_budget(
    engine: Engine, pools: Pools
) -> None:
    pool = pools(engine)
    engine.gate.clear()
    began = time.monotonic()
    results = await asyncio.gather(
        *(pool.embed_one(f"text {n}", 0.05) for n in range(10)),
        pool.embed_one("text 0", 0.05),
        return_exceptions=True,
    )
    assert time.monotonic() - began < 10
    assert all(isinstance(result, EmbedderUnavailable) for result in results)
    assert pool.counters.timed_out == 11
    engine.gate.set()
    assert isinstance(await pool.embed_one("afterwards", BUDGET_S), np.ndarray)


async def test_texts_that_nobody_waits_for_any_more_are_not_embedded(
    engine: Engine, pools: Pools
) -> None:
    pool = pools(engine)
    engine.gate.clear()
    first = asyncio.ensure_future(pool.embed_one("first", BUDGET_S))
    await engine.is_running()
    with pytest.raises(EmbedderUnavailable):
        await pool.embed_one("given up", 0.01)
    cancelled = asyncio.ensure_future(pool.embed_one("cancelled", BUDGET_S))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.sleep(0)
    engine.gate.set()
    await first
    await pool.embed_one("last", BUDGET_S)
    assert engine.calls == [["first"], ["last"]]
    assert isinstance(await pool.embed_one("given up", BUDGET_S), np.ndarray)


async def test_a_cancelled_caller_does_not_take_the_others_with_it(
    engine: Engine, pools: Pools
) -> None:
    pool = pools(engine)
    engine.gate.clear()
    one = asyncio.ensure_future(pool.embed_one("text", BUDGET_S))
    two = asyncio.ensure_future(pool.embed_one("text", BUDGET_S))
    await engine.is_running()
    one.cancel()
    engine.gate.set()
    assert isinstance(await two, np.ndarray)
    assert one.cancelled()


async def test_a_full_queue_answers_at_once(engine: Engine, pools: Pools) -> None:
    pool = pools(engine, queue_limit=3)
    engine.gate.clear()
    first = asyncio.ensure_future(pool.embed_one("first", BUDGET_S))
    await engine.is_running()
    waiting = [asyncio.ensure_future(pool.embed_one(f"text {n}", BUDGET_S)) for n in range(3)]
    await asyncio.sleep(0)
    assert pool.queued == 3
    with pytest.raises(EmbedderBusy):
        await asyncio.wait_for(pool.embed_one("one too many", BUDGET_S), 0.5)
    # The same text as one that waits costs nothing, and is let in.
    joined = asyncio.ensure_future(pool.embed_one("text 0", BUDGET_S))
    await asyncio.sleep(0)
    engine.gate.set()
    await asyncio.gather(first, joined, *waiting)
    assert pool.counters.refused_busy == 1
    assert pool.queued == 0


async def test_an_engine_that_is_stuck_for_long_is_not_waited_for(
    engine: Engine, pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.embedding.pool._STALLED_AFTER_S", 0.05)
    pool = pools(engine)
    engine.gate.clear()
    stuck = [asyncio.ensure_future(pool.embed_one("one", BUDGET_S))]
    await engine.is_running()
    stuck.append(asyncio.ensure_future(pool.embed_one("two", BUDGET_S)))
    await asyncio.sleep(0.1)
    with pytest.raises(EmbedderUnavailable, match="has not answered"):
        await asyncio.wait_for(pool.embed_one("another", BUDGET_S), 0.5)
    engine.gate.set()
    await asyncio.gather(*stuck)
    assert isinstance(await pool.embed_one("another", BUDGET_S), np.ndarray)


async def test_closing_frees_who_waits_and_ends_the_threads(engine: Engine) -> None:
    pool = EmbeddingPool(engine, workers=2)
    engine.gate.clear()
    asked = [asyncio.ensure_future(pool.embed_one(f"text {n}", BUDGET_S)) for n in range(5)]
    await engine.is_running()
    closing = asyncio.ensure_future(pool.close())
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(result, EmbedderUnavailable) for result in results)
    engine.gate.set()
    await closing
    assert not any(thread.is_alive() for thread in pool._threads)
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await pool.embed_one("text", BUDGET_S)


async def test_a_pool_that_was_never_used_can_be_closed() -> None:
    await EmbeddingPool(Engine()).close()


def test_no_worker_is_refused() -> None:
    with pytest.raises(ValueError, match="workers"):
        EmbeddingPool(Engine(), workers=0)


async def test_many_callers_all_get_their_own_vector(pools: Pools) -> None:
    engine = HashEmbedder(delay_s=0.0005)
    pool = pools(engine, workers=3, remembered=50, queue_limit=1000)
    texts = [f"question number {n % 120} of many" for n in range(600)]

    async def ask(text: str) -> Vector:
        await asyncio.sleep((hash(text) % 7) / 1000)
        return await pool.embed_one(text, BUDGET_S)

    vectors = await asyncio.gather(*map(ask, texts))
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(vector, HashEmbedder().embed([text])[0])
    assert pool.queued == 0


@pytest.mark.skipif(sys.platform != "linux", reason="nice values of single threads are Linux's")
async def test_the_model_yields_a_core_to_the_event_loop(
    pools: Callable[..., EmbeddingPool],
) -> None:
    """Exact hits beside eight misses waited twice as long when both had the same share."""

    class Noting(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            self.nice = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            return super().embed(texts)

    engine = Noting()
    await pools(engine).embed_one("a text", BUDGET_S)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert engine.nice == min(own + 3, 19)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own
