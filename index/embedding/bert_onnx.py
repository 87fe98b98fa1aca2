"""Builds the ONNX graph of a sentence encoder from plain arrays, without torch or an exporter.

Token ids and a mask go in; one vector of length 1 per text comes out (mean over the tokens, then
L2). Two forms: ``float32``, and ``int8`` with 8-bit MatMulNBits for the linear layers. MatMulNBits
scales activations per token and block, so that a text has the same vector alone and in any batch;
dynamic quantisation takes one scale for the whole batch, and the same text then agrees with itself
only to 0.977.

The fused operators are those of ONNX Runtime's CPU provider and exact: BiasGelu is the erf form.
One product for query, key and value together saves a tenth of the time of a short text.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from index.embedding.weights import (
    BLOCK,
    BertWeights,
    Blocks,
    Layer,
    LinearName,
    Matrix,
    Table4Bit,
    dense,
    quantized,
)

Precision = Literal["float32", "int8"]

_CONTRIB = "com.microsoft"
_INT8_ACCUMULATION = 4
"""MatMulNBits' accuracy_level: 8-bit activations, 32-bit sums."""


def build_graph(weights: BertWeights, precision: Precision) -> bytes:
    """The encoder as the bytes of an ONNX file.

    Inputs ``input_ids`` and ``attention_mask``: int64, shape (texts, tokens); the mask is 1 for
    tokens and 0 for padding, which must be on the right. Output ``sentence``: float32, shape
    (texts, width).
    """
    graph = _Graph()
    mask = graph.node("Cast", "attention_mask", to=TensorProto.INT32)
    hidden = _embeddings(graph, weights)
    for number, layer in enumerate(weights.layers):
        hidden = _layer(graph, f"layer{number}.", layer, hidden, mask, weights, precision)
    _sentence(graph, hidden)
    content: bytes = graph.model(width=weights.positions.shape[1]).SerializeToString()
    return content


def _embeddings(graph: "_Graph", weights: BertWeights) -> str:
    norm_weight = graph.constant("embedding_norm.weight", weights.embedding_norm[0])
    norm_bias = graph.constant("embedding_norm.bias", weights.embedding_norm[1])
    positions = graph.constant("positions", weights.positions)
    if isinstance(weights.words, Table4Bit):
        # 48 MB instead of 384 for a multilingual vocabulary, and not one bit of precision less.
        words = graph.node(
            "GatherBlockQuantized",
            graph.nibbles("words.codes", weights.words.codes),
            "input_ids",
            graph.constant("words.scales", weights.words.scales),
            graph.nibbles("words.zeros", np.full_like(weights.words.scales, 8, dtype=np.uint8)),
            domain=_CONTRIB,
            gather_axis=0,
            quantize_axis=1,
            block_size=BLOCK,
        )
        shape = graph.node("Shape", "input_ids", start=1, end=2)
        zero = graph.constant("zero", np.array([0], dtype=np.int64))
        used = graph.node("Slice", positions, zero, shape, zero)
        return graph.node(
            "SkipLayerNormalization",
            words,
            used,
            norm_weight,
            norm_bias,
            domain=_CONTRIB,
            epsilon=weights.epsilon,
        )
    ids = graph.node("Cast", "input_ids", to=TensorProto.INT32)
    words = graph.constant("words", weights.words)
    return graph.node(
        "EmbedLayerNormalization",
        ids,
        "",
        words,
        positions,
        "",
        norm_weight,
        norm_bias,
        domain=_CONTRIB,
        unused_outputs=1,
        epsilon=weights.epsilon,
    )


