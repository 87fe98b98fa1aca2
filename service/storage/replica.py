"""Reads that may come from a replica: large ones, whose result says up to where it has read.

A replica lags behind. Each such read returns its change horizon, and the caller reads what came since from the
primary, so nothing that was answered is missed however far the replica is behind. When the replica does not answer
the primary is asked instead, and for some seconds at once.
"""

from __future__ import annotations

import time
from typing import Any

import structlog

from service.errors import Unavailable
from service.storage.database import Database, Row
from service.storage.postgresql import PostgresqlDatabase
from service.storage.query import Query

AVOID_S = 5.0
"""Seconds for which a replica that did not answer is left alone."""

log = structlog.get_logger("surehit.replica")


class Reader:
    """A replica in front of a primary; without a replica, the primary."""

    def __init__(
        self, primary: Database, replica_url: str, *, budget_ms: int, **options: str
    ) -> None:
        self._primary = primary
        self._replica: Database | None = None
        if replica_url:
            self._replica = PostgresqlDatabase(
                replica_url, budget_ms=budget_ms, writers=0, must_answer=False, options=options
            )
        self._avoid_until = 0.0

    @property
    def has_replica(self) -> bool:
        """True when what is read may be older than the primary."""
        return self._replica is not None

    async def open(self) -> None:
        """Connect to the replica in the background; that it is away does not hold up the start."""
        if self._replica is not None:
            await self._replica.open()

    async def close(self) -> None:
        """Disconnect from the replica."""
        if self._replica is not None:
            await self._replica.close()

    async def read(self, query: Query, params: dict[str, Any]) -> list[Row]:
        """See `Database.read`."""
        if self._replica is not None and time.monotonic() >= self._avoid_until:
            try:
                return await self._replica.read(query, params)
            except Unavailable as error:
                self._avoid_until = time.monotonic() + AVOID_S
                log.warning("replica_avoided", error=error.detail)
        return await self._primary.read(query, params)
