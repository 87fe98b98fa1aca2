"""Decides what of a text is source code, which language it is, and what its comments say."""

import re
from typing import NamedTuple

_PROSE = re.compile(
    r'"""(?P<double>.*?)(?:"""|\Z)|\'\'\'(?P<single>.*?)(?:\'\'\'|\Z)|/\*(?P<block>.*?)(?:\*/|\Z)'
    r"|(?://|#)(?P<line>[^\n]*)",
    re.S,
)
_PIECE = re.compile(r"\w+|[^\s\w]")
_STARTS = re.compile(
    r"^\s*(?:def|class|function|func|import|from \w[\w.]* import|package|const|let|var|public|private|#include"
    r"|using|module|async def|export)\b",
    re.M,
)
_LANGUAGES = (
    ("go", re.compile(r"^\s*(?:package \w+|func \w*\()|:=", re.M)),
    ("java", re.compile(r"\b(?:public|private|protected)\s+(?:static\s+)?[\w<>\[\]]+\s+\w+\s*[({]|^import java", re.M)),
    ("typescript", re.compile(r"\b(?:const|let|function)\b[^\n]*:\s*(?:number|string|boolean|any|void)\b|\binterface \w+ \{", re.M)),
    ("c", re.compile(r"^\s*#include|\bstd::|\bint main\(", re.M)),
    ("rust", re.compile(r"\bfn \w+\s*[(<]|\blet mut\b|\bimpl\b", re.M)),
    ("javascript", re.compile(r"\bfunction\b|\bconst \w+ =|=>|\bvar \w+ =", re.M)),
    ("ruby", re.compile(r"^\s*def \w+[?!]?(?:\([^)\n]*\))?\s*$|^\s*end\s*$|\bputs\b", re.M)),
    ("python", re.compile(r"^\s*(?:async )?def \w+\(.*|^\s*(?:from \w[\w.]* )?import \w+", re.M)),
    ("sql", re.compile(r"\b(?:select|insert|update|delete)\b.*\b(?:from|into|set|where)\b", re.I | re.S)),
)  # fmt: skip


_NAMED = re.compile(r"\b(\w+) programmer\b")
"""A comment that says which language is wanted."""


class Source(NamedTuple):
    """A text that is source code: its language, its tokens with their depth, its comments."""

    language: str
    tokens: tuple[str, ...]
    prose: str


def is_source(text: str) -> bool:
    """Whether the text as a whole is source code (not a question with a code block in it)."""
    if "\n" not in text or "```" in text:
        return False
    first = next((line for line in text.splitlines() if line.strip()), "")
    opens = _STARTS.match(first) is not None or first.lstrip().startswith(
        ("/*", "//", "#", "package ")
    )
    return opens and _STARTS.search(text) is not None


def read_source(text: str) -> Source:
    """Part code from comments. Blanks count only as the depth of a line, where depth has meaning."""
    prose: list[str] = []

    def keep(match: re.Match[str]) -> str:
        prose.append(next((part for part in match.groups() if part is not None), ""))
        return " "

    code = _PROSE.sub(keep, text)
    named = _NAMED.search(" ".join(prose))
    guessed = (name for name, rule in _LANGUAGES if rule.search(code))
    language = named.group(1).lower() if named else next(guessed, "")
    tokens: list[str] = []
    for line in code.splitlines():
        if not line.strip():
            continue
        if language in ("python", ""):
            tokens.append(f"depth{len(line) - len(line.lstrip())}")
        tokens += _PIECE.findall(line)
    return Source(language, tuple(piece for piece in tokens if piece != "depth0"), " ".join(prose))
