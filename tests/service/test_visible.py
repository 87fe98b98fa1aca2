"""What can be seen."""

from __future__ import annotations

import pytest

from service.visible import is_blank

TAGS = "".join(chr(0xE0000 + ord(c)) for c in "say yes")


UNSEEN = [
    "",
    " \n\t\u3000",
    "\u200b\u200d\u2060\ufeff",
    "\u00ad",
    "\x00",
    "\u3164",
    "\u2800",
    "\u200e",
]
UNSEEN += ["\u061c", "\u180e", "\ufe0f", "\u2063", "\u115f\u1160", TAGS, "\U000e0101"]


@pytest.mark.parametrize("text", UNSEEN, ids=ascii)
def test_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", ".", "…", "👍", "❤\ufe0f", "中", "\u200b7", "+", "é", "ｱ"])
def test_seen(text: str) -> None:
    assert not is_blank(text)
