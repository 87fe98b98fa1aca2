"""The numbers of a BERT-type encoder, free of any file format or framework.

A matrix is either dense float32, or 8-bit codes with one scale per output, which is what integer
products can use. A source that is quantised so already is taken over code by code, so that nothing
is rounded a second time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

BLOCK = 32
"""Columns of a table in 4-bit codes that share a scale."""

LARGEST = 127
"""The largest code of a weight."""

LinearName = Literal["query", "key", "value", "attention_output", "intermediate", "output"]


@dataclass(frozen=True)
class Channels:
    """A matrix of shape (outputs, inputs) in 8-bit codes, one scale per output: value = code * scale.

    ``codes`` is int8 of shape (outputs, inputs), at most 127 in magnitude; ``scales`` float32 of
    shape (outputs,).
    """

    codes: npt.NDArray[np.int8]
    scales: Floats

    def dense(self) -> Floats:
        """The same matrix in float32."""
        dense: Floats = self.codes.astype(np.float32) * self.scales[:, None]
        return dense


@dataclass(frozen=True)
class Table4Bit:
    """An embedding table of shape (rows, width) in 4-bit codes: value = (code - 8) * scale.

    ``codes`` is uint8 of shape (rows, width), each below 16; ``scales`` float32 of shape
    (rows, width / 32).
    """

    codes: npt.NDArray[np.uint8]
    scales: Floats


Matrix = Floats | Channels


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


def quantized(matrix: Matrix) -> Channels:
    """Round to 8 bits, each output by its largest magnitude; codes are passed through.

    Parameters
    ----------
    matrix : shape (outputs, inputs).
    """
    if isinstance(matrix, Channels):
        return matrix
    scales = np.abs(matrix).max(axis=1) / LARGEST
    # An output of zeros: any scale will do, and 0 would divide by zero.
    scales[scales == 0] = 1.0
    codes = np.rint(matrix / scales[:, None])
    return Channels(codes.astype(np.int8), scales.astype(np.float32))


def from_blocks(codes: npt.NDArray[np.uint8], scales: Floats) -> Floats:
    """4-bit codes with one scale per block of 32 inputs, in float32: value = (code - 8) * scale.

    ``codes`` (outputs, inputs), ``scales`` (outputs, inputs / 32).
    """
    dense: Floats = (codes.astype(np.float32) - 8) * np.repeat(scales, BLOCK, axis=1)
    return dense


def dense(matrix: Matrix) -> Floats:
    """The matrix in float32, whatever it is held in."""
    return matrix.dense() if isinstance(matrix, Channels) else matrix
