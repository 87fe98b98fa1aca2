"""Which API a path belongs to, and which API an answer looks like."""

from __future__ import annotations

from typing import Any

from service.wire import anthropic_messages, openai_chat, openai_embeddings, openai_responses
from service.wire.api import WireApi

_APIS: dict[tuple[str, str], WireApi] = {
    ("openai", "chat/completions"): openai_chat,
    ("openai", "responses"): openai_responses,
    ("openai", "embeddings"): openai_embeddings,
    ("anthropic", "messages"): anthropic_messages,
}


def api_for(provider: str, path: str) -> WireApi | None:
    """The API behind a path below `/openai` or `/anthropic`, or None if it just passes through.

    Only calls by POST are the API's; `/v1` in front may be missing, as some base URLs have it.
    """
    return _APIS.get((provider, path.strip("/").removeprefix("v1/")))


def recognise(response: Any) -> WireApi | None:
    """The API whose response this is, for answers that come in without one (`POST /v1/store`)."""
    if not isinstance(response, dict):
        return None
    kind = response.get("object")
    if isinstance(response.get("choices"), list) and kind in (None, "chat.completion"):
        return openai_chat
    if kind == "response" and "output" in response:
        return openai_responses
    if response.get("type") == "message" and isinstance(response.get("content"), list):
        return anthropic_messages
    return None
