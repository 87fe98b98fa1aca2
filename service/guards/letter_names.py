"""Decides where the letter A is a name and no article: plan A, from A to B, vitamin A."""

import re

from service.guards.text import Token

LETTER = "letter_a"
"""The key of an A that names something."""
_ENDS_NAME = frozenset(
    "in to from and or of is are was for with at on by than vs versus then before after until do does did".split()
)
_STOPS = frozenset(".?!,;:)")
_LABELS = frozenset(
    """plan vitamin group type class option hepatitis influenza grade team level tier category section zone line gate
    terminal building block part step version variant model size point product item column""".split()
)
"""Words that a letter counts, so that a small one is a name too."""
_OTHER_LETTER = re.compile("[B-HJ-Z]")
"""I is the asker."""


def name_letters(found: list[Token], *, tells: bool) -> list[Token]:
    """The tokens with another key for each A that is a name; `tells` says whether capitals mark names here."""
    if not any(token.key == "a" for token in found):
        return found
    beside = tells and any(
        token.kind == "word" and _OTHER_LETTER.fullmatch(token.text) for token in found
    )
    out = list(found)
    for at, token in enumerate(found):
        if token.key == "a" and token.kind == "word" and _is_name(found, at, beside=beside):
            out[at] = token._replace(key=LETTER)
    return out


def _is_name(found: list[Token], at: int, *, beside: bool) -> bool:
    if found[at].text == "A" and beside:
        return True
    if found[at].text == "a" and (at == 0 or found[at - 1].key not in _LABELS):
        return False
    follower = found[at + 1] if at + 1 < len(found) else None
    closes = follower is None or follower.text in _STOPS or follower.key in _ENDS_NAME
    return at > 0 and found[at - 1].kind == "word" and closes
