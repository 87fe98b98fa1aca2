"""Errors as RFC 9457 problem documents; the one place that knows both our errors and HTTP."""

from __future__ import annotations

from typing import Any

import orjson

from service.errors import SurehitError, TooManyRequests

CONTENT_TYPE = "application/problem+json"


def document(error: SurehitError) -> dict[str, Any]:
    """The problem members; `type` is stable and `errors` names each refused field."""
    found: dict[str, Any] = {
        "type": f"urn:surehit:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
    }
    if error.errors:
        found["errors"] = [{"field": e.field, "message": e.message} for e in error.errors]
    return found


def body(error: SurehitError) -> bytes:
    """The document as JSON."""
    return orjson.dumps(document(error))


def headers(error: SurehitError) -> list[tuple[bytes, bytes]]:
    """What HTTP says about an error outside of its body."""
    found = [(b"content-type", CONTENT_TYPE.encode())]
    if error.status == 401:
        found.append((b"www-authenticate", b"Bearer"))
    if isinstance(error, TooManyRequests) and error.retry_after_s is not None:
        found.append((b"retry-after", b"%d" % error.retry_after_s))
    return found


class Internal(SurehitError):
    """Something failed inside the service; the log has the details."""


def plain(status: int, detail: str) -> bytes:
    """A problem without a type of its own: the status says it all (RFC 9457 §4.2.1)."""
    return orjson.dumps(
        {
            "type": "about:blank",
            "title": detail,
            "status": status,
            "detail": detail,
            "code": f"http-{status}",
        }
    )
