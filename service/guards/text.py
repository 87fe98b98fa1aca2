"""Decides how a text is cut: normal form, spelling of contractions, and tokens with their kind."""

import re
import unicodedata
from typing import NamedTuple

from service.guards.invisible import without_hidden
from service.simplified import simplified


class Token(NamedTuple):
    """A piece of the text: its kind, its letters as written, its lower-case key, its place."""

    kind: str
    text: str
    key: str
    start: int


_PATTERNS = {
    "code": r"```.*?```|`[^`\n]+`",
    "url": r"(?:https?|ftp|s3|gs|ssh|git)://[^\s<>\"'，。！？、）]+|www\.[^\s<>\"'，。！？、）]+",
    "email": r"[\w.+-]+@[\w-]+\.[\w.-]*\w",
    "path": r"(?<![\w./])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.\-/\\*]*[A-Za-z][\w.\-/\\*]*",
    "dotfile": r"(?<![\w./~)\]])\.[A-Za-z]\w+(?:\.\w+)*",
    "flag": r"(?<!\S)--?[A-Za-z][\w-]*",
    "isodate": r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])\b(?![-/.\w])|\b\d{1,2}/\d{1,2}/\d{4}\b",
    "time": r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?",
    "version": r"\bv\d+(?:\.\d+)*\b|\bV\d+(?:\.\d+)+\b|\b\d+\.\d+\.\d[\w.-]*\b",
    "ident": (
        r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\([^()\n]{0,40}\)"
        r"|\b[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+"
        r"|\b[A-Za-z]+(?:_+[A-Za-z0-9]+)+|\b__\w+__\b|\b_\w+"
        r"|\b[a-z]{2,}[0-9]*(?:[A-Z][a-z0-9]*)+\b"
        r"|\b[A-Za-z]+[-~]?\d[\w~-]*|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b"
        r"|[#@][A-Za-z]\w*"
    ),
    "emoji": r"[\u2600-\u27bf\U0001f000-\U0001faff≤≥≠≈±√∞→←↑↓]",
    "num": r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?",
    "word": r"[A-Za-z\u00c0-\u024f]+(?:['\-][A-Za-z\u00c0-\u024f]+)*",
    "han": r"[\u3400-\u9fff\uf900-\ufaff〇]+",
    "other": r"(?u:[^\W\d_]+)",
    "op": r"===|!==|\*\*|//|==|!=|<=|>=|=>|->|\+=|-=|\*=|/=|\+\+|&&|\|\||<<|>>|[-+*/%^=<>×÷]",
    "sym": r"°\s?[CF]?\b|(?u:[^\s\w])",
}
_TOKEN = re.compile(
    "|".join(f"(?P<{kind}>{rule})" for kind, rule in _PATTERNS.items()), re.S | re.A
)
_SPACES = re.compile(r"[ \t\u3000]+")
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")
_QUOTES = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "`": "`", "–": "-", "—": "-", "−": "-"}
)
_RAISED = str.maketrans(
    {c: f"^{n}" for n, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {c: f"_{n}" for n, c in enumerate("₀₁₂₃₄₅₆₇₈₉")}
)
"""Compatibility forms would make 2⁵ the number 25."""

_TAG = re.compile(
    r",\s*(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have)(?:n't)?"
    r"\s+(?:it|he|she|they|we|you|i|there)\s*\?*\s*$",
    re.I,
)
_WRITTEN_OUT = dict(
    pair.split("=")
    for pair in """can't=can not|cannot=can not|cant=can not|won't=will not|wont=will not|shan't=shall not|ain't=is not
    |i'm=i am|im=i am|ive=i have|i'ma=i will|ima=i will|idk=i do not know|gonna=going to|wanna=want to|gotta=have to|gimme=give me
    |pls=please|plz=please|ur=your|thx=thanks|ty=thanks|abt=about|cuz=because|coz=because|bcos=because|bcuz=because|w/o=without""".replace(
        "\n    ", ""
    ).split("|")
)
_DENIED = "is|are|was|were|do|does|did|could|would|should|has|have|had|must|need"
_NAMED = "what|where|who|how|when|why|that|there|here|it|he|she|let"
_CONTRACTION = re.compile(
    rf"\b(?:(?P<whole>{'|'.join(_WRITTEN_OUT)})\b"
    rf"|(?P<denied>{_DENIED})nt\b'?"
    r"|(?P<refused>[a-z]+)n't\b"
    rf"|(?P<named>{_NAMED})'?s\b"
    r"|(?P<asked>what|where|who|how|when|why)'d\b"
    r"|(?P<person>i|you|he|she|it|we|they)'d\b"
    r"|(?P<being>[a-z]+)'re\b|(?P<having>[a-z]+)'ve\b|(?P<going>[a-z]+)'ll\b"
    r"|(?P<you>u)\b(?![.&/'-])|(?P<with>w/)\s)",
    re.I,
)
_MAY_BE_SHORT = re.compile(
    rf"'|\bw/|\b(?:u|(?:{_DENIED})nt|(?:{_NAMED})s|{'|'.join(w for w in _WRITTEN_OUT if w.isalpha())})\b"
)
"""What a text (in small letters) has that holds a contraction; found ten times faster than the contraction."""
_FULL = {"denied": " not", "refused": " not", "named": " is", "asked": " did", "person": " would", "being": " are",
         "having": " have", "going": " will"}  # fmt: skip


_LATIN_LETTER = re.compile(r"[A-Za-z]")
_LATIN_RUN = re.compile(r"[A-Za-z\u00c0-\u024f][\w.'-]*", re.A)
"""A Latin word, or an identifier in one piece: the letters of a long one say little about the script."""


def normalise(text: str) -> str:
    """Bring script, width, quotes, dashes and runs of blanks to one form; keep case and line breaks."""
    flat = unicodedata.normalize("NFKC", without_hidden(text).translate(_RAISED))
    flat = simplified(flat.translate(_QUOTES))
    if not flat.isascii() and _FOREIGN_DIGIT.search(flat):
        flat = _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match.group(), "")), flat)
    return _SPACES.sub(" ", flat).strip()


def spell_out(text: str) -> str:
    """Write contractions in full and drop a closing tag question ("…, isn't it?")."""
    if "," in text:
        text = _TAG.sub("?", text)
    return _CONTRACTION.sub(_full, text) if _MAY_BE_SHORT.search(text.lower()) else text


def _full(match: re.Match[str]) -> str:
    sort = match.lastgroup or ""
    if sort == "whole":
        return _WRITTEN_OUT[match["whole"].lower()]
    return {"you": "you", "with": "with "}.get(sort) or match[sort] + _FULL[sort]


def tokens(text: str) -> list[Token]:
    """Cut a normalised text into tokens; blanks are dropped."""
    return [
        Token(match.lastgroup or "sym", match.group(), match.group().lower(), match.start())
        for match in _TOKEN.finditer(text)
    ]


def script(text: str) -> str:
    """Name the script most letters are in: `han`, `latin`, another one, or `none`."""
    if text.isascii():
        return "latin" if _LATIN_LETTER.search(text) else "none"
    han = latin = other = 0
    words = len(_LATIN_RUN.findall(text))
    for char in text:
        if "\u3400" <= char <= "\u9fff":
            han += 1
        elif char.isascii():
            latin += char.isalpha()
        elif char.isalpha():
            name = unicodedata.name(char, "")
            if name.startswith("LATIN"):
                latin += 1
            else:
                other += 1
    if not han and not latin and not other:
        return "none"
    if han >= other and (han * 2.5 >= latin or (han > 1 and han >= 2 * words)):
        return "han"
    return "latin" if latin >= other else "other"
