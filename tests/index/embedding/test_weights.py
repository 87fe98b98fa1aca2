"""Rounding to blocks, and graphs against plain NumPy."""

import numpy as np
import pytest

from index.embedding.bert_onnx import PairHead, Precision, build_graph, build_pair_graph
from index.embedding.onnx_engine import open_session
from index.embedding.weights import (
    BertWeights,
    Layer,
    LinearName,
    Table4Bit,
    dense,
    from_channels,
    quantized,
)

WIDTH, INNER, HEADS, WORDS, POSITIONS = 64, 128, 4, 50, 16
NAMES: tuple[LinearName, ...] = (
    "query", "key", "value", "attention_output", "intermediate", "output",
)  # fmt: skip


def test_rounding_stays_within_half_a_step_of_each_block() -> None:
    matrix = np.random.default_rng(0).standard_normal((16, 96)).astype(np.float32)
    matrix[3, :32] = 0
    blocks = quantized(matrix)
    error = np.abs(blocks.dense() - matrix).reshape(16, 3, 32).max(axis=-1)
    assert (error <= blocks.scales / 2 + 1e-7).all()
    assert not blocks.dense()[3, :32].any()


def test_what_is_quantized_is_not_rounded_again() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(-127, 128, (8, 64)).astype(np.int8)
    scales = rng.uniform(0.01, 0.1, 8).astype(np.float32)
    blocks = from_channels(codes, scales)
    assert quantized(blocks) is blocks
    assert blocks.dense() == pytest.approx(codes * scales[:, None])


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
