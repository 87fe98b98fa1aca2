"""Guards on the script of a text and on what in it is code."""

import re
from collections import Counter
from itertools import zip_longest

from service.guards.alignment import Alignment
from service.guards.analysis import Analysis, analyse
from service.guards.refusal import Refusal
from service.guards.units import Unit
from service.guards.written import other_case, other_name_in_code, other_step

_HAN = re.compile("[\u4e00-\u9fff]")
_QUOTED = re.compile(r"`([^`\n]+)`")


def quoted_alike(a: Analysis, b: Analysis) -> tuple[Analysis, Analysis]:
    """Two texts with the code that one of them has between backticks put so in the other, too."""
    if ("`" in a.text) == ("`" in b.text) or a.source or b.source:
        return a, b
    return _quoted_as(a, b), _quoted_as(b, a)


def _quoted_as(text: Analysis, other: Analysis) -> Analysis:
    if "`" in text.text:
        return text
    literals = sorted({*_QUOTED.findall(other.text)}, key=lambda literal: (-len(literal), literal))
    if not literals:
        return text
    rule = "|".join(re.escape(literal.strip()) for literal in literals)
    written = re.sub(rf"(?<![\w.-])(?:{rule})(?![\w(-])", r"`\g<0>`", text.text, flags=re.A)
    return analyse(written) if written != text.text else text


def language(pair: Alignment) -> Refusal | None:
    """Refuse where the two texts are written in different scripts."""
    scripts = {pair.a.script, pair.b.script} - {"none"}
    mixed = scripts == {"han", "latin"} and all(_HAN.search(text.text) for text in (pair.a, pair.b))
    if len(scripts) > 1 and not mixed:
        return Refusal("language", f"{pair.a.script} vs {pair.b.script}")
    return None


def code(pair: Alignment) -> Refusal | None:
    """Refuse where code, identifiers, paths, addresses or operators differ."""
    if pair.a.source or pair.b.source:
        return _source(pair)
    moved = _moved_line(pair.a.indents, pair.b.indents)
    if moved:
        return Refusal("code", f"another indentation: {moved}"[:200])
    otherwise = other_case(pair) or other_name_in_code(pair) or other_step(pair)
    if otherwise:
        return Refusal("code", f"{otherwise[0]} vs {otherwise[1]}"[:200])
    if not pair.a.code and not pair.b.code and not pair.only_a("op") and not pair.only_b("op"):
        return None
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


def _moved_line(a: tuple[tuple[str, int], ...], b: tuple[tuple[str, int], ...]) -> str | None:
    """A line of both texts that stands further in or out in one of them; a shift of all lines is none."""
    right = dict(b)
    shifts = {line: right[line] - depth for line, depth in a if line in right}
    if len(set(shifts.values())) < 2:
        return None
    usual = Counter(shifts.values()).most_common(1)[0][0]
    return next(line for line, shift in shifts.items() if shift != usual)


def _source(pair: Alignment) -> Refusal | None:
    """Refuse where source text differs: one side only, another language, other tokens or depth."""
    left, right = pair.a.source, pair.b.source
    if left is None or right is None:
        return Refusal("code", "source text on one side only")
    if pair.a.hidden != pair.b.hidden:
        return Refusal("code", "characters that nobody sees differ")
    if left.language != right.language:
        return Refusal("code", f"{left.language or 'unknown'} vs {right.language or 'unknown'}")
    for mine, yours in zip_longest(left.tokens, right.tokens, fillvalue="none"):
        if mine != yours:
            return Refusal("code", f"{mine} vs {yours}"[:200])
    return None


def _not_said(literals: list[str], others: tuple[Unit, ...]) -> list[str]:
    """Literals that the other text does not have as a plain word either."""
    keys = {unit.key.lower() for unit in others} | {unit.text.lower() for unit in others}
    run = f" {' '.join(unit.text.lower() for unit in others)} "
    return [x for x in literals if x.lower() not in keys and f" {x.lower()} " not in run]
