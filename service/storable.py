"""Which answers may be stored at all: never an empty, failed or cut-off one."""

from __future__ import annotations

from typing import Any

from service.errors import NotStorable

CUT = frozenset(
    {"length", "content_filter", "max_tokens", "max_output_tokens", "refusal", "pause_turn"}
)
"""Finish and stop reasons of an answer that was not completed."""


def check(response: Any) -> None:
    """Raises NotStorable with the reason; any complete JSON value or text passes."""
    reason = why_not(response)
    if reason is not None:
        raise NotStorable(f"response: {reason}")


def why_not(response: Any) -> str | None:
    """The reason against storing an answer, whatever provider's shape it has; None when there is none."""
    if response is None or (isinstance(response, str) and not response.strip()):
        return "is empty"
    if isinstance(response, dict | list) and not response:
        return "is empty"
    if not isinstance(response, dict):
        return None
    if response.get("error"):
        return "reports an error"
    if response.get("type") == "error":
        return "reports an error"
    status = response.get("status")
    if response.get("object") == "response" and status != "completed":
        return f"has status {status!r}, not 'completed'"
    for reason in _finish_reasons(response):
        if reason in CUT:
            return f"was cut off ({reason})"
    if _is_empty_completion(response):
        return "is empty"
    return None


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
        content = response.get("content")
        return not content and not response.get("tool_calls")
    return False


def _has_content(choice: dict[str, Any]) -> bool:
    message = choice.get("message")
    if not isinstance(message, dict):
        return bool(choice.get("text"))
    return bool(
        message.get("content")
        or message.get("tool_calls")
        or message.get("function_call")
        or message.get("audio")
    )


def _list(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
