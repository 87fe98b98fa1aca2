"""Errors of the fake upstream, in the shape of the API that was called."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

ON_DEMAND = "A fault on demand."


def error(
    request: Request, status: int, message: str = ON_DEMAND, *, retry_after_s: float | None = None
) -> Response:
    """An error as a reply."""
    headers = {} if retry_after_s is None else {"retry-after": f"{retry_after_s:g}"}
    data = _error_data(request.url.path, status, message)
    return JSONResponse(data, status_code=status, headers=headers)


def error_chunk(request: Request) -> bytes:
    """An error in the middle of a stream."""
    data = _error_data(request.url.path, 500, ON_DEMAND)
    if request.url.path == "/v1/responses":
        problem = data["error"]
        data = {**problem, "type": "error", "sequence_number": 0}
    return chunk("" if request.url.path == "/v1/chat/completions" else "error", data)


def chunk(name: str, data: dict[str, Any]) -> bytes:
    """A server-sent event; without a name if that is empty."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"


def _error_data(path: str, status: int, message: str) -> dict[str, Any]:
    if path == "/v1/messages":
        kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
        problem: dict[str, Any] = {"type": kinds.get(status, "api_error"), "message": message}
        return {"type": "error", "error": problem, "request_id": None}
    kind = "server_error" if status >= 500 else "invalid_request_error"
    code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
