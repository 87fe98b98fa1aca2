"""Waiting for an answer that somebody else is fetching: the lease of its key says whether anybody still is.

Shared by callers of `POST /v1/lookup` with `wait_ms` and by the proxy, whose leader may be in another worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from service.cache import Cache, Caller
from service.storage import entries, fills
from service.storage.database import Row, Transaction

FIRST_POLL_S, LONGEST_POLL_S = 0.005, 0.05

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Waited(Generic[T]):
    """What the waiting came to: an answer, or the lease (whoever filled gave up or died), or neither in time."""

    answer: T | None = None
    has_lease: bool = False


async def for_answer(
    cache: Cache,
    caller: Caller,
    *,
    line: str,
    key: bytes,
    lookup_id: int,
    lease_s: float,
    take: Callable[[Row, int], T | None],
    is_over: Callable[[], bool],
) -> Waited[T]:
    """Look at lease and exact tier until there is an answer that `take` accepts, the lease is free, or `is_over`.

    `take` gets a row of `storage.entries.exact` and the time. Raises Unavailable.
    """
    poll_s = FIRST_POLL_S
    while not is_over():
        await asyncio.sleep(poll_s)
        poll_s = min(LONGEST_POLL_S, poll_s * 2)
        now = cache.clock_ms()
        # the lease first: where it was gone before the exact tier was read, its answer is there already
        is_leased = await fills.is_being_filled(cache.db, caller.tenant, key=key, now=now)
        row = await entries.exact(
            cache.db, caller.tenant, line=line, key=key, now=now, api_key=caller.key_hash
        )
        answer = None if row is None else take(row, now)
        if answer is not None:
            return Waited(answer)
        if not is_leased and await _take_over(cache, caller, key, lookup_id, now, lease_s):
            return Waited(has_lease=True)
    return Waited()


async def _take_over(
    cache: Cache, caller: Caller, key: bytes, lookup_id: int, now: int, lease_s: float
) -> bool:
    """Take the lease that nobody holds any more; False when another waiter was faster."""
    until = now + round(lease_s * 1000)

    def work(tx: Transaction) -> bool:
        taken = fills.take_over(
            tx, caller.tenant, lookup_id=lookup_id, key=key, now=now, lease_until=until
        )
        if taken:
            fills.begin_again(tx, caller.tenant, lookup_id=lookup_id, now=now)
        return taken

    return await cache.db.write(work)
