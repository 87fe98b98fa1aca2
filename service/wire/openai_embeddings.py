"""OpenAI embeddings: what is keyed, what is stored, how it is replayed. Exact tier alone.

The stored form is the response as the provider gave it. `encoding_format` is not part of the key:
base64 and lists of numbers are written from either. base64 is float32; numbers that a provider gave
with more digits are rounded when a client asks for base64, and only then.
"""

from __future__ import annotations

import array
import base64
import binascii
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from service.wire import json_text
from service.wire.api import BypassReason, JsonObject, Provider, QueryPath, UsageOnHit, WhyNotStored
from service.wire.assembling import DEFAULT_MAX_BYTES, StreamAssembler
from service.wire.openai_errors import error_body as error_body
from service.wire.openai_errors import error_event as error_event
from service.wire.requests import WIRE_FIELD, is_list_of_objects, wired, without
from service.wire.usage import Usage, count, zero_usage

NAME: Final = "openai.embeddings"
PROVIDER: Final[Provider] = "openai"
IS_SEMANTIC: Final = False
INERT_FIELDS: Final = frozenset({"user", "encoding_format"})
KEY_HEADERS: Final[tuple[str, ...]] = ()

_ZERO_USAGE = {"prompt_tokens": 0, "total_tokens": 0}


def bypass_reason(body: JsonObject) -> BypassReason | None:
    """Why this request must not touch the cache, or None."""
    given = body.get("input")
    if not isinstance(body.get("model"), str) or not isinstance(given, str | list) or not given:
        return "malformed"
    if body.get("encoding_format") not in (None, "float", "base64"):
        return "malformed"
    return "reserved_field" if WIRE_FIELD in body else None


def is_streaming(body: JsonObject) -> bool:
    """Never: there is no stream of embeddings."""
    return False


def inert(body: JsonObject) -> JsonObject:
    """The body without what cannot alter the answer.

    A single text becomes a list of one, which has the same answer. It also keeps the text out of
    the clean-up that the key module gives to prompts: a blank at the end changes a vector.
    """
    kept = without(body, INERT_FIELDS)
    if isinstance(kept.get("input"), str):
        kept["input"] = [kept["input"]]
    return kept


def as_request(body: JsonObject, headers: Mapping[str, str]) -> JsonObject:
    """The request to be keyed."""
    return wired(inert(body), NAME, headers, KEY_HEADERS)


def query_text_location(request: JsonObject) -> QueryPath | None:
    """Never anything: a vector is for one text and no other."""
    return None


def storable(
    response: JsonObject,
    *,
    allow_truncated: bool = False,
    allow_filtered: bool = False,
    allow_tool_calls: bool = True,
) -> WhyNotStored | None:
    """Why this response must not be stored, or None: every position has to hold a vector."""
    if response.get("error"):
        return "error_in_200"
    data = response.get("data")
    if data == []:
        return "empty"
    if not is_list_of_objects(data) or not isinstance(data, list):
        return "malformed"
    if sorted(item.get("index", -1) for item in data) != list(range(len(data))):
        return "malformed"
    return None if all(_is_vector(item.get("embedding")) for item in data) else "malformed"


def unfit(response: JsonObject, request: JsonObject) -> WhyNotStored | None:
    """Why this response is no answer to this request: it has not one vector for each input."""
    given = request.get("input")
    # a list of numbers is one text of tokens
    is_many = isinstance(given, list) and not all(isinstance(item, int) for item in given)
    asked = len(given) if isinstance(given, list) and is_many else 1
    data = response.get("data")
    return None if isinstance(data, list) and len(data) == asked else "not_as_asked"


def assembler(*, max_bytes: int = DEFAULT_MAX_BYTES) -> StreamAssembler:
    """Raises ValueError: there is no stream of embeddings."""
    _no_stream()


def render_json(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> bytes:
    """The body of a hit, in the encoding that this client asked for."""
    as_base64 = request_body.get("encoding_format") == "base64"
    answer = {**stored, "data": [_encoded(item, as_base64) for item in stored["data"]]}
    if usage == "zero":
        answer["usage"] = zero_usage(stored.get("usage"), _ZERO_USAGE)
    return json_text.dump(answer)


def render_stream(
    stored: JsonObject,
    request_body: JsonObject,
    *,
    now: float,
    new_id: str,
    usage: UsageOnHit = "zero",
) -> Iterator[bytes]:
    """Raises ValueError: there is no stream of embeddings."""
    _no_stream()


def usage(response: JsonObject) -> Usage | None:
    """What the provider counted, or None when it did not say."""
    counted = response.get("usage")
    if not isinstance(counted, dict):
        return None
    return Usage(input_tokens=count(counted, "prompt_tokens"), output_tokens=0)


def _no_stream() -> NoReturn:
    raise ValueError("embeddings are never streamed")


def _is_vector(value: Any) -> bool:
    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return False
        return bool(raw) and len(raw) % 4 == 0
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(x, int | float) and not isinstance(x, bool) for x in value)
    )


def _encoded(item: JsonObject, as_base64: bool) -> JsonObject:
    vector = item["embedding"]
    if isinstance(vector, str) == as_base64:
        return item
    numbers = array.array("f", vector if as_base64 else base64.b64decode(vector))
    if sys.byteorder == "big":
        numbers.byteswap()  # the wire form is little-endian
    if as_base64:
        return {**item, "embedding": base64.b64encode(numbers.tobytes()).decode("ascii")}
    return {**item, "embedding": numbers.tolist()}
