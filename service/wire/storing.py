"""The rule of what may be stored, for answers that come without their API (`POST /v1/store`).

An answer that looks like one of ours is judged by that API's own rule, as the proxy judges it. Of its reasons only
those count here that speak against the answer itself: what merely could not be replayed in the provider's form (several
choices, results of hosted tools, a vendor's own word for the end) comes back from the sidecar byte for byte.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from service import storable
from service.errors import NotStorable
from service.wire.api import JsonObject, WhyNotStored, WireApi
from service.wire.registry import recognise

_FAULTS: dict[WhyNotStored, str] = {
    "error_in_200": "reports an error",
    "not_finished": "was not finished",
    "truncated": "was cut off at a limit of tokens",
    "content_filter": "was cut off by a filter",
    "refusal": "is a refusal; another try or wording may be answered",
    "tool_calls": "calls tools, which this line does not reuse",
    "tool_arguments_not_json": "calls a tool with arguments that are no JSON",
    "not_as_asked": "is not what the request asked for (JSON)",
}


def check(
    response: Any,
    request: Any = None,
    *,
    allow_truncated: bool = False,
    allow_filtered: bool = False,
    allow_tool_calls: bool = True,
) -> None:
    """Raises NotStorable with the reason; `request` is what was answered, the permissions are the line's."""
    reason = storable.why_not(
        response, allow_truncated=allow_truncated, allow_filtered=allow_filtered
    )
    if reason is None:
        reason = _by_its_api(response, request, allow_truncated, allow_filtered, allow_tool_calls)
    if reason is None and not allow_tool_calls and storable.has_tool_calls(response):
        reason = _FAULTS["tool_calls"]
    if reason is not None:
        raise NotStorable(f"response: {reason}")


def _by_its_api(
    response: Any, request: Any, allow_truncated: bool, allow_filtered: bool, allow_tool_calls: bool
) -> str | None:
    api = recognise(response)
    if api is None:
        return None
    why = why_not(
        api,
        response,
        request,
        allow_truncated=allow_truncated,
        allow_filtered=allow_filtered,
        allow_tool_calls=allow_tool_calls,
    )
    return None if why is None else _FAULTS.get(why)


def why_not(
    api: WireApi, response: JsonObject, request: Any, **allowed: bool
) -> WhyNotStored | None:
    """Why an answer must not be stored by its API's rule, or None; `allowed` as `WireApi.storable` takes it."""
    try:
        why = api.storable(response, **allowed)
        return api.unfit(response, request) if why is None and isinstance(request, dict) else why
    except (AttributeError, KeyError, TypeError, ValueError):  # fields of other types than theirs
        return "malformed"


def is_replayable(api: WireApi, response: JsonObject, request: JsonObject) -> bool:
    """Whether a storable answer can be given again, whole and, where the API streams, as a stream."""
    new_id = "0" * 32
    try:
        api.render_json(response, request, now=0.0, new_id=new_id)
        if api.is_streaming({"stream": True}):
            deque(api.render_stream(response, request, now=0.0, new_id=new_id), maxlen=0)
    except (AttributeError, KeyError, TypeError, ValueError):  # as above
        return False
    return True
