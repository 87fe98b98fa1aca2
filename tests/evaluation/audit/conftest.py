"""The bundled tokenizer and the shared logs, loaded once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.audit.prompt import Renderer
from evaluation.audit.tokens import Tokenizer, load_tokenizer

SHARED = Path(os.environ.get("SUREHIT_SHARED") or Path(__file__).parents[4] / "shared")


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """The bundled o200k_base."""
    return load_tokenizer()


@pytest.fixture(scope="session")
def renderer(tokenizer: Tokenizer) -> Renderer:
    """ChatML without a default system message."""
    return Renderer(tokenizer)


@pytest.fixture(scope="session")
def shared_log() -> Callable[[str], Path]:
    """Path of a shared log; skips the test where the shared data is absent."""

    def find(name: str) -> Path:
        path = SHARED / "data" / name
        if not path.is_file():
            pytest.skip(f"shared data {name} is not here")
        return path

    return find
