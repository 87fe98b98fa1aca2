"""Decides whether a run of Chinese characters is made of common words, and so no name.

The list is loaded at first use (about 10 ms, 4 MB), then held for the life of the process.
"""

import gzip
from functools import cache, lru_cache
from importlib import resources


@cache
def common_words() -> frozenset[str]:
    """Read the shipped list (see `from_jieba.py`) once: words of two to four characters."""
    packed = resources.files(__package__).joinpath("common_zh.txt.gz").read_bytes()
    return frozenset(gzip.decompress(packed).decode().split("\n"))


@lru_cache(8192)
def is_plain(run: str, loose: int = 1) -> bool:
    """Whether common words make up the run, but for `loose` characters that stand by themselves."""
    if not run:
        return True
    words = common_words()
    return any(
        run[:size] in words and is_plain(run[size:], loose)
        for size in range(2, min(4, len(run)) + 1)
    ) or (loose > 0 and is_plain(run[1:], loose - 1))
