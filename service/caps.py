"""Insert caps: how many answers one API key may store per hour, against flooding and poisoning."""

from __future__ import annotations

from service.errors import TooManyRequests
from service.storage import store_counts
from service.storage.database import Transaction

HOUR_MS = 3_600_000


def count_store(tx: Transaction, key_id: str, cap: int | None, *, now: int) -> None:
    """Count one store of a key, all workers together; raises TooManyRequests over its cap (None: no cap).

    The window slides: of the hour before, the share that is less than an hour ago counts too. A refused store is rolled
    back and with it its count. The row of a capped key is held until the commit, so its stores go one after the other.
    """
    if cap is None:
        return
    used, before = store_counts.add(tx, key_id=key_id, hour=now // HOUR_MS)
    share_left = 1 - (now % HOUR_MS) / HOUR_MS
    if used + before * share_left > cap:
        raise TooManyRequests(f"this key may store {cap} answers an hour")
