"""What a provider API has to offer to the proxy: the words, the reasons and the shape that every
API module shares.

An API module is a set of pure functions over parsed JSON. The proxy picks one with
`registry.api_for` and never looks into a provider's body itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol

from service.wire.assembling import DEFAULT_MAX_BYTES, StreamAssembler
from service.wire.usage import Usage

JsonObject = dict[str, Any]
QueryPath = tuple[str | int, ...]
"""Keys and positions that lead from a request to the string which is its query."""

Provider = Literal["openai", "anthropic"]

UsageOnHit = Literal[
    "zero",  # nothing was spent on a hit: all counts are 0, in the provider's own shape
    "original",  # the counts of the call that filled the entry
]

BypassReason = Literal[
    "malformed",  # no messages, no model: the provider's own error is the best answer
    "reserved_field",  # the body has a field of the name that we add to the key
    "stateful",  # the answer depends on state at the provider, which the key cannot see
    "background",  # the reply is a ticket, the answer comes later
    "hosted_tool",  # the provider runs a tool: the answer depends on the world outside
    "web_search",  # likewise
    "several_answers",  # n > 1
    "logprobs",  # asks about the sampling itself
    "audio",  # answers expire, and are not text
    "prewarm",  # sent for its side effect on the provider's prompt cache
]

WhyNotStored = Literal[
    "malformed",  # not an answer of this API
    "error_in_200",  # an error body under a good status
    "no_finish_reason",  # nobody says that it ended
    "not_finished",  # still in progress, paused, cancelled
    "truncated",  # cut at a token limit
    "content_filter",  # cut by a filter
    "refusal",  # the model would not answer; another try or wording may do better
    "unknown_finish_reason",  # new, or another vendor's word for an interruption
    "several_answers",  # more than one choice
    "empty",  # nothing that anybody could reuse
    "tool_calls",  # the line does not reuse tool calls
    "tool_arguments_not_json",  # a broken call would be broken again at each hit
    "hosted_tool",  # holds results of a tool that the provider ran
    "not_as_asked",  # complete, and no answer to this request: JSON was asked for, or more vectors
]


class WireApi(Protocol):
    """One provider API; its modules are the implementations. Functions leave arguments alone."""

    @property
    def NAME(self) -> str:
        """`openai.chat`, `openai.responses`, `openai.embeddings`, `anthropic.messages`; part of
        every key.
        """

    @property
    def PROVIDER(self) -> Provider:
        """Whose errors and headers these are."""

    @property
    def INERT_FIELDS(self) -> frozenset[str]:
        """Top-level fields that cannot alter the answer."""

    @property
    def IS_SEMANTIC(self) -> bool:
        """False where only an equal request may be answered from the cache (embeddings)."""

    def bypass_reason(self, body: JsonObject, /) -> BypassReason | None:
        """Why this request must not touch the cache, or None."""

    def is_streaming(self, body: JsonObject, /) -> bool:
        """Whether the client asked for a stream."""

    def inert(self, body: JsonObject, /) -> JsonObject:
        """The body without everything that cannot alter the answer."""

    def as_request(self, body: JsonObject, headers: Mapping[str, str], /) -> JsonObject:
        """The request to be keyed: `inert(body)` plus `$wire`, the API and the headers that
        change its meaning.
        """

    def query_text_location(self, request: JsonObject, /) -> QueryPath | None:
        """Where `as_request` holds the query, or None if nothing can be compared by meaning."""

    def storable(
        self,
        response: JsonObject,
        /,
        *,
        allow_truncated: bool = False,
        allow_filtered: bool = False,
        allow_tool_calls: bool = True,
    ) -> WhyNotStored | None:
        """Why this complete response must not be stored, or None."""

    def unfit(self, response: JsonObject, request: JsonObject, /) -> WhyNotStored | None:
        """Why this storable response is no answer to this request (a body, or its keyed form), or
        None.
        """

    def assembler(self, *, max_bytes: int = DEFAULT_MAX_BYTES) -> StreamAssembler:
        """Reads a stream and ends up with the response that a plain call would have given."""

    def render_json(
        self,
        stored: JsonObject,
        request_body: JsonObject,
        /,
        *,
        now: float,
        new_id: str,
        usage: UsageOnHit = "zero",
    ) -> bytes:
        """The body of a plain hit. `now`: seconds since the epoch; `new_id`: without its prefix."""

    def render_stream(
        self,
        stored: JsonObject,
        request_body: JsonObject,
        /,
        *,
        now: float,
        new_id: str,
        usage: UsageOnHit = "zero",
    ) -> Iterator[bytes]:
        """The same as a stream of server-sent events, one event per item."""

    def usage(self, response: JsonObject, /) -> Usage | None:
        """What the provider counted, or None when it did not say."""

    def error_body(
        self,
        status: int,
        message: str,
        /,
        *,
        type: str | None = None,
        code: str | None = None,
        request_id: str | None = None,
    ) -> JsonObject:
        """An error in the provider's shape; `type` follows from the status when it is not given."""

    def error_event(
        self,
        status: int,
        message: str,
        /,
        *,
        type: str | None = None,
        code: str | None = None,
        request_id: str | None = None,
    ) -> bytes:
        """The same for a stream whose head has already been sent."""
