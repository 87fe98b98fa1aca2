"""What a model can read, judged from its tokens: too long, unknown words, foreign script.

An unknown token hides what it stands for: two texts that differ only there have one vector, and
would be served each other's answers. So any unknown *word* makes a text unreadable; unknown symbols
(emoji, mostly) do when they are more than a tenth. A model for English reads Cyrillic or Thai
letter by letter without a single unknown token, and its vectors mean nothing there; hence the
check by script.
"""

import re
import unicodedata
from collections.abc import Sequence

from index.normalize import cjk_share, is_blank
from index.types import (
    Language,
    Readability,
    RefusalReason,
    TextRefused,
    TextTooLong,
)

MAX_UNKNOWN_SHARE = 0.1
MAX_CJK_SHARE = 0.1
MAX_FOREIGN_SHARE = 0.3
"""Of letters that are not Latin, for a model of English; formulas have some Greek ones."""

MAX_CHARACTERS_PER_TOKEN = 64
"""No text whose tokens are longer on average is known; beyond it a text is too long unread."""

_WORD = re.compile(r"[^\W_]")
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that show nothing: fillers of Hangul, empty braille, selectors of a form."""


def judge(
    text: str,
    *,
    token_ids: Sequence[int],
    unknown_id: int,
    unknown_texts: Sequence[str],
    special_tokens: int,
    max_tokens: int,
    languages: frozenset[Language],
) -> Readability:
    """Say whether a model may embed a normalised text.

    Parameters
    ----------
    token_ids : all ids that the model would be given.
    unknown_texts : what the unknown tokens stand for, as far as the tokenizer tells.
    special_tokens : how many of the ids are not the text's own (start, end, prefix).
    """
    own = max(len(token_ids) - special_tokens, 0)
    unknown_share = token_ids.count(unknown_id) / own if own else 0.0
    cjk = cjk_share(text)
    reason: RefusalReason | None = None
    # Without tokens of its own a text has the vector of every other such text.
    if is_blank(_UNSEEN.sub("", text)) or not own:
        reason = "blank"
    elif len(token_ids) > max_tokens:
        reason = "too_long"
    elif (
        unknown_share > MAX_UNKNOWN_SHARE
        or any(map(_WORD.search, unknown_texts))
        or (languages == {"en"} and _is_foreign(text, cjk))
    ):
        reason = "unreadable"
    return Readability(len(token_ids), unknown_share, cjk, reason)


def far_too_long(text: str, max_tokens: int) -> Readability | None:
    """A refusal without tokenising, for a text so long that no tokenizer could make it fit."""
    if len(text) <= max_tokens * MAX_CHARACTERS_PER_TOKEN:
        return None
    at_least = len(text) // MAX_CHARACTERS_PER_TOKEN
    return Readability(at_least, 0.0, 0.0, "too_long")


def refuse(readability: Readability, *, position: int) -> None:
    """Raise the refusal that belongs to a reason; nothing for a readable text."""
    if readability.reason == "too_long":
        raise TextTooLong(readability, position=position)
    if readability.reason is not None:
        raise TextRefused(readability, position=position)


def _is_foreign(text: str, cjk: float) -> bool:
    if text.isascii():
        return False
    if cjk > MAX_CJK_SHARE:
        return True
    letters = [character for character in text if character.isalpha()]
    foreign = sum(
        not (character.isascii() or unicodedata.name(character, "").startswith("LATIN"))
        for character in letters
    )
    return foreign > MAX_FOREIGN_SHARE * len(letters)
