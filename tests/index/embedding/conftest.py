"""Loaded models, once per session; a test that needs a missing package is skipped with a reason."""

from pathlib import Path

import pytest

from index.embedding import catalog
from index.types import Embedder, ModelNotInstalled


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def loaded(name: str, models_dir: Path) -> Embedder:
    try:
        return catalog.load(name, models_dir)
    except ModelNotInstalled as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def minilm(models_dir: Path) -> Embedder:
    return loaded("minilm", models_dir)


@pytest.fixture(scope="session")
def e5_small(models_dir: Path) -> Embedder:
    return loaded("e5-small", models_dir)


@pytest.fixture(scope="session")
def use(models_dir: Path) -> Embedder:
    return loaded("use", models_dir)


@pytest.fixture(scope="session", params=["minilm", "e5-small", "use"])
def embedder(request: pytest.FixtureRequest, models_dir: Path) -> Embedder:
    """Each of the models that come inside packages."""
    return loaded(request.param, models_dir)


@pytest.fixture(scope="session", params=["e5-small", "use"])
def multilingual(request: pytest.FixtureRequest, models_dir: Path) -> Embedder:
    """Each of those that read Chinese."""
    return loaded(request.param, models_dir)
