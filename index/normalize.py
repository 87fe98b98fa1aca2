"""Which spellings of a question are the same to an embedder, and which are not.

Applied before embedding, never before the exact key. It removes what people vary without meaning
it (case, width, spaces, quotes, the final question mark, "hi, could you please tell me") and keeps
what they mean: superscripts and fractions (2⁵ is not 25), factorials, line structure, and the
indentation of code, which BERT tokenisers would drop. Normalising twice is normalising once.

`VERSION` is a part of every embedder's fingerprint: any change of a result here must raise it.
"""

import re
import unicodedata

VERSION = "n1"

INDENT_MARK = "→"
"""Stands for one level of indentation; every bundled model has it in its vocabulary."""

_MAX_PASSES = 8

_FOLDED_KINDS = ("<wide>", "<narrow>", "<small>", "<vertical>", "<noBreak>")
"""Compatibility forms that are only another width. Not <square>, <circle> or <font> (ℝ): those may
change what is said."""

_SAME_MARKS = str.maketrans(
    {
        "‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "‟": '"',
        "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "…": "...",
        "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl",
        "\u200b": None, "\ufeff": None, "\u00ad": None, "\u2060": None,
        "\u2028": "\n", "\u2029": "\n", "\u0085": "\n", "\x0b": "\n", "\x0c": "\n",
    }
)  # fmt: skip

# Raised and lowered digits and fractions are written out, since multilingual tokenisers fold
# compatibility forms themselves and would read 2⁵ as 25, and 1½ as 11/2.
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", "0123456789+-=()ni", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", "0123456789+-=()", strict=True))
_RAISED_RUN = re.compile(f"[{''.join(_RAISED)}]+")
_LOWERED_RUN = re.compile(f"[{''.join(_LOWERED)}]+")
_FRACTION = re.compile("[¼½¾⅐-⅞↉]")
_SQUARED_UNIT = re.compile("[㎟㎠㎡㎢㎣㎤㎥㎦]")

_SURROGATE = re.compile("[\ud800-\udfff]")
_VARIATION = re.compile("[\ufe00-\ufe0f]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_INLINE_SPACE = re.compile(r"[^\S\n]+")
_CJK_RANGES = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003fffd"
)
_CJK = re.compile(f"[{_CJK_RANGES}]")
_ALPHANUMERIC = re.compile(r"[^\W_]")

# Marks that hang on a word. A dot or a star standing alone is an argument: "git add .".
_FINAL_MARKS = re.compile(r"(?:(?<=[^\W_])|(?<=[)\]}'\"%+#*]))[.?,;:。、]+\Z")
_MARKS = frozenset(".?,;:。、!~")
"""What the three expressions here may take away at the end of a text."""
_FINAL_QUESTION_MARKS = re.compile(r"\s*\?+\Z")
# A final ! is dropped only after a word: "5!" and "n!" are factorials.
_FINAL_SHOUT = re.compile(rf"(?:(?<=[^\W\d_][^\W\d_])[!?]+|(?<=[{_CJK_RANGES}])[!?~]+)\Z")

_QUESTION_WORD = r"(?:who|whom|whose|what|when|where|why|how|which|whether|if)\b"
_OPENING = rf"(?:{_QUESTION_WORD}|(?:i|we|can|could|would|will|do|does|is|are|please|may)\b)"
_POLITE_PREFIX = re.compile(
    rf"""
      (?:hi|hello|hey|good\ (?:morning|afternoon|evening))
      (?:\ (?:there|everyone|all|team))? (?: \s*[,.!:;\n]+\s* | \ (?={_OPENING}) )
    | (?:please|kindly) (?:\s*,\s*|\s+)
    | (?:(?:can|could|would|will)\ you\ )? (?:(?:please|kindly)\ )?
      (?:tell|let)\ me\ (?:know\ )? (?={_QUESTION_WORD})
    | (?:can|could|would|will)\ you\ (?:please|kindly)[ ]
    | (?:i\ would|i'd|we\ would|we'd)\ like\ to\ (?:know|ask)\ (?={_QUESTION_WORD})
    | (?:i|we)\ (?:want|wanted|need)\ to\ (?:know|ask)\ (?={_QUESTION_WORD})
    | (?:may|can|could|might)\ i\ ask\ (?:you\ )?(?={_QUESTION_WORD})
    | do\ you\ know\ (?={_QUESTION_WORD})
    | (?:你好|您好|嗨|哈喽|早上好|下午好|晚上好)
      (?: [啊呀哈]? \s*[,.!:;。、~\n]+\s* | \s* (?=请问|麻烦|我想|想问|咨询) )
    | (?:我?想)?请问(?:一下)? \s*[,:]?\s* (?![和与跟的是这"'》])
    | (?:我?想|麻烦)(?:问|咨询|请教)(?:一下|下) \s*[,:]?\s*
    """,
    re.VERBOSE,
)


