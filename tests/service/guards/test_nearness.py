"""The keys by which words are compared leave out no pair that would match."""

import json
import time
from itertools import product
from pathlib import Path

import pytest

from service.guards import analyse, compare, han, words
from service.guards.lexicon.lists import opposite_pairs
from service.guards.matching import opposite_han, same_han
from service.guards.nearness import far, near

TEXTS = [
    text
    for line in (Path(__file__).parent / "batch_pairs.jsonl").read_text("utf-8").splitlines()
    for pair in [json.loads(line)]
    for text in (pair["a"], pair["b"])
]


def keys_of(language: str) -> list[str]:
    """Words of the batches and of the lists, each once."""
    units = {unit.key for text in TEXTS for unit in analyse(text).units}
    listed = {word for pair in opposite_pairs(language) for word in pair}
    ours = {key for key in units | listed if key.isascii() == (language == "en")}
    return sorted(key for key in ours if key.isalpha() or "_" in key)[::2]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_words_that_mean_the_same_or_the_opposite_share_a_key(language: str) -> None:
    """Over all pairs of some hundred words."""
    is_same = words.same if language == "en" else same_han
    is_opposite = words.are_opposite if language == "en" else opposite_han
    matched = turned = 0
    for left, right in product(keys_of(language)[:400], repeat=2):
        if is_same(left, right):
            matched += 1
            assert near(left) & near(right), (left, right)
        elif is_opposite(left, right):
            turned += 1
            assert (near(left) & far(right)) or (far(left) & near(right)), (left, right)
    assert matched > 200
    assert turned > 20


def test_a_synonym_of_an_opposite_is_found_from_either_side() -> None:
    assert far("raise") & near("reduce")
    assert far("升高") & near("降低")
    assert han.opposites_of("升高")


def test_comparing_grows_with_the_length_of_the_texts_not_with_its_square() -> None:
    """Eight times the unlike words cost far less than 64 times the time; best of five, of the processor."""
    nouns = sorted(
        {unit.key for text in TEXTS for unit in analyse(text).units if unit.key.isalpha()}
    )

    def cost(words_each: int) -> float:
        a = analyse(" ".join(nouns[:words_each]))
        b = analyse(" ".join(nouns[-words_each:]))
        taken = []
        for _ in range(5):
            start = time.thread_time()
            compare(a, b)
            taken.append(time.thread_time() - start)
        return min(taken)

    assert cost(56) < 24 * cost(7)
