"""Connections to one upstream: as many one-connection clients as calls are under way, the last used first.

A common pool of httpx2 asks the system about each of its idle connections for every request and for every reply; at
32 callers that costs more than all the rest of a call (../../DECISIONS.md). A client with one connection asks about
one.
"""

from __future__ import annotations

import ssl
import time
from collections import deque
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

MAX_IDLE = 100
IDLE_S = 30.0
"""Under the minute after which providers close idle connections themselves."""


class Lanes:
    """Clients that are free, newest at the right."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._free: deque[tuple[float, httpx2.AsyncClient]] = deque()

    def take(self) -> httpx2.AsyncClient:
        """A client for one call; give it back when its reply is closed."""
        if self._free:
            return self._free.pop()[1]
        return httpx2.AsyncClient(
            verify=self._context,
            limits=httpx2.Limits(
                max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE_S
            ),
            # a jar would carry one tenant's cookies into another's calls
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
        )

    async def give_back(self, client: httpx2.AsyncClient) -> None:
        """The call is over. What was idle for too long, or is too many, is closed."""
        now = time.monotonic()
        self._free.append((now, client))
        while self._free and (len(self._free) > MAX_IDLE or now - self._free[0][0] > IDLE_S):
            await self._free.popleft()[1].aclose()

    async def close(self) -> None:
        """Close what is free; calls under way close theirs when they end."""
        while self._free:
            await self._free.pop()[1].aclose()
