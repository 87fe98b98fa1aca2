"""The semantic layer with chosen vectors, and once with the real embedder."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.audit.reading import ReadingTally, read_records
from evaluation.audit.records import Record, parse_record
from evaluation.audit.run import guess_language
from evaluation.audit.semantic import (
    SemanticLayer,
    SemanticReport,
    labels_without_error,
    nearest_earlier,
)
from index.embedding import catalog
from index.testing import HashEmbedder
from index.types import Embedder, ModelNotInstalled
from service.guards import judge


def look(layer: SemanticLayer, embedder: Embedder) -> SemanticReport:
    return layer.report(embedder, "test", input_price=3.0, output_price=15.0, embedding_price=0.02)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_nearest_earlier_row_of_a_partition_equals_a_plain_search(
    n: int, partitions: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    groups = rng.integers(0, partitions, n).astype(np.uint64)
    nearest, scores = nearest_earlier(vectors, groups)
    for row in range(n):
        earlier = [at for at in range(row) if groups[at] == groups[row]]
        if not earlier:
            assert (nearest[row], scores[row]) == (-1, -1)
            continue
        products = vectors[earlier] @ vectors[row]
        assert scores[row] == pytest.approx(products.max(), abs=1e-5)
        assert nearest[row] in earlier


@pytest.mark.parametrize(("target", "labels"), [(0.01, 299), (0.03, 99), (0.05, 59)])
def test_labels_without_an_error_are_the_textbook_numbers(target: float, labels: int) -> None:
    assert labels_without_error(target, 0.95) == labels
    assert (1 - target) ** labels <= 0.05 < (1 - target) ** (labels - 1)


def test_exact_repeats_and_other_partitions_are_not_candidates() -> None:
    layer = SemanticLayer()
    for number, (text, tenant) in enumerate([("reset my password", "a")] * 3):
        layer.add(Record(number, text, tenant=tenant))
    layer.add(Record(9, "reset my password", tenant="b"))
    report = look(layer, HashEmbedder())
    assert (report.lookups, report.partitions) == (2, 2)
    assert all(t.with_candidate == 0 for t in report.thresholds)


def test_another_context_is_another_partition() -> None:
    layer = SemanticLayer()
    for number, system in enumerate(("be brief", "be long")):
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": "reset my password"},
        ]
        layer.add(parse_record({"messages": messages}, number))
    assert look(layer, HashEmbedder()).partitions == 2


def test_candidates_never_grow_with_the_threshold_and_refused_ones_are_part_of_them() -> None:
    layer = SemanticLayer()
    for number in range(60):
        layer.add(Record(number, f"how do I cancel order {number % 30} of my account {number}"))
    report = look(layer, HashEmbedder())
    counts = [t.with_candidate for t in report.thresholds]
    assert counts == sorted(counts, reverse=True)
    for t in report.thresholds:
        assert t.left + t.refused_by_guards == t.with_candidate


def test_queries_after_the_limit_are_counted_as_left_out() -> None:
    layer = SemanticLayer(max_queries=3)
    for number in range(5):
        layer.add(Record(number, f"question number {number}"))
    report = look(layer, HashEmbedder())
    assert (report.lookups, report.left_out) == (3, 2)


def test_an_empty_log_gives_an_empty_report() -> None:
    report = look(SemanticLayer(), HashEmbedder())
    assert report.lookups == 0
    assert all(t.share == 0 for t in report.thresholds)


def test_the_break_even_is_the_price_of_an_embedding_over_that_of_an_answer() -> None:
    layer = SemanticLayer()
    row = {"text": "x" * 400, "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}
    layer.add(parse_record(row, 1))
    # 100 tokens at 0.02 against 1,000 at 3 and 100 at 15
    expected = 100 * 0.02 / (1000 * 3 + 100 * 15)
    assert look(layer, HashEmbedder()).break_even_share == pytest.approx(expected)


def test_the_script_of_the_queries_chooses_the_language() -> None:
    assert guess_language(["How do I reset my password?", "Crème brûlée"]) == "en"
    assert guess_language(["我的密码忘了怎么办", "reset"]) == "multi"


def test_real_queries_with_the_real_embedder(
    shared_log: Callable[[str], Path], models_dir: Path
) -> None:
    """Scores of the report are those of the embedder, and its guards are those of the service."""
    path = shared_log("so_sql_titles/log.jsonl.gz")
    try:
        embedder = catalog.load("minilm", models_dir)
    except ModelNotInstalled as error:
        pytest.skip(str(error))
    layer = SemanticLayer()
    for record in islice(read_records(path, ReadingTally()), 800):
        layer.add(record)
    report = look(layer, embedder)
    lowest = report.thresholds[0]
    assert lowest.with_candidate > 0
    for example in (e for t in report.thresholds for e in t.examples):
        a, b = embedder.embed([example.earlier, example.query])
        assert example.score == pytest.approx(float(a @ b), abs=1e-3)
        refusal = judge(example.earlier, example.query)
        assert example.guard == (refusal.guard if refusal else None)
