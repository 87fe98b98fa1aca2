"""Which headers cross the proxy in either direction.

Dropped are those that belong to one connection (RFC 9110 §7.6.1), those that are addressed to Surehit, and those that
the next hop writes itself. Everything else passes in its order and spelling.
"""

from __future__ import annotations

from collections.abc import Iterable

HeaderList = list[tuple[bytes, bytes]]

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_FORWARDED = _HOP_BY_HOP | {b"host", b"expect"}
_OURS = b"x-surehit-"
CREDENTIALS = frozenset({b"authorization", b"x-api-key", b"api-key"})
_ACCOUNT = CREDENTIALS | {b"openai-organization", b"openai-project"}

_REPLACED = frozenset({b"cache-control", b"age", b"pragma", b"expires"})
"""What an upstream says about caching: AI services forbid it as a matter of course, and we say it for this reply."""


def value_of(headers: HeaderList, name: bytes) -> str | None:
    """The header's value, several joined by commas; None when absent. Bytes that are no UTF-8 count as Latin-1."""
    found = [value for key, value in headers if key == name]
    if not found:
        return None
    joined = b", ".join(found)
    try:
        return joined.decode().strip()
    except UnicodeDecodeError:
        return joined.decode("latin-1").strip()


def as_text(headers: HeaderList) -> dict[str, str]:
    """Headers as a mapping, for the key; several of one name are joined by commas."""
    found: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def to_upstream(headers: HeaderList, *, cached_route: bool) -> HeaderList:
    """The request's headers without credentials, which `credentials` adds.

    On a cached route the answer is read on its way, so it must come uncompressed, and `Cache-Control` was for us.
    """
    dropped = _NOT_FORWARDED | CREDENTIALS | _named_by_connection(headers)
    if cached_route:
        dropped |= {b"accept-encoding", b"content-length", b"cache-control"}
    kept = [(n, v) for n, v in headers if n not in dropped and not n.startswith(_OURS)]
    if cached_route:
        kept.append((b"accept-encoding", b"identity"))
    elif not any(n == b"accept-encoding" for n, _ in kept):
        kept.append(
            (b"accept-encoding", b"identity")
        )  # none was named: send nothing that needs decoding
    return kept


def account_of(headers: HeaderList) -> HeaderList:
    """What of an upstream request says who is billed and limited: its refusals are about these and nobody else."""
    return sorted(h for h in headers if h[0] in _ACCOUNT)


def to_caller(headers: HeaderList, *, cached_route: bool, drop: Iterable[bytes] = ()) -> HeaderList:
    """The upstream's headers as the caller gets them."""
    # the server in front of us writes a date of its own
    dropped = _HOP_BY_HOP | _named_by_connection(headers) | {b"date"} | set(drop)
    if cached_route:
        dropped |= _REPLACED
        # another Surehit behind this one speaks of entries that nobody here can ask about
        headers = [(n, v) for n, v in headers if not n.startswith(_OURS)]
    return [(n, v) for n, v in headers if n not in dropped]


def _named_by_connection(headers: HeaderList) -> set[bytes]:
    return {
        part.strip().lower()
        for name, value in headers
        if name == b"connection"
        for part in value.split(b",")
        if part.strip()
    }
