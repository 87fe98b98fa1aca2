"""Puts an embedder behind an event loop: the hot path of every semantic lookup.

Worker threads, one per core that requests leave, take texts from one queue. The model runs without the interpreter's
lock, so exact hits go on at full speed beside it. Four rules:

- a text that was embedded lately is not embedded again (lookup, then store, of the same text);
- a text that is being embedded is waited for, not embedded twice;
- what has queued up while the model was busy goes in together, as far as the engine gains from it
  (`Embedder.preferred_batch`) and the texts are of similar length, but no more than this worker's
  share of the queue; nobody ever waits for a batch to fill;
- the caller's time budget holds whatever the engine does, and a full queue answers at once.
"""

import asyncio
import contextlib
import os
import queue
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from index.normalize import normalize
from index.types import (
    Embedder,
    EmbedderBusy,
    EmbedderUnavailable,
    EmbeddingError,
    TextRefused,
    Vector,
)

_SIMILAR = 1.5
"""Lengths up to this factor apart go into one batch; padding is paid like text."""

_STALLED_AFTER_S = 5.0
"""Twenty times the longest batch (8 texts of 256 tokens): such a call will not end by itself."""

_NICE = 3
"""Half the share of a core beside the event loop. More than 5 starves the model where exact hits never pause."""


@dataclass
class PoolCounters:
    """What has happened since the pool was made; each moves as its line says."""

    embedded: int = 0
    """Texts that the model has embedded."""
    batches: int = 0
    """Calls of the model, failed ones included."""
    remembered: int = 0
    """Requests answered by a vector of an earlier one."""
    joined: int = 0
    """Requests that waited for the same text of another request."""
    refused_busy: int = 0
    """Requests turned away because the queue was full."""
    failed: int = 0
    """Texts whose call of the model raised, unreadable texts not included."""
    timed_out: int = 0
    """Requests whose time budget ended first."""


@dataclass(eq=False)
class _Job:
    text: str
    waiters: list[asyncio.Future[Vector]] = field(default_factory=list)


@dataclass(frozen=True)
class _Outcome:
    job: _Job
    vector: Vector | None
    error: EmbeddingError | None = None


