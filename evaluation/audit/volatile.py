"""Values that change from call to call and do not belong to the question: timestamps, request ids,
trace fields."""

from __future__ import annotations

import re
from functools import lru_cache

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"

PATTERN = re.compile(
    rf"""(?P<timestamp>
        \b\d{{4}}-\d{{2}}-\d{{2}}
          (?:[T\ ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?\ ?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}})?)?
      | \d{{4}}年\d{{1,2}}月\d{{1,2}}日(?:\s*\d{{1,2}}[:：时]\d{{2}}(?:[:：分]\d{{2}}秒?)?)?
      | \b{_MONTH}\.?\ \d{{1,2}}(?:st|nd|rd|th)?,?\ \d{{4}}\b
      | \b\d{{1,2}}\ {_MONTH}\.?,?\ \d{{4}}\b
      | \b\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?:\ ?[AaPp]\.?[Mm]\b)?
      | \b1[5-9]\d{{8}}(?:\d{{3}})?\b
    )|(?P<id>
        \b[0-9a-fA-F]{{8}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{12}}\b
      | \b(?:req|request|trace|span|msg|chatcmpl|call|run|sess|session|corr)
          [-_:=#]{{1,2}}(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{{4,}}
      | \b(?=[0-9a-f]*\d)[0-9a-f]{{16,64}}\b
    )""",
    re.VERBOSE,
)
"""Group `timestamp` or `id` says which kind was found."""

_FIELD = re.compile(
    r"(?:^|_)(?:request|trace|span|session|correlation|message|run|event|idempotency)_?(?:id|key)$"
    r"|^(?:timestamp|ts|time|date|now|nonce|created|created_at|sent_at|seed_time|uuid|client_id)$"
)


_DIGIT = re.compile(r"\d")


def is_volatile_field(name: str) -> bool:
    """True for a field name that by its wording holds an id or a time of the call."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return _FIELD.search(snake) is not None


@lru_cache(maxsize=512)  # the fixed text of a log comes again and again
def mask(text: str) -> str:
    """The text with every timestamp and id replaced by the name of its kind."""
    if _DIGIT.search(text) is None:  # there is none without a digit, and the search is cheap
        return text
    return PATTERN.sub(lambda m: f"<{m.lastgroup}>", text)
