"""Runs a built graph with ONNX Runtime: tokenise, pad per batch, one vector per text.

One thread per call: for short texts a second thread makes it slower (1.0 to 1.5 ms), and two calls
at once from two threads use two cores better. A session may be called from several threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from index.embedding import reading
from index.normalize import normalize
from index.types import EmbedderUnavailable, Language, Readability, Vectors

_LARGEST_BATCH = 8
"""Texts given to the model at once when many are embedded; more gain nothing, and pad more."""


@dataclass(frozen=True)
class TextModel:
    """How one model reads: its tokenizer and its limits."""

    tokenizer: Tokenizer
    unknown_id: int
    special_tokens: int
    """Tokens that are added to every text, those of the prefix included."""
    max_tokens: int
    languages: frozenset[Language]
    prepare: Callable[[str], str]
    """From the normalised text to what the tokenizer is given (prefix, character map)."""


class OnnxEmbedder:
    """An `Embedder` over one ONNX file."""

    def __init__(self, graph: Path | bytes, text_model: TextModel, *, fingerprint: str) -> None:
        self._session = open_session(graph)
        self._text_model = text_model
        self._fingerprint = fingerprint
        self._dimensions = int(self._session.get_outputs()[0].shape[1])

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def languages(self) -> frozenset[Language]:
        return self._text_model.languages

    @property
    def max_tokens(self) -> int:
        return self._text_model.max_tokens

    @property
    def preferred_batch(self) -> int:
        # Measured on questions of 15 tokens: 3.2 ms of processor time per text alone, 2.5 in twos,
        # 2.15 in fours, and no less in more.
        return 4

    def readability(self, text: str) -> Readability:
        """See `Embedder.readability`. About 30 µs for a short text."""
        return self._read(normalize(text))[0]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        encodings = []
        for position, text in enumerate(texts):
            readability, encoding = self._read(normalize(text))
            reading.refuse(readability, position=position)
            # A readable text was tokenised.
            assert encoding is not None  # noqa: S101 - narrows the type, holds by `_read`
            encodings.append(encoding.ids)
        if len(encodings) == 1:
            return self._run(encodings)
        vectors = np.empty((len(encodings), self._dimensions), dtype=np.float32)
        # Similar lengths together: padding costs as much as text.
        by_length = sorted(range(len(encodings)), key=lambda position: len(encodings[position]))
        for start in range(0, len(by_length), _LARGEST_BATCH):
            batch = by_length[start : start + _LARGEST_BATCH]
            vectors[batch] = self._run([encodings[position] for position in batch])
        return vectors

    def _read(self, text: str) -> tuple[Readability, Encoding | None]:
        """Judge a normalised text; without an encoding if it was not worth tokenising."""
        model = self._text_model
        refusal = reading.far_too_long(text, model.max_tokens)
        if refusal is not None:
            return refusal, None
        prepared = model.prepare(text)
        encoding = model.tokenizer.encode(prepared)
        ids = encoding.ids
        unknown_texts: list[str] = []
        if model.unknown_id in ids:
            unknown_texts = [
                prepared[start:end]
                for token, (start, end) in zip(ids, encoding.offsets, strict=True)
                if token == model.unknown_id
            ]
        readability = reading.judge(
            text,
            token_ids=ids,
            unknown_id=model.unknown_id,
            unknown_texts=unknown_texts,
            special_tokens=model.special_tokens,
            max_tokens=model.max_tokens,
            languages=model.languages,
        )
        return readability, encoding

    def _run(self, token_ids: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, token_ids))
        ids = np.zeros((len(token_ids), longest), dtype=np.int64)
        mask = np.zeros((len(token_ids), longest), dtype=np.int64)
        for row, own in enumerate(token_ids):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1
        try:
            (vectors,) = self._session.run(["sentence"], {"input_ids": ids, "attention_mask": mask})
        except Exception as error:
            # ONNX Runtime raises classes of its C extension, one per status code.
            raise EmbedderUnavailable(f"ONNX Runtime: {error}") from error
        result: Vectors = vectors
        return result


def open_session(graph: Path | bytes) -> onnxruntime.InferenceSession:
    """A session of one thread on the processor, whose graph runs as it was written."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A spinning thread takes a core from the requests that wait for it.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The graph is written as it should run; the higher levels would fuse Add and LayerNormalization
    # into an operator that is slower by 12 % of the whole.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 3
    source = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
