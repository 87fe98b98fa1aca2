"""The parts of a running cache, wired once and handed to the functions that use them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from service import ids
from service.candidates import Candidates
from service.embedders import Embedders
from service.journal import Journal
from service.policy import Policies
from service.settings import Settings
from service.storage.database import Database
from service.verifiers import Verifiers

Role = Literal["use", "review", "admin"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `key_hash` is None where no key is configured (loopback only)."""

    tenant: str
    key_id: str
    role: Role
    key_hash: bytes | None = None
    max_stores_per_hour: int | None = None

    def may(self, role: Role) -> bool:
        """True when the caller's role includes `role`: an admin may review, a reviewer may use."""
        order = ("use", "review", "admin")
        return order.index(self.role) >= order.index(role)


@dataclass(slots=True)
class Cache:
    """Everything that a lookup or a store needs."""

    settings: Settings
    db: Database
    policies: Policies
    embedders: Embedders
    verifiers: Verifiers
    partitions: Candidates
    journal: Journal
    clock_ms: Callable[[], int]
    new_id: ids.IdSource
    worker: int = field(default_factory=lambda: secrets.randbits(62))
    """Tells this worker from others of the same database."""
