"""Reads the word classes and patterns of a language from their data files and compiles them.

`<language>_words.txt` holds classes of words, `<language>_patterns.txt` blocks of patterns over them,
`<language>_variants.txt` words that are read as others; all explain their notation in their first lines.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

_CLASS = re.compile(r"<([a-z][a-z ]*)>")
_GAP = re.compile(r"(?P<left> ?)\.\.(?P<range>\d+(?:-\d+)?)(?P<right> ?)")
_WORDS = re.compile(r"(?P<left> ?)~(?P<most>\d)(?P<few>\??)(?P<right> ?)")
_ESCAPED = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.S)
"""What stands for itself in a pattern: an escaped sign, and a set of characters."""


def compiled(language: str, *, whole_words: bool) -> dict[str, "re.Pattern[str]"]:
    """Every block of a language as one pattern; with `whole_words`, lines begin and end at a word's edge."""
    classes = {
        name: " ".join(rows).split() for name, rows in _blocks(f"{language}_words.txt").items()
    }
    return {
        name: re.compile(_joined([expanded(row, classes, whole_words=whole_words) for row in rows]))
        for name, rows in _blocks(f"{language}_patterns.txt").items()
    }


@dataclass(frozen=True, slots=True)
class Variants:
    """Words that say the same, as one word: the patterns know only that one."""

    pattern: "re.Pattern[str]"
    words: tuple[str, ...]
    """The word for each group of the pattern."""

    def unified(self, text: str) -> str:
        """The text with each variant replaced by its word."""
        return self.pattern.sub(lambda match: self.words[(match.lastindex or 1) - 1], text)


def variants(language: str) -> Variants:
    """The rows of `<language>_variants.txt`: a word and what is read as it."""
    lines = _text(f"{language}_variants.txt").splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    groups = [f"({'|'.join(others)})" for _, *others in rows]
    return Variants(re.compile("|".join(groups)), tuple(word for word, *_ in rows))


def expanded(row: str, classes: dict[str, list[str]], *, whole_words: bool) -> str:
    """One line of notation as a regular expression. Raises KeyError for a class that is not there."""
    starts, ends = whole_words, whole_words
    if whole_words and row.startswith("-"):
        row, starts = row[1:], False
    if whole_words and row.endswith("-"):
        row, ends = row[:-1], False
    row = _grouped(row)
    row = _WORDS.sub(_some_words, _GAP.sub(_gap, row))
    row = _CLASS.sub(lambda match: f"(?:{'|'.join(classes[match[1]]).replace('_', ' ')})", row)
    return f"{_EDGE if starts else ''}{row}{_EDGE if ends else ''}"


_EDGE = r"\b"


def _grouped(row: str) -> str:
    """Braces as groups that are not kept; those of a count such as {3,} stay."""
    out, at, counts = [], 0, 0
    while at < len(row):
        plain = _ESCAPED.match(row, at)
        if plain:
            out.append(plain.group())
            at = plain.end()
            continue
        char = row[at]
        if char == "{" and row[at + 1].isdigit():
            counts += 1
        elif char == "{":
            char = "(?:"
        elif char == "}" and counts:
            counts -= 1
        elif char == "}":
            char = ")"
        out.append(char)
        at += 1
    return "".join(out)


def _gap(match: "re.Match[str]") -> str:
    least, _, most = match["range"].rpartition("-")
    gap = f".{{{least or 0},{most}}}"
    return f"{_EDGE if match['left'] else ''}{gap}{_EDGE if match['right'] else ''}"


def _some_words(match: "re.Match[str]") -> str:
    word = r"\w+ " if match["right"] else r" \w+"
    before = match["left"] if match["right"] else ""
    return f"{before}(?:{word}){{0,{match['most']}}}{match['few']}"


def _joined(lines: list[str]) -> str:
    """One pattern of all lines, with the word edge that most begin with tested once a position."""
    at_edge = [line[len(_EDGE) :] for line in lines if line.startswith(_EDGE)]
    others = [line for line in lines if not line.startswith(_EDGE)]
    return "|".join([*([rf"\b(?:{'|'.join(at_edge)})"] if at_edge else []), *others])


@cache
def _blocks(file: str) -> dict[str, list[str]]:
    """The lines of each block of a data file, remarks left out."""
    blocks: dict[str, list[str]] = {}
    name = ""
    for line in _text(file).splitlines():
        if line.startswith("[") and line.endswith("]") and line[1:-1].replace(" ", "").isalpha():
            name = line[1:-1]
            blocks[name] = []
        elif line.strip() and not line.startswith("#"):
            blocks[name].append(line)
    return blocks


def _text(file: str) -> str:
    return resources.files(__package__).joinpath(file).read_text("utf-8")
