"""What HTTP bodies look like, for the routes outside the hot path and for the documentation of all."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from service.decision import MissReason


def _is_plain(text: str) -> str:
    """Text that both databases can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not hold half of a surrogate pair") from None
    if "\x00" in text:
        raise ValueError("must not hold a NUL character")
    return text


Text = Annotated[str, AfterValidator(_is_plain)]
Name = Annotated[Text, Field(min_length=1, max_length=128)]


class _Ours(BaseModel):
    """Bodies of our own: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class LookupRequest(_Ours):
    """Give `request` or `prompt`."""

    line: Name
    request: Any = Field(default=None, description="The LLM request: any JSON value.")
    prompt: str | None = Field(default=None, description="Short for one user message.")
    scope: Annotated[str, Field(max_length=512)] | None = None
    wait_ms: Annotated[int, Field(ge=0, le=30_000)] = 0
    tiers: list[Literal["exact", "semantic"]] | None = None


class LookupHit(BaseModel):
    """An answer from the cache, as it was stored."""

    outcome: Literal["hit"]
    tier: Literal["exact", "semantic"]
    lookup_id: str
    entry_id: str
    response: Any
    score: float | None
    threshold: float | None
    age_s: int
    ttl_s: int | None


class LookupMiss(BaseModel):
    """Ask the model when `fill` is true; otherwise somebody else does already."""

    outcome: Literal["miss"]
    lookup_id: str
    reason: MissReason
    score: float | None
    entry_id: None
    guard: str | None
    fill: bool


class StoreRequest(_Ours):
    """Give `lookup_id`, or `line` with `request` or `prompt`."""

    response: Any = Field(description="Any JSON value; it comes back byte for byte.")
    lookup_id: str | None = None
    line: Name | None = None
    request: Any = None
    prompt: str | None = None
    scope: Annotated[str, Field(max_length=512)] | None = None
    ttl_s: Annotated[float, Field(gt=0, le=315_360_000)] | None = None
    tags: Annotated[list[str], Field(max_length=64)] = []


class StoreReply(BaseModel):
    """`entry_id` is null where nothing was kept, and `reason` says why.

    The line is off (`mode`), or a request about one person (`personal`) or an order (`acting`) came without a scope.
    """

    entry_id: str | None
    replaced: bool
    reason: str | None = None


class ExplainRequest(_Ours):
    """Would `b` be served the answer stored for `a`?"""

    line: Name
    a: Any
    b: Any


class FeedbackRequest(_Ours):
    """A user's or application's own verdict on a hit."""

    lookup_id: str
    verdict: Literal["reusable", "not_reusable", "unsure"]
    reason: Annotated[Text, Field(max_length=64)] | None = None
    note: Annotated[Text, Field(max_length=4000)] | None = None
    evict: Annotated[bool, Field(strict=True)] = False


class FeedbackReply(BaseModel):
    """`blocked`: this pair of query and entry is not served again (an exact hit has no pair: evict its entry)."""

    recorded: bool
    blocked: bool
    evicted: bool


class InvalidateRequest(_Ours):
    """All entries that match every given field."""

    entry_id: str | None = None
    tag: Text | None = None
    scope: Text | None = None
    line: Text | None = None
    model: Text | None = None
    stored_before: (
        Annotated[float, Field(strict=True, ge=0, le=1e11, description="Seconds since 1970 UTC.")]
        | str
        | None
    ) = Field(default=None, description="Seconds since 1970 UTC, or ISO 8601 with a zone.")
    dry_run: Annotated[bool, Field(strict=True)] = False


class InvalidateReply(BaseModel):
    """How many live entries went (or would go)."""

    invalidated: int


class EraseRequest(_Ours):
    """Everything of one scope."""

    scope: Annotated[Text, Field(min_length=1, max_length=512)]


class EraseReply(BaseModel):
    """Rows removed, or blanked (feedback), of each kind."""

    entries: int
    lookups: int
    review_items: int
    fills: int
    feedback: int
    blocks: int


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[dict[str, str]] = []
