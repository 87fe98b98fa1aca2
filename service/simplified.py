"""Traditional Chinese read as simplified, character by character, so that one set of rules serves both scripts.

Only for judging: keys, vectors and stored texts keep the script they came in. A word that regions name differently
(檔案, 文件) stays another word.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


def simplified(text: str) -> str:
    """The text with traditional characters replaced by their simplified forms; its length stays.

    A character that is written alike in both scripts, or in one of them only, stays. About 1 µs for a short text.
    """
    return text if text.isascii() else text.translate(_table())


@cache
def _table() -> dict[int, str]:
    file = resources.files("service").joinpath("traditional_characters.txt")
    lines = file.read_text("utf-8").splitlines()
    return {
        ord(pair[0]): pair[1] for line in lines if not line.startswith("#") for pair in line.split()
    }
