"""Any sentence-transformers model by name or folder; the second engine, and the slower one.

Five seconds to import and half a gigabyte, so nothing of it is imported before somebody asks. A
folder, or a model that is in the local cache already, is loaded without the network.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from index import normalize
from index.embedding import reading
from index.similarity import unit_rows
from index.types import (
    EmbedderUnavailable,
    Language,
    ModelNotInstalled,
    Readability,
    Vectors,
)

_LARGEST_BATCH = 8


class SentenceTransformersEmbedder:
    """An `Embedder` over `sentence_transformers.SentenceTransformer`.

    Parameters
    ----------
    model : a model's name, or a folder.
    languages : what it reads; without it a model is taken for multilingual.
    prompt : put in front of every text, e.g. "query: " for the E5 family.

    Raises
    ------
    ModelNotInstalled
        sentence-transformers or the model is not there.
    """

    def __init__(
        self,
        model: str,
        *,
        languages: frozenset[Language] = frozenset({"en", "zh", "multi"}),
        prompt: str = "",
    ) -> None:
        self._model = _load(model)
        self._prompt = prompt
        self.languages = languages
        self.dimensions = int(self._model.get_embedding_dimension())
        self._tokenizer = self._model.tokenizer
        self.max_tokens = int(self._model.max_seq_length or self._tokenizer.model_max_length)
        self.preferred_batch = 8
        self._special_tokens = len(self._token_ids(""))
        self.fingerprint = "/".join(
            ("st", Path(model).name, _digest(self._model, prompt), normalize.VERSION)
        )

    def readability(self, text: str) -> Readability:
        """See `Embedder.readability`."""
        text = normalize.normalize(text)
        refusal = reading.far_too_long(text, self.max_tokens)
        if refusal is not None:
            return refusal
        ids = self._token_ids(text)
        unknown_id = self._tokenizer.unk_token_id
        # Models with byte fallback know every text, and have no unknown token.
        unknown_id = -1 if unknown_id is None else unknown_id
        return reading.judge(
            text,
            token_ids=ids,
            unknown_id=unknown_id,
            unknown_texts=self._unknown_texts(text, unknown_id) if unknown_id in ids else (),
            special_tokens=self._special_tokens,
            max_tokens=self.max_tokens,
            languages=self.languages,
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        for position, text in enumerate(texts):
            reading.refuse(self.readability(text), position=position)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        try:
            vectors = self._model.encode(
                [self._prompt + normalize.normalize(text) for text in texts],
                batch_size=_LARGEST_BATCH,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except RuntimeError as error:
            raise EmbedderUnavailable(f"sentence-transformers: {error}") from error
        return unit_rows(vectors, self.dimensions)

    def _token_ids(self, text: str) -> list[int]:
        # verbose=False: the tokenizer warns of a text over the limit, which we are here to find.
        encoded = self._tokenizer(self._prompt + text, truncation=False, verbose=False)
        ids: list[int] = encoded["input_ids"]
        return ids

    def _unknown_texts(self, text: str, unknown_id: int) -> list[str]:
        if not self._tokenizer.is_fast:
            # Without offsets a word must be assumed behind every unknown token.
            return [text]
        prepared = self._prompt + text
        encoded = self._tokenizer(
            prepared, truncation=False, verbose=False, return_offsets_mapping=True
        )
        return [
            prepared[start:end]
            for token, (start, end) in zip(
                encoded["input_ids"], encoded["offset_mapping"], strict=True
            )
            if token == unknown_id
        ]


def _load(model: str) -> Any:
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ModelNotInstalled(
            "sentence-transformers is not installed; install surehit[models]"
        ) from error
    # Pools larger than the free cores are what makes a busy machine slow: 17 ms become 203.
    torch.set_num_threads(1)
    try:
        return SentenceTransformer(model, device="cpu", local_files_only=True)
    except (OSError, ValueError):
        pass  # not here yet; the next line may fetch it
    try:
        return SentenceTransformer(model, device="cpu")
    except (OSError, ValueError) as error:
        raise ModelNotInstalled(f"sentence-transformers has no model {model!r}: {error}") from error


def _digest(model: Any, prompt: str) -> str:
    """A hash of the model's weights and of what is put before a text."""
    digest = hashlib.sha256(prompt.encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]
