"""Decides, from all guards that are on, whether two queries ask the same thing.

Guards only refuse. One that fails refuses too, under the name `error`.
"""

from collections.abc import Callable

from service.guards import (
    amount_guards,
    code_guards,
    extra_guard,
    flip_guards,
    mark_guards,
    name_guards,
    slot_guard,
)
from service.guards.alignment import Alignment, align
from service.guards.analysis import Analysis, analyse, analyse_new
from service.guards.code_guards import quoted_alike
from service.guards.han_slips import differ_by_a_slip
from service.guards.refusal import Refusal
from service.guards.text import script

GUARD_VERSION = "4"
"""Changes whenever a change of rules may alter a verdict; figures of other versions do not count."""

MAX_CHARS = 20_000
"""Longer texts are refused unread: a reading costs about 2 µs a character, and a lookup must not wait for it."""

_Guard = Callable[[Alignment], Refusal | None]
_GUARDS: dict[str, tuple[str, _Guard]] = {
    "language": ("The two texts are written in different scripts.", code_guards.language),
    "number": ("A number differs in value, however it is written.", amount_guards.number),
    "unit": ("The same number stands with another unit or currency.", amount_guards.unit),
    "date": ("A date, weekday or clock time differs.", amount_guards.date),
    "version": ("A version differs.", amount_guards.version),
    "code": ("Code, an identifier, path, address or operator differs.", code_guards.code),
    "choice": ("An environment, plan tier, period or language differs.", name_guards.choice),
    "negation": ("One text denies what the other says.", flip_guards.negation),
    "antonym": ("A word is replaced by its opposite.", flip_guards.antonym),
    "order": ("The parties change places, as in from A to B.", flip_guards.order),
    "quantifier": ("All, some, only, except, at least or at most differ.", mark_guards.quantifier),
    "time": ("The place in time or in a row differs.", mark_guards.state),
    "permission": ("One text asks what must be, the other what may be.", mark_guards.modality),
    "question": (
        "The kind of question differs: why, when, where, who, how much.",
        mark_guards.question,
    ),
    "degree": ("A property stands in another degree.", mark_guards.degree),
    "case": ("A capital letter makes another word.", name_guards.case),
    "name": ("A name or an unknown word stands on one side only.", name_guards.name),
    "slot": (
        "One sentence with another word in one place, or two about other things.",
        slot_guard.slot,
    ),
    "extra": (
        "One text carries content or a condition that the other lacks.",
        extra_guard.extra,
    ),
}
GUARDS: dict[str, str] = {name: description for name, (description, _) in _GUARDS.items()}
"""Every guard that can be switched, with a sentence on what it refuses, in the order they are asked."""
ALL = frozenset(GUARDS)
_FOR_SOURCE = frozenset({"code", "number", "negation", "antonym", "quantifier"})
_FOR_TRANSLATED = frozenset({"code", "number"})
"""Guards that judge two source texts: the code must be equal, comments may be reworded."""


def judge(a: str, b: str, *, enabled: frozenset[str] = ALL) -> Refusal | None:
    """First refusal of an entry's query and a new one, or None where no guard that is on objects."""
    refusals = judge_all(a, b, enabled=enabled, first=True)
    return refusals[0] if refusals else None


def read_word_lists() -> None:
    """Read every word list, so that no lookup waits for one: about 0.15 s and 25 MB, once."""
    judge("warm", "up")
    judge("怎么挂号", "怎么挂好")


def judge_all(
    a: str, b: str, *, enabled: frozenset[str] = ALL, first: bool = False
) -> list[Refusal]:
    """Every refusal of the pair, in the order of `GUARDS`; with `first`, at most one.

    Verdicts are the same both ways round; the reading of `a`, an entry's query, is kept for longer.
    """
    if a == b:
        return []
    longest = max(len(a), len(b))
    if longest > MAX_CHARS and enabled:
        return [
            Refusal("error", f"{longest} characters, more than the {MAX_CHARS} that are judged")
        ]
    try:
        return compare(analyse(a), analyse_new(b), enabled=enabled, first=first)
    except Exception as error:
        return [Refusal("error", type(error).__name__)]


def compare(
    a: Analysis, b: Analysis, *, enabled: frozenset[str] = ALL, first: bool = False
) -> list[Refusal]:
    """`judge_all` for two texts that were read already."""
    if a.text == b.text and a.hidden == b.hidden:
        return []
    if a.script == b.script == "han" and a.hidden == b.hidden and differ_by_a_slip(a.text, b.text):
        return []
    pair = align(*quoted_alike(a, b))
    if a.source and b.source:
        same_words = {a.script, script(a.source.prose)} == {b.script, script(b.source.prose)}
        enabled = enabled & (_FOR_SOURCE if same_words else _FOR_TRANSLATED)
    refusals = []
    for name, (_, guard) in _GUARDS.items():
        if name not in enabled:
            continue
        refusal = guard(pair)
        if refusal is not None:
            refusals.append(refusal)
            if first:
                break
    return refusals
