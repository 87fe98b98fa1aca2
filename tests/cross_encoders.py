"""A cross-encoder small enough to be built in a test, and real: graph, tokenizer, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from index.embedding.bert_onnx import PairHead, build_pair_graph
from index.embedding.weights import BertWeights, Layer, LinearName

WIDTH = 32
MAX_TOKENS = 24


def build(folder: Path, *, same: str = "please", seed: int = 0) -> Path:
    """A model that finds a pair the same (0.98 or more) when the word `same` is in it, and else not (under 0.03)."""
    rng = np.random.default_rng(seed)
    vocabulary = {word: n for n, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", same))}

    def floats(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.01).astype(np.float32)

    def norm() -> tuple[np.ndarray, np.ndarray]:
        return np.ones(WIDTH, dtype=np.float32), np.zeros(WIDTH, dtype=np.float32)

    sizes = {"intermediate": (4 * WIDTH, WIDTH), "output": (WIDTH, 4 * WIDTH)}
    matrices = {name: floats(*sizes.get(name, (WIDTH, WIDTH))) for name in get_args(LinearName)}
    words = floats(len(vocabulary), WIDTH)
    words[:, 1] += 1.0
    words[vocabulary[same], :2] += (1.0, -1.0)
    weights = BertWeights(
        words=words,
        positions=floats(MAX_TOKENS, WIDTH) / 10,
        embedding_norm=norm(),
        layers=(
            Layer(
                matrices=matrices,
                biases={name: floats(m.shape[0]) for name, m in matrices.items()},
                attention_norm=norm(),
                output_norm=norm(),
            ),
        ),
        heads=4,
        epsilon=1e-12,
    )
    head = np.zeros(WIDTH, dtype=np.float32)
    head[0] = 60.0  # one such word among 24 counts for 14
    graph = build_pair_graph(weights, PairHead(head, -4.0), "float32")
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(graph)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "verifier.json").write_text(json.dumps({"max_tokens": MAX_TOKENS}), encoding="utf-8")
    return folder
