"""Upkeep in the background: expire, evict, embed what waits for a vector, forget old rows. Each pass is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import structlog

from index.embedding.pool import EmbeddingPool
from index.types import Embedder, EmbeddingError, TextRefused, Vector
from service import key
from service.cache import Cache
from service.caps import HOUR_MS
from service.errors import SurehitError
from service.guards import read_word_lists
from service.policy import Policy
from service.semantic import partition_of
from service.storage import lookups, store_counts, upkeep
from service.storage.database import Row, Transaction

PASS_S = 2.0
EMBED_BATCH = 64
DUTY_MS = 15_000
EMBED_S = 1.5
"""Seconds of one pass that go into the vectors of one line."""
EVICT_BATCH = 2_000
EVICT_BATCHES = 20
"""Batches of one pass: 20,000 stores a second are kept under their limit."""
_DAY_MS = 86_400_000
_EXPIRY_GRACE_MS = 30 * _DAY_MS
"""Expired entries stay this long only where a line serves stale ones; see `_grace_ms`."""

log = structlog.get_logger("surehit.maintenance")


class Maintenance:
    """The loop. What fails is logged and tried again in the next pass."""

    def __init__(
        self, cache: Cache, *, on_evict: Callable[[str, str], None] = lambda tenant, line: None
    ) -> None:
        self._cache = cache
        self._on_evict = on_evict
        self._task: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[object] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop after the current statement."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def warm(self) -> None:
        """Ask for the models of all lines, so that they load while exact hits are served already."""
        self._warming = asyncio.create_task(asyncio.to_thread(read_word_lists))
        for tenant, line in await upkeep.all_lines(self._cache.db):
            policy = await self._cache.policies.load(tenant, line)
            if policy is not None and policy.config.mode in ("shadow", "serve"):
                self._cache.embedders.slot(self._model(policy))
                if policy.config.verifier is not None:
                    self._cache.verifiers.prepare(policy.config.verifier)

    async def once(self) -> None:
        """One pass over everything."""
        cache = self._cache
        now = cache.clock_ms()
        policies = []
        for tenant, line in await upkeep.all_lines(cache.db):
            policy = await cache.policies.load(tenant, line)
            if policy is not None:
                policies.append(policy)
        grace = max((_grace_ms(p) for p in policies), default=0)
        expired = await cache.db.write(lambda tx: upkeep.drop_expired(tx, before=now - grace))
        cache.partitions.forget(expired)
        await cache.db.write(lambda tx: upkeep.drop_old_fills(tx, now=now))
        hour = now // HOUR_MS
        await cache.db.write(lambda tx: store_counts.drop_old(tx, before=hour - 1))
        keep_ms = cache.settings.log_retention_days * _DAY_MS
        await cache.db.write(lambda tx: lookups.drop_old(tx, before=now - keep_ms))
        for policy in policies:
            await self._evict_from_line(policy)
        for tenant in dict.fromkeys(policy.tenant for policy in policies):
            await self._evict_from_tenant(tenant)
        for policy in policies:
            if policy.config.mode in ("shadow", "serve"):
                await self._embed(policy, now)

    async def _evict_from_line(self, policy: Policy) -> None:
        limits = policy.config.limits
        await self._evict(policy.tenant, policy.line, limits.max_entries, limits.max_bytes)

    async def _evict_from_tenant(self, tenant: str) -> None:
        settings = self._cache.settings
        await self._evict(
            tenant, None, settings.tenant_max_entries or None, settings.tenant_max_mb << 20 or None
        )

    async def _evict(
        self, tenant: str, line: str | None, max_entries: int | None, max_bytes: int | None
    ) -> None:
        """Bring a line (None: a whole tenant) under its limits, or as near as one pass may."""
        if max_entries is None and max_bytes is None:
            return

        def evict(tx: Transaction) -> list[Row]:
            return upkeep.evict(
                tx,
                tenant,
                line=line,
                max_entries=max_entries,
                max_bytes=max_bytes,
                batch=EVICT_BATCH,
            )

        for _ in range(EVICT_BATCHES):
            gone = await self._cache.db.write(evict)
            self._cache.partitions.forget((row[0], row[1]) for row in gone)
            for row in gone:
                self._on_evict(tenant, row[2])
            if len(gone) < EVICT_BATCH:
                return

    async def _embed(self, policy: Policy, now: int) -> None:
        """Vectors for entries that were stored while the model was away, in mode `exact`, or under another model."""
        slot = self._cache.embedders.slot(self._model(policy))
        if slot.embedder is None or slot.pool is None:
            return
        rows = await self._to_embed(policy, slot.embedder, now)
        if not rows or not await self._has_duty(policy):
            return
        try:
            await self._embed_for_a_while(policy, slot.embedder, slot.pool, rows, now)
        finally:  # or the line would wait until the duty of a worker that is gone runs out
            await self._end_duty(policy)

    async def _to_embed(self, policy: Policy, embedder: Embedder, now: int) -> list[Row]:
        return await upkeep.to_embed(
            self._cache.db,
            policy.tenant,
            line=policy.line,
            policy_version=policy.config.policy_version,
            fingerprint=embedder.fingerprint,
            now=now,
            limit=EMBED_BATCH,
        )

    async def _embed_for_a_while(
        self,
        policy: Policy,
        embedder: Embedder,
        pool: EmbeddingPool,
        rows: list[Row],
        now: int,
    ) -> None:
        """These rows, and the next ones while there is time and the duty is held."""
        ends = time.monotonic() + EMBED_S
        while True:
            at_once = embedder.preferred_batch  # few: lookups wait in the same queue
            for start in range(0, len(rows), at_once):
                some = rows[start : start + at_once]
                try:
                    vectors = await asyncio.gather(*(_vector(pool, row[1]) for row in some))
                except EmbeddingError:
                    return
                await self._set_vectors(policy, embedder.fingerprint, some, vectors)
            if len(rows) < EMBED_BATCH or time.monotonic() >= ends:
                return
            rows = await self._to_embed(policy, embedder, now)
            if not rows or not await self._has_duty(policy):
                return

    async def _has_duty(self, policy: Policy) -> bool:
        """True when this worker is to embed for the line: of several, one; the next when it is gone."""
        cache, now = self._cache, self._cache.clock_ms()
        return await cache.db.write(
            lambda tx: upkeep.take_duty(
                tx,
                policy.tenant,
                name=f"embed:{policy.line}",
                worker=cache.worker,
                now=now,
                until=now + DUTY_MS,
            )
        )

    async def _end_duty(self, policy: Policy) -> None:
        await self._cache.db.write(
            lambda tx: upkeep.end_duty(
                tx, policy.tenant, name=f"embed:{policy.line}", worker=self._cache.worker
            )
        )

    async def _set_vectors(
        self, policy: Policy, fingerprint: str, rows: list[Row], vectors: list[Vector | None]
    ) -> None:
        """Give entries their vectors; None where this model cannot read the text: found by its exact key alone."""
        partitions = [
            None
            if vector is None
            else partition_of(policy, scope, fingerprint, key.canonicalize(key.parse(request)))
            for (_, _, scope, request), vector in zip(rows, vectors, strict=True)
        ]

        def write(tx: Transaction) -> None:
            for row, partition, vector in zip(rows, partitions, vectors, strict=True):
                upkeep.set_vector(
                    tx,
                    policy.tenant,
                    entry_id=row[0],
                    query=row[1],
                    partition=partition,
                    fingerprint=fingerprint,
                    vector=None if vector is None else vector.tobytes(),
                )

        await self._cache.db.write(write)

    def _model(self, policy: Policy) -> str:
        return self._cache.embedders.name_for(policy.config.language, policy.config.embedder)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(PASS_S)
            try:
                await self.once()
                await self._cache.partitions.tend()
            except SurehitError as error:
                log.warning("maintenance_waits", error=error.detail)
            except Exception:  # one bad row must not end upkeep for good
                log.exception("maintenance_failed")


async def _vector(pool: EmbeddingPool, text: str) -> Vector | None:
    try:
        return await pool.embed_one(text, timeout_s=10.0)
    except TextRefused:
        return None


def _grace_ms(policy: Policy) -> int:
    config = policy.config
    stale_s = max(config.stale_while_revalidate_s, config.stale_if_error_s)
    return min(_EXPIRY_GRACE_MS, int(stale_s * 1000))
