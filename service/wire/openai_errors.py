"""Errors as the OpenAI clients read them."""

from __future__ import annotations

from typing import Any

from service.wire import json_text
from service.wire.sse import write

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}


def error_body(
    status: int,
    message: str,
    *,
    type: str | None = None,
    code: str | None = None,
    request_id: str | None = None,
) -> dict[str, Any]:
    """`{"error": {...}}`. OpenAI gives the request id in a header only, so `request_id` is not
    used.
    """
    fallback = "server_error" if status >= 500 else "invalid_request_error"
    kind = type or _TYPES.get(status, fallback)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_event(
    status: int,
    message: str,
    *,
    type: str | None = None,
    code: str | None = None,
    request_id: str | None = None,
) -> bytes:
    """The error as an event of a stream of chat completions, at which the clients raise."""
    return write(json_text.dump(error_body(status, message, type=type, code=code)))
