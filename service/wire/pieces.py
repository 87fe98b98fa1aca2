"""Where a stored text may be cut for replay: behind white space if possible, and never inside a
character as seen.

The cut keeps grapheme clusters whole (Unicode Standard Annex 29) by a rule that is a little too
careful: it may leave a legal cut unused, but makes no illegal one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_SHORTEST, _LONGEST = 24, 2000
_AIMED_AT = (
    48  # pieces of a long text: enough for a client to show progress, few enough to cost nothing
)
_ZWJ = "\u200d"


def pieces(text: str) -> Iterator[str]:
    """Cut a text; the pieces put together are the text. An empty text has none."""
    size = max(_SHORTEST, min(_LONGEST, len(text) // _AIMED_AT))
    start, length = 0, len(text)
    while start < length:
        cut = start + size
        if cut < length:
            blank = max(
                text.rfind(" ", start + size // 2, cut), text.rfind("\n", start + size // 2, cut)
            )
            if blank >= 0:
                cut = blank + 1
            while cut < length and not may_cut(text, cut):
                cut += 1
        yield text[start:cut]
        start = cut


def may_cut(text: str, at: int) -> bool:
    """Whether a cut before `text[at]` leaves every character as seen in one piece."""
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if after == _ZWJ or _joins_backwards(after):
        return False
    if unicodedata.category(before) == "Cf" or unicodedata.combining(before) == 9:
        return False  # a joiner, a prefix sign, or a virama that waits for its consonant
    if _is_flag_half(before) and _is_flag_half(after):
        run = 0
        while run < at and _is_flag_half(text[at - 1 - run]):
            run += 1
        return run % 2 == 0
    return not (_is_hangul(before) and _is_jamo(after))


def _joins_backwards(char: str) -> bool:
    """Marks, variation selectors, skin tones, tags, Thai and Lao AM."""
    code = ord(char)
    return (
        unicodedata.category(char)[0] == "M"
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
        or code in (0x0E33, 0x0EB3, 0x200C, 0xFF9E, 0xFF9F)
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_jamo(char: str) -> bool:
    code = ord(char)
    return 0x1100 <= code <= 0x11FF or 0xA960 <= code <= 0xA97F or 0xD7B0 <= code <= 0xD7FF


def _is_hangul(char: str) -> bool:
    return _is_jamo(char) or 0xAC00 <= ord(char) <= 0xD7A3
