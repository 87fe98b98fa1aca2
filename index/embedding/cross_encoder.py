"""Cross-encoders out of folders: one model that reads two texts together and says how likely they mean the same.

Two kinds of folder. An ONNX file with a ``tokenizer.json``: inputs ``input_ids``, ``attention_mask`` and, where the
model has them, ``token_type_ids``; one output of one log odds per pair. Or what sentence-transformers writes for a
``CrossEncoder`` with one label; that library is imported when such a folder is opened, and takes seconds and half a
gigabyte. Nothing is downloaded in either case.

Reference: Nogueira and Cho (2019), Passage Re-ranking with BERT.
"""

import hashlib
import json
import math
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tokenizers import Tokenizer

from index.embedding.onnx_engine import open_session
from index.normalize import normalize
from index.types import EmbedderUnavailable, ModelNotInstalled

_NAMES = ("input_ids", "attention_mask", "token_type_ids")
_MAX_TOKENS = 512
"""Of a folder that does not say: BERT's table of positions."""


class CrossEncoder(Protocol):
    """A loaded model. One thread at a time."""

    def probability(self, stored: str, asked: str) -> float:
        """In [0, 1]: that the answer stored for one text answers the other.

        Raises
        ------
        EmbedderUnavailable
            The pair is too long to be read whole, or the engine failed.
        """


def open_folder(folder: Path) -> CrossEncoder:
    """Load a folder of either kind; raises ModelNotInstalled."""
    try:
        graphs = sorted(folder.glob("*.onnx"))
        if len(graphs) == 1 and (folder / "tokenizer.json").is_file():
            return OnnxCrossEncoder(graphs[0], folder / "tokenizer.json", _max_tokens(folder))
        if not graphs and (folder / "config.json").is_file():
            return SentenceTransformersCrossEncoder(folder)
    except (ModelNotInstalled, MemoryError):
        raise
    except Exception as error:
        # tokenizers, ONNX Runtime and transformers raise classes of their own for files they cannot use
        raise ModelNotInstalled(f"{folder.name}: {type(error).__name__}: {error}") from error
    raise ModelNotInstalled(
        f"{folder.name}: holds neither one .onnx file with a tokenizer.json nor a CrossEncoder of sentence-transformers"
    )


def digest_of(folder: Path) -> str:
    """First 12 hex digits of a hash over names and bytes of all files; about 0.1 s for 100 MB.

    Raises OSError.
    """
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return digest.hexdigest()[:12]


class OnnxCrossEncoder:
    """A `CrossEncoder` over one ONNX file."""

    def __init__(self, graph: Path, tokenizer: Path, max_tokens: int) -> None:
        self._session = open_session(graph)
        self._inputs = [found.name for found in self._session.get_inputs()]
        outputs = self._session.get_outputs()
        if not set(_NAMES[:2]) <= set(self._inputs) <= set(_NAMES):
            raise ModelNotInstalled(f"{graph.name}: inputs are {', '.join(self._inputs)}")
        if len(outputs) != 1 or outputs[0].shape[1:] not in ([], [1]):
            raise ModelNotInstalled(f"{graph.name}: one output of one number per pair is needed")
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        # a cut pair would be judged by half of it
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._max_tokens = max_tokens

    def probability(self, stored: str, asked: str) -> float:
        """See `CrossEncoder.probability`."""
        read = self._tokenizer.encode(normalize(stored), normalize(asked))
        _refuse_long(len(read.ids), self._max_tokens)
        values = dict(zip(_NAMES, (read.ids, read.attention_mask, read.type_ids), strict=True))
        try:
            (logits,) = self._session.run(
                None, {name: np.array([values[name]], dtype=np.int64) for name in self._inputs}
            )
        except Exception as error:  # classes of a C extension
            raise EmbedderUnavailable(f"ONNX Runtime: {error}") from error
        return _sigmoid(float(np.asarray(logits).reshape(-1)[0]))


class SentenceTransformersCrossEncoder:
    """A `CrossEncoder` over `sentence_transformers.CrossEncoder`."""

    def __init__(self, folder: Path) -> None:
        """Raises ModelNotInstalled without sentence-transformers, or for a model of several labels."""
        try:
            import torch
            from sentence_transformers import CrossEncoder as Model
        except ImportError as error:
            raise ModelNotInstalled(
                "sentence-transformers is not installed; install surehit[models]"
            ) from error
        torch.set_num_threads(1)
        self._model: Any = Model(str(folder), device="cpu", local_files_only=True)
        if self._model.num_labels != 1:
            raise ModelNotInstalled(f"{folder.name}: has {self._model.num_labels} labels, not one")
        self._raw = torch.nn.Identity()
        self._max_tokens = min(int(self._model.tokenizer.model_max_length), _max_tokens(folder))

    def probability(self, stored: str, asked: str) -> float:
        """See `CrossEncoder.probability`."""
        stored, asked = normalize(stored), normalize(asked)
        read = self._model.tokenizer(stored, asked, truncation=False, verbose=False)
        _refuse_long(len(read["input_ids"]), self._max_tokens)
        try:
            logits = self._model.predict(
                [(stored, asked)], activation_fn=self._raw, show_progress_bar=False
            )
        except RuntimeError as error:
            raise EmbedderUnavailable(f"sentence-transformers: {error}") from error
        return _sigmoid(float(logits[0]))


def _max_tokens(folder: Path) -> int:
    """What the folder says of itself: `max_tokens` of verifier.json, or positions of config.json."""
    for file, name in (("verifier.json", "max_tokens"), ("config.json", "max_position_embeddings")):
        if (folder / file).is_file():
            found = json.loads((folder / file).read_text(encoding="utf-8")).get(name)
            if isinstance(found, int) and found > 0:
                return min(found, 8192)
    return _MAX_TOKENS


def _refuse_long(tokens: int, limit: int) -> None:
    if tokens > limit:
        raise EmbedderUnavailable(f"the pair has {tokens} tokens; the model reads {limit}")


def _sigmoid(logit: float) -> float:
    if not math.isfinite(logit):
        raise EmbedderUnavailable("the model gave no number")
    return 1.0 / (1.0 + math.exp(-logit)) if logit > -700.0 else 0.0
