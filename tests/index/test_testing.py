"""The embedders that other tests build on."""

import numpy as np
import pytest

from index.similarity import cosine
from index.testing import HashEmbedder, RiggedEmbedder
from index.types import Embedder, TextRefused, TextTooLong


@pytest.mark.parametrize("embedder", [HashEmbedder(), RiggedEmbedder({})])
def test_they_keep_the_embedders_promises(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    texts = ["one", "another one", "and a third"]
    vectors = embedder.embed(texts)
    assert vectors.shape == (3, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert np.array_equal(vectors[1], embedder.embed(["another one"])[0])
    assert embedder.embed([]).shape == (0, embedder.dimensions)
    with pytest.raises(TextRefused) as refused:
        embedder.embed(["fine", "???"])
    assert refused.value.position == 1
    with pytest.raises(TextTooLong):
        embedder.embed(["word " * 1000])


def test_rigged_similarities_are_the_chosen_ones() -> None:
    embedder = RiggedEmbedder({("a b", "c d"): 0.95, ("a b", "e f"): -0.2})
    a, c, e, other = embedder.embed(["a b", "C D?", "e f", "unnamed"])
    assert cosine(a, c) == pytest.approx(0.95, abs=1e-6)
    assert cosine(a, e) == pytest.approx(-0.2, abs=1e-6)
    assert cosine(c, e) == pytest.approx(0.0, abs=1e-6)
    assert cosine(a, other) == pytest.approx(0.0, abs=1e-6)


def test_similarities_that_no_vectors_have_are_refused() -> None:
    with pytest.raises(ValueError, match="similarities"):
        RiggedEmbedder({("a", "b"): 0.99, ("b", "c"): 0.99, ("a", "c"): -0.99})


def test_hashed_texts_are_nearer_the_more_they_share() -> None:
    a, b, c = HashEmbedder(256).embed(
        ["reset my password", "reset my passwords", "weather in Rome"]
    )
    assert cosine(a, b) > 0.7 > cosine(a, c)
