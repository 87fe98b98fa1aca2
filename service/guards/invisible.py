"""Decides which characters of a text nobody sees: they may carry what only a model reads.

An answer to hidden words must not serve the text without them. Joiners within an emoji or within a
script that needs them, the selector behind a symbol and a stray blank of no width are how people
write, and pass.
"""

import re

from service.visible import is_seen

_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f")
"""The flag of a region (Scotland, Wales): its letters are written as tags."""
_SYMBOL = "\u203c-\u3299\U0001f000-\U0001faff"
_SELECTED = re.compile(f"(?<=[0-9#*\u00a9\u00ae{_SYMBOL}])[\ufe0e\ufe0f]")
_JOINED = re.compile(
    f"(?<=[{_SYMBOL}])\u200d(?=[{_SYMBOL}])"
    "|(?<=[\u0590-\u109f\u1780-\u18af])[\u200c\u200d](?=[\u0590-\u109f\u1780-\u18af])"
)
STRAY = 2
"""So many of them say nothing: they come with a paste."""


def hidden(text: str) -> str:
    """The characters of a text that nobody sees, in order; empty where they are only a few strays."""
    if text.isascii() and text.isprintable():
        return ""
    usual = _JOINED.sub("", _SELECTED.sub("", _FLAG.sub("", text)))
    found = "".join(filter(_is_hidden, usual))
    return found if len(found) > STRAY else ""


def without_hidden(text: str) -> str:
    """The text as it is seen."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if not _is_hidden(char))


def _is_hidden(char: str) -> bool:
    return not char.isspace() and not is_seen(char)
