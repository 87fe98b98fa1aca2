"""Who calls the proxy, and which credentials the upstream sees.

Our keys and the provider's travel in the same headers, since clients have only those. A key of ours never goes
upstream. The service's own provider key goes to the address it was configured with and to no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.auth import KEY_PREFIX, Keys
from service.cache import Caller
from service.errors import Unauthorized, Unavailable
from service.proxy.headers import HeaderList, value_of
from service.proxy.upstream import Target

_HOW = (
    "send a Surehit key as `Authorization: Bearer sh_…`, `x-api-key: sh_…` or `X-Surehit-Key: sh_…` "
    "(the last leaves the first two for a provider key of your own)"
)


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller, and what of its credentials is the provider's.

    `caller` is None when the database cannot say whether the key is good and the caller brought provider credentials:
    such a call may pass with those, and has no part in the cache.
    """

    caller: Caller | None
    own: HeaderList
    is_separate: bool
    """True when our key came in a header of its own, so that `own` is meant for the provider."""


async def identify(keys: Keys, headers: HeaderList, *, verify: bool) -> Identity:
    """Who sent these headers. `verify=False` leaves the check that the key still lives to the lookup's own read.

    Raises Unauthorized, and Unavailable where the database is needed and down.
    """
    token, own, is_separate = _split(headers)
    authorization = None if token is None else f"Bearer {token}"
    try:
        return Identity(await _caller(keys, authorization, verify=verify), own, is_separate)
    except Unauthorized as error:
        raise Unauthorized(_HOW) if token is None else error from error
    except Unavailable:
        if own and is_separate:
            return Identity(None, own, is_separate)
        raise


def for_upstream(identity: Identity, target: Target) -> HeaderList:
    """The credentials to send: the caller's own where it separated them from ours, else the configured key."""
    if target.api_key and not (identity.is_separate and identity.own):
        if target.provider == "anthropic":
            return [(b"x-api-key", target.api_key.encode())]
        return [(b"authorization", b"Bearer " + target.api_key.encode())]
    return identity.own


async def _caller(keys: Keys, authorization: str | None, *, verify: bool) -> Caller:
    try:
        return await keys.caller(authorization, verify=verify)
    except Unavailable:
        if not verify:
            raise
        return await keys.caller(authorization, verify=False)  # known from before the outage


def _split(headers: HeaderList) -> tuple[str | None, HeaderList, bool]:
    """(our key, the provider's credentials, whether ours came separately)."""
    separate = value_of(headers, b"x-surehit-key")
    own: HeaderList = []
    token = None
    for name, value in headers:
        if name not in (b"authorization", b"x-api-key", b"api-key"):
            continue
        text = value.decode("latin-1").strip()
        scheme, _, rest = text.partition(" ")
        bare = rest.strip() if name == b"authorization" and scheme.lower() == "bearer" else text
        if bare.startswith(KEY_PREFIX):
            token = token or bare
        else:
            own.append((name, value))
    if separate is not None:
        return separate.removeprefix("Bearer ").strip(), own, True
    return token, own, False
