"""From reviewed pairs to a cross-encoder: MiniLM's bundled weights, fine-tuned to read two texts together.

torch and transformers (extra `models`) train it and are needed here alone; what is kept is an ONNX file with
a tokenizer. Texts that a reviewer judged are in neither, but a fine-tuned model may know some of them: its folder
belongs to its line as the labels do.

References: Nogueira and Cho (2019), Passage Re-ranking with BERT; Platt (1999), Probabilistic outputs for support
vector machines; Loshchilov and Hutter (2019), Decoupled weight decay regularization.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from tokenizers import Tokenizer, processors

from evaluation.evidence import BoolArray, FloatArray, IntArray
from evaluation.score.grouping import Groups
from evaluation.score.region_training import MOST_WEIGHT
from index.embedding import bundled, minilm, wordpiece
from index.embedding.bert_onnx import PairHead, build_pair_graph
from index.embedding.cross_encoder import CrossEncoder, open_folder
from index.embedding.weights import BertWeights, Floats, Layer, LinearName, dense
from index.normalize import normalize
from index.types import EmbedderUnavailable

LANGUAGE = "en"
"""Of the bundled weights that are trained on."""
EPOCHS, BATCH, RATE, HEAD_RATE, DECAY = 3, 16, 5e-5, 1e-3, 0.01
WARM_UP = 0.1
"""Share of the steps in which the rate rises; it falls to 0 in the others."""
SHARES = (0.6, 0.2, 0.2)
"""Of the labels: to learn from, to calibrate on, to judge by."""
MAX_TOKENS = 256
Tell = Callable[[str], None]

_PLACES: Mapping[LinearName, str] = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention_output": "attention.output.dense",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
}
"""Our names of a layer's matrices and those of transformers."""


@dataclass(frozen=True)
class Reviewed:
    """Labelled pairs. ``texts``: (stored, asked); good: bool; weight: > 0; part: 0, 1 or 2, of `SHARES`."""

    texts: Sequence[tuple[str, str]]
    good: BoolArray
    weight: FloatArray
    part: IntArray


def parts_of(texts: Sequence[tuple[str, str]]) -> IntArray:
    """A part of `SHARES` for every pair, int64: pairs that share a text, directly or over others, are in one.

    Large groups are placed first, each where most is lacking; deterministic.
    """
    joined = Groups()
    for stored, asked in texts:
        joined.join(stored, asked)
    groups: dict[str, list[int]] = {}
    for i, (stored, _) in enumerate(texts):
        groups.setdefault(joined.root(stored), []).append(i)
    part = np.zeros(len(texts), dtype=np.int64)
    lacking = [share * len(texts) for share in SHARES]
    for members in sorted(groups.values(), key=lambda g: (-len(g), g[0])):
        chosen = max(range(len(SHARES)), key=lambda n: lacking[n])
        part[members] = chosen
        lacking[chosen] -= len(members)
    return part


def train(
    pairs: Reviewed, folder: Path, *, epochs: int = EPOCHS, tell: Tell = lambda text: None
) -> CrossEncoder:
    """Train on part 0, calibrate on part 1, write the folder and open it. Deterministic on one machine.

    Raises ImportError without torch and transformers, ModelNotInstalled without MiniLM, ValueError where part 0 or 1
    lacks a verdict.
    """
    for part in (0, 1):
        if np.unique(pairs.good[pairs.part == part]).size < 2:
            raise ValueError("the labels to learn from and to calibrate on need both verdicts")
    tokenizer = pair_tokenizer()
    weights, head = _fit(pairs, tokenizer, epochs=epochs, tell=tell)
    write(folder, weights, head, tokenizer)
    tell("calibrating")
    rows = np.flatnonzero(pairs.part == 1)
    probability = probabilities(open_folder(folder), [pairs.texts[i] for i in rows.tolist()])
    slope, offset = platt(probability, pairs.good[rows], pairs.weight[rows])
    write(
        folder,
        weights,
        PairHead((slope * head.weight).astype(np.float32), slope * head.bias + offset),
        tokenizer,
    )
    return open_folder(folder)


def probabilities(model: CrossEncoder, texts: Sequence[tuple[str, str]]) -> FloatArray:
    """What a cross-encoder says of (stored, asked) pairs, float64; NaN where it cannot read one."""
    found = np.full(len(texts), math.nan)
    for i, (stored, asked) in enumerate(texts):
        try:
            found[i] = model.probability(stored, asked)
        except EmbedderUnavailable:
            continue
    return found