class EmbeddingPool:
    """Vectors for texts, from a bounded number of threads.

    Used on one event loop, that of the first `embed_one`; any number of calls may run there at
    once. Its threads start with that call, too.

    Parameters
    ----------
    embedder : is called from all workers at once.
    workers : threads; one per core that may be used.
    remembered : vectors kept, the least recently used forgotten first (1.6 kB each at 384
        dimensions, texts not counted).
    queue_limit : texts waiting for a worker before new ones are refused.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        workers: int = 1,
        remembered: int = 4096,
        queue_limit: int = 256,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers: {workers}, expected at least 1")
        self.embedder = embedder
        self.counters = PoolCounters()
        self.failure: str | None = None
        """What went wrong with the newest text that the model was to embed; None once one went well."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._remembered_limit = remembered
        self._queue_limit = queue_limit
        # These two belong to the loop's thread alone.
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._jobs: dict[str, _Job] = {}
        self._closed = False
        # Guards `_waiting`, which both sides change. Held for a scan of at most `queue_limit`.
        self._lock = threading.Lock()
        self._waiting: list[_Job] = []
        # One ticket per job, None to stop. Workers sleep on it; a ticket whose job went along in
        # another's batch finds nothing to do.
        self._tickets: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._busy_since: list[float | None] = [None] * workers
        self._threads = [
            # Daemons: an engine that hangs for ever must not keep the process from ending.
            threading.Thread(target=self._work, args=(number,), name=f"embed-{number}", daemon=True)
            for number in range(workers)
        ]

    @property
    def queued(self) -> int:
        """Texts that wait for a worker."""
        return len(self._waiting)

    async def embed_one(self, text: str, timeout_s: float) -> Vector:
        """The vector of a text: float32, shape (dimensions,), length 1, read-only.

        Raises
        ------
        TextRefused
            The model cannot read the text as a whole.
        EmbedderBusy
            Too many texts are waiting; raised at once.
        EmbedderUnavailable
            The engine failed, the pool is closed, or ``timeout_s`` passed first.
        """
        return await self.ask(text, timeout_s)

    def ask(self, text: str, timeout_s: float) -> asyncio.Future[Vector]:
        """`embed_one` for a caller that has something else to do meanwhile: the text is with a worker on return."""
        text = normalize(text)
        loop = self._loop or self._start()
        waiter: asyncio.Future[Vector] = loop.create_future()
        known = self._vectors.get(text)
        if known is not None:
            self._vectors.move_to_end(text)
            self.counters.remembered += 1
            waiter.set_result(known)
            return waiter
        self._join(text, waiter)
        deadline = loop.call_later(timeout_s, self._time_out, waiter, timeout_s)
        waiter.add_done_callback(lambda done: _end(deadline, done))
        return waiter

    async def close(self, timeout_s: float = 5.0) -> None:
        """Stop the workers; whoever still waits gets EmbedderUnavailable."""
        self._closed = True
        with self._lock:
            self._waiting.clear()
        for job in self._jobs.values():
            _fail(job, EmbedderUnavailable("the embedding pool was closed"))
        self._jobs.clear()
        if self._loop is None:
            return
        for _ in self._threads:
            self._tickets.put(False)
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            await asyncio.to_thread(thread.join, max(0.0, deadline - time.monotonic()))

    # On the loop's thread.

    def _start(self) -> asyncio.AbstractEventLoop:
        self._loop = asyncio.get_running_loop()
        for thread in self._threads:
            thread.start()
        return self._loop

    def _join(self, text: str, waiter: asyncio.Future[Vector]) -> None:
        if self._closed:
            raise EmbedderUnavailable("the embedding pool is closed")
        job = self._jobs.get(text)
        if job is not None:
            self.counters.joined += 1
            job.waiters.append(waiter)
            return
        if len(self._waiting) >= self._queue_limit:
            self.counters.refused_busy += 1
            raise EmbedderBusy(f"{self._queue_limit} texts are waiting for the embedder")
        if self._waiting and self._is_stalled():
            raise EmbedderUnavailable(f"the engine has not answered for {_STALLED_AFTER_S:g} s")
        job = self._jobs[text] = _Job(text, [waiter])
        with self._lock:
            self._waiting.append(job)
        self._tickets.put(True)

    def _is_stalled(self) -> bool:
        """True when every worker has been in one call of the engine for far too long."""
        now = time.monotonic()
        return all(
            began is not None and now - began > _STALLED_AFTER_S for began in self._busy_since
        )

    def _time_out(self, waiter: asyncio.Future[Vector], timeout_s: float) -> None:
        if not waiter.done():
            self.counters.timed_out += 1
            self.failure = f"no vector within {timeout_s:g} s"
            waiter.set_exception(EmbedderUnavailable(f"no vector within {timeout_s:g} s"))

    def _deliver(self, calls: int, outcomes: list[_Outcome]) -> None:
        """Hand out the first outcome, and the others in turns of their own.

        Whoever gets a vector has a millisecond's work to do with it; requests that came meanwhile go first.
        """
        self.counters.batches += calls
        outcome, *others = outcomes
        job = outcome.job
        if self._jobs.get(job.text) is job:
            del self._jobs[job.text]
        if outcome.vector is not None:
            self.counters.embedded += 1
            self.failure = None
            self._remember(job.text, outcome.vector)
            for waiter in job.waiters:
                if not waiter.done():
                    waiter.set_result(outcome.vector)
        elif outcome.error is not None:
            if not isinstance(outcome.error, TextRefused):
                self.counters.failed += 1
                self.failure = str(outcome.error)
            _fail(job, outcome.error)
        if others and self._loop is not None:
            self._loop.call_soon(self._deliver, 0, others)

    def _remember(self, text: str, vector: Vector) -> None:
        self._vectors[text] = vector
        while len(self._vectors) > self._remembered_limit:
            self._vectors.popitem(last=False)

    # On the workers' threads.

    def _work(self, number: int) -> None:
        stand_back()
        while self._tickets.get():
            batch = self._take()
            if not batch:
                continue
            self._busy_since[number] = time.monotonic()
            calls, outcomes = self._embed(batch)
            self._busy_since[number] = None
            self._tell(self._deliver, calls, outcomes)

    def _tell(self, call: Callable[..., None], *arguments: object) -> None:
        """Run something on the loop's thread; nothing if the loop is closed and nobody waits."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(call, *arguments)

    def _take(self) -> list[_Job]:
        """The job that waits longest, and others of similar length; removed from the queue."""
        with self._lock:
            # Nobody waits for these any more: their time was up before a worker was free.
            abandoned = [job for job in self._waiting if _is_abandoned(job)]
            if abandoned:
                self._waiting = [job for job in self._waiting if job not in abandoned]
            if not self._waiting:
                batch: list[_Job] = []
            else:
                share = -(-len(self._waiting) // len(self._threads))
                batch = _similar(self._waiting, min(share, self.embedder.preferred_batch))
                self._waiting = [job for job in self._waiting if job not in batch]
        if abandoned:
            self._tell(self._drop, abandoned)
        return batch

    def _drop(self, abandoned: list[_Job]) -> None:
        for job in abandoned:
            if self._jobs.get(job.text) is not job:
                continue
            if _is_abandoned(job):
                del self._jobs[job.text]
            else:
                # Somebody asked for the text again in the meantime.
                with self._lock:
                    self._waiting.append(job)
                self._tickets.put(True)

    def _embed(self, batch: list[_Job]) -> tuple[int, list[_Outcome]]:
        """Embed a batch, and count the calls that took.

        A text that is refused does not take the others with it.
        """
        outcomes: list[_Outcome] = []
        calls = 0
        while batch:
            calls += 1
            try:
                vectors = self.embedder.embed([job.text for job in batch])
                # Copies: a row would keep its whole batch in memory.
                rows = [row.copy() for _, row in zip(batch, vectors, strict=True)]
            except TextRefused as refusal:
                job = batch.pop(refusal.position)
                outcomes.append(_Outcome(job, None, refusal))
            except Exception as error:
                # Whatever an engine throws must reach the callers, and must not end the worker.
                failure = EmbedderUnavailable(f"{type(error).__name__}: {error}")
                failure.__cause__ = error
                outcomes.extend(_Outcome(job, None, failure) for job in batch)
                break
            else:
                for job, row in zip(batch, rows, strict=True):
                    row.setflags(write=False)
                    outcomes.append(_Outcome(job, row))
                break
        return calls, outcomes


def stand_back() -> None:
    """Let the event loop's thread go first where both want a core: an exact hit must not wait for a model."""
    if sys.platform == "linux":  # elsewhere a nice value belongs to a whole process
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            nice = os.getpriority(os.PRIO_PROCESS, thread) + _NICE
            os.setpriority(os.PRIO_PROCESS, thread, min(nice, 19))


def _similar(waiting: list[_Job], limit: int) -> list[_Job]:
    first = waiting[0]
    longest = len(first.text) * _SIMILAR + 16
    shortest = (len(first.text) - 16) / _SIMILAR
    batch: list[_Job] = []
    for job in waiting:
        if len(batch) == limit:
            break
        if shortest <= len(job.text) <= longest:
            batch.append(job)
    return batch


def _end(deadline: asyncio.TimerHandle, waiter: asyncio.Future[Vector]) -> None:
    deadline.cancel()
    if not waiter.cancelled():
        waiter.exception()  # whoever asked may have left: that is no error of anybody's


def _is_abandoned(job: _Job) -> bool:
    return all(waiter.done() for waiter in job.waiters)


def _fail(job: _Job, error: EmbeddingError) -> None:
    for waiter in job.waiters:
        if not waiter.done():
            waiter.set_exception(error)
