"""Insert caps: how many answers one API key may store per hour, against flooding and poisoning."""

from __future__ import annotations

from service.errors import TooManyRequests

_HOUR_MS = 3_600_000


class Caps:
    """A sliding window of two hours' counts per key, in this process."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = {}

    def check(self, key_id: str, cap: int | None, *, now: int) -> None:
        """Count one store of a key; raises TooManyRequests over its cap (None: no cap)."""
        if cap is None:
            return
        hour = now // _HOUR_MS
        used = self._counts.get((key_id, hour), 0)
        before = self._counts.get((key_id, hour - 1), 0)
        share_left = 1 - (now % _HOUR_MS) / _HOUR_MS
        if used + before * share_left >= cap:
            raise TooManyRequests(f"this key may store {cap} answers an hour")
        self._counts[key_id, hour] = used + 1
        if len(self._counts) > 10_000:
            self._counts = {k: n for k, n in self._counts.items() if k[1] >= hour - 1}
