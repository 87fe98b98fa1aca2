"""Model files come from packages, and only as the bytes that were measured."""

import sys
from pathlib import Path

import pytest

from index.embedding.source_files import SourceFile, sha256_of
from index.types import ModelNotInstalled


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceFile:
    package = tmp_path / "a_model_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    (package / "weights").mkdir()
    (package / "weights" / "m.bin").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    digest = sha256_of(package / "weights" / "m.bin")
    return SourceFile("a-model", "a_model_package", "weights/m.bin", digest)


def test_a_file_is_found_without_importing_its_package(source: SourceFile) -> None:
    assert source.checked().read_bytes() == b"weights"
    assert source.is_installed
    assert "a_model_package" not in sys.modules


def test_other_bytes_are_refused(source: SourceFile) -> None:
    source.locate().write_bytes(b"wEights")
    with pytest.raises(ModelNotInstalled, match=r"a-model: weights/m\.bin has sha256"):
        source.checked()


def test_a_missing_file_or_package_is_named(source: SourceFile) -> None:
    source.locate().unlink()
    with pytest.raises(ModelNotInstalled, match=r"a-model has no file weights/m\.bin"):
        source.checked()
    missing = SourceFile("no-such-model", "no_such_model_package", "x", "")
    with pytest.raises(ModelNotInstalled, match="no-such-model is not installed"):
        missing.locate()
    assert not missing.is_installed
