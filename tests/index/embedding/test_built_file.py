"""A model file is built once, whole, and again when it is damaged."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from index.embedding import bundled
from index.embedding.built_file import ensure_built

CONTENT = b"model" * 1000


class Builder:
    """Counts how often it is asked."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        self.builds = 0
        self._delay_s = delay_s

    def __call__(self) -> bytes:
        self.builds += 1
        time.sleep(self._delay_s)
        return CONTENT


def ensure(builder: Builder, folder: Path) -> Path:
    return ensure_built("m.onnx", folder, build=builder, check=lambda content: "fine")


def test_a_file_is_built_once_and_then_found(tmp_path: Path) -> None:
    builder = Builder()
    for _ in range(3):
        assert ensure(builder, tmp_path / "models").read_bytes() == CONTENT
    assert builder.builds == 1
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in (tmp_path / "models").iterdir())


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], b"x" + CONTENT[1:]])
def test_a_damaged_file_is_built_again(tmp_path: Path, damage: bytes) -> None:
    builder = Builder()
    ensure(builder, tmp_path).write_bytes(damage)
    assert ensure(builder, tmp_path).read_bytes() == CONTENT
    assert builder.builds == 2


@pytest.mark.parametrize("manifest", [b"", b"null", b"{}", b"[1]", b"\xff"])
def test_a_damaged_manifest_means_a_new_build(tmp_path: Path, manifest: bytes) -> None:
    builder = Builder()
    ensure(builder, tmp_path).with_suffix(".json").write_bytes(manifest)
    assert ensure(builder, tmp_path).read_bytes() == CONTENT
    assert builder.builds == 2


def test_a_file_that_fails_its_check_is_never_seen(tmp_path: Path) -> None:
    def refuse(content: bytes) -> str:
        raise ValueError("not the model")

    with pytest.raises(ValueError, match="not the model"):
        ensure_built("m.onnx", tmp_path, build=Builder(), check=refuse)
    assert [path.name for path in tmp_path.iterdir()] == ["m.lock"]
    assert ensure(Builder(), tmp_path).read_bytes() == CONTENT


def test_threads_that_start_together_build_once(tmp_path: Path) -> None:
    builder = Builder(delay_s=0.1)
    threads = [threading.Thread(target=ensure, args=(builder, tmp_path)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builder.builds == 1


def test_processes_that_start_together_build_once(tmp_path: Path) -> None:
    """Two workers of one service, right after installation."""
    program = (
        "import sys, time, pathlib\n"
        "from index.embedding.built_file import ensure_built\n"
        "def build():\n"
        "    print('built', flush=True)\n"
        "    time.sleep(0.5)\n"
        "    return b'model'\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "path = ensure_built('m.onnx', folder, build=build, check=lambda c: 'fine')\n"
        "assert path.read_bytes() == b'model'\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=30)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert b"".join(said).count(b"built") == 1


def test_progress_tells_of_the_build_and_its_check(tmp_path: Path) -> None:
    lines: list[str] = []
    bundled.MINILM.load(tmp_path, lines.append)
    assert len(lines) == 2
    assert "building minilm-l6-v2" in lines[0]
    assert "MB in" in lines[1]
    assert "alone against batch 1.0000" in lines[1]
    bundled.MINILM.load(tmp_path, lines.append)
    assert len(lines) == 2
