"""Reads a Chinese request by the classes of its words."""

from service.eligibility.patterns import compiled, variants
from service.simplified import simplified

_IS = compiled("chinese", whole_words=False)
"""The blocks of `chinese_patterns.txt`, where each is explained."""
_VARIANTS = variants("chinese")


def read(text: str) -> str:
    """The text as the rules take it: in simplified characters, words of regions and dialects as the standard ones."""
    return _VARIANTS.unified(simplified(text))


def personal(text: str) -> str | None:
    """The words by which the answer would hold a value of the asker's own, or None."""
    if (
        "《" in text
        or _IS["how to"].search(text)
        or _IS["why"].search(text)
        or _IS["explains"].search(text)
    ):
        return None
    shared = _words_of("group own", text) or _words_of("state of mine", text)
    if shared:
        return shared
    if (_IS["public"].search(text) and not _IS["mine"].search(text)) or (
        _IS["code"].search(text) and not _IS["mine"].search(text)
    ):
        return None
    found = _words_of("personal", text)
    return found or (None if _IS["institution"].search(text) else _words_of("contact", text))


def acting(text: str) -> str | None:
    """The words by which the request is an order to do something, or None."""
    if _IS["how to"].search(text) or _IS["why"].search(text):
        return None
    if (
        _IS["code"].search(text)
        or _IS["fault"].search(text)
        or _IS["advice"].search(text)
        or (_IS["asks about"].search(text) and not _IS["polite ask"].match(text))
    ):
        return None
    if _IS["page title"].search(text) and not _IS["points at"].search(text):
        return None
    return _words_of("acting", text) or _words_of("put order", text)


def volatile(text: str) -> str | None:
    """The words by which the answer passes with time, or None."""
    text = _IS["service hours"].sub("", text)
    if _IS["timeless"].search(text):
        return None
    if not _IS["how to"].search(text) and not _IS["why"].search(text):
        found = _IS["topics"].search(text) or _IS["outing wanted"].search(text)
        if found:
            return found.group()
    if _IS["public"].search(text) and _IS["advice word"].search(text):
        return None
    found = _IS["now"].search(text)
    if found and found.group()[:2] in ("现在", "当前", "目前") and _IS["how to"].search(text):
        return None
    return found.group() if found else None


def creative(text: str) -> str | None:
    """The words by which a fresh invention is wanted, or None."""
    if _IS["how to"].search(text) or _IS["why"].search(text):
        return None
    found = _IS["creative"].search(text)
    return found.group() if found else None


def _words_of(block: str, text: str) -> str | None:
    found = _IS[block].search(text)
    return found.group() if found else None
