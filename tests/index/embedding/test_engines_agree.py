"""sentence-transformers is the second engine: any model, the same interface, the same vectors."""

import numpy as np
import pytest

from index.embedding import verification
from index.embedding.make_references import ORIGINAL_MINILM
from index.embedding.verification import ENGLISH
from index.similarity import cosine
from index.types import Embedder, ModelNotInstalled, TextRefused, TextTooLong


@pytest.fixture(scope="module")
def original() -> Embedder:
    pytest.importorskip("sentence_transformers", reason="the extra `models` is not installed")
    from index.embedding.sentence_transformers_engine import SentenceTransformersEmbedder

    try:
        folder = ORIGINAL_MINILM.locate().parent
    except ModelNotInstalled as reason:
        pytest.skip(str(reason))
    return SentenceTransformersEmbedder(str(folder), languages=frozenset({"en"}))


def test_both_engines_give_minilms_vectors(minilm: Embedder, original: Embedder) -> None:
    questions = [text for text in ENGLISH if len(text.split()) >= 4]
    cosines = list(map(cosine, minilm.embed(questions), original.embed(questions)))
    assert min(cosines) >= 0.998
    assert np.mean(cosines) >= 0.999


def test_both_engines_read_and_refuse_alike(minilm: Embedder, original: Embedder) -> None:
    assert original.max_tokens == minilm.max_tokens
    assert original.dimensions == minilm.dimensions
    texts = ["How are you?", "", "怎么重置密码", "👍", "word " * 254, "word " * 255, "x" * 150]
    for text in texts:
        ours, theirs = minilm.readability(text), original.readability(text)
        assert ours == theirs


def test_the_engines_are_told_apart(minilm: Embedder, original: Embedder) -> None:
    assert minilm.fingerprint != original.fingerprint


def test_the_second_engine_keeps_the_promises(original: Embedder) -> None:
    assert isinstance(original, Embedder)
    vectors = original.embed(["one text", "another, longer text"])
    assert vectors.dtype == np.float32
    assert cosine(vectors[0], original.embed(["one text"])[0]) >= 0.9999
    assert original.embed([]).shape == (0, 384)
    with pytest.raises(TextRefused):
        original.embed(["fine", "怎么"])
    with pytest.raises(TextTooLong):
        original.embed(["word " * 300])


def test_shipped_references_are_the_originals_vectors(original: Embedder) -> None:
    shipped = verification.reference_vectors("minilm-l6-v2")
    assert min(map(cosine, original.embed(ENGLISH), shipped)) >= 0.99999


def test_a_model_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra `models` is not installed")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    from index.embedding.sentence_transformers_engine import SentenceTransformersEmbedder

    with pytest.raises(ModelNotInstalled, match="no-such-model"):
        SentenceTransformersEmbedder("./no-such-model")