def _layer(
    graph: "_Graph",
    prefix: str,
    layer: Layer,
    hidden: str,
    mask: str,
    weights: BertWeights,
    precision: Precision,
) -> str:
    def linear(name: str, matrix: Matrix, value: str) -> str:
        if precision == "float32":
            transposed = graph.constant(f"{prefix}{name}", dense(matrix).T)
            return graph.node("MatMul", value, transposed)
        return graph.int8_product(f"{prefix}{name}", quantized(matrix), value)

    def add_and_normalize(name: LinearName, value: str, skip: str) -> str:
        norm = layer.attention_norm if name == "attention_output" else layer.output_norm
        return graph.node(
            "SkipLayerNormalization",
            value,
            skip,
            graph.constant(f"{prefix}{name}.norm.weight", norm[0]),
            graph.constant(f"{prefix}{name}.norm.bias", norm[1]),
            graph.constant(f"{prefix}{name}.bias", layer.biases[name]),
            domain=_CONTRIB,
            epsilon=weights.epsilon,
        )

    width = weights.positions.shape[1]
    inputs: tuple[LinearName, ...] = ("query", "key", "value")
    joined = linear("qkv", _stacked([layer.matrices[name] for name in inputs]), hidden)
    thirds = graph.constant("thirds", np.array([width] * 3, dtype=np.int64))
    query, key, value = graph.split(joined, thirds, 3)
    biases = np.concatenate([layer.biases[name] for name in inputs])
    attended = graph.node(
        "MultiHeadAttention",
        query,
        key,
        value,
        graph.constant(f"{prefix}qkv.bias", biases),
        mask,
        domain=_CONTRIB,
        num_heads=weights.heads,
    )
    projected = linear("attention_output", layer.matrices["attention_output"], attended)
    attended = add_and_normalize("attention_output", projected, hidden)

    wide = linear("intermediate", layer.matrices["intermediate"], attended)
    wide_bias = graph.constant(f"{prefix}intermediate.bias", layer.biases["intermediate"])
    wide = graph.node("BiasGelu", wide, wide_bias, domain=_CONTRIB)
    narrow = linear("output", layer.matrices["output"], wide)
    return add_and_normalize("output", narrow, attended)


def _sentence(graph: "_Graph", hidden: str) -> None:
    """Sum over the tokens that are not padding, scaled to length 1, which makes it a mean."""
    axis = graph.constant("token_axis", np.array([1], dtype=np.int64))
    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    row = graph.node("Unsqueeze", mask, axis)
    total = graph.node("Squeeze", graph.node("MatMul", row, hidden), axis)
    graph.node("LpNormalization", total, output="sentence", axis=-1, p=2)


def _stacked(matrices: list[Matrix]) -> Matrix:
    blocks = [matrix for matrix in matrices if isinstance(matrix, Blocks)]
    if len(blocks) == len(matrices):
        return Blocks(
            np.concatenate([matrix.codes for matrix in blocks]),
            np.concatenate([matrix.scales for matrix in blocks]),
        )
    return np.concatenate([dense(matrix) for matrix in matrices])


class _Graph:
    """Nodes and constants as they are written down; every method returns an output's name."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: npt.NDArray[np.generic]) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def nibbles(self, name: str, codes: npt.NDArray[np.uint8]) -> str:
        """4-bit codes, two to a byte, the first in the low half."""
        packed = (codes[:, 0::2] | (codes[:, 1::2] << 4)).tobytes()
        self._constants[name] = helper.make_tensor(
            name, TensorProto.UINT4, codes.shape, packed, raw=True
        )
        return name

    def node(
        self,
        operator: str,
        *inputs: str,
        domain: str = "",
        output: str | None = None,
        unused_outputs: int = 0,
        **attributes: Any,
    ) -> str:
        result = output or f"v{len(self._nodes)}"
        outputs = [result, *(f"{result}.unused{n}" for n in range(unused_outputs))]
        self._nodes.append(
            helper.make_node(operator, list(inputs), outputs, domain=domain, **attributes)
        )
        return result

    def split(self, value: str, sizes: str, count: int) -> list[str]:
        outputs = [f"v{len(self._nodes)}.{n}" for n in range(count)]
        self._nodes.append(helper.make_node("Split", [value, sizes], outputs, axis=-1))
        return outputs

    def int8_product(self, name: str, matrix: Blocks, value: str) -> str:
        outputs, inputs = matrix.codes.shape
        codes = matrix.codes.reshape(outputs, inputs // BLOCK, BLOCK)
        return self.node(
            "MatMulNBits",
            value,
            self.constant(f"{name}.codes", codes),
            self.constant(f"{name}.scales", matrix.scales.reshape(-1)),
            domain=_CONTRIB,
            K=inputs,
            N=outputs,
            bits=8,
            block_size=BLOCK,
            accuracy_level=_INT8_ACCUMULATION,
        )

    def model(self, *, width: int) -> onnx.ModelProto:
        grid = ["texts", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "sentence_encoder",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, grid),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, grid),
            ],
            [helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ["texts", width])],
            list(self._constants.values()),
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(_CONTRIB, 1)],
            ir_version=10,
        )
