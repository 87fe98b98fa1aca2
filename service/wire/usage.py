"""What a provider counted, in one form for all of them, and the zero form of a hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one upstream call; `input_tokens` includes everything cached, as OpenTelemetry's.

    These are about the provider's own prompt cache. A hit of ours never appears here.
    """

    input_tokens: int
    output_tokens: int
    cached_read: int = 0
    """Input read from the provider's prompt cache."""
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_write_other: int = 0
    """Input written with another retention than Anthropic's two (OpenAI)."""
    reasoning: int = 0
    """Part of `output_tokens`."""

    @property
    def cache_write(self) -> int:
        """Input written to the provider's prompt cache, whatever its retention."""
        return self.cache_write_5m + self.cache_write_1h + self.cache_write_other


MOST_TOKENS = 10**12
"""No call has more: a larger count is nonsense, and sums of it would leave the ledger's 64 bits."""


def count(holder: Any, name: str) -> int:
    """A non-negative count out of a provider's object; 0 when it is absent, null or nonsense."""
    value = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 0 < value <= MOST_TOKENS else 0


def zero_usage(original: Any, template: dict[str, Any]) -> dict[str, Any]:
    """The fields of both, the template's and the original's, every number 0; words stay."""
    zeroed = _zeroed(original) if isinstance(original, dict) else {}
    return _merged(template, zeroed)


def _zeroed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _zeroed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_zeroed(item) for item in value]
    return 0 if isinstance(value, int | float) and not isinstance(value, bool) else value


def _merged(template: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = dict(template)
    for name, value in values.items():
        below = template.get(name)
        if isinstance(below, dict):
            merged[name] = _merged(below, value) if isinstance(value, dict) else below
        elif value is not None or name not in template:
            merged[name] = value
    return merged
