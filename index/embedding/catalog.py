"""Which embedders there are, by the names that a line's settings use.

``minilm`` (English), ``e5-small`` (about a hundred languages, the better one for Chinese), ``use``
(sixteen languages, the light one), and ``st:<name or folder>`` for any sentence-transformers model.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from index.embedding import bundled, use_engine, verification
from index.embedding.built_file import Progress
from index.embedding.source_files import SourceFile
from index.types import Embedder, Language, ModelNotInstalled

SENTENCE_TRANSFORMERS_PREFIX = "st:"


@dataclass(frozen=True)
class Offer:
    """One embedder of the catalog, not loaded."""

    name: str
    summary: str
    languages: frozenset[Language]
    source: SourceFile
    load: Callable[[Path, Progress | None], Embedder]
    reference: str | None = None
    """Name of the shipped reference vectors, if there are any."""


def _load_use(_models_dir: Path, _progress: Progress | None) -> Embedder:
    return use_engine.UseEmbedder()


OFFERS: tuple[Offer, ...] = (
    Offer(
        name="minilm",
        summary="all-MiniLM-L6-v2 in 8 bits: English, 384 dimensions, 256 tokens",
        languages=bundled.MINILM.languages,
        source=bundled.MINILM.source,
        load=bundled.MINILM.load,
        reference=bundled.MINILM.name,
    ),
    Offer(
        name="e5-small",
        summary="multilingual-e5-small in 8 bits: 100 languages, 384 dimensions, 512 tokens",
        languages=bundled.E5_SMALL.languages,
        source=bundled.E5_SMALL.source,
        load=bundled.E5_SMALL.load,
        reference=bundled.E5_SMALL.name,
    ),
    Offer(
        name="use",
        summary="USE-multilingual v3: 16 languages, 512 dimensions, 256 tokens, light",
        languages=frozenset({"en", "zh", "multi"}),
        source=use_engine.WEIGHTS,
        load=_load_use,
    ),
)
"""In order of preference for a language that several of them read."""

_PREFERRED: dict[Language, tuple[str, ...]] = {
    "en": ("minilm", "e5-small", "use"),
    "zh": ("e5-small", "use"),
    "multi": ("e5-small", "use"),
}


def available() -> list[str]:
    """Names that can be loaded here; ``st:…`` stands for sentence-transformers."""
    names = [offer.name for offer in OFFERS if offer.source.is_installed]
    if importlib.util.find_spec("sentence_transformers") is not None:
        names.append(f"{SENTENCE_TRANSFORMERS_PREFIX}<name or folder>")
    return names


def default_for(language: Language) -> str:
    """The name to use for a line of this language when it names none.

    Raises
    ------
    ModelNotInstalled
        None of the embedders for the language is installed.
    """
    installed = {offer.name for offer in OFFERS if offer.source.is_installed}
    for name in _PREFERRED[language]:
        if name in installed:
            return name
    wanted = " or ".join(_PREFERRED[language])
    raise ModelNotInstalled(f"language: no embedder for {language!r} here; install {wanted}")


def usual_for(language: Language) -> str:
    """The name that lines of this language mean by default, whether or not it is installed here."""
    return _PREFERRED[language][0]


def is_known(name: str) -> bool:
    """True for a name of the catalog and for ``st:…``, installed or not."""
    return name.startswith(SENTENCE_TRANSFORMERS_PREFIX) or any(
        offer.name == name for offer in OFFERS
    )


def load(name: str, models_dir: Path, *, progress: Progress | None = None) -> Embedder:
    """Load an embedder, building its file in ``models_dir`` the first time (a few seconds).

    Parameters
    ----------
    progress : receives a line of text per step of a build; without it the steps are logged.

    Raises
    ------
    ModelNotInstalled
        The name is unknown, or its package is not installed or not the pinned one.
    ModelNotFaithful
        A newly built file does not give the vectors of its model.
    """
    if name.startswith(SENTENCE_TRANSFORMERS_PREFIX):
        from index.embedding.sentence_transformers_engine import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(name.removeprefix(SENTENCE_TRANSFORMERS_PREFIX))
    for offer in OFFERS:
        if offer.name == name:
            return offer.load(models_dir, progress)
    raise ModelNotInstalled(f"embedder: {name!r} is unknown; available: {', '.join(available())}")


def verify(name: str, embedder: Embedder) -> verification.Agreement:
    """How well a loaded embedder agrees with its model, and alone with in a batch (0.3 s)."""
    references = [offer.reference for offer in OFFERS if offer.name == name and offer.reference]
    vectors = verification.reference_vectors(references[0]) if references else None
    return verification.agreement(embedder, vectors)
