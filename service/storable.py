"""Which answers may be stored at all, whatever their shape: never an empty, failed or cut-off one."""

from __future__ import annotations

from typing import Any

TRUNCATED = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"}
)
"""Finish and stop reasons of an answer that ran into a limit of tokens."""
FILTERED = frozenset({"content_filter"})
NOT_SAID = frozenset({"refusal", "pause_turn"})
"""Reasons of an answer that was not given (yet)."""


def why_not(
    response: Any, *, allow_truncated: bool = False, allow_filtered: bool = False
) -> str | None:
    """The reason against storing an answer, whatever provider's shape it has; None when there is none.

    Any other complete JSON value or text may be stored.
    """
    if response is None or (isinstance(response, str) and not response.strip()):
        return "is empty"
    if isinstance(response, dict | list) and not response:
        return "is empty"
    if not isinstance(response, dict):
        return None
    if response.get("error") or response.get("type") == "error":
        return "reports an error"
    refused = NOT_SAID | (frozenset() if allow_truncated else TRUNCATED)
    refused |= frozenset() if allow_filtered else FILTERED
    reasons = _finish_reasons(response)
    cut = next((reason for reason in reasons if reason in refused), None)
    if cut is not None:
        return f"was cut off ({cut})"
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


def _finish_reasons(response: dict[str, Any]) -> list[Any]:
    found = [response.get("finish_reason"), response.get("stop_reason")]
    found += [c.get("finish_reason") for c in _list(response.get("choices"))]
    details = response.get("incomplete_details")
    if isinstance(details, dict):
        found.append(details.get("reason"))
    return [r for r in found if isinstance(r, str)]


def _is_empty_completion(response: dict[str, Any]) -> bool:
    """A known shape whose answer has neither text nor anything else."""
    if "choices" in response:
        return not any(_has_content(c) for c in _list(response["choices"]))
    if response.get("type") == "message" or response.get("role") == "assistant":
        return not _is_said(response.get("content")) and not response.get("tool_calls")
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
    """True for text that is not blank, and for parts of which one is no text or not blank."""
    if isinstance(content, list):
        return any(
            part.get("type", "text") != "text" or _is_said(part.get("text"))
            for part in _list(content)
        )
    return bool(content.strip()) if isinstance(content, str) else bool(content)


def _list(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