def platt(probability: FloatArray, good: BoolArray, weight: FloatArray) -> tuple[float, float]:
    """(slope > 0, offset) that turn the model's log odds into those of the labels; NaN rows are left out."""
    from sklearn.linear_model import LogisticRegression

    known = np.isfinite(probability)
    p = np.clip(probability[known], 1e-9, 1.0 - 1e-9)
    odds = np.log(p / (1.0 - p))
    scale = max(float(odds.std()), 1e-9)
    # a weak pull: with a strong one nothing is sure enough for a target of 3 %, however well it is told apart
    fitted = LogisticRegression(C=100.0).fit(odds[:, None] / scale, good[known], weight[known])
    slope, offset = float(fitted.coef_[0, 0]) / scale, float(fitted.intercept_[0])
    if slope > 0.0:
        return slope, offset
    # worse than none: not turned upside down, but silenced, at the rate that all labels have
    rate = float(np.average(good[known], weights=weight[known]))
    return 1e-6, math.log(rate / (1.0 - rate))


def acceptance(probability: FloatArray, weight: FloatArray, target: float) -> float:
    """Smallest probability to accept so that by the probabilities themselves at most `target` of it is false.

    1 - target where nothing reaches it.
    """
    known = np.isfinite(probability)
    order = np.argsort(-probability[known], kind="stable")
    p, w = probability[known][order], weight[known][order]
    fits = np.cumsum(w * (1.0 - p)) <= target * np.cumsum(w)
    return float(p[fits].min()) if fits.any() else 1.0 - target


