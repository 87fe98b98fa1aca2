"""Who asks: API keys, kept as hashes; the tenant comes from the key and from nowhere else."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import cast

from service.cache import Caller, Role
from service.errors import Unauthorized, Unavailable
from service.rate import RateLimit
from service.storage import tenants
from service.storage.database import Database

KEY_PREFIX = "sh_"
DEFAULT_TENANT = "default"

_LOCAL = Caller(DEFAULT_TENANT, "local", "admin")
"""Everybody, as long as no key was made. Revoking the last one opens nothing: it may have been stolen."""

_RECHECK_S = 1.0
"""How long a service without keys may take to notice that the first one was made."""


def new_key() -> tuple[str, bytes, str]:
    """(the key, shown once; its hash; its public id)."""
    text = KEY_PREFIX + secrets.token_urlsafe(32)
    return text, hash_key(text), "key_" + secrets.token_hex(6)


def hash_key(text: str) -> bytes:
    """SHA-256: keys are 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(text.encode()).digest()


def _given(authorization: str) -> bytes | None:
    """Hash of the key in a header; None where there is none."""
    scheme, _, text = authorization.partition(" ")
    key = text.strip()
    return hash_key(key) if key and scheme.lower() == "bearer" else None


class Keys:
    """Callers by key. What is remembered here names the tenant; that a key is still good is read every time."""

    def __init__(self, db: Database, *, rate: RateLimit | None = None) -> None:
        self._db = db
        self._rate = rate or RateLimit(0)
        self._known: dict[bytes, Caller] = {}
        self._any = True
        self._looked_at = float("-inf")

    def remembered(self, authorization: str | None) -> Caller | None:
        """The caller of a header that was good before; whoever asks must read whether its key still is.

        None for one that must be read first.

        Raises TooManyRequests.
        """
        if authorization is None:
            is_open = not self._any and time.monotonic() - self._looked_at <= _RECHECK_S
            return _LOCAL if is_open else None
        key_hash = _given(authorization)
        known = None if key_hash is None else self._known.get(key_hash)
        if known is not None:
            self._rate.check(known.key_id)
        return known

    async def caller(self, authorization: str | None, *, verify: bool = True) -> Caller:
        """Who sent this header.

        With `verify=False` a known key is not read again: the caller's next statement joins it (the hot path does).
        Raises Unauthorized, TooManyRequests.
        """
        if not verify and (known := self.remembered(authorization)) is not None:
            return known
        if authorization is None:
            if await self.exist():
                raise Unauthorized
            return _LOCAL
        key_hash = _given(authorization)
        if key_hash is None:
            raise Unauthorized("Authorization: must be `Bearer <key>`")
        row = await tenants.key_by_hash(self._db, key_hash=key_hash)
        if row is None:
            self._known.pop(key_hash, None)
            if not await self.exist():
                # no key is configured: whatever an SDK insists on sending means nothing to us
                return _LOCAL
            raise Unauthorized("this API key is not known or was revoked")
        caller = Caller(row[1], row[0], cast(Role, row[2]), key_hash, row[3])
        self._rate.check(caller.key_id)
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[key_hash] = caller
        return caller

    async def exist(self) -> bool:
        """True when some key was ever made, as of the last second; else whoever reaches the service may use it."""
        now = time.monotonic()
        if now - self._looked_at > _RECHECK_S:
            try:
                self._any = await tenants.any_key_made(self._db)
            except Unavailable:
                if self._looked_at == float("-inf"):
                    raise
            self._looked_at = now  # without a database, what was true before it went
        return self._any
