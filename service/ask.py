"""What a caller asks of a lookup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from service.cache_control import is_wanted
from service.outcome import Tier

BOTH: tuple[Tier, ...] = ("exact", "semantic")


class Ask(msgspec.Struct, frozen=True):
    """A lookup as the caller put it."""

    line: str
    request: Any
    scope: str = ""
    tiers: Sequence[Tier] = BOTH
    wait_ms: int = 0
    max_age_s: float | None = None
    """Only entries younger than this; 0 accepts none."""
    min_fresh_s: float | None = None
    """Only entries that live for at least so long."""
    may_serve: bool = True
    """False: don't serve (`no-cache`), but let the answer be stored."""
    may_record: bool = True
    """False (`no-store`): nothing of the request is kept, in log, review or fills; its outcome is counted."""
    lease_s: float | None = None
    """Shorter than the settings' where the caller renews its lease while it lives (the proxy)."""

    def wants(self, created_ms: int, expires_ms: int | None, now: int) -> bool:
        """True for an entry whose age and rest of life the caller accepts."""
        return is_wanted(
            created_ms, expires_ms, now, max_age_s=self.max_age_s, min_fresh_s=self.min_fresh_s
        )
