"""Which answers may be stored at all, whatever their shape: never an empty, failed or cut-off one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from service.visible import is_blank

TRUNCATED = frozenset(
    {"length", "max_tokens", "max_output_tokens", "max_length", "model_context_window_exceeded"}
)
"""Finish and stop reasons of an answer that ran into a limit of tokens. All reasons are compared in small letters."""
FILTERED = frozenset(
    "content_filter content_filtered safety recitation blocklist prohibited_content spii guardrail_intervened".split()
)
NOT_SAID = frozenset(
    "refusal pause_turn error error_toxic error_limit abort aborted cancelled canceled failed "
    "insufficient_system_resource malformed_function_call".split()
)
"""Reasons of an answer that was not given (yet)."""
_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
"""Where OpenAI, Anthropic, Gemini, Bedrock and Ollama put them."""
_PROBLEM = frozenset({"status", "title", "type"})
"""Members of an RFC 9457 document."""


def why_not(
    response: Any, *, allow_truncated: bool = False, allow_filtered: bool = False
) -> str | None:
    """The reason against storing an answer, whatever provider's shape it has; None when there is none.

    Any other complete JSON value or text may be stored.
    """
    if _says_nothing(response):
        return "is empty"
    if _reports_error(response):
        return "reports an error"
    if not isinstance(response, dict):
        return None
    refused = NOT_SAID | (frozenset() if allow_truncated else TRUNCATED)
    refused |= frozenset() if allow_filtered else FILTERED
    reasons = _finish_reasons(response)
    cut = next((reason for reason in reasons if reason in refused), None)
    if cut is not None:
        return f"was cut off ({cut})"
    if _is_unfinished(response):
        return "was not finished"
    status = response.get("status")
    if response.get("object") == "response" and status != "completed":
        is_allowed_cut = status == "incomplete" and bool(reasons)
        if not is_allowed_cut:
            return f"has status {status!r}, not 'completed'"
    return "is empty" if _is_empty_completion(response) else None


def has_tool_calls(response: Any) -> bool:
    """True when the answer asks for a tool: it acts on this conversation, so it is never reused by meaning."""
    if not isinstance(response, dict):
        return False
    for choice in _list(response.get("choices")):
        message = choice.get("message")
        if isinstance(message, dict) and (
            message.get("tool_calls") or message.get("function_call")
        ):
            return True
    blocks = _list(response.get("content")) + _list(response.get("output"))
    return any(str(b.get("type", "")).endswith(("tool_use", "_call")) for b in blocks) or bool(
        response.get("tool_calls")
    )


def _says_nothing(value: Any) -> bool:
    """True for nothing, blank text, and whatever holds only such; numbers and truth values say something."""
    if isinstance(value, str):
        return is_blank(value)
    if isinstance(value, dict):
        return all(map(_says_nothing, value.values()))
    if isinstance(value, list):
        return all(map(_says_nothing, value))
    return value is None


def _reports_error(response: Any) -> bool:
    """True for an error in any of its forms: a body, a list of them, a problem document, or the text of one."""
    if isinstance(response, str) and response.lstrip().startswith('{"error"'):
        try:
            response = json.loads(response)
        except ValueError:
            return False
    if isinstance(response, list):
        return all(map(_reports_error, response)) and bool(response)
    if not isinstance(response, dict):
        return False
    status = response.get("status")
    is_problem = isinstance(status, int) and 400 <= status < 600 and set(response) >= _PROBLEM
    return bool(response.get("error")) or response.get("type") == "error" or is_problem


def _endings(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Where an answer says how it ended: itself, and each of several answers."""
    yield response
    yield from _list(response.get("choices"))
    yield from _list(response.get("candidates"))


def _finish_reasons(response: dict[str, Any]) -> list[str]:
    found = [part.get(name) for part in _endings(response) for name in _REASONS]
    details = response.get("incomplete_details")
    if isinstance(details, dict):
        found.append(details.get("reason"))
    feedback = response.get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):
        found.append("safety")
    return [reason.lower() for reason in found if isinstance(reason, str)]


def _is_unfinished(response: dict[str, Any]) -> bool:
    """True for a part of an answer: one that names its end without having one."""
    if response.get("done") is False and "model" in response:
        return True
    is_message = response.get("type") == "message" and "stop_reason" in response
    if is_message and response["stop_reason"] is None:
        return True
    choices = _list(response.get("choices"))
    return any("finish_reason" in choice and choice["finish_reason"] is None for choice in choices)


def _is_empty_completion(response: dict[str, Any]) -> bool:
    """A known shape whose answer has neither text nor anything else."""
    if "choices" in response:
        return not any(_has_content(c) for c in _list(response["choices"]))
    if response.get("type") == "message" or response.get("role") == "assistant":
        return not _is_said(response.get("content")) and not response.get("tool_calls")
    if "candidates" in response:
        return not any(
            _is_said(c.get("content") or c.get("output")) for c in _list(response["candidates"])
        )
    if response.get("object") == "response":
        items = [i for i in _list(response.get("output")) if i.get("type") != "reasoning"]
        return not any(_is_said(item.get("content", item)) for item in items)
    return False


def _has_content(choice: dict[str, Any]) -> bool:
    message = choice.get("message")
    if not isinstance(message, dict):
        return _is_said(choice.get("text"))
    return bool(
        _is_said(message.get("content"))
        or message.get("tool_calls")
        or message.get("function_call")
        or message.get("audio")
    )


def _is_said(content: Any) -> bool:
    """True for text that is not blank, and for parts of which one is no text or not blank; thoughts are not said."""
    if isinstance(content, dict) and "parts" in content:
        content = content["parts"]
    if isinstance(content, list):
        return any(map(_is_said_part, _list(content)))
    return not is_blank(content) if isinstance(content, str) else bool(content)


def _is_said_part(part: dict[str, Any]) -> bool:
    kind = part.get("type", "text")
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        return False
    return _is_said(part.get("text")) if kind in ("text", "output_text") else True


def _list(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
