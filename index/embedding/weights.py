"""The numbers of a BERT-type encoder, free of any file format or framework.

A matrix is either dense float32, or 8-bit codes with one scale per block of 32 inputs, which is
what the MatMulNBits operator of ONNX Runtime reads. Sources that are quantised already (int8 per
channel, 4-bit blocks) are taken over code by code, so that nothing is rounded a second time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

BLOCK = 32
"""Inputs that share a scale. 128 is a sixth faster and loses three times as much."""

ZERO = 128
"""The code that stands for 0.0."""

LinearName = Literal["query", "key", "value", "attention_output", "intermediate", "output"]


@dataclass(frozen=True)
class Blocks:
    """A matrix of shape (outputs, inputs) in 8-bit codes: value = (code - 128) * scale.

    ``codes`` is uint8 of shape (outputs, inputs), ``scales`` float32 of shape
    (outputs, inputs / 32).
    """

    codes: npt.NDArray[np.uint8]
    scales: Floats

    def dense(self) -> Floats:
        """The same matrix in float32."""
        signed = self.codes.astype(np.float32) - ZERO
        dense: Floats = signed * np.repeat(self.scales, BLOCK, axis=1)
        return dense


@dataclass(frozen=True)
class Table4Bit:
    """An embedding table of shape (rows, width) in 4-bit codes: value = (code - 8) * scale.

    ``codes`` is uint8 of shape (rows, width), each below 16; ``scales`` float32 of shape
    (rows, width / 32).
    """

    codes: npt.NDArray[np.uint8]
    scales: Floats


Matrix = Floats | Blocks


@dataclass(frozen=True)
class Layer:
    """One transformer layer. Matrices are (outputs, inputs); ``*_norm`` are (weight, bias)."""

    matrices: Mapping[LinearName, Matrix]
    biases: Mapping[LinearName, Floats]
    attention_norm: tuple[Floats, Floats]
    output_norm: tuple[Floats, Floats]


@dataclass(frozen=True)
class BertWeights:
    """A whole encoder. Token types are not used: theirs is added to every position."""

    words: Floats | Table4Bit
    positions: Floats
    """(longest input, width), the vector of token type 0 included."""
    embedding_norm: tuple[Floats, Floats]
    layers: tuple[Layer, ...]
    heads: int
    epsilon: float


def quantized(matrix: Matrix) -> Blocks:
    """Round to 8 bits, each block of 32 by its largest magnitude; codes are passed through.

    Parameters
    ----------
    matrix : shape (outputs, inputs); inputs a multiple of 32.
    """
    if isinstance(matrix, Blocks):
        return matrix
    outputs, inputs = matrix.shape
    blocks = matrix.reshape(outputs, inputs // BLOCK, BLOCK)
    scales = np.abs(blocks).max(axis=-1) / 127
    # A block of zeros: any scale will do, and 0 would divide by zero.
    scales[scales == 0] = 1.0
    codes = np.rint(blocks / scales[..., None]) + ZERO
    return Blocks(codes.astype(np.uint8).reshape(outputs, inputs), scales.astype(np.float32))


def from_channels(codes: npt.NDArray[np.int8], scales: Floats) -> Blocks:
    """Symmetric int8 with one scale per output, kept exactly.

    ``codes`` (outputs, inputs), ``scales`` (outputs,).
    """
    shifted = (codes.astype(np.int16) + ZERO).astype(np.uint8)
    repeated = np.repeat(scales.reshape(-1, 1), codes.shape[1] // BLOCK, axis=1)
    return Blocks(shifted, np.ascontiguousarray(repeated, dtype=np.float32))


def dense(matrix: Matrix) -> Floats:
    """The matrix in float32, whatever it is held in."""
    return matrix.dense() if isinstance(matrix, Blocks) else matrix
