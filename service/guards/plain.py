"""Decides the plain form of a text: contractions, set phrases and numerals written one way.

Greetings and polite frames are dropped, since they ask for nothing.
"""

import re

from service.guards.han_numerals import write_digits
from service.guards.han_politeness import without_politeness
from service.guards.han_wording import ask_forms
from service.guards.plain_english import plain_english

_ASKS_WITH_NOT = re.compile(
    r"(?:^|[.!?;:]\s)\s*(?:is|are|was|were|do|does|did|could|would|should|has|have|can)n?'?t"
    r"\s+(?:i|you|we|they|he|she|it|there|this|that|these|those|the|my|your|our|an?|any)\b"
    r"|^(?:is|are|was|were|could|would|should|can|has|have|does|did)n'?t [a-z]",
    re.I,
)
_ASKS_WITH_NOT_HAN = re.compile(
    r"难道[不没]|不(?:能|可以|是|会|支持|行|让|允许|包括|包含|需要|用|提供|收|算|适用|送)[^，。,.？?!！的]*(?:吗|(?<!什)么)[？?\s]*$"
)


def asks_with_not(flat: str) -> bool:
    """Whether a denial asks what the plain question asks ("Isn't there …?", "不能…吗")."""
    return _ASKS_WITH_NOT.search(flat) is not None or _ASKS_WITH_NOT_HAN.search(flat) is not None


_GO_IN_HAN = re.compile(r"(?<![A-Za-z])Go(?![A-Za-z])")
_LETTER = re.compile(r"[A-Za-z]")


def plain(flat: str, writing: str) -> str:
    """Contractions spelt out, politeness dropped, set phrases and numerals written one way."""
    if writing == "han":
        flat = write_digits(ask_forms(without_politeness(flat)))
        flat = _GO_IN_HAN.sub("golang", flat)
    if _LETTER.search(flat):
        flat = plain_english(flat)
    return flat.strip()
