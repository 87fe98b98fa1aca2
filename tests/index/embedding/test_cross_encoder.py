"""Cross-encoders out of folders: real files, nothing fetched, nothing cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.embedding.cross_encoder import digest_of, open_folder
from index.types import EmbedderUnavailable, ModelNotInstalled
from tests import cross_encoders


def test_a_folder_of_onnx_and_tokenizer_reads_both_texts(tmp_path: Path) -> None:
    model = open_folder(cross_encoders.build(tmp_path / "tiny"))
    assert model.probability("where is the manual", "manual please") > 0.98
    assert model.probability("manual please", "where is the manual") > 0.98
    assert model.probability("where is the manual", "where is our manual") < 0.03


def test_a_pair_that_is_too_long_is_refused_and_not_cut(tmp_path: Path) -> None:
    model = open_folder(cross_encoders.build(tmp_path / "tiny"))
    long = "word " * (cross_encoders.MAX_TOKENS - 4)
    assert model.probability("word", long) < 0.5
    with pytest.raises(EmbedderUnavailable, match="tokens"):
        model.probability("word please", long)


def test_another_byte_is_another_digest(tmp_path: Path) -> None:
    first = digest_of(cross_encoders.build(tmp_path / "a"))
    assert digest_of(cross_encoders.build(tmp_path / "b")) == first
    assert digest_of(cross_encoders.build(tmp_path / "c", seed=1)) != first
    (tmp_path / "b" / "note.txt").write_text("", encoding="utf-8")
    assert digest_of(tmp_path / "b") != first


@pytest.mark.parametrize("spoiled", ["empty", "no tokenizer", "no graph", "two graphs", "sentence"])
def test_what_is_no_cross_encoder_says_so(tmp_path: Path, spoiled: str) -> None:
    folder = cross_encoders.build(tmp_path / "tiny")
    if spoiled == "empty":
        folder = tmp_path / "empty"
        folder.mkdir()
    elif spoiled == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    elif spoiled == "no graph":
        (folder / "model.onnx").write_bytes(b"not a graph")
    elif spoiled == "two graphs":
        (folder / "other.onnx").write_bytes(b"")
    else:
        import numpy as np

        from index.embedding import bert_onnx
        from tests.index.embedding.test_weights import small_weights

        weights = small_weights(np.random.default_rng(0), four_bit_words=False)
        (folder / "model.onnx").write_bytes(bert_onnx.build_graph(weights, "float32"))
    with pytest.raises(ModelNotInstalled, match=folder.name if spoiled != "sentence" else "number"):
        open_folder(folder)


def test_a_folder_of_sentence_transformers(tmp_path: Path) -> None:
    """The same call, and the same probabilities as that library gives by itself."""
    pytest.importorskip("sentence_transformers")
    folder = _untrained(tmp_path / "st", labels=1)
    from sentence_transformers import CrossEncoder

    model = open_folder(folder)
    theirs = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    pair = ("where is the manual", "where is our manual")
    expected: Any = theirs.predict([pair], show_progress_bar=False)
    assert model.probability(*pair) == pytest.approx(float(expected[0]), abs=1e-6)
    with pytest.raises(EmbedderUnavailable, match="tokens"):
        model.probability("word " * 40, "word " * 40)
    with pytest.raises(ModelNotInstalled, match="labels"):
        open_folder(_untrained(tmp_path / "nli", labels=3))


def _untrained(folder: Path, *, labels: int) -> Path:
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    tiny = cross_encoders.build(folder / "onnx")
    tokenizer = BertTokenizerFast(tokenizer_file=str(tiny / "tokenizer.json"), model_max_length=32)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        num_labels=labels,
    )
    for file in tiny.iterdir():
        file.unlink()
    tiny.rmdir()
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
