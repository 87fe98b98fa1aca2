"""Calls to providers: pooled connections, time limits, no retries (the clients' SDKs already do two)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache

import httpx2

from service.errors import SurehitError
from service.proxy.headers import HeaderList
from service.proxy.lanes import Lanes
from service.settings import Settings
from service.wire.api import Provider


class UpstreamFailed(SurehitError):
    """The upstream gave no answer."""

    status, code, title = 502, "upstream-failed", "Upstream failed"


class UpstreamTimedOut(UpstreamFailed):
    """The upstream did not answer in time."""

    status, code, title = 504, "upstream-timeout", "Upstream timed out"


class UnknownUpstream(SurehitError):
    """The line names an upstream that the service's settings do not have."""

    status, code, title = 503, "unknown-upstream", "Unknown upstream"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a call goes, and the key that belongs there."""

    provider: Provider
    base_url: str
    api_key: str
    name: str = ""
    """Empty for the provider's default."""


class Upstreams:
    """All upstreams of this process, each with its own connections."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._context = httpx2.create_ssl_context()
        self._lanes: dict[str, Lanes] = {}
        limits = httpx2.Timeout(settings.upstream_timeout_s, connect=settings.upstream_connect_s)
        self._limits = {"timeout": limits.as_dict()}
        self._defaults: dict[Provider, Target] = {
            "openai": Target(
                "openai", settings.openai_base_url, settings.openai_api_key.get_secret_value()
            ),
            "anthropic": Target(
                "anthropic",
                settings.anthropic_base_url,
                settings.anthropic_api_key.get_secret_value(),
            ),
        }

    def target(self, provider: Provider, name: str | None) -> Target:
        """The upstream of a line for a provider's calls. Raises UnknownUpstream."""
        if name is None:
            return self._defaults[provider]
        given = self._settings.upstreams.get(name)
        if given is None:
            raise UnknownUpstream(
                f"the line's upstream {name!r} is not among SUREHIT_UPSTREAMS "
                f"({', '.join(sorted(self._settings.upstreams)) or 'none'})"
            )
        if given.provider != provider:  # the other provider's calls of that line
            return self._defaults[provider]
        return Target(provider, given.url, given.api_key.get_secret_value(), name)

    @asynccontextmanager
    async def call(
        self,
        target: Target,
        method: str,
        path: str,
        query: bytes,
        headers: HeaderList,
        content: bytes | AsyncIterator[bytes] | None,
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request; inside the context the head of its answer is here and the body is still to be read.

        Raises UpstreamFailed for what happens before the head; what happens later is httpx2's own error.
        """
        lanes = self._lanes.get(target.base_url)
        if lanes is None:
            lanes = self._lanes[target.base_url] = Lanes(self._context)
        address = f"{target.base_url.rstrip('/')}/{path}"
        read = httpx2.URL if query else _url
        if query:
            address += "?" + query.decode("latin-1")
        client = lanes.take()
        try:
            try:
                # built by hand: the client would add headers of its own to the caller's
                request = httpx2.Request(
                    method, read(address), headers=headers, content=content, extensions=self._limits
                )
                response = await client.send(request, stream=True)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise failed(error) from error
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            await lanes.give_back(client)

    async def close(self) -> None:
        """Close all connections."""
        for lanes in self._lanes.values():
            await lanes.close()
        self._lanes.clear()


_url = lru_cache(maxsize=1024)(httpx2.URL)
"""Reading an address costs as much as reading a reply's head, and without queries there are few of them."""


def failed(error: Exception) -> UpstreamFailed:
    """A transport error in our words; the address stays out of it, since callers see the text."""
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return UpstreamTimedOut(f"the upstream did not answer in time ({type(error).__name__})")
    if isinstance(error, httpx2.ConnectError):
        return UpstreamFailed("the upstream cannot be reached")
    return UpstreamFailed(
        f"the upstream broke off before its answer was complete ({type(error).__name__})"
    )