def normalize(text: str) -> str:
    """The text as an embedder is given it. Idempotent; never blank unless the text is."""
    for _ in range(_MAX_PASSES):
        # One pass may uncover work for the next: a prefix behind a prefix, a letter that composes
        # after case folding.
        result = _pass(text)
        if result == text:
            return result
        text = result
    return text


def is_blank(text: str) -> bool:
    """True when nothing is asked: no letter, digit or symbol (emoji and + are symbols)."""
    # M: a combining mark alone, as which halfwidth letters may come out of the folding.
    return not any(unicodedata.category(character)[0] in "LNSM" for character in _plain(text))


def cjk_share(text: str) -> float:
    """Share of Han, kana and hangul among the letters and digits, in [0, 1]; 0 if there are none.

    One Han character says about as much as a short word, so a share of characters understates it.
    """
    if text.isascii():
        return 0.0
    letters_and_digits = _ALPHANUMERIC.findall(text)
    cjk = sum(_CJK.match(character) is not None for character in letters_and_digits)
    return cjk / len(letters_and_digits) if cjk else 0.0


def _pass(text: str) -> str:
    text = _fold(text)
    text = _squeeze(text)
    text = _without_polite_prefix(text)
    return _without_final_marks(text)


def _plain(text: str) -> str:
    """Without what only chooses how the character before it is drawn: ❤ in black or in red."""
    return text if text.isascii() else _VARIATION.sub("", text)


def _fold(text: str) -> str:
    """One width, one case, one kind of quote; characters that no tokeniser takes are replaced."""
    text = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    if text.isascii():
        return text.replace("\x0b", "\n").replace("\x0c", "\n").lower()
    text = text.translate(_SAME_MARKS)
    if text.isascii():
        return text.lower()
    text = _SURROGATE.sub("\ufffd", text)
    text = _written_out(_plain(text))
    text = unicodedata.normalize("NFC", "".join(map(_one_width, text)))
    return unicodedata.normalize("NFC", text.casefold())


def _written_out(text: str) -> str:
    """Powers as ^, indices as _, fractions as numerals: x² is x^2, H₂O is H_2O, 1½ is 1 1/2."""
    text = _SQUARED_UNIT.sub(lambda unit: _squared_unit(unit.group()), text)
    text = _RAISED_RUN.sub(lambda run: "^" + "".join(map(_RAISED.__getitem__, run.group())), text)
    text = _LOWERED_RUN.sub(lambda run: "_" + "".join(map(_LOWERED.__getitem__, run.group())), text)
    return _FRACTION.sub(lambda sign: " " + _fraction(sign.group()), text)


def _squared_unit(unit: str) -> str:
    """㎡ as m²: its own decomposition is m2."""
    letters = unicodedata.normalize("NFKC", unit)
    return f"{letters[:-1]}^{letters[-1]}"


def _fraction(sign: str) -> str:
    return unicodedata.normalize("NFKC", sign).replace("\N{FRACTION SLASH}", "/")


def _one_width(character: str) -> str:
    if character.isascii():
        return character
    kind, _, code_points = unicodedata.decomposition(character).partition(" ")
    if kind not in _FOLDED_KINDS:
        return character
    return "".join(chr(int(code_point, 16)) for code_point in code_points.split())


def _squeeze(text: str) -> str:
    """Runs of spaces to one, blank lines away, indentation of the lines as visible marks."""
    if "\n" not in text:
        return " ".join(text.split())
    lines = [line for line in text.expandtabs(4).split("\n") if line.strip()]
    widths = [len(line) - len(line.lstrip()) for line in lines]
    # Levels, not columns: two spaces or four are the same program, another nesting is not.
    level_of = {width: level for level, width in enumerate(sorted(set(widths)))}
    return "\n".join(
        f"{INDENT_MARK} " * level_of[width] + _INLINE_SPACE.sub(" ", line.strip())
        for line, width in zip(lines, widths, strict=True)
    )


def _without_polite_prefix(text: str) -> str:
    found = _POLITE_PREFIX.match(text)
    if found is None:
        return text
    rest = text[found.end() :]
    return text if is_blank(rest) else rest


def _without_final_marks(text: str) -> str:
    shorter = text.rstrip()
    if shorter[-1:] not in _MARKS:
        return text if is_blank(shorter) else shorter
    for marks in (_FINAL_SHOUT, _FINAL_MARKS, _FINAL_QUESTION_MARKS):
        shorter = marks.sub("", shorter)
    return text if is_blank(shorter) else shorter
