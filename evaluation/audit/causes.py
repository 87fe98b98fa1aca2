"""Why a prefix breaks: the classes of cause, and for each the change that would mend it."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """One class of reason for which two prompts part earlier than they need to."""

    MODEL = "model_switched"
    SETTING = "hidden_setting_changed"
    TOOLS_REORDERED = "tools_reordered"
    JSON_RESERIALISED = "json_reserialised"
    TOOLS_CHANGED = "tools_changed"
    SYSTEM_MISSING = "system_message_missing"
    SYSTEM_CHANGED = "system_message_changed"
    TIMESTAMP = "variable_timestamp"
    ID = "variable_id"
    NAME = "variable_name"
    VALUE = "variable_value"
    DOCUMENTS = "documents_reordered"
    HISTORY = "history_rewritten"


MENDING: dict[Cause, str] = {
    Cause.MODEL: "Keep a conversation on one model: caches are per model.",
    Cause.SETTING: "Send this setting with the same value on every call of a conversation.",
    Cause.TOOLS_REORDERED: "Sort the tools by name before sending them.",
    Cause.JSON_RESERIALISED: "Serialise once, with a fixed field order (sorted keys).",
    Cause.TOOLS_CHANGED: "Send the full tool list on every call; restrict by tool_choice instead.",
    Cause.SYSTEM_MISSING: "Always send the system message: without one templates insert one.",
    Cause.SYSTEM_CHANGED: "Keep one system message; put what varies into the last user message.",
    Cause.TIMESTAMP: "Move the time behind the fixed text, or send the day only.",
    Cause.ID: "Take the id out of the prompt (metadata), or move it behind the fixed text.",
    Cause.NAME: "Move the name behind the fixed text, into the last user message.",
    Cause.VALUE: "Move the value behind the fixed text, into the last user message.",
    Cause.DOCUMENTS: "Sort documents by id before use, or reuse chunks at any position.",
    Cause.HISTORY: "Append to the history; where it must be cut or summarised, seldom and much.",
}
