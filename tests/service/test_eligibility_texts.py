"""Eligibility by kind: our own texts, the labelled half nobody tuned on, and what a text costs."""

import random
import time

import pytest

from service.eligibility import classify
from tests.harness import shared
from tests.service import eligibility_texts as texts
from tests.service.eligibility_bench import held_back, measure
from tests.service.eligibility_labels import FILES, LABELS, MIXED, intent_labels, labelled, rows

KINDS = {name: getattr(texts, name.upper()).strip().splitlines() for name in LABELS["clinc150"]}


@pytest.mark.parametrize("kind", ["personal", "acting", "volatile", "creative"])
def test_texts_of_a_kind_are_held_back(kind: str) -> None:
    """At least 95 in 100, each for a reason of the rules; the rest is named."""
    passed = [text for text in KINDS[kind] if classify(text) is None]
    assert len(passed) <= 0.05 * len(KINDS[kind]), passed


@pytest.mark.parametrize("kind", ["personal", "acting", "volatile", "creative"])
def test_the_reason_names_the_kind(kind: str) -> None:
    """A line may switch rules one by one, so the reason must be the right one: in at least 90 of 100."""
    found = [(text, classify(text)) for text in KINDS[kind]]
    other = [(text, why.reason) for text, why in found if why is not None and why.reason != kind]
    assert len(other) <= 0.1 * len(found), other


def test_general_questions_stay_eligible() -> None:
    """How-to, why, facts, code and look-alikes: at most 3 in 100 are held back."""
    held = [(text, why) for text in KINDS["general"] if (why := classify(text)) is not None]
    assert len(held) <= 0.03 * len(KINDS["general"]), held


FLOORS = {
    ("personal", "en"): 0.86,
    ("personal", "zh"): 0.85,
    ("acting", "en"): 0.86,
    ("acting", "zh"): 0.84,
    ("volatile", "en"): 0.86,
    ("volatile", "zh"): 0.86,
    ("creative", "en"): 0.90,
    ("creative", "zh"): 0.85,
}
"""A little below what was measured on the half that was not tuned on (see docs/figures.md)."""


def test_recall_on_the_half_nobody_tuned_on() -> None:
    """Recall per class and language, and the share of general texts wrongly held back."""
    counts = measure(shared("data"), ("held", "unseen"))
    for (label, language), floor in FLOORS.items():
        share = held_back(counts["held", label, language, "all"])
        assert share >= floor, (label, language, share)
    assert held_back(counts["held", "general", "en", "all"]) <= 0.035
    assert held_back(counts["held", "general", "zh", "all"]) <= 0.04
    assert held_back(counts["unseen", "personal", "en", "all"]) >= 0.76
    assert held_back(counts["unseen", "personal", "zh", "all"]) >= 0.67
    assert held_back(counts["unseen", "volatile", "zh", "all"]) >= 0.71
    assert held_back(counts["held", "general", "en", "banking77"]) <= 0.04


def test_every_intent_has_a_label_or_a_reason_for_none() -> None:
    """The table of labels covers the data sets, and names no intent that is not there."""
    data = shared("data")
    named = intent_labels()
    for source, files in FILES.items():
        there = {str(row["intent"]) for file in files for row in rows(data / file)}
        for intent in there:
            is_mixed = f"{source}/{intent.replace(' ', '_')}" in MIXED
            assert is_mixed or (source, intent) in named or (source, "*") in named, (source, intent)
        assert {i for s, i in named if s == source and i != "*"} <= there


def test_a_text_costs_less_than_a_tenth_of_a_millisecond() -> None:
    """CPU time over a mix of all sets; twice the aim is allowed for a slow machine."""
    mixed = [row.text for row in labelled(shared("data"))]
    sample = random.Random(7).sample(mixed, 1500)
    best = 1.0
    for _ in range(3):
        start = time.process_time()
        for text in sample:
            classify(text)
        best = min(best, (time.process_time() - start) / len(sample))
    assert best < 2e-4
