"""JSON of answers, without loss: integers of any size stay integers, and what is no strict JSON
is refused.

orjson would read a large integer in a tool's arguments as a float and could not write it; msgspec
keeps it.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class NotJson(ValueError):
    """Broken, not UTF-8, a lone surrogate, NaN or infinity, or nested without end."""


def parse(text: bytes | str) -> Any:
    """The value of a JSON text. Raises NotJson."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotJson(str(error)) from error


def repeats_a_name(text: bytes) -> bool:
    """Whether an object of a JSON text has a name twice. Readers differ on which one counts (RFC 8259,
    4): the text may say one thing here and another elsewhere. True as well for what nests too deeply.
    """
    try:
        json.loads(text, object_pairs_hook=_named_once, parse_int=str, parse_float=str)
    except (_Repeated, RecursionError):
        return True
    return False


class _Repeated(Exception):
    pass


def _named_once(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) < len(members):
        raise _Repeated


def dump(value: Any) -> bytes:
    """Compact UTF-8 JSON in the order of the keys."""
    return _encode(value)


def readable(value: Any) -> str:
    """JSON with a blank behind commas and colons, as models write the input of a tool call."""
    return json.dumps(value, ensure_ascii=False)


def is_json_or_blank(text: Any) -> bool:
    """Whether these are arguments of a tool call: JSON, or nothing, as some servers write it."""
    if not isinstance(text, str):
        return False
    if text == "":
        return True
    try:
        parse(text)
    except NotJson:
        return False
    return True


def is_broken(text: Any) -> bool:
    """Whether this is text that should be JSON and is not; nothing said is not broken."""
    return isinstance(text, str) and bool(text.strip()) and not is_json_or_blank(text)
