"""KV memory: bytes per token of a model, how many sequences fit a GPU, what a prefix pool takes.

Per token and layer an attention layer keeps 2 (key and value) x KV heads x head dimension numbers;
multi-head latent attention (DeepSeek-AI, 2024, "DeepSeek-V2") keeps one latent vector and one
rotary key instead. Layers with a sliding window keep no more than the window's tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Precision = Literal["fp32", "bf16", "fp16", "fp8", "int8", "int4"]
BITS: dict[str, float] = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "int4": 4}
GIB = 2**30


class ModelConfigUnusable(ValueError):
    """The model configuration lacks a figure that the KV cache depends on."""


@dataclass(frozen=True, slots=True)
class KvShape:
    """What one token leaves in the KV cache. `window_layers` of the layers see `window_tokens`
    only."""

    layers: int
    numbers_per_layer: int
    attention: Literal["mha", "gqa", "mqa", "mla"]
    window_layers: int = 0
    window_tokens: int = 0

    def bytes_per_token(self, precision: Precision) -> float:
        """Bytes that a token adds while it is inside every window (without quantisation scales)."""
        return self.layers * self.numbers_per_layer * BITS[precision] / 8

    def bytes_per_sequence(self, tokens: int, precision: Precision) -> float:
        """Bytes of a sequence of some tokens."""
        windowed = min(tokens, self.window_tokens) if self.window_layers else 0
        held = (self.layers - self.window_layers) * tokens + self.window_layers * windowed
        return held * self.numbers_per_layer * BITS[precision] / 8


def kv_shape(config: Mapping[str, Any]) -> KvShape:
    """The shape from a `config.json` as model hubs write it (text part of multimodal ones
    included).

    Raises ModelConfigUnusable when layers, heads or head dimension cannot be told.
    """
    config = config.get("text_config") or config
    layers = _positive(config, "num_hidden_layers", "n_layer", "num_layers")
    window = _window(config, layers)
    if config.get("kv_lora_rank"):
        rope = _positive(config, "qk_rope_head_dim")
        return KvShape(layers, int(config["kv_lora_rank"]) + rope, "mla", *window)
    heads = _positive(config, "num_attention_heads", "n_head")
    kv_heads = int(config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads))
    dimension = config.get("head_dim") or _positive(config, "hidden_size", "n_embd") // heads
    attention: Literal["mha", "gqa", "mqa"] = (
        "mha" if kv_heads == heads else "mqa" if kv_heads == 1 else "gqa"
    )
    return KvShape(layers, 2 * kv_heads * int(dimension), attention, *window)


@dataclass(frozen=True, slots=True)
class Gpu:
    """Memory for one model replica (add up the GPUs of a tensor-parallel group)."""

    memory_gib: float
    weights_gib: float
    usable_share: float = 0.9
    """What engines take by default; the rest is for activations and the runtime."""

    @property
    def kv_bytes(self) -> float:
        """Bytes left for keys and values; not below 0."""
        return max(0.0, (self.memory_gib * self.usable_share - self.weights_gib) * GIB)


@dataclass(frozen=True, slots=True)
class KvRow:
    """One precision: bytes, sequences that fit at a time, and what each prefix pool leaves of
    them."""

    precision: Precision
    bytes_per_token: float
    sequence_bytes: tuple[tuple[str, int, float], ...]
    fitting_sequences: tuple[tuple[str, int], ...]
    pools: tuple[tuple[int, float, int], ...]


@dataclass(frozen=True, slots=True)
class KvReport:
    """KV memory of this traffic on one GPU.

    In each row `sequence_bytes` has (name, tokens, bytes) and `fitting_sequences` (name, how many);
    `pools` has (blocks, bytes, median sequences that still fit beside a pool of that many blocks).
    """

    attention: str
    gpu: Gpu
    rows: tuple[KvRow, ...]
    block_tokens: int


def kv_report(
    shape: KvShape,
    gpu: Gpu,
    lengths: Mapping[str, int],
    *,
    pool_blocks: tuple[int, ...],
    block_tokens: int = 16,
    precisions: tuple[Precision, ...] = ("bf16", "fp8", "int4"),
) -> KvReport:
    """How this traffic fits; `lengths` names sequence lengths in tokens (prompt and answer), e.g.
    p50.

    Sequences take whole blocks.
    """
    rows = []
    for precision in precisions:
        whole = {k: -(-n // block_tokens) * block_tokens for k, n in lengths.items()}
        sizes = {k: shape.bytes_per_sequence(n, precision) for k, n in whole.items()}
        block_bytes = shape.bytes_per_token(precision) * block_tokens
        median = sizes.get("p50", 0.0)
        rows.append(
            KvRow(
                precision,
                shape.bytes_per_token(precision),
                tuple((k, lengths[k], size) for k, size in sizes.items()),
                tuple((k, _fit(gpu.kv_bytes, size)) for k, size in sizes.items()),
                tuple(
                    (n, n * block_bytes, _fit(gpu.kv_bytes - n * block_bytes, median))
                    for n in pool_blocks
                ),
            )
        )
    return KvReport(shape.attention, gpu, tuple(rows), block_tokens)


def _fit(room: float, size: float) -> int:
    return int(room // size) if size > 0 and room > 0 else 0


def _window(config: Mapping[str, Any], layers: int) -> tuple[int, int]:
    """(layers with a sliding window, its tokens)."""
    tokens = config.get("sliding_window")
    if not tokens or config.get("use_sliding_window") is False:
        return 0, 0
    types = config.get("layer_types")
    if isinstance(types, list):
        return sum(1 for t in types if "sliding" in str(t)), int(tokens)
    pattern = config.get("sliding_window_pattern")
    if isinstance(pattern, int) and pattern > 1:  # every pattern-th layer sees all
        return layers - layers // pattern, int(tokens)
    return layers, int(tokens)


def _positive(config: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and value > 0:
            return value
    raise ModelConfigUnusable(f"the model configuration has no {' or '.join(names)} above 0")