def pair_tokenizer() -> Tokenizer:
    """MiniLM's tokenizer for two texts behind each other."""
    tokenizer = wordpiece.build_tokenizer()
    known = wordpiece.read_vocabulary()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(name, known[name]) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def write(folder: Path, weights: BertWeights, head: PairHead, tokenizer: Tokenizer) -> None:
    """The folder of a verifier."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(build_pair_graph(weights, head, "float32"))
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"max_tokens": MAX_TOKENS, "from": bundled.MINILM.name}
    (folder / "verifier.json").write_text(json.dumps(about), encoding="utf-8")


def _fit(
    pairs: Reviewed, tokenizer: Tokenizer, *, epochs: int, tell: Tell
) -> tuple[BertWeights, PairHead]:
    import torch

    torch.manual_seed(0)
    start = minilm.read_weights(bundled.MINILM.source.checked())
    encoder = _encoder(start)
    width = start.positions.shape[1]
    head = torch.nn.Linear(width, 1)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    rows = np.flatnonzero(pairs.part == 0)
    texts = [pairs.texts[i] for i in rows.tolist()]
    ids = [(_ids(tokenizer, a, b), _ids(tokenizer, b, a)) for a, b in texts]
    kept = [n for n, (one, _) in enumerate(ids) if len(one) <= MAX_TOKENS]
    weight = np.minimum(pairs.weight[rows] / pairs.weight[rows].mean(), MOST_WEIGHT)
    trained = [p for p in encoder.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": trained, "lr": RATE}, {"params": head.parameters(), "lr": HEAD_RATE}],
        weight_decay=DECAY,
    )
    steps = epochs * -(-len(kept) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    rng = np.random.default_rng(0)
    encoder.train()
    for epoch in range(epochs):
        total = 0.0
        for batch in _batches(kept, ids, rng):
            either = rng.integers(0, 2, len(batch))
            tokens, mask = _padded([ids[n][side] for n, side in zip(batch, either, strict=True)])
            with _fast(torch):
                hidden = encoder(input_ids=tokens, attention_mask=mask).last_hidden_state.float()
            seen = mask[:, :, None].float()
            odds = head((hidden * seen).sum(1) / seen.sum(1))[:, 0]
            wanted = torch.tensor(pairs.good[rows[batch]], dtype=torch.float32)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                odds, wanted, weight=torch.tensor(weight[batch], dtype=torch.float32)
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(batch)
        tell(f"epoch {epoch + 1} of {epochs}: loss {total / max(len(kept), 1):.3f}")
    found = PairHead(head.weight.detach().numpy()[0].copy(), float(head.bias.detach()[0]))
    return _weights(encoder, start), found


def _ids(tokenizer: Tokenizer, a: str, b: str) -> list[int]:
    found: list[int] = tokenizer.encode(normalize(a), normalize(b)).ids
    return found


def _rate(step: int, steps: int) -> float:
    warm = max(WARM_UP * steps, 1.0)
    return min((step + 1) / warm, max(0.0, (steps - step) / max(steps - warm, 1.0)))


def _batches(kept: Sequence[int], ids: Any, rng: np.random.Generator) -> list[Any]:
    """Pairs of similar length together, in random order."""
    shuffled = rng.permutation(np.asarray(kept, dtype=np.int64))
    by_length = sorted(shuffled.tolist(), key=lambda n: len(ids[n][0]))
    found = [np.asarray(by_length[i : i + BATCH]) for i in range(0, len(by_length), BATCH)]
    return [found[i] for i in rng.permutation(len(found))]


def _padded(texts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    import torch

    longest = max(map(len, texts))
    tokens = torch.zeros((len(texts), longest), dtype=torch.long)
    mask = torch.zeros((len(texts), longest), dtype=torch.long)
    for row, own in enumerate(texts):
        tokens[row, : len(own)] = torch.tensor(own)
        mask[row, : len(own)] = 1
    return tokens, mask


def _fast(torch: Any) -> AbstractContextManager[Any]:
    """Half precision where the processor has instructions for it; elsewhere it would be slower."""
    known: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    if known.get("avx512_bf16") or known.get("amx_bf16"):
        found: AbstractContextManager[Any] = torch.autocast("cpu", dtype=torch.bfloat16)
        return found
    return nullcontext()


def _encoder(weights: BertWeights) -> Any:
    """The same encoder in transformers; its embeddings are not trained, so that words without labels keep theirs."""
    import torch
    from transformers import BertConfig, BertModel

    words, positions = dense_words(weights), weights.positions
    config = BertConfig(
        vocab_size=words.shape[0],
        hidden_size=words.shape[1],
        num_hidden_layers=len(weights.layers),
        num_attention_heads=weights.heads,
        intermediate_size=dense(weights.layers[0].matrices["intermediate"]).shape[0],
        max_position_embeddings=positions.shape[0],
        type_vocab_size=1,
        layer_norm_eps=weights.epsilon,
    )
    state = {
        "embeddings.word_embeddings.weight": words,
        "embeddings.position_embeddings.weight": positions,
        "embeddings.token_type_embeddings.weight": np.zeros((1, words.shape[1]), np.float32),
        "embeddings.LayerNorm.weight": weights.embedding_norm[0],
        "embeddings.LayerNorm.bias": weights.embedding_norm[1],
    }
    for number, layer in enumerate(weights.layers):
        prefix = f"encoder.layer.{number}"
        for name, place in _PLACES.items():
            state[f"{prefix}.{place}.weight"] = dense(layer.matrices[name])
            state[f"{prefix}.{place}.bias"] = layer.biases[name]
        for place, norm in (("attention.output", "attention_norm"), ("output", "output_norm")):
            state[f"{prefix}.{place}.LayerNorm.weight"] = getattr(layer, norm)[0]
            state[f"{prefix}.{place}.LayerNorm.bias"] = getattr(layer, norm)[1]
    encoder: Any = BertModel(config, add_pooling_layer=False)
    tensors = {name: torch.tensor(np.asarray(value)) for name, value in state.items()}
    encoder.load_state_dict(tensors, strict=True)
    for parameter in encoder.embeddings.parameters():
        parameter.requires_grad_(False)
    return encoder


def dense_words(weights: BertWeights) -> Floats:
    """The word table; raises ValueError for one in 4 bits, which is a model of another family."""
    if not isinstance(weights.words, np.ndarray):
        raise ValueError("only a dense word table can be trained on")
    return weights.words


def _weights(encoder: Any, start: BertWeights) -> BertWeights:
    state = {name: tensor.detach().numpy() for name, tensor in encoder.state_dict().items()}

    def layer(number: int) -> Layer:
        prefix = f"encoder.layer.{number}"

        def norm(place: str) -> tuple[Floats, Floats]:
            found = f"{prefix}.{place}.LayerNorm"
            return state[f"{found}.weight"], state[f"{found}.bias"]

        return Layer(
            matrices={n: state[f"{prefix}.{_PLACES[n]}.weight"] for n in get_args(LinearName)},
            biases={n: state[f"{prefix}.{_PLACES[n]}.bias"] for n in get_args(LinearName)},
            attention_norm=norm("attention.output"),
            output_norm=norm("output"),
        )

    return BertWeights(
        words=start.words,
        positions=start.positions,
        embedding_norm=start.embedding_norm,
        layers=tuple(layer(number) for number in range(len(start.layers))),
        heads=start.heads,
        epsilon=start.epsilon,
    )
