"""What the request sides of the APIs share: taking out what is inert, adding what the body does
not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.visible import is_blank

WIRE_FIELD = "$wire"
"""Field of a keyed request that names its API and key headers. A body that has it itself passes
the cache by.
"""

OPENAI_INERT_FIELDS = frozenset(
    {
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "service_tier",
        "store",
        "stream",
        "stream_options",
    }
)
"""Who asks, how it is billed, traced and delivered."""

# These search the web, or work for minutes with hosted tools, without any field of the request that
# says so.
_SEARCHING_MODELS = ("-search-preview", "-search-api", "deep-research")


def wired(
    body: dict[str, Any], api: str, headers: Mapping[str, str], key_headers: tuple[str, ...]
) -> dict[str, Any]:
    """The body with the field that keeps APIs, versions and beta features apart in the key.

    A header that lists several values is a set: order and repetition do not matter.
    """
    given = {name.lower(): value for name, value in headers.items()}
    wire: dict[str, Any] = {"api": api}
    for name in key_headers:
        values = {part.strip() for part in given.get(name, "").split(",")} - {""}
        if values:
            wire[name] = sorted(values)
    return {**body, WIRE_FIELD: wire}


def without(body: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """A copy of the object without these fields."""
    return {name: value for name, value in body.items() if name not in fields}


def is_list_of_objects(value: Any) -> bool:
    """Whether this is a non-empty list of JSON objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def searches_by_itself(model: str) -> bool:
    """Whether a model of this name looks into the world without being told to."""
    return any(mark in model for mark in _SEARCHING_MODELS)


def has_other_tools(body: dict[str, Any], ours: tuple[str, ...]) -> bool:
    """Whether a tool is of a type that the client does not run itself; unknown ones count."""
    tools = body.get("tools")
    if not isinstance(tools, list):
        return False
    return any(not isinstance(tool, dict) or tool.get("type") not in ours for tool in tools)


def last_text_path(
    messages: Any, field: str, text_types: tuple[str, ...]
) -> tuple[str | int, ...] | None:
    """Path of the last text of the last message, if that is a user's; the same choice as
    `service.key` makes.
    """
    if not isinstance(messages, list) or not messages:
        return None
    at = len(messages) - 1
    message = messages[at]
    if not isinstance(message, dict) or message.get("role") != "user":
        return None
    content = message.get("content")
    if isinstance(content, str):
        return None if is_blank(content) else (field, at, "content")
    if isinstance(content, list):
        for part_at in range(len(content) - 1, -1, -1):
            part = content[part_at]
            if isinstance(part, dict) and part.get("type") in text_types:
                text = part.get("text")
                if isinstance(text, str) and not is_blank(text):
                    return (field, at, "content", part_at, "text")
    return None
