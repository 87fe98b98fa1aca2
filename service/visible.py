"""What can be seen of a text: nothing of a blank one, whatever characters it is made of."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters, marks and symbols that show nothing: joiner, fillers of Hangul, inherent vowels of Khmer, empty braille."""


def is_blank(text: str) -> bool:
    """True when nothing of the text can be seen: white space, control and format characters, fillers."""
    if text[:1].isascii() and text[:1].isalnum():  # nearly always
        return False
    return not any(map(is_seen, text))


def is_seen(character: str) -> bool:
    """True for a character that leaves something on the screen."""
    # Z: separators; C: controls, formats, tags, unassigned
    if unicodedata.category(character)[0] in "ZC" or character in _UNSEEN:
        return False
    return not is_variation_selector(character)


def is_variation_selector(character: str) -> bool:
    """True for a mark that only picks a form of the character before it."""
    return (
        "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
        or character in "\u180b\u180c\u180d\u180f"
    )
