"""A rule that is left out would have changed nothing."""

import json
from functools import reduce
from pathlib import Path

import pytest

from service.guards import text
from service.guards.plain_english import plain_english, rules
from service.guards.text import normalise, spell_out


def _texts() -> list[str]:
    lines = [
        line
        for file in Path(__file__).parent.glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return sorted({normalise(json.loads(line)[side]) for line in lines for side in ("a", "b")})


def test_words_that_a_rule_needs_are_in_every_text_that_it_changes() -> None:
    for flat in _texts():
        whole = reduce(lambda seen, rule: rule.rewrite(seen), rules(), flat)
        assert plain_english(flat) == whole


def test_contractions_are_found_by_their_marks() -> None:
    for flat in _texts():
        assert spell_out(flat) == text._CONTRACTION.sub(text._full, text._TAG.sub("?", flat))


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("IM late, wheres u", "i am late, where is you"),
        ("Isnt it w/ sugar w/o milk", "Is not it with sugar without milk"),
        ("don’t", "do not"),
        ("the museum", "the museum"),
    ],
)
def test_contractions_in_any_letters(short: str, full: str) -> None:
    assert spell_out(normalise(short)).lower() == full.lower()


def test_each_rule_that_needs_words_changes_some_text() -> None:
    samples = [
        "nodejs", "python3.9", "in Go", "win10", "how much time is left", "the year 1990", "MS Word",
        "Microsoft Excel", "U.S.A.", "keep the cat off", "how many days does it take", "10 km/hour",
        "the 80s", "x squared", "ten or more", "younger than 12", "is there a way to", "make sure it does not ",
        "what causes", "I do not want it, so how can I", "how can a user find their key", "turn the light off",
        "turn the big old light off", "half past three", "6 tomorrow morning", "6 in the morning", "test server",
        "are there any seats left", "visits a month", "six foot", "two-hour", "costs less", "Q3",
    ]  # fmt: skip
    for rule in rules():
        if rule.needs:
            assert any(rule.rewrite(sample) != sample for sample in samples), rule.needs
