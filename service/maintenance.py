"""Upkeep in the background: expire, evict, embed what waits for a vector, forget old rows. Each pass is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import time

import structlog

from index.types import EmbeddingError, TextRefused
from service import key
from service.cache import Cache
from service.errors import SurehitError
from service.guards import judge
from service.lookup import partition_of
from service.partitions import remove_orphans
from service.policy import Policy
from service.storage import lookups, upkeep
from service.storage.database import Transaction

PASS_S = 2.0
SNAPSHOT_S = 300.0
MAX_SNAPSHOTS = 256
EMBED_BATCH = 64
EVICT_BATCH = 500
_DAY_MS = 86_400_000
_EXPIRY_GRACE_MS = 30 * _DAY_MS
"""Expired entries stay this long only where a line serves stale ones; see `_grace_ms`."""

log = structlog.get_logger("surehit.maintenance")


class Maintenance:
    """The loop. What fails is logged and tried again in the next pass."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._task: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[object] | None = None
        self._saved_at = time.monotonic()

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
        self._warming = asyncio.create_task(
            asyncio.to_thread(judge, "warm", "up")
        )  # reads the word lists
        for tenant, line in await upkeep.all_lines(self._cache.db):
            policy = await self._cache.policies.load(tenant, line)
            if policy is not None and policy.config.mode in ("shadow", "serve"):
                self._cache.embedders.slot(self._model(policy))

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
        keep_ms = cache.settings.log_retention_days * _DAY_MS
        await cache.db.write(lambda tx: lookups.drop_old(tx, before=now - keep_ms))
        for policy in policies:
            await self._evict(policy)
            if policy.config.mode in ("shadow", "serve"):
                await self._embed(policy, now)

    async def _evict(self, policy: Policy) -> None:
        limit = policy.config.limits.max_entries
        if limit is None:
            return

        def evict(tx: Transaction) -> list[int]:
            over = upkeep.count_of_line(tx, policy.tenant, line=policy.line) - limit
            if over <= 0:
                return []
            return upkeep.evict(tx, policy.tenant, line=policy.line, n=min(over, EVICT_BATCH))

        self._cache.partitions.forget(await self._cache.db.write(evict))

    async def _embed(self, policy: Policy, now: int) -> None:
        """Vectors for entries that were stored while the model was away, or under another model."""
        cache = self._cache
        slot = cache.embedders.slot(self._model(policy))
        if slot.embedder is None or slot.pool is None:
            return
        rows = await upkeep.to_embed(
            cache.db,
            policy.tenant,
            line=policy.line,
            policy_version=policy.config.policy_version,
            fingerprint=slot.embedder.fingerprint,
            now=now,
            limit=EMBED_BATCH,
        )
        for entry_id, query, scope, request in rows:
            partition = vector = None
            fingerprint = slot.embedder.fingerprint
            try:
                vector = await slot.pool.embed_one(query, timeout_s=10.0)
                canonical = key.canonicalize(key.parse(request))
                partition = partition_of(policy, scope, fingerprint, canonical)
            except TextRefused:
                pass  # this model cannot read it: found by its exact key alone
            except (EmbeddingError, TimeoutError):
                return
            blob = None if vector is None else vector.tobytes()
            await cache.db.write(
                lambda tx, e=entry_id, q=query, p=partition, f=fingerprint, b=blob: (
                    upkeep.set_vector(  # type: ignore[misc]
                        tx, policy.tenant, entry_id=e, query=q, partition=p, fingerprint=f, vector=b
                    )
                )
            )

    def _model(self, policy: Policy) -> str:
        return self._cache.embedders.name_for(policy.config.language, policy.config.embedder)

    async def _save(self) -> None:
        """Snapshots now and then; at a clean end the application saves once more."""
        if time.monotonic() - self._saved_at < SNAPSHOT_S:
            return
        self._saved_at = time.monotonic()
        if await self._cache.partitions.save():
            folder = self._cache.settings.data_dir / "snapshots"
            await asyncio.to_thread(remove_orphans, folder, keep=MAX_SNAPSHOTS)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(PASS_S)
            try:
                await self.once()
                await self._save()
            except SurehitError as error:
                log.warning("maintenance_waits", error=error.detail)
            except Exception:  # one bad row must not end upkeep for good
                log.exception("maintenance_failed")


def _grace_ms(policy: Policy) -> int:
    config = policy.config
    stale_s = max(config.stale_while_revalidate_s, config.stale_if_error_s)
    return min(_EXPIRY_GRACE_MS, int(stale_s * 1000))
