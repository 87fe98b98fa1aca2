"""Does an embedder give the vectors of the model that it claims to be?

A fixed list of texts is embedded and compared with reference vectors that ship with this package:
for MiniLM those of the original float32 weights run by sentence-transformers, for e5-small those of
the same weights in a float32 graph. Checked once when a file is built, and whenever somebody asks
(`surehit doctor`). It covers the tokenizer and the pooling as well as the arithmetic.
"""

from dataclasses import dataclass
from importlib import resources

import numpy as np

from index.similarity import cosine
from index.types import Embedder, EmbeddingError, Vectors

MIN_MEAN_COSINE = 0.999
MIN_COSINE = 0.99
"""Of any single text. MiniLM measures 0.9985 over questions, and 0.997 on the one word "yes": its
source is int8. Another model, pooling or tokenizer falls far below."""
MIN_ALONE_VERSUS_BATCH = 0.9999

ENGLISH = (
    "How do I reset my password?",
    "Can I reset my password?",
    "How do I reset my router?",
    "What is the capital of Australia?",
    "Is the API rate limited?",
    "The API is not rate limited",
    "What is the difference between the annual and the monthly plan?",
    "Convert 25 USD to EUR",
    "Convert 25 EUR to USD",
    "what is 2⁵",
    "what is 25",
    "refund",
    "Why was my card payment declined at the petrol station yesterday?",
    "I was charged twice for the same order, order number 4711-B, and want one of them back",
    "def add(a, b):\n    return a + b",
    "SELECT name FROM users WHERE age >= 18 ORDER BY name DESC LIMIT 10;",
    "Explain quantum entanglement to a ten year old",
    "Summarise the following paragraph in one sentence: The quick brown fox jumps over the lazy "
    "dog, which had been sleeping in the sun since the early morning and did not even notice.",
    "don't",
    "C++ vs. C#: which one is faster for numerical code?",
    "Naïve café résumé",
    " ".join(["The delivery was late and the box was damaged on one side."] * 12),
    "a → b",
    "yes",
)
MULTILINGUAL = (
    *ENGLISH[:12],
    "怎么重置我的密码？",
    "我可以重置密码吗",
    "今天北京的天气怎么样",
    "从上海到北京的火车票多少钱",
    "从北京到上海的火车票多少钱",
    "如何申请退款？",
    "这个订单的退款多久到账，需要提供发票吗？",
    "请把下面的句子翻译成英文：我昨天去了图书馆。",
    "パスワードをリセットするにはどうすればいいですか",
    "비밀번호를 재설정하려면 어떻게 해야 하나요?",
    "¿Cómo restablezco mi contraseña?",
    "Как сбросить пароль?",
)


class ModelNotFaithful(EmbeddingError):
    """A built model file gives other vectors than the model it was built from."""


@dataclass(frozen=True)
class Agreement:
    """Cosines of an embedder's vectors: with the reference, and with its own in a batch."""

    texts: int
    mean_cosine: float | None
    """With the reference vectors; None where there are none for this model."""
    min_cosine: float | None
    min_alone_versus_batch: float
    """The least cosine of a text embedded alone with the same text embedded among others."""

    @property
    def is_faithful(self) -> bool:
        """True when every figure is in its range (0.999 mean, 0.99 and 0.9999 minimum)."""
        return (
            (self.mean_cosine is None or self.mean_cosine >= MIN_MEAN_COSINE)
            and (self.min_cosine is None or self.min_cosine >= MIN_COSINE)
            and self.min_alone_versus_batch >= MIN_ALONE_VERSUS_BATCH
        )

    def __str__(self) -> str:
        reference = (
            "no reference"
            if self.mean_cosine is None or self.min_cosine is None
            else f"cosine to float32 {self.mean_cosine:.4f} mean, {self.min_cosine:.4f} min"
        )
        return f"{reference}; alone against batch {self.min_alone_versus_batch:.6f} min"


def agreement(embedder: Embedder, references: Vectors | None = None) -> Agreement:
    """Embed the fixed list of the embedder's language, alone and together, and compare.

    Parameters
    ----------
    references : float32, shape (texts of the list, dimensions), in the list's order.
    """
    texts = texts_for(embedder)
    if references is None:
        # Some vocabularies lack a character of the list; a model that we ship vectors of has all.
        texts = tuple(text for text in texts if embedder.readability(text).is_readable)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    together = embedder.embed(texts)
    batch = [cosine(a, b) for a, b in zip(alone, together, strict=True)]
    known = (
        [] if references is None else [cosine(a, b) for a, b in zip(alone, references, strict=True)]
    )
    return Agreement(
        texts=len(texts),
        mean_cosine=float(np.mean(known)) if known else None,
        min_cosine=min(known) if known else None,
        min_alone_versus_batch=min(batch),
    )


def checked(embedder: Embedder, references: Vectors) -> Agreement:
    """The agreement of an embedder that must have one; raises ModelNotFaithful."""
    found = agreement(embedder, references)
    if not found.is_faithful:
        raise ModelNotFaithful(f"{embedder.fingerprint}: {found}")
    return found


def texts_for(embedder: Embedder) -> tuple[str, ...]:
    """The list that this embedder can read."""
    return ENGLISH if embedder.languages == {"en"} else MULTILINGUAL


def reference_vectors(name: str) -> Vectors:
    """The shipped vectors of a model: float32, shape (texts, dimensions)."""
    file = resources.files("index.embedding").joinpath("data", f"{name}_reference.npy")
    with file.open("rb") as stream:
        vectors: Vectors = np.load(stream, allow_pickle=False)
    return vectors
