"""Everything that can go wrong for a caller, as one shallow tree.

    SurehitError
    ├── InvalidRequest      422  a field is missing, of the wrong kind or out of its range
    ├── MalformedBody       400  the body is no JSON
    ├── Unauthorized        401  no key, or one that is not known or was revoked
    ├── Forbidden           403  the key's role does not allow this
    ├── NotFound            404  no such thing for this tenant (also: another tenant's)
    ├── Conflict            409  the state changed underneath: a fill that an invalidation covers, a taken item
    ├── TooLarge            413  a body or a field over its limit
    ├── NotStorable         422  an answer that must not be stored: empty, failed, cut off
    ├── TooManyRequests     429  an insert cap or rate limit was reached
    └── Unavailable         503  database or embedder does not answer

A miss, a refused candidate and "not enough labels yet" are results, never errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class FieldError:
    """One field that was refused: its path in the body, and why, with the allowed range."""

    field: str
    message: str


class SurehitError(Exception):
    """The request could not be carried out."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"

    def __init__(self, detail: str | None = None, *, errors: tuple[FieldError, ...] = ()) -> None:
        self.detail = detail or (type(self).__doc__ or "").strip()
        self.errors = errors
        super().__init__(self.detail)


class InvalidRequest(SurehitError):
    """A field of the request is missing, of the wrong kind or out of its range."""

    status, code, title = 422, "invalid-request", "Invalid request"

    @classmethod
    def field(cls, field: str, message: str) -> InvalidRequest:
        """The error for one field; the message names the allowed range."""
        return cls(f"{field}: {message}", errors=(FieldError(field, message),))


class MalformedBody(SurehitError):
    """The body is not valid JSON."""

    status, code, title = 400, "malformed-body", "Malformed body"


class Unauthorized(SurehitError):
    """Send `Authorization: Bearer <key>` with a key that exists and was not revoked."""

    status, code, title = 401, "unauthorized", "Unauthorized"


class Forbidden(SurehitError):
    """The role of this key does not allow the call."""

    status, code, title = 403, "forbidden", "Forbidden"


class NotFound(SurehitError):
    """There is no such thing for this tenant."""

    status, code, title = 404, "not-found", "Not found"


class Conflict(SurehitError):
    """The state changed in the meantime; nothing was written."""

    status, code, title = 409, "conflict", "Conflict"


class FillCovered(Conflict):
    """This fill began before an invalidation that covers it; the answer was not stored."""

    code, title = "fill-invalidated", "Fill began before an invalidation"


class TooLarge(SurehitError):
    """The body is larger than this service accepts."""

    status, code, title = 413, "too-large", "Too large"


class NotStorable(SurehitError):
    """This answer must not be stored."""

    status, code, title = 422, "not-storable", "Answer not storable"


class TooManyRequests(SurehitError):
    """A limit of this key or line was reached."""

    status, code, title = 429, "too-many-requests", "Too many requests"

    def __init__(self, detail: str | None = None, *, retry_after_s: int | None = None) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class Unavailable(SurehitError):
    """A part that this call needs does not answer; try again."""

    status, code, title = 503, "unavailable", "Unavailable"
