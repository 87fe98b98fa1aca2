"""Pairs of our own, written batch by batch before the rules were mended, and the word lists behind them.

What each batch scored at first sight stands in docs/figures.md; here is the floor after mending.
"""

import json
from pathlib import Path

import pytest

from service.guards import judge
from service.guards.lexicon.lists import opposite_pairs, synonym_groups, synonym_lines

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "batch_pairs.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("reusable", [False, True])
def test_the_batches_are_judged_right(language: str, reusable: bool) -> None:
    """94 in 100 either way; what is misjudged is named."""
    rows = [pair for pair in PAIRS if (pair["lang"], pair["reusable"]) == (language, reusable)]
    wrong = [(p["a"], p["b"]) for p in rows if (judge(p["a"], p["b"]) is None) != reusable]
    assert len(rows) > 190
    assert len(wrong) <= 0.06 * len(rows), wrong


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_two_words_are_both_synonyms_and_opposites(language: str) -> None:
    """A pair on both lists would be matched and refused at once."""
    groups = synonym_groups(language)
    none: frozenset[int] = frozenset()
    for left, right in opposite_pairs(language):
        assert not groups.get(left, none) & groups.get(right, none), (left, right)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_line_of_synonyms_holds_a_word_twice(language: str) -> None:
    for words in synonym_lines(language):
        assert len(words) == len(set(words)), words


@pytest.mark.parametrize(
    ("left", "right"),
    [("up", "down"), ("in", "out"), ("on", "off")],
)
@pytest.mark.parametrize(
    "frame", ["Which pumps go {}?", "Is the beacon {}?", "How do I scroll {}?"]
)
def test_a_small_word_that_closes_the_verb_turns_it(left: str, right: str, frame: str) -> None:
    assert judge(frame.format(left), frame.format(right)) is not None
