"""Decides which Chinese characters sound alike, and which rare words sound like a common one; writes both.

Run by hand when the choice below changes, where `pypinyin` is installed; the written file is what the
product ships:

    python -m service.guards.lexicon.from_pypinyin DICT.txt OUT.txt.gz

`pypinyin` 0.55.0 (mozillazg, MIT) has its licence text in `PYPINYIN_LICENSE` beside this file; `DICT.txt` is
the dictionary of jieba, as for `from_jieba.py`.
"""

import gzip
import re
import sys
from importlib import import_module
from itertools import product
from pathlib import Path

from service.guards.lexicon.common_chinese import common_words

LEAST_COUNT = 4
"""Three is the count that the dictionary gives to a word its corpus lacks: among these are misspellings."""
_HAN = re.compile("[\u4e00-\u9fff]{2,4}")
_TYPED_ALIKE = ((re.compile("^([zcs])h"), r"\1"), (re.compile("([aei]n)g$"), r"\1"))
"""What an input method takes for one on request: zh and z, ing and in."""


def main() -> None:
    """Read the dictionary named first and write the table of sounds named second."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    read = import_module("pypinyin").lazy_pinyin
    listed = (line.split(" ") for line in source.read_text("utf-8").splitlines())
    words = {
        word for word, count, _ in listed if int(count) >= LEAST_COUNT and _HAN.fullmatch(word)
    }
    common = common_words()
    sounds = {char: {_typed(*read(char))} for char in sorted({*"".join(words | common)})}
    for word in sorted(common):  # a character is read otherwise in some words
        for char, sound in zip(word, read(word), strict=True):
            sounds[char].add(_typed(sound))
    heard: dict[str, list[str]] = {}
    for word in sorted(common):
        for form in _forms(word, sounds):
            heard.setdefault(form, []).append(word)
    rare = {
        word
        for word in words - common
        if any(
            _differ_once(word, other)
            for form in _forms(word, sounds)
            for other in heard.get(form, ())
        )
    }
    of_sound: dict[str, str] = {}
    for char, forms in sounds.items():
        for form in sorted(forms):
            of_sound[form] = of_sound.get(form, "") + char
    lines = [f"s {chars}" for _, chars in sorted(of_sound.items()) if len(chars) > 1]
    lines += [f"w {word}" for word in sorted(rare)]
    # mtime=0: the same input must give the same bytes
    target.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))


def _differ_once(left: str, right: str) -> bool:
    return sum(mine != yours for mine, yours in zip(left, right, strict=True)) == 1


def _typed(sound: str) -> str:
    for rule, form in _TYPED_ALIKE:
        sound = rule.sub(form, sound)
    return sound


def _forms(word: str, sounds: dict[str, set[str]]) -> set[str]:
    """All ways to read a word."""
    return {" ".join(forms) for forms in product(*(sounds[char] for char in word))}


if __name__ == "__main__":
    main()
