"""What one row of a log says: the request, who sent it on which line, when, and what it cost.

Accepted rows (all fields but the request are optional):

* a wrapper ``{"request": BODY, "response", "ts", "line", "tenant", "scope", "usage"}``;
* an OpenAI batch row ``{"custom_id", "method", "url", "body"}``;
* an OpenAI chat or responses body or an Anthropic body, bare, with wrapper fields beside its own;
* a prompt ``{"prompt": …}``, ``{"text": …}`` or a bare JSON string;
* a trace without text: block hash ids (``blocks`` or ``hash_ids``), lengths (``i``/``o``), or ids
  in place of the request (``q`` exact, ``n`` after normalisation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

LOG_FIELDS = frozenset(
    {
        *("id", "ts", "ts_ms", "timestamp", "time", "created_at"),
        *("line", "tenant", "scope", "usage", "response", "conversation", "session"),
    }
)
"""Fields beside a bare body that belong to the log, not to the request."""

_LENGTH_FIELDS = (
    ("i", "o"),
    ("input_length", "output_length"),
    ("ContextTokens", "GeneratedTokens"),
)
_TRACE_BLOCK_TOKENS = 512  # block size of the published Mooncake traces


class UnreadableRow(ValueError):
    """A row in which no request can be found; the message says why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call under one meaning for all providers: `input_tokens` includes everything
    cached."""

    input_tokens: int
    output_tokens: int
    read_tokens: int = 0
    written_5m_tokens: int = 0
    written_1h_tokens: int = 0
    reports_cache: bool = False
    """True when the provider said what was cached, be it nothing."""


@dataclass(frozen=True, slots=True)
class Record:
    """One request of the log. `request` is None for rows of a trace without text."""

    number: int
    request: Any
    line: str = "default"
    tenant: str = ""
    scope: str = ""
    ts_s: float | None = None
    usage: Usage | None = None
    conversation: str | None = None
    response: Any = None
    exact_id: str | None = None
    loose_id: str | None = None
    block_ids: tuple[int, ...] | None = None
    block_tokens: int = _TRACE_BLOCK_TOKENS


def parse_record(row: Any, number: int, *, line: str | None = None) -> Record:
    """The record in a decoded row; `line` names the business line of rows that do not.

    Raises UnreadableRow when the row holds no request.
    """
    fallback = line or "default"
    if isinstance(row, str):
        return Record(number, row, line=fallback)
    if not isinstance(row, dict):
        raise UnreadableRow("neither a JSON object nor a string")
    about: dict[str, Any] = {
        "line": _name(row.get("line"), fallback),
        "tenant": _name(row.get("tenant"), ""),
        "scope": _name(row.get("scope"), ""),
        "ts_s": _time(row),
        "usage": _usage(row),
    }
    request = _request(row)
    if request is not None:
        return Record(
            number,
            request,
            conversation=_conversation(row, request),
            response=row.get("response"),
            **about,
        )
    blocks = row.get("blocks", row.get("hash_ids"))
    if isinstance(blocks, list) and all(isinstance(b, int) for b in blocks):
        return Record(number, None, block_ids=tuple(blocks), **about)
    if isinstance(row.get("q"), str):
        loose = _name(row.get("n"), row["q"])
        return Record(number, None, exact_id=row["q"], loose_id=loose, **about)
    if about["usage"] is not None:
        return Record(number, None, **about)
    raise UnreadableRow("no request, messages, input, prompt, text, block ids or lengths in it")


def _request(row: dict[str, Any]) -> Any:
    for name in ("request", "body"):
        if isinstance(row.get(name), dict | str):
            return row[name]
    if isinstance(row.get("messages"), list) or isinstance(row.get("input"), str | list):
        return {k: v for k, v in row.items() if k not in LOG_FIELDS}
    if isinstance(row.get("prompt"), str):
        rest = {k: v for k, v in row.items() if k not in LOG_FIELDS}
        return rest if "model" in rest else row["prompt"]
    for name in ("text", "query"):
        if isinstance(row.get(name), str):
            return row[name]
    return None


def _name(value: Any, fallback: str) -> str:
    return str(value) if isinstance(value, str | int) and value != "" else fallback


def _conversation(row: dict[str, Any], request: Any) -> str | None:
    """An id that the client or the log gives to a conversation, if any."""
    places: list[Any] = [row]
    if isinstance(request, dict):
        places += [request, request.get("metadata")]
    for place in places:
        if isinstance(place, Mapping):
            for name in ("conversation", "conversation_id", "session", "session_id", "thread_id"):
                if isinstance(place.get(name), str) and place[name]:
                    return str(place[name])
    return None


def _time(row: dict[str, Any]) -> float | None:
    """Seconds since 1970 (or since the trace began); numbers above 1e11 are taken as
    milliseconds."""
    if isinstance(row.get("ts_ms"), int | float):
        return float(row["ts_ms"]) / 1000
    for name in ("ts", "timestamp", "time", "created_at"):
        value = row.get(name)
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float):
            return float(value) / 1000 if value > 1e11 else float(value)
        if isinstance(value, str):
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                continue
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _usage(row: dict[str, Any]) -> Usage | None:
    response = row.get("response")
    if isinstance(response, dict) and isinstance(response.get("body"), dict):  # OpenAI batch output
        response = response["body"]
    for holder in (row.get("usage"), response.get("usage") if isinstance(response, dict) else None):
        if isinstance(holder, dict):
            return parse_usage(holder)
    for given, made in _LENGTH_FIELDS:
        if given in row:
            return Usage(_count(row, given), _count(row, made))
    return None


def parse_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage as OpenAI chat, OpenAI responses or Anthropic write it, under one meaning.

    Anthropic's `input_tokens` leaves out what was read from and written to the prompt cache; the
    three are added up.
    """
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        read = _count(usage, "cache_read_input_tokens")
        written = _count(usage, "cache_creation_input_tokens")
        split = usage.get("cache_creation")
        hour = _count(split, "ephemeral_1h_input_tokens") if isinstance(split, Mapping) else 0
        return Usage(
            _count(usage, "input_tokens") + read + written,
            _count(usage, "output_tokens"),
            read_tokens=read,
            written_5m_tokens=max(0, written - hour),
            written_1h_tokens=hour,
            reports_cache=True,
        )
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    details = details if isinstance(details, Mapping) else {}
    return Usage(
        _count(usage, "prompt_tokens") or _count(usage, "input_tokens"),
        _count(usage, "completion_tokens") or _count(usage, "output_tokens"),
        read_tokens=_count(details, "cached_tokens"),
        written_5m_tokens=_count(details, "cache_write_tokens"),
        reports_cache="cached_tokens" in details,
    )


def _count(place: Mapping[str, Any], name: str) -> int:
    value = place.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else 0
