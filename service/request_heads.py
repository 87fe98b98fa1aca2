"""Heads of hot requests that were read before.

A client that keeps its connection sends the same head with every request, but for the length of the body. To parse it
again yields what it yielded, and costs as much as all the rest of an exact hit. A request is found here only if it is
whole: a known head, then as many bytes as that head said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_END = b"\r\n\r\n"


class RequestHeads:
    """Scopes of requests by the bytes of their heads; the one kept longest leaves first."""

    def __init__(self, *, most: int = 1024, longest: int = 2048) -> None:
        """`longest` in bytes."""
        self._most, self._longest = most, longest
        self._known: dict[bytes, tuple[dict[str, Any], int]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, request: bytes) -> tuple[dict[str, Any], bytes] | None:
        """(scope, body) of a whole request with a known head, and nothing behind it; None for any other bytes."""
        end = request.find(_END, 0, self._longest) + len(_END)
        known = self._known.get(request[:end])
        if known is None or len(request) - end != known[1]:
            return None
        return known[0], request[end:]

    def keep(self, request: bytes, scope: Mapping[str, Any], body: bytes) -> None:
        """Remember the head of a whole request from what a parser made of it.

        The scope is kept without what belongs to a connection. A body that is not the rest of the bytes came in chunks,
        or something came before it or after it: then nothing is kept.
        """
        end = request.find(_END, 0, self._longest) + len(_END)
        head = request[:end]
        if end < len(_END) or request[end:] != body or head in self._known:
            return
        if len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
        kept = {name: scope[name] for name in ("type", "method", "path", "headers")}
        self._known[head] = (kept, len(body))
