"""What every bundled model promises: it reads the whole text or refuses, and is always itself."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.embedding import catalog, verification
from index.similarity import cosine
from index.types import Embedder, ModelNotInstalled, TextRefused, TextTooLong

QUESTIONS = (
    "How do I reset my password?",
    "where is my order 4711",
    "Is the API rate limited?",
    "what does the premium plan cost per year, and can it be cancelled at any time?",
    "refund " * 60,
    "def f(x):\n    return x",
)
CHINESE = ("怎么重置我的密码？", "我的订单在哪里", "今天天气怎么样", "如何申请退款")


def one(embedder: Embedder, text: str) -> np.ndarray:
    (vector,) = embedder.embed([text])
    return vector


def test_vectors_have_length_one_and_come_in_order(embedder: Embedder) -> None:
    vectors = embedder.embed(QUESTIONS)
    assert isinstance(embedder, Embedder)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(QUESTIONS), embedder.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    for text, vector in zip(QUESTIONS, vectors, strict=True):
        assert cosine(one(embedder, text), vector) >= 0.9999


def test_no_text_gives_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_text_has_one_vector_alone_and_in_every_batch(embedder: Embedder) -> None:
    """A cache that stores in batches and looks up one by one lives by this."""
    rng = np.random.default_rng(0)
    words = ["how", "can", "i", "change", "my", "card", "for", "20", "euro", "plans", "monthly"]
    texts = [" ".join(rng.choice(words, rng.integers(1, 40))) for _ in range(24)]
    together = embedder.embed(texts)
    alone = [one(embedder, text) for text in texts]
    assert min(map(cosine, together, alone)) >= 0.9999
    shuffled = rng.permutation(24)
    again = embedder.embed([texts[position] for position in shuffled])
    assert min(map(cosine, again, together[shuffled])) >= 0.9999


def test_repeating_a_call_repeats_the_vector(embedder: Embedder) -> None:
    assert np.array_equal(one(embedder, QUESTIONS[0]), one(embedder, QUESTIONS[0]))


def test_normalisation_happens_inside(embedder: Embedder) -> None:
    plain = one(embedder, "how do i reset my password")
    for spelling in ("How do I reset my password?", "hi,  HOW do i reset my password??"):
        assert cosine(plain, one(embedder, spelling)) == 1.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("what is 2⁵", "what is 25"),
        ("what is 10⁻³", "what is 103"),
        ("1½ cups of flour", "11/2 cups of flour"),
        ("what is 5!", "what is 5"),
        ("if x:\n    foo()\n    bar()", "if x:\n    foo()\nbar()"),
    ],
)
def test_what_differs_in_meaning_is_not_at_one(embedder: Embedder, a: str, b: str) -> None:
    assert cosine(one(embedder, a), one(embedder, b)) < 0.9999


def test_related_questions_are_nearer_than_unrelated_ones(embedder: Embedder) -> None:
    asked, same, other = embedder.embed(
        ["how do i reset my password", "i forgot my password, how to change it", "weather in Rome"]
    )
    assert cosine(asked, same) > cosine(asked, other)


def test_related_chinese_questions_are_nearer_than_unrelated_ones(
    multilingual: Embedder,
) -> None:
    asked, same, other = multilingual.embed(
        ["怎么重置我的密码", "我忘了密码怎么改", "今天天气怎么样"]
    )
    assert cosine(asked, same) > cosine(asked, other)
    assert multilingual.readability("怎么重置我的密码").is_readable


def test_a_text_that_fits_exactly_is_embedded_and_one_token_more_is_refused(
    embedder: Embedder,
) -> None:
    """C-126: what is beyond the limit is never cut off in silence."""
    words = next(
        n for n in range(1, 600) if embedder.readability("word " * n).tokens == embedder.max_tokens
    )
    assert embedder.embed(["word " * words]).shape == (1, embedder.dimensions)
    seen = embedder.readability("word " * (words + 1))
    assert seen.reason == "too_long"
    assert seen.tokens == embedder.max_tokens + 1
    with pytest.raises(TextTooLong) as refused:
        embedder.embed(["fine", "word " * (words + 1)])
    assert refused.value.position == 1


def test_a_contract_with_the_task_at_its_end_is_refused(embedder: Embedder) -> None:
    """C-126: 900 words that two prompts share, and another task behind them."""
    contract = "the parties agree that the services are rendered as described " * 90
    for task in ("list the parties.", "draft a termination letter."):
        assert embedder.readability(f"{contract} Task: {task}").reason == "too_long"


def test_a_text_of_megabytes_is_refused_without_being_read(embedder: Embedder) -> None:
    assert embedder.readability("x y " * 1_000_000).reason == "too_long"


@pytest.mark.parametrize(
    "text", ["", "   ", "\u200b", "\x00", "???", "\n", "。", "\ufe0f", "\u3164", "?\u2800"]
)
def test_blank_text_is_refused(embedder: Embedder, text: str) -> None:
    """C-127: nothing was asked, so nothing may be answered from the cache."""
    assert embedder.readability(text).reason == "blank"
    with pytest.raises(TextRefused):
        embedder.embed([text])


@pytest.mark.parametrize(
    "text", ["abc\x00def", "\ud800 lone surrogate", "caf\u00e9 🎉 party", "a" * 90]
)
def test_odd_text_is_embedded_or_refused_and_the_next_one_still_works(
    embedder: Embedder, text: str
) -> None:
    """C-127: NUL, surrogates and emoji are never an error of the engine."""
    if embedder.readability(text).is_readable:
        assert np.isfinite(one(embedder, text)).all()
    else:
        with pytest.raises(TextRefused):
            embedder.embed([text])
    assert np.isfinite(one(embedder, QUESTIONS[0])).all()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(max_size=80))
def test_any_text_is_either_embedded_or_refused(embedder: Embedder, text: str) -> None:
    readable = embedder.readability(text).is_readable
    try:
        vector = one(embedder, text)
    except TextRefused:
        assert not readable
    else:
        assert readable
        assert np.isfinite(vector).all()


@pytest.mark.parametrize("text", CHINESE)
def test_minilm_does_not_read_chinese(minilm: Embedder, text: str) -> None:
    """73 % of its Chinese tokens are unknown; a quarter of different questions score 0.95."""
    seen = minilm.readability(text)
    assert seen.reason == "unreadable"
    assert seen.cjk_share == 1.0
    with pytest.raises(TextRefused):
        minilm.embed([text])


@pytest.mark.parametrize(
    ("text", "is_readable"),
    [
        ("How do I reset my password?", True),
        ("Café résumé naïve, São Paulo, Łódź", True),
        ("thank you very much for all of your help today my friend 🎉", True),
        ("👍", False),
        ("how do you say 憎 in a longer sentence of English words and nothing else at all", False),
        ("What does 退款 mean in the text that I was sent yesterday by the shop?", False),
        ("как сбросить пароль", False),
        ("ฉันจะรีเซ็ตรหัสผ่านได้อย่างไร", False),
        ("the angle α between both sides of the triangle", True),
        ("x" * 150, False),
    ],
)
def test_mixed_text_is_readable_unless_a_word_is_hidden(
    minilm: Embedder, text: str, is_readable: bool
) -> None:
    assert minilm.readability(text).is_readable is is_readable


def test_a_character_outside_of_the_vocabulary_hides_a_difference(use: Embedder) -> None:
    """USE knows some six thousand of them; 鲍 and 滕 would have one vector."""
    assert use.readability("他姓王").is_readable
    assert [use.readability(text).reason for text in ("他姓鲍", "他姓滕")] == ["unreadable"] * 2


def test_unknown_words_would_hide_a_difference(minilm: Embedder) -> None:
    """The reason for the rule: both texts would have one vector."""
    seen = [minilm.readability(f"how do you say {word} in English") for word in ("憎", "悔")]
    assert [reading.reason for reading in seen] == ["unreadable", "unreadable"]


def test_fingerprints_differ_between_models(models_dir: Path) -> None:
    prints = {catalog.load(name, models_dir).fingerprint for name in ("minilm", "e5-small", "use")}
    assert len(prints) == 3
    assert all(print_.endswith("/n1") for print_ in prints)


@pytest.mark.parametrize("name", ["minilm", "e5-small", "use"])
def test_doctor_finds_the_models_faithful(name: str, models_dir: Path) -> None:
    found = catalog.verify(name, catalog.load(name, models_dir))
    assert found.is_faithful, str(found)
    assert found.min_alone_versus_batch >= 0.9999
    assert (found.mean_cosine is None) == (name == "use")


def test_minilm_agrees_with_its_float32_original(minilm: Embedder) -> None:
    """0.998 for every question; one-word texts lose more by the int8 source (0.995)."""
    references = verification.reference_vectors("minilm-l6-v2")
    cosines = {
        text: cosine(vector, reference)
        for text, vector, reference in zip(
            verification.ENGLISH, minilm.embed(verification.ENGLISH), references, strict=True
        )
    }
    assert np.mean(list(cosines.values())) >= 0.999
    assert min(value for text, value in cosines.items() if len(text.split()) >= 4) >= 0.998


def test_an_unfaithful_model_is_noticed(minilm: Embedder) -> None:
    references = verification.reference_vectors("minilm-l6-v2")
    with pytest.raises(verification.ModelNotFaithful, match="0\\.9"):
        verification.checked(minilm, np.roll(references, 1, axis=1) * 0.3 + references)


def test_names_and_languages() -> None:
    assert catalog.default_for("en") == "minilm"
    assert catalog.default_for("zh") in {"e5-small", "use"}
    assert catalog.default_for("multi") == catalog.default_for("zh")
    assert catalog.is_known("minilm")
    assert catalog.is_known("st:whatever")
    assert not catalog.is_known("word2vec")
    assert {"minilm", "use"} <= set(catalog.available())


def test_an_unknown_name_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ModelNotInstalled, match=r"embedder: 'word2vec' is unknown.*minilm"):
        catalog.load("word2vec", tmp_path)


def test_without_e5_chinese_falls_back_to_the_light_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its package has wheels for some systems only."""
    e5_package = next(o for o in catalog.OFFERS if o.name == "e5-small").source.package
    find = catalog.importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == e5_package else find(name)
    )
    assert catalog.default_for("zh") == "use"
    assert "e5-small" not in catalog.available()
