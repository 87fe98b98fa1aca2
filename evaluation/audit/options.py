"""What an audit is asked to look at, and by which means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from evaluation.audit.kv_memory import Gpu
from evaluation.audit.prefix import DEFAULT_BLOCK_TOKENS, DEFAULT_POOL_BLOCKS
from evaluation.audit.prompt import ChatFormat
from evaluation.audit.semantic import DEFAULT_MAX_QUERIES
from evaluation.audit.why import DEFAULT_MAX_PAIRS
from index.types import Language


class Layer(StrEnum):
    """One layer of caching, or one question about it."""

    EXACT = "exact"
    SEMANTIC = "semantic"
    PREFIX = "prefix"
    WHY = "why"
    PROMPT_CACHE = "prompt-cache"
    KV = "kv"


@dataclass(frozen=True)
class AuditOptions:
    """Defaults are what `surehit audit LOG` uses. `kv_config` is a model's `config.json`, decoded.

    `embedder` and `language` None: chosen by the script of the queries.
    """

    layers: frozenset[Layer] = frozenset(Layer)
    tokenizer: Path | None = None
    chat_format: ChatFormat = "chatml"
    default_system: str | None = None
    block_tokens: int = DEFAULT_BLOCK_TOKENS
    pool_blocks: tuple[int, ...] = DEFAULT_POOL_BLOCKS
    running: int = 1
    max_pairs: int = DEFAULT_MAX_PAIRS
    max_queries: int = DEFAULT_MAX_QUERIES
    embedder: str | None = None
    language: Language | None = None
    models_dir: Path = field(default_factory=lambda: Path("models"))
    prices: Path | None = None
    kv_config: Mapping[str, Any] | None = None
    gpu: Gpu | None = None
