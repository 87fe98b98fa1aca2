"""Builds the ONNX graph of a sentence encoder from plain arrays, without torch or an exporter.

Token ids and a mask go in; one vector of length 1 per text comes out (mean over the tokens, then
L2). Two forms: ``float32``, and ``int8`` with integer products for the linear layers.

Integer products. Weights are 8-bit codes. Activations of a few channels are ten times those of the
others, so that eight bits would lose the rest (cosine to float32 0.976 at worst): a value goes in
as two digits of seven bits, each its own product, and nothing is lost but what the weights' codes
lost (0.997). Seven bits, because processors without VNNI add two products of bytes in 16 bits, and
saturate from eight on: so every machine has the same integers. What comes out of a normalisation has
a bound that its weights tell; other values are scaled per token. Neither depends on the rest of the
batch: a text has the same vector alone and in any batch, where ONNX Runtime's own dynamic
quantisation takes one scale for the whole batch, and a text agrees with itself only to 0.977.
MatMulNBits scales blocks of 32 and takes each token by itself: 1.3 times the time of a short text,
1.6 times that of a batch.

The fused operators are those of ONNX Runtime's CPU provider and exact: BiasGelu is the erf form.
One product for query, key and value together saves a tenth of the time of a short text, and so
does LayerNormalization against SkipLayerNormalization, whose kernel is scalar; the session must not
fuse it again (`onnx_engine`).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from index.embedding.weights import (
    BLOCK,
    BertWeights,
    Channels,
    Floats,
    Layer,
    LinearName,
    Matrix,
    Table4Bit,
    dense,
    quantized,
)

Precision = Literal["float32", "int8"]
Norm = tuple[Floats, Floats]
"""Weight and bias of a layer normalisation."""

_CONTRIB = "com.microsoft"
_DIGIT = 63
"""The largest digit, of either sign."""


def build_graph(weights: BertWeights, precision: Precision) -> bytes:
    """The encoder as the bytes of an ONNX file.

    Inputs ``input_ids`` and ``attention_mask``: int64, shape (texts, tokens); the mask is 1 for
    tokens and 0 for padding, which must be on the right. Output ``sentence``: float32, shape
    (texts, width).
    """
    graph = _Graph()
    total = _token_sum(graph, _encoded(graph, weights, precision))
    # scaled to length 1, the sum is a mean
    graph.node("LpNormalization", total, output="sentence", axis=-1, p=2)
    content: bytes = graph.model("sentence", weights.positions.shape[1]).SerializeToString()
    return content


@dataclass(frozen=True)
class PairHead:
    """What makes one number of the mean over all tokens: ``weight`` of shape (width,), ``bias``."""

    weight: Floats
    bias: float


def build_pair_graph(weights: BertWeights, head: PairHead, precision: Precision) -> bytes:
    """A cross-encoder as the bytes of an ONNX file: both texts go in as one, a log odds comes out.

    Inputs as in `build_graph`, each row a pair of texts behind each other; token types are not told
    apart. Output ``logits``: float32, shape (pairs, 1).
    """
    graph = _Graph()
    total = _token_sum(graph, _encoded(graph, weights, precision))
    axis = graph.constant("token_axis", np.array([1], dtype=np.int64))
    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    mean = graph.node("Div", total, graph.node("ReduceSum", mask, axis, keepdims=1))
    weight = graph.constant("head.weight", head.weight.astype(np.float32).reshape(-1, 1))
    bias = graph.constant("head.bias", np.array([head.bias], dtype=np.float32))
    graph.node("Add", graph.node("MatMul", mean, weight), bias, output="logits")
    content: bytes = graph.model("logits", 1).SerializeToString()
    return content


def _encoded(graph: "_Graph", weights: BertWeights, precision: Precision) -> str:
    mask = graph.node("Cast", "attention_mask", to=TensorProto.INT32)
    hidden = _embeddings(graph, weights)
    norm = weights.embedding_norm
    for number, layer in enumerate(weights.layers):
        hidden = _layer(graph, f"layer{number}.", layer, hidden, norm, mask, weights, precision)
        norm = layer.output_norm
    return hidden


def _embeddings(graph: "_Graph", weights: BertWeights) -> str:
    shape = graph.node("Shape", "input_ids", start=1, end=2)
    zero = graph.constant("zero", np.array([0], dtype=np.int64))
    positions = graph.constant("positions", weights.positions)
    used = graph.node("Slice", positions, zero, shape, zero)
    total = graph.node("Add", _words(graph, weights.words), used)
    return graph.normalized("embedding_norm", total, weights.embedding_norm, weights.epsilon)


def _words(graph: "_Graph", words: Floats | Table4Bit) -> str:
    if not isinstance(words, Table4Bit):
        return graph.node("Gather", graph.constant("words", words), "input_ids")
    # 48 MB instead of 384 for a multilingual vocabulary, and not one bit of precision less.
    zeros = np.full(words.scales.shape, 8, dtype=np.uint8)
    return graph.node(
        "GatherBlockQuantized",
        graph.nibbles("words.codes", words.codes),
        "input_ids",
        graph.constant("words.scales", words.scales),
        graph.nibbles("words.zeros", zeros),
        domain=_CONTRIB,
        gather_axis=0,
        quantize_axis=1,
        block_size=BLOCK,
    )


def _layer(
    graph: "_Graph",
    prefix: str,
    layer: Layer,
    hidden: str,
    norm: Norm,
    mask: str,
    weights: BertWeights,
    precision: Precision,
) -> str:
    def linear(name: str, matrix: Matrix, value: str, bias: Floats | None = None) -> str:
        return graph.linear(f"{prefix}{name}", matrix, value, bias, precision)

    def linear_of_norm(name: str, matrix: Matrix, value: str, norm: Norm) -> str:
        if precision == "float32":
            return linear(name, matrix, value)
        return graph.integer_product(f"{prefix}{name}", quantized(matrix), value, _bound(norm))

    inputs: tuple[LinearName, ...] = ("query", "key", "value")
    stacked = _stacked([layer.matrices[name] for name in inputs])
    joined = linear_of_norm("qkv", stacked, hidden, norm)
    width = weights.positions.shape[1]
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
    projected = linear(
        "attention_output",
        layer.matrices["attention_output"],
        attended,
        layer.biases["attention_output"],
    )
    total = graph.node("Add", projected, hidden)
    attended = graph.normalized(
        f"{prefix}attention_norm", total, layer.attention_norm, weights.epsilon
    )

    wide = linear_of_norm(
        "intermediate", layer.matrices["intermediate"], attended, layer.attention_norm
    )
    wide_bias = graph.constant(f"{prefix}intermediate.bias", layer.biases["intermediate"])
    wide = graph.node("BiasGelu", wide, wide_bias, domain=_CONTRIB)
    narrow = linear("output", layer.matrices["output"], wide, layer.biases["output"])
    total = graph.node("Add", narrow, attended)
    return graph.normalized(f"{prefix}output_norm", total, layer.output_norm, weights.epsilon)


def _token_sum(graph: "_Graph", hidden: str) -> str:
    """Sum over the tokens that are not padding."""
    axis = graph.constant("token_axis", np.array([1], dtype=np.int64))
    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    row = graph.node("Unsqueeze", mask, axis)
    return graph.node("Squeeze", graph.node("MatMul", row, hidden), axis)


def _bound(norm: Norm) -> float:
    """Largest magnitude that a layer normalisation with this weight and bias can give.

    Of n numbers with mean 0 and variance 1 none is beyond the root of n - 1.
    """
    weight, bias = norm
    return float((np.abs(weight) * np.sqrt(len(weight) - 1) + np.abs(bias)).max())


def _stacked(matrices: list[Matrix]) -> Matrix:
    coded = [matrix for matrix in matrices if isinstance(matrix, Channels)]
    if len(coded) == len(matrices):
        return Channels(
            np.concatenate([matrix.codes for matrix in coded]),
            np.concatenate([matrix.scales for matrix in coded]),
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
        **attributes: Any,
    ) -> str:
        result = output or f"v{len(self._nodes)}"
        self._nodes.append(
            helper.make_node(operator, list(inputs), [result], domain=domain, **attributes)
        )
        return result

    def split(self, value: str, sizes: str, count: int) -> list[str]:
        outputs = [f"v{len(self._nodes)}.{n}" for n in range(count)]
        self._nodes.append(helper.make_node("Split", [value, sizes], outputs, axis=-1))
        return outputs

    def normalized(self, name: str, value: str, norm: Norm, eps: float) -> str:
        return self.node(
            "LayerNormalization",
            value,
            self.constant(f"{name}.weight", norm[0]),
            self.constant(f"{name}.bias", norm[1]),
            axis=-1,
            epsilon=eps,
        )

    def linear(
        self, name: str, matrix: Matrix, value: str, bias: Floats | None, precision: Precision
    ) -> str:
        """Product with a matrix of shape (outputs, inputs), plus a bias if there is one."""
        offset = "" if bias is None else self.constant(f"{name}.bias", bias)
        if precision == "float32":
            product = self.node("MatMul", value, self.constant(name, dense(matrix).T))
            return self.node("Add", product, offset) if offset else product
        last = self.constant("last_axis", np.array([-1], dtype=np.int64))
        largest = self.node("ReduceMax", self.node("Abs", value), last, keepdims=1)
        scaled = self.node("Div", value, largest)
        product = self.integer_product(name, quantized(matrix), scaled, 1.0)
        product = self.node("Mul", product, largest)
        return self.node("Add", product, offset) if offset else product

    def integer_product(self, name: str, matrix: Channels, value: str, bound: float) -> str:
        """Product of a matrix with a value of at most ``bound`` in magnitude, digit by digit."""
        zero = self.constant("digit_zero", np.array(_DIGIT + 1, dtype=np.uint8))
        codes = self.constant(f"{name}.codes", matrix.codes.T)
        scales = self.constant(f"{name}.scales", matrix.scales)

        def step(digit: str, size: float) -> str:
            return self.constant(f"{name}.{digit}", np.array(size, dtype=np.float32))

        def product(digits: str, size: str) -> str:
            return self.node(
                "MatMulIntegerToFloat", digits, codes, size, scales, zero, domain=_CONTRIB
            )

        coarse = step("coarse", bound / _DIGIT)
        fine = step("fine", bound / _DIGIT / (2 * _DIGIT))
        first = self.node("QuantizeLinear", value, coarse, zero)
        rest = self.node("Sub", value, self.node("DequantizeLinear", first, coarse, zero))
        second = self.node("QuantizeLinear", rest, fine, zero)
        return self.node("Add", product(first, coarse), product(second, fine))

    def model(self, output: str, width: int) -> onnx.ModelProto:
        grid = ["texts", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "sentence_encoder",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, grid),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, grid),
            ],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["texts", width])],
            list(self._constants.values()),
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(_CONTRIB, 1)],
            ir_version=10,
        )
