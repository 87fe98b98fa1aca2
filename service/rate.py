"""Rate limit per API key: a steady rate with bursts of ten seconds' worth, counted in each worker.

The generic cell rate algorithm (ITU-T I.371, 2004, annex A.1.1): one number per key, no timer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from service.errors import TooManyRequests

BURST_S = 10.0
_KEPT = 10_000
"""Keys remembered; past that, those whose burst is whole again are forgotten."""


class RateLimit:
    """At most so many requests per minute and key; 0 means no limit."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._interval_s = 60 / per_minute if per_minute else 0.0
        self._clock = clock
        self._due_s: dict[str, float] = {}

    def check(self, key_id: str) -> None:
        """Count one request of a key; raises TooManyRequests with the seconds to wait."""
        if not self._interval_s:
            return
        now = self._clock()
        due = max(self._due_s.get(key_id, 0.0), now)
        # one whole interval at least, or a slow rate would never let anything through
        wait_s = due - now - max(BURST_S - self._interval_s, 0.0)
        if wait_s > 1e-9:
            raise TooManyRequests(
                f"this key may send {self._per_minute} requests a minute",
                retry_after_s=math.ceil(wait_s),
            )
        self._due_s[key_id] = due + self._interval_s
        if len(self._due_s) > _KEPT:
            self._due_s = {key: at for key, at in self._due_s.items() if at > now}
