"""Guards on content: names, choices, code, language, and what one text has and the other lacks."""

from collections import Counter

from service.guards import words
from service.guards.alignment import Alignment, turning_words, weight
from service.guards.analysis import Unit
from service.guards.refusal import Refusal

SLOT_SHARE = 0.5
"""From this share of shared weight on, two texts are one sentence with a changed part."""
EXTRA_WEIGHT = 3.0
"""A side that has this much content of its own, and the other none, carries an extra request."""


def language(pair: Alignment) -> Refusal | None:
    """Refuse where the two texts are written in different scripts."""
    scripts = {pair.a.script, pair.b.script} - {"none"}
    if len(scripts) > 1:
        return Refusal("language", f"{pair.a.script} vs {pair.b.script}")
    return None


def code(pair: Alignment) -> Refusal | None:
    """Refuse where code, identifiers, paths, addresses or operators differ."""
    left, right = Counter(pair.a.code), Counter(pair.b.code)
    only_left, only_right = sorted((left - right).elements()), sorted((right - left).elements())
    operators_left = sorted(u.key for u in pair.only_a("op"))
    operators_right = sorted(u.key for u in pair.only_b("op"))
    only_left, only_right = _not_said(only_left, pair.b.units), _not_said(only_right, pair.a.units)
    if only_left or only_right or operators_left != operators_right:
        show_left, show_right = only_left + operators_left, only_right + operators_right
        return Refusal(
            "code", f"{' '.join(show_left) or 'none'} vs {' '.join(show_right) or 'none'}"[:200]
        )
    return None


def _not_said(literals: list[str], others: tuple[Unit, ...]) -> list[str]:
    """Literals that the other text does not have as a plain word either."""
    keys = {unit.key.lower() for unit in others} | {unit.text.lower() for unit in others}
    return [literal for literal in literals if literal.lower() not in keys]


def choice(pair: Alignment) -> Refusal | None:
    """Refuse where an environment, tier, period or language differs."""
    left, right = pair.only_a("choice"), pair.only_b("choice")
    if left or right:
        return Refusal("choice", f"{_show(left)} vs {_show(right)}")
    return None


def name(pair: Alignment) -> Refusal | None:
    """Refuse where a name, or a word no dictionary has, stands on one side only."""
    left, right = pair.only_a("name", "unknown"), pair.only_b("name", "unknown")
    if left or right:
        return Refusal("name", f"{_show(left)} vs {_show(right)}")
    return None


def case(pair: Alignment) -> Refusal | None:
    """Refuse where a capital makes another word of the same letters (Polish, polish)."""
    for mine, yours in ((pair.a, pair.b), (pair.b, pair.a)):
        for word in mine.capitals & yours.lower - mine.lower - yours.capitals:
            if words.is_capitonym(word):
                return Refusal("case", f"{word.capitalize()} vs {word}")
    return None


def slot(pair: Alignment) -> Refusal | None:
    """Refuse where one sentence is asked twice with another word in one place."""
    left, right = _own(pair.only_a()), _own(pair.only_b())
    if not left or not right:
        return None
    own = min(weight(left), weight(right))
    if own and pair.shared_weight() / (pair.shared_weight() + own) >= SLOT_SHARE:
        return Refusal("slot", f"{_show(left)} vs {_show(right)}")
    return None


def extra(pair: Alignment) -> Refusal | None:
    """Refuse where one text carries content that the other lacks."""
    left, right = _own(pair.only_a()), _own(pair.only_b())
    if bool(left) == bool(right):
        return None
    if weight(left + right) >= 1.0:
        return Refusal("extra", f"{_show(left)} vs {_show(right)}")
    return None


def _own(units: list[Unit]) -> list[Unit]:
    turning = {id(unit) for unit in turning_words(units)}
    return [
        unit
        for unit in units
        if unit.kind not in ("num", "op", "light") and id(unit) not in turning
    ]


def _show(units: list[Unit]) -> str:
    return " ".join(unit.text for unit in units[:8]) or "none"
