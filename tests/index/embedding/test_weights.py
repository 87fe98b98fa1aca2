"""Rounding to codes, and graphs against plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from index.embedding.bert_onnx import PairHead, Precision, build_graph, build_pair_graph
from index.embedding.onnx_engine import open_session
from index.embedding.weights import (
    BertWeights,
    Channels,
    Layer,
    LinearName,
    Table4Bit,
    dense,
    quantized,
)

WIDTH, INNER, HEADS, WORDS, POSITIONS = 64, 128, 4, 50, 16
NAMES: tuple[LinearName, ...] = (
    "query", "key", "value", "attention_output", "intermediate", "output",
)  # fmt: skip


def test_rounding_stays_within_half_a_step_of_each_output() -> None:
    matrix = np.random.default_rng(0).standard_normal((16, 96)).astype(np.float32)
    matrix[3] = 0
    channels = quantized(matrix)
    error = np.abs(channels.dense() - matrix).max(axis=1)
    assert (error <= channels.scales / 2 + 1e-7).all()
    assert not channels.dense()[3].any()
    assert np.abs(channels.codes).max() == 127


def test_what_is_quantized_is_not_rounded_again() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(-127, 128, (8, 64)).astype(np.int8)
    scales = rng.uniform(0.01, 0.1, 8).astype(np.float32)
    channels = Channels(codes, scales)
    assert quantized(channels) is channels
    assert channels.dense() == pytest.approx(codes * scales[:, None])


def small_weights(rng: np.random.Generator, *, four_bit_words: bool) -> BertWeights:
    def floats(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.2).astype(np.float32)

    def norm() -> tuple[np.ndarray, np.ndarray]:
        return 1 + floats(WIDTH), floats(WIDTH)

    def layer() -> Layer:
        outputs = {name: INNER if name == "intermediate" else WIDTH for name in NAMES}
        inputs = {name: INNER if name == "output" else WIDTH for name in NAMES}
        return Layer(
            matrices={name: floats(outputs[name], inputs[name]) for name in NAMES},
            biases={name: floats(outputs[name]) for name in NAMES},
            attention_norm=norm(),
            output_norm=norm(),
        )

    words = (
        Table4Bit(
            rng.integers(0, 16, (WORDS, WIDTH)).astype(np.uint8),
            rng.uniform(0.05, 0.2, (WORDS, WIDTH // 32)).astype(np.float32),
        )
        if four_bit_words
        else floats(WORDS, WIDTH)
    )
    return BertWeights(
        words=words,
        positions=floats(POSITIONS, WIDTH),
        embedding_norm=norm(),
        layers=(layer(), layer()),
        heads=HEADS,
        epsilon=1e-12,
    )


def by_hand(weights: BertWeights, ids: np.ndarray) -> np.ndarray:
    """The encoder for one text in float64, as the papers write it."""
    mean = mean_by_hand(weights, ids)
    return mean / np.linalg.norm(mean)


def mean_by_hand(weights: BertWeights, ids: np.ndarray) -> np.ndarray:
    from scipy.special import erf, softmax

    def normalised(x: np.ndarray, norm: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * norm[0] + norm[1]

    words = weights.words
    if isinstance(words, Table4Bit):
        table = (words.codes.astype(float) - 8) * np.repeat(words.scales, 32, axis=1)
    else:
        table = words.astype(float)
    x = normalised(table[ids] + weights.positions[: len(ids)], weights.embedding_norm)
    for layer in weights.layers:

        def linear(name: LinearName, value: np.ndarray, layer: Layer = layer) -> np.ndarray:
            return value @ dense(layer.matrices[name]).T.astype(float) + layer.biases[name]

        def heads(value: np.ndarray) -> np.ndarray:
            return value.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

        query, key, value = (heads(linear(name, x)) for name in NAMES[:3])
        scores = softmax(query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS), axis=-1)
        attended = (scores @ value).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        x = normalised(x + linear("attention_output", attended), layer.attention_norm)
        wide = linear("intermediate", x)
        wide = wide * 0.5 * (1 + erf(wide / np.sqrt(2)))
        x = normalised(x + linear("output", wide), layer.output_norm)
    return x.mean(axis=0)


@pytest.mark.parametrize("four_bit_words", [False, True])
def test_the_graph_computes_the_encoder(four_bit_words: bool) -> None:
    rng = np.random.default_rng(2)
    weights = small_weights(rng, four_bit_words=four_bit_words)
    exact = open_session(build_graph(weights, "float32"))
    coarse = open_session(build_graph(weights, "int8"))
    texts, inputs = three_texts(rng)
    expected = np.array([by_hand(weights, own) for own in texts])
    assert exact.run(None, inputs)[0] == pytest.approx(expected, abs=1e-5)
    assert (coarse.run(None, inputs)[0] * expected).sum(axis=1).min() > 0.995


def test_digits_lose_nothing_but_the_weights_codes() -> None:
    """One channel a hundred times the others, as encoders have them, and tokens of very different size."""
    rng = np.random.default_rng(4)
    weights = small_weights(rng, four_bit_words=False)
    for norm in (weights.embedding_norm, *(layer.output_norm for layer in weights.layers)):
        norm[0][5] *= 100
    coded = [
        replace(
            layer,
            matrices={name: dense(quantized(matrix)) for name, matrix in layer.matrices.items()},
        )
        for layer in weights.layers
    ]
    texts, inputs = three_texts(rng)
    expected = [by_hand(replace(weights, layers=tuple(coded)), own) for own in texts]
    found = open_session(build_graph(weights, "int8")).run(None, inputs)[0]
    assert (found * np.array(expected)).sum(axis=1).min() > 0.9999


def test_a_layer_that_gives_nothing_is_no_number_to_be_divided_by() -> None:
    rng = np.random.default_rng(5)
    weights = small_weights(rng, four_bit_words=False)
    layer = weights.layers[0]
    silent = replace(
        layer,
        matrices={**layer.matrices, "value": np.zeros((WIDTH, WIDTH), dtype=np.float32)},
        biases={**layer.biases, "value": np.zeros(WIDTH, dtype=np.float32)},
    )
    weights = replace(weights, layers=(silent, weights.layers[1]))
    texts, inputs = three_texts(rng)
    expected = np.array([by_hand(weights, own) for own in texts])
    found = open_session(build_graph(weights, "int8")).run(None, inputs)[0]
    assert (found * expected).sum(axis=1).min() > 0.995


@pytest.mark.parametrize(("precision", "error"), [("float32", 1e-4), ("int8", 0.2)])
def test_the_pair_graph_gives_a_log_odds_of_the_mean(precision: Precision, error: float) -> None:
    rng = np.random.default_rng(3)
    weights = small_weights(rng, four_bit_words=False)
    head = PairHead(rng.normal(0, 1, WIDTH).astype(np.float32), 0.5)
    session = open_session(build_pair_graph(weights, head, precision))
    texts, inputs = three_texts(rng)
    expected = [[mean_by_hand(weights, own) @ head.weight + 0.5] for own in texts]
    assert session.run(["logits"], inputs)[0] == pytest.approx(np.array(expected), abs=error)


def three_texts(rng: np.random.Generator) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Token ids of three lengths, alone and as one padded batch."""
    texts = [rng.integers(0, WORDS, length) for length in (1, 7, 16)]
    ids = np.zeros((3, 16), dtype=np.int64)
    mask = np.zeros((3, 16), dtype=np.int64)
    for row, own in enumerate(texts):
        ids[row, : len(own)] = own
        mask[row, : len(own)] = 1
    return texts, {"input_ids": ids, "attention_mask": mask}
