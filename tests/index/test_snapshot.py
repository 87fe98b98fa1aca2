"""A snapshot is whole and ours, or it is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import snapshot
from index.adaptive import AdaptiveIndex
from index.types import SnapshotInvalid
from tests.index.vectors import unit

DIMENSIONS = 32


def made(count: int, crossing: int = 100) -> AdaptiveIndex:
    index = AdaptiveIndex(DIMENSIONS, crossing=crossing, run=lambda job: job())
    index.add(np.arange(count), unit(np.random.default_rng(count), count, DIMENSIONS))
    index.remove(np.arange(0, count, 9))
    return index


@pytest.mark.parametrize("count", [0, 1, 50, 500])
def test_what_is_loaded_answers_like_what_was_saved(tmp_path: Path, count: int) -> None:
    index = made(count)
    snapshot.save(tmp_path / "p", index, fingerprint="m/1", sequence=41)
    loaded = snapshot.load(tmp_path / "p", fingerprint="m/1")
    assert loaded.sequence == 41
    assert len(loaded.index) == len(index)
    for query in unit(np.random.default_rng(1), 20, DIMENSIONS):
        assert loaded.index.search(query, 5) == index.search(query, 5)


def test_a_loaded_index_goes_on_growing(tmp_path: Path) -> None:
    snapshot.save(tmp_path / "p", made(500), fingerprint="m/1", sequence=1)
    index = snapshot.load(tmp_path / "p", fingerprint="m/1").index
    before = len(index)
    index.add(np.arange(1000, 3000), unit(np.random.default_rng(2), 2000, DIMENSIONS))
    index.remove(np.arange(1000, 2000))
    assert len(index) == before + 1000


def test_another_models_snapshot_is_refused(tmp_path: Path) -> None:
    """C-128: same width, other meaning."""
    snapshot.save(tmp_path / "p", made(5), fingerprint="m/1", sequence=1)
    with pytest.raises(SnapshotInvalid, match="fingerprint"):
        snapshot.load(tmp_path / "p", fingerprint="m/2")


@pytest.mark.parametrize("name", ["format", "hnswlib", "byteorder"])
def test_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    other = {"format": ("FORMAT", 99), "hnswlib": ("version", lambda _: "0"), "byteorder": None}
    change = other[name]
    with monkeypatch.context() as patch:
        if change is None:
            patch.setattr("sys.byteorder", "middle")
        else:
            patch.setattr(snapshot, *change)
        snapshot.save(tmp_path / "p", made(5), fingerprint="m/1", sequence=1)
    with pytest.raises(SnapshotInvalid, match=name):
        snapshot.load(tmp_path / "p", fingerprint="m/1")


@pytest.mark.parametrize("content", [b"", b"x", b"SUREHIT\x00", b"SUREHIT\x00" + b"\xff" * 200])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(SnapshotInvalid):
        snapshot.load(tmp_path / "p", fingerprint="m/1")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match="No such file"):
        snapshot.load(tmp_path / "nothing", fingerprint="m/1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshot") / "p"
    snapshot.save(path, made(200), fingerprint="m/1", sequence=1)
    return path


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1), flip=st.booleans())
def test_a_file_cut_off_or_changed_anywhere_is_refused(
    whole: Path, share: float, flip: bool
) -> None:
    """C-132: truncated to half, or one bit fallen over."""
    content = bytearray(whole.read_bytes())
    place = min(int(share * len(content)), len(content) - 1)
    if flip:
        content[place] ^= 1
    else:
        del content[place:]
    damaged = whole.with_name("damaged")
    damaged.write_bytes(content)
    with pytest.raises(SnapshotInvalid):
        snapshot.load(damaged, fingerprint="m/1")


def test_a_save_that_fails_leaves_the_old_file_and_no_litter(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p"
    snapshot.save(path, made(5), fingerprint="m/1", sequence=7)

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        snapshot.save(path, made(50), fingerprint="m/1", sequence=8)
    monkeypatch.undo()
    assert snapshot.load(path, fingerprint="m/1").sequence == 7
    assert [file.name for file in tmp_path.iterdir()] == ["p"]
